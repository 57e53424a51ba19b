"""Definitions of families of measures as Markdown: the text of their module, and a table.

The text is in the docstring of a module that declares measures, below a line ``## FAMILY``. Pages
of the documentation and of leaderboards show it.
"""

import inspect
import math
import re
from collections.abc import Iterable
from itertools import chain, groupby
from types import ModuleType

from citeforge.engines.plugins import load_entries
from citeforge.evaluator import measures as folder
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.registry import list_modules, measures


def built_in_families() -> tuple[str, ...]:
    """List the families of citeforge's own measures, in declared order."""
    return tuple(dict.fromkeys(m.family for m in measures().values() if m.origin is None))


def measures_of(family: str) -> list[Measure]:
    """List citeforge's own measures of a family, in declared order."""
    return [m for m in measures().values() if m.family == family and m.origin is None]


def family_definitions(family: str) -> str:
    """Write the definitions of a family of measures: text, formulas, edge cases and examples.

    Links such as ``(#citations)`` lead to sections of docs/definitions.md or to other families.

    Raises:
        LookupError: no docstring has a line ``## FAMILY``.
    """
    plugin_modules = (
        v for v, origin in load_entries("measures") if isinstance(v, ModuleType) and not origin
    )
    for module in chain.from_iterable(map(list_modules, (folder, *plugin_modules))):
        text = inspect.getdoc(module) or ""
        found = re.search(rf"^## {family}\n+(.*?)\n*(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if found:
            first, _, notes = found[1].partition("\n\n")
            return f"{first}\n\n{_formulas(family)}" + (notes and f"\n{notes}\n")
    raise LookupError(
        f"no docstring of the modules of the measures {family!r} has a line '## {family}', "
        "below which it says what docs/measures is to say"
    )


def _formulas(family: str) -> str:
    """Write a Markdown table of the measures of a family; equal neighbours share a row."""
    rows: list[tuple[str, ...]] = []
    for (formula, edge_cases, ends, is_better), same in groupby(
        measures_of(family),
        lambda m: (m.formula, m.edge_cases, "–".join(_value_range(m)), m.higher_is_better),
    ):
        names = [f"`{m.parameters['base']}@k`" if "cutoff" in m.parameters else f"`{m.name}`"
                 for m in same]  # fmt: skip
        range_ = "" if ends == "0–1" else ends
        better = {True: "", False: "lower", None: "neither"}[is_better]
        rows.append((", ".join(dict.fromkeys(names)), formula, range_, better, edge_cases))
    heads = ("measure", "value", "range, if not 0–1", "better, if not higher", "edge cases")
    kept = [i for i in range(len(heads)) if i < 2 or any(row[i] for row in rows)]
    return markdown_table([[row[i] for i in kept] for row in (heads, *rows)])


def _value_range(measure: Measure) -> tuple[str, str]:
    """Format the (smallest, greatest) possible value of a measure; ∞ without a bound."""
    low = "−∞" if math.isinf(measure.low) else f"{measure.low:g}".replace("-", "−")
    return low, "∞" if measure.high is None else f"{measure.high:g}"


def markdown_table(rows: Iterable[Iterable[str]]) -> str:
    """Write a Markdown table of rows of texts, header first; bars inside cells are escaped."""
    heads, *others = [list(row) for row in rows]
    lines = [heads, ["---"] * len(heads), *others]
    return "".join("| " + " | ".join(t.replace("|", "\\|") for t in row) + " |\n" for row in lines)
