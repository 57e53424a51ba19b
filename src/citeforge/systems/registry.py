"""Systems by name: the code and the options of each that ``schemas/systems`` declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from citeforge.engines.registry import Registry
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.models.choices import Choice
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.systems.declaration import System
from citeforge.schemas.systems.listed import SYSTEMS as DECLARED
from citeforge.systems import authorship, kalma, passages, rage
from citeforge.systems.llm.asking import from_graphs, from_passages
from citeforge.systems.options import EditedOptions, LlmOptions

Lines = Callable[[str, Benchmark, list[str], int, int], Iterator[dict[str, Any]]]
"""(system, benchmark, context sets, runs, seed) to the lines of a submission."""


def _unknown(name: str) -> UsageError:
    return UnknownValueError("system", name, [s.name for s in DECLARED])


_PLAIN: dict[str, Lines] = {
    **dict.fromkeys(("random", "echo-relevant"), rage.lines),
    **dict.fromkeys(("gold", "all-gold", "top-1", "top-1-two-sentences"), passages.lines),
    **dict.fromkeys(("label-blind", "label-follower"), authorship.lines),
    **dict.fromkeys(("absent-blind", "absent-aware"), kalma.lines),
}
_ASKING: dict[str, tuple[Callable[..., Any], type[Part]]] = {
    "rage": (partial(from_passages, "rage"), EditedOptions),
    "authorship": (partial(from_passages, "authorship"), LlmOptions),
    "kalma": (from_graphs, LlmOptions),
}
SYSTEMS: Registry[Choice, Any] = Registry(
    "system",
    "systems",
    DECLARED,
    {**_PLAIN, **{name: make for name, (make, _) in _ASKING.items()}},
    "",
    _unknown,
)


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
    return as_system(SYSTEMS.complete_declaration(name))


def systems() -> dict[str, System]:
    """Every system by its name: ours, then plugins'."""
    return {name: as_system(declared) for name, declared in SYSTEMS.all().items()}


def options_of(system: System) -> type[Part]:
    """The record of a system's options."""
    _, ours = _ASKING.get(system.name, (None, Part))
    return system.options or ours


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
