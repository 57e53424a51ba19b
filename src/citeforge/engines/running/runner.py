"""Runners: what spreads embedding, judging and searching over processes or machines.

A plugin declares a class that inherits from :class:`Runner` as an entry point of the group
``citeforge.runners``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from citeforge.engines import plugins
from citeforge.engines.judge.records import Judge
from citeforge.engines.models.embedder import Embedder
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.recipes.base import Compute, Part, RunOptions
from citeforge.schemas.recipes.flags import Flag, flags_of

if TYPE_CHECKING:
    from citeforge.engines.retrieval.exact import FirstStage

GROUP = "runners"


class Runner:
    """Runs everything in this process; a plugin's class overrides what it spreads.

    Results must be those of this class, whatever else runs and however many workers there are.
    What is stored (vectors, verdicts) is written by the process that asks.

    Attributes:
        name: how ``--engine`` names it.
        options: record of its options; each field is an option of every command with ``--engine``.
    """

    name: ClassVar[str] = "local"
    options: ClassVar[type[Part]] = Part

    def __init__(self, options: Any = None) -> None:
        """Take the options.

        Args:
            options: a record of the class's own ``options``; None for none.
        """
        self.settings = self.options() if options is None else options

    def require(self) -> None:
        """Stop before work is done that is lost when workers cannot be reached later.

        Raises:
            CiteforgeError: a library is missing, or nothing answers.
        """

    def embedder(self, make: Callable[[], Embedder], device: str, compute: Compute) -> Embedder:
        """Make the embedder with ``make``, wherever that is called.

        One that has ``encode_each`` is given the shards of a corpus together, and one that is to
        compute in int8 is a :class:`~citeforge.engines.models.embedder.Quantizable`.

        Args:
            make: finds the model; can be pickled.
            device: where a worker computes.
            compute: numbers that it computes in.
        """
        return make()

    def judge(self, make: Callable[[], Judge], run: RunOptions) -> Judge:
        """Make the local judge with ``make``, which can be pickled, wherever that is called."""
        return make()

    def first_stage(self, device: str) -> FirstStage:
        """Get the function that searches the vectors of a corpus."""
        from citeforge.engines.retrieval.exact import retrieve_candidates

        return partial(retrieve_candidates, device=device)


LOCAL = Runner()


def runner_names() -> list[str]:
    """List names of all runners, built-in ones first, without importing plugins."""
    return [LOCAL.name, *(name for name, _ in plugins.entry_names(GROUP))]


def runner_flags(place: str) -> Iterator[Flag]:
    """Yield options of plugins' runners, each prefixed with its runner's name.

    Args:
        place: field of the run options that holds them.
    """
    for entry in plugins.load_entries(GROUP):
        runner = _require_runner(*entry)
        for flag in flags_of(runner.options, (place, runner.name)):
            yield replace(flag, name=_flag(runner.name, flag.place[-1]))


def make_runner(run: RunOptions) -> Runner:
    """Make the runner that run options name, with its options.

    Raises:
        UsageError: no such runner, options of another, or wrong ones.
        InputError: the plugin that defines it is broken.
    """
    runner = _find(run.engine)
    for other in run.engine_options:
        if other != run.engine:
            raise UsageError(
                f"options of {other} require --engine {other}, not {run.engine}",
                code="option-without-effect",
            )
    try:
        options = runner.options.model_validate(run.engine_options.get(run.engine, {}))
    except ValidationError as error:
        first = error.errors()[0]
        flag = _flag(run.engine, *map(str, first["loc"]))
        raise UsageError(
            f"{flag}: {first['msg'].removeprefix('Value error, ')}", code="bad-option"
        ) from error
    return runner(options)


def _flag(*words: str) -> str:
    return "--" + "-".join(words).replace("_", "-")


def _find(name: str) -> type[Runner]:
    if name == LOCAL.name:
        return Runner
    entry = plugins.find_entry(GROUP, name)
    if entry is not None:
        return _require_runner(*entry)
    raise UnknownValueError("engine", name, runner_names())


def _require_runner(value: object, origin: str) -> type[Runner]:
    if isinstance(value, type) and issubclass(value, Runner):
        return value
    raise plugins.broken_plugin("a runner", origin, TypeError(f"{value!r} is no class of Runner"))
