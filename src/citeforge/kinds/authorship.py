"""Authorship: the same passages under every label of authorship."""

from __future__ import annotations

from dataclasses import replace

from citeforge.kinds.hook import Hook
from citeforge.kinds.twins import TWINS
from citeforge.schemas.recipes import AuthorshipRecipe

AUTHORSHIP = replace(
    TWINS,
    name="authorship",
    recipe=AuthorshipRecipe,
    builder=Hook("citeforge.builders.authorship.build:build_authorship"),
    planner=None,
    about="the same passages under every label of authorship",
    is_design=True,
    readings={
        "cells": Hook("citeforge.evaluator.authorship.cells:CellReading"),
        **TWINS.readings,
    },
    template="authorship",
    default_measures=("authorship",),
    headline=(),
    public=(),
    blinded={},
    withheld=(),
    refusals={
        "hide-gold": "its cells differ in who wrote the relevant passages and what is said of "
        "that, so that whoever compares two cells reads every label",
        **{k: v for k, v in TWINS.refusals.items() if not k.startswith("run")},
    },
    problems=(*TWINS.problems, Hook("citeforge.builders.authorship.verify:wrong_cells")),
    labelling=Hook("citeforge.builders.authorship.labelling:labelling_of"),
    saved_answers=Hook("citeforge.evaluator.authorship.attrieval:read_cells"),
)
