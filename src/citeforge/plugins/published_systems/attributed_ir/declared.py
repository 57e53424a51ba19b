"""Attributed-IR's scenarios, as entry points name them."""

from __future__ import annotations

from pathlib import Path

from citeforge.plugins.published_systems.attributed_ir.answers import generate
from citeforge.plugins.published_systems.attributed_ir.gtr import gtr
from citeforge.plugins.published_systems.attributed_ir.options import (
    GenerateOptions,
    GoldPassagesOptions,
    GtrOptions,
    QueryGenOptions,
    VanillaOptions,
)
from citeforge.plugins.published_systems.attributed_ir.query_gen import query_gen
from citeforge.plugins.published_systems.attributed_ir.rtg import gold, retrieve_then_generate
from citeforge.schemas.systems.listed import system_made_by

_FOLDER = Path(__file__).parent / "templates"
G = system_made_by("g", generate, GenerateOptions, _FOLDER)
RTG_GOLD = system_made_by("rtg-gold", gold, GoldPassagesOptions, _FOLDER)
RTG_VANILLA = system_made_by("rtg-vanilla", retrieve_then_generate, VanillaOptions, _FOLDER)
RTG_QUERY_GEN = system_made_by("rtg-query-gen", query_gen, QueryGenOptions, _FOLDER)
GTR = system_made_by("gtr", gtr, GtrOptions, _FOLDER)
