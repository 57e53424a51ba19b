"""Runners by name: what ``--engine`` takes, and the options of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from citeforge.engines.catalogue import Catalogue
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.flags import Flag, list_flags
from citeforge.schemas.recipes.groups import RUNNER, SETTING
from citeforge.schemas.recipes.ray import RayOptions

if TYPE_CHECKING:
    from citeforge.engines.running.runner import Runner

HERE = "local"
"""Name of the runner of this process."""


def _local_runner(options: Part) -> Runner:
    """Make the runner that does all work in this process."""
    from citeforge.engines.running.runner import Runner

    return Runner(options)


def _ray_runner(options: Part) -> Runner:
    """Make the runner that spreads work over a Ray cluster."""
    from citeforge.engines.running.ray_runner import RayRunner

    return RayRunner(options)


@dataclass(frozen=True)
class RunnerRow(Choice):
    """Row of a runner.

    Attributes:
        factory: makes the runner from a record of its options.
        options: class of that record; each field is an option of every command with ``--engine``.
    """

    factory: Callable[[Any], Runner]
    options: type[Part] = Part


RUNNERS: Catalogue[RunnerRow, Runner] = Catalogue(
    "",
    "engine",
    RunnerRow,
    (
        RunnerRow(HERE, "", "in this process", _local_runner),
        RunnerRow("ray", "", "a Ray cluster", _ray_runner, RayOptions, needs="ray"),
    ),
)
"""Runners by the names that ``--engine`` takes."""


def runner_flags(options_field: str) -> Iterator[Flag]:
    """Yield the command-line options of all runners, each prefixed with its runner's name.

    Args:
        options_field: field of the run options that has them.
    """
    for row in RUNNERS.all().values():
        for flag in list_flags(row.options, (options_field, row.name), (RUNNER, SETTING)):
            yield replace(flag, name=runner_option(row.name, flag.field_path[-1]))


def runner_option(*words: str) -> str:
    """Join words to an option's name: ``ray`` and ``workers`` to ``--ray-workers``."""
    return "--" + "-".join(words).replace("_", "-")
