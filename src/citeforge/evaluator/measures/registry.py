"""All measures, collected on demand from the files that declare and compute them.

A module of this folder, or of a plugin, declares measures by a tuple ``MEASURES``. The entry point
of a plugin leads to such a module, to a package of them, or to one measure.
"""

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from citeforge.engines import plugins
from citeforge.engines.plugins import PluginEntry
from citeforge.evaluator.measures import (
    alce_citations,
    alce_correctness,
    attributed_ir_citations,
    attributed_ir_gold,
    authorship,
    kalma_citations,
    kalma_honest,
    kalma_judged,
    kalma_marks,
    rage_citations,
    retrieval,
)
from citeforge.evaluator.measures.declared import Measure
from citeforge.schemas.errors import UnknownValueError, UsageError

ByName = dict[str, Measure]


MODULES: tuple[ModuleType, ...] = (
    rage_citations,
    alce_citations,
    alce_correctness,
    attributed_ir_citations,
    attributed_ir_gold,
    retrieval,
    authorship,
    kalma_citations,
    kalma_judged,
    kalma_honest,
    kalma_marks,
)
"""Modules that declare the measures of citeforge itself, in the order in which they are listed."""


BUILT_IN: tuple[Measure, ...] = (
    *rage_citations.MEASURES,
    *alce_citations.MEASURES,
    *alce_correctness.MEASURES,
    *attributed_ir_citations.MEASURES,
    *attributed_ir_gold.MEASURES,
    *retrieval.MEASURES,
    *authorship.MEASURES,
    *kalma_citations.MEASURES,
    *kalma_judged.MEASURES,
    *kalma_honest.MEASURES,
    *kalma_marks.MEASURES,
)
"""Measures that citeforge declares itself, without those of its plugins."""


@cache
def _collect_measures(entries: tuple[PluginEntry, ...]) -> ByName:
    """Collect the measures of citeforge and of the given plugins, by name.

    A plugin's measure whose name is taken is skipped with a warning.
    """
    listed = (map(m.at, m.cutoffs) if m.cutoffs else (m,) for m in BUILT_IN)
    collected = {m.name: m for several in listed for m in several}
    families = {m.family for m in collected.values()}
    for value, origin in plugins.load_entries("measures") if entries else ():
        for one in _declared_by(value, origin):
            if not isinstance(one, Measure):
                plugins.warn(f"{origin}: {one!r} is no measure")
            elif one.name in collected or one.name in families or _parse_with_cutoff(one.name):
                plugins.warn(f"{origin}: there is a measure {one.name!r} already")
            else:
                collected[one.name] = replace(one, origin=origin or None)
    return collected


def list_modules(module: ModuleType) -> Iterator[ModuleType]:
    """Yield a module and, if it is a package, the modules in its folder."""
    yield module
    for found in iter_modules(getattr(module, "__path__", ())):
        yield import_module(f"{module.__name__}.{found.name}")


def _declared_by(value: object, origin: str) -> list[object]:
    """List the measures that an entry point (``value``) of the plugin ``origin`` declares.

    A package with a module that cannot be imported declares none, with a warning.
    """
    if not isinstance(value, ModuleType):
        return [value]
    try:
        return [one for module in list_modules(value) for one in getattr(module, "MEASURES", ())]
    except Exception as error:  # code of others may raise anything
        plugins.warn(str(plugins.broken_plugin(f"measures of {value.__name__}", origin, error)))
        return []


def _parse_with_cutoff(name: str) -> Measure | None:
    """Make the built-in measure with a cutoff that a name asks for; None for other names.

    Raises:
        UsageError: its parameters are not possible.
    """
    parsed = (one.parse(name) for one in BUILT_IN)
    return next((m for m in parsed if m is not None), None)


def measures() -> ByName:
    """Map names to all measures, in order of declaration; P@k and the like at listed cutoffs."""
    return dict(_collect_measures(plugins.list_entries("measures")))


def _measures_for(names: Collection[str]) -> ByName:
    """Get the measures in which to look up names; load built-in plugins only if a name needs them.

    Measures of other packages may be of any family, so that these are always loaded.
    """
    entries, own = plugins.list_entries("measures"), _collect_measures(())
    known = {*own, *(m.family for m in own.values())}
    if any(e.origin for e in entries) or not all(n in known or _is_cutoff_name(n) for n in names):
        return _collect_measures(entries)
    return own


def _is_cutoff_name(name: str) -> bool:
    """Whether a name is of a built-in measure with a cutoff, such as ``P@7``."""
    base = name.partition("@")[0]
    return any(one.cutoffs and one.name == base for one in BUILT_IN)


def families() -> tuple[str, ...]:
    """List the names of the families of measures, in declared order."""
    return tuple(dict.fromkeys(m.family for m in measures().values()))


def parse(name: str) -> Measure:
    """Find the measure of a name, also with a cutoff that is not listed (``P@7``).

    Raises:
        UnknownValueError: there is none.
        UsageError: it cannot have such a parameter; says which it can have.
    """
    listed = _measures_for([name])
    measure = listed.get(name) or _parse_with_cutoff(name)
    if measure is None:
        raise UnknownValueError("measure", name, [*listed, *families()], "citeforge list measures")
    return measure


def find_measure(name: str) -> Measure | None:
    """Find the measure of a name in a score file; None if no installed package declares it."""
    try:
        return parse(name)
    except UsageError:
        return None


def direction(name: str) -> bool | None:
    """Whether a higher value of a measure in a score file is better; None where neither is.

    True for a measure that this installation does not have.
    """
    measure = find_measure(name.split("[")[0])
    return True if measure is None else measure.higher_is_better


def best_value(name: str) -> float | None:
    """Get the best possible value (unscaled) of a measure; None without bound or direction."""
    measure = find_measure(name.split("[")[0])
    if measure is None or measure.higher_is_better is None:
        return None
    best = measure.high if measure.higher_is_better else measure.low
    return best if best is not None and math.isfinite(best) else None


def declaration_order(name: str) -> tuple[int, int]:
    """Get a sort key that orders measures as declared: (index of declaration, cutoff or 0).

    ``P@7``, which is not listed, follows ``P@10``; names that no measure has come last.
    """
    listed = _measures_for([name])
    names = list(listed)
    if name in listed:
        return names.index(name), 0
    measure = find_measure(name)
    if measure is None:
        return len(names), 0
    base = measure.parameters.get("base")
    like = [i for i, m in enumerate(listed.values()) if m.parameters.get("base") == base]
    return like[-1], int(str(measure.parameters["cutoff"]))


def select(names: Iterable[str]) -> list[Measure]:
    """List the measures of the given names and families, in declared order.

    Raises:
        UnknownValueError: a name is neither.
        UsageError: a measure cannot have such a parameter; says which it can have.
    """
    names, by_name = list(names), dict[str, Measure]()
    listed = _measures_for(names)
    for name in names:
        family = {n: m for n, m in listed.items() if m.family == name}
        by_name |= family or {name: parse(name)}
    return [by_name[name] for name in sorted(by_name, key=declaration_order)]
