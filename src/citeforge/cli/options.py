"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.labels import LABEL_FORMATS
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.run import ENDPOINT, LOCAL, RAY, RunOptions

F = TypeVar("F", bound=Callable[..., Any])

benchmark_option = click.option(
    "--benchmark",
    type=click.Path(path_type=Path),
    required=True,
    help="Package, or hub:ORG/NAME[@REVISION].",
)
verdicts_option = add_options(field_options(RunOptions, ("verdicts",)))
endpoint_options = add_options(field_options(RunOptions, (*ENDPOINT, *RAY)))
"""Options of everything that may talk to an endpoint, and on whose machines."""
_LOCAL_JUDGE = [n for n in Judging.model_fields if n != "judge"]


def model_options(command: F) -> F:
    """Options of local judge models."""
    return add_options([*field_options(Judging, _LOCAL_JUDGE), *field_options(RunOptions, LOCAL)])(
        command
    )


def run_options(given: dict[str, Any], **known: Any) -> RunOptions:
    """How engines run, as parsed options say, and what is known besides."""
    return record_from(RunOptions, given | known)


def labels_options(command: F) -> F:
    """Files of labels, and what they are about."""
    path = click.Path(path_type=Path)
    options = (
        click.option(
            "--labels",
            type=path,
            multiple=True,
            help="Of annotate import or ALCE's human evaluation (with --scores), in ExpertQA's "
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
        click.option(
            "--scores",
            type=path,
            multiple=True,
            help="Score files (--details) that the labels are about.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
