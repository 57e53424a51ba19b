"""Systems by name; they are declared in ``schemas/systems.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from citeforge.engines.registry import Registry, resolved
from citeforge.evaluator.benchmark import Benchmark
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.system import System
from citeforge.schemas.systems import SYSTEMS as DECLARED

Lines = Callable[[str, Benchmark, list[str], int, int], Iterator[dict[str, Any]]]
"""(system, benchmark, context sets, runs, seed) to the lines of a submission."""


def _unknown(name: str) -> UsageError:
    return UnknownValueError("system", name, [s.name for s in DECLARED])


SYSTEMS: Registry[Choice, Iterator[dict[str, Any]]] = Registry(
    "system", "systems", DECLARED, "", _unknown
)


def require_system(name: str) -> Lines:
    """What a declaration names as the maker of answers; refuses an unknown name before anything is
    opened.

    Raises:
        UnknownValueError: no such system.
        InputError: the plugin that gives it is broken.
    """
    return SYSTEMS.factory(name)


def as_system(declared: Choice) -> System:
    """A declaration with all that is said of systems; a plugin's ``Choice`` says less."""
    if isinstance(declared, System):
        return declared
    return System(declared.name, "", declared.what, declared.factory, family="plugin")


def system_of(name: str) -> System:
    """The declaration of a system.

    Raises:
        UnknownValueError: no such system.
        InputError: the plugin that gives it is broken.
    """
    require_system(name)
    declared = SYSTEMS.get(name)
    assert declared is not None
    return as_system(declared)


def systems() -> dict[str, System]:
    """Every system by its name: ours, then plugins'."""
    return {name: as_system(declared) for name, declared in SYSTEMS.all().items()}


def options_of(system: System) -> type[Part]:
    """The record of a system's options."""
    if isinstance(system.options, str):
        found: type[Part] = resolved(system.options)  # type: ignore[assignment]
        return found
    given: type[Part] = system.options
    return given


def refusal(system: System, benchmark: Benchmark) -> str | None:
    """Why a system does not answer a benchmark, in words for the user; None where it does."""
    kind = benchmark.kind
    if reason := kind.refusal(f"run {system.name}"):
        return reason
    if system.shows not in ("any", kind.shows):
        return f"is to be shown {system.shows}, and {kind.name} benchmarks show {kind.shows}"
    if system.design and not kind.is_design:
        return f"answers the cells of an experiment, which {kind.name} benchmarks do not have"
    return None
