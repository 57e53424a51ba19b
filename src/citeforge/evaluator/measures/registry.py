"""All measures, collected from the files that declare and compute them, when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.forms import Form
from citeforge.schemas.errors import UnknownValueError, UsageError

_MODULES = (
    "measures.rage",
    "measures.alce_citations",
    "measures.alce_length",
    "measures.str_em",
    "measures.qampari",
    "measures.alce_rouge",
    "measures.mauve",
    "measures.qa",
    "measures.claim_recall",
    "measures.auto_ais",
    "measures.nli",
    "measures.overlap",
    "measures.bleu",
    "measures.rouge",
    "measures.bertscore",
    "measures.retrieval",
    "authorship.measures",
    "kalma.citations",
    "kalma.judged",
    "kalma.geval",
)
"""Files with ``MEASURES``, in the order of the list of measures."""

_added: list[Measure | Form] = []

Declared = Measure | Form | ModuleType | Iterable[Measure | Form]


def add(found: Declared, origin: str | None = None) -> None:
    """Add measures that a plugin brings.

    Args:
        found: a measure, several, or a module with ``MEASURES``.
        origin: name and version of the plugin; it stands in the signatures of its measures.

    Raises:
        UsageError: one of them has the name of another measure or family, or is no measure.
    """
    if isinstance(found, ModuleType):
        found = getattr(found, "MEASURES", ())
    several = [found] if isinstance(found, Measure | Form) else list(found)
    who, names = origin or "a plugin", [*families()]
    for one in several:
        if not isinstance(one, Measure | Form):
            raise UsageError(f"{who}: {one!r} is no measure")
        for measure in _listed(one):
            if measure.name in names or find(measure.name) is not None:
                raise UsageError(f"{who}: there is a measure {measure.name!r} already")
            names.append(measure.name)
    if not several:
        raise UsageError(f"{who}: declares no measure")
    _added.extend(replace(one, origin=origin) for one in several)
    _collected.cache_clear()


@cache
def _collected() -> tuple[Measure | Form, ...]:
    found: list[Measure | Form] = []
    for name in _MODULES:
        found += import_module(f"citeforge.evaluator.{name}").MEASURES
    return (*found, *_added)


def _listed(one: Measure | Form) -> list[Measure]:
    return [one] if isinstance(one, Measure) else one.measures()


def measures() -> dict[str, Measure]:
    """Name to measure, in declared order; of those with a cutoff, the usual ones."""
    return {m.name: m for one in _collected() for m in _listed(one)}


def families() -> tuple[str, ...]:
    """Names of the families, in declared order."""
    return tuple(dict.fromkeys(m.family for m in measures().values()))


def parse(name: str) -> Measure:
    """The measure of a name, also one that is not listed (``P@7``).

    Raises:
        UnknownValueError: there is none.
        UsageError: it cannot have such a parameter; says which it can have.
    """
    listed = measures()
    if name in listed:
        return listed[name]
    for form in _collected():
        found = form.parse(name) if isinstance(form, Form) else None
        if found is not None:
            return found
    raise UnknownValueError("measure", name, [*listed, *families()])


def find(name: str) -> Measure | None:
    """The measure of a name that a score file holds; None when this installation has none."""
    try:
        return parse(name)
    except UsageError:
        return None


def place(name: str) -> tuple[int, int]:
    """Where a measure stands in the declared order; one that is not listed follows its like.

    Names that no measure has come last.
    """
    listed = list(measures().values())
    names = [m.name for m in listed]
    if name in names:
        return names.index(name), 0
    found = find(name)
    if found is None:
        return len(names), 0
    base = found.parameters.get("base")
    like = [i for i, m in enumerate(listed) if m.parameters.get("base") == base]
    return like[-1], int(str(found.parameters["cutoff"]))


def select(names: Iterable[str]) -> list[Measure]:
    """Measures of the given names and families, in declared order.

    Raises:
        UnknownValueError: a name is neither.
        UsageError: a measure cannot have such a parameter; says which it can have.
    """
    of_family: dict[str, list[Measure]] = {}
    for measure in measures().values():
        of_family.setdefault(measure.family, []).append(measure)
    chosen: dict[str, Measure] = {}
    for name in names:
        if name in of_family:
            chosen.update((m.name, m) for m in of_family[name])
        else:
            chosen[name] = parse(name)
    return [chosen[name] for name in sorted(chosen, key=place)]
