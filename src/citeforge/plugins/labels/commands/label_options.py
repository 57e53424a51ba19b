"""Options of commands that read labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from citeforge.cli.path_options import path_option

F = TypeVar("F", bound=Callable[..., Any])
LABEL_FORMATS = ("auto", "annotations", "expertqa", "alce", "claims")
"""Formats of files of labels; ``auto`` looks."""


def labels_options(command: F) -> F:
    """Files of labels, and what they are about."""
    options = (
        path_option(
            "--labels",
            multiple=True,
            help="Of labels import or ALCE's human evaluation (with --scores), in ExpertQA's "
            "layout, or claims with references; repeatable.",
        ),
        click.option(
            "--format",
            "label_format",
            type=click.Choice(LABEL_FORMATS),
            default="auto",
            show_default=True,
            help="Of the labels; auto looks.",
        ),
        path_option(
            "--scores", multiple=True, help="Score files (--details) that the labels are about."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
