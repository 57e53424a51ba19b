"""Comparisons as files: a page, data, tables."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from jinja2 import Environment, StrictUndefined, select_autoescape

from citeforge.engines.io.textfiles import harmless
from citeforge.evaluator.reports import latex
from citeforge.evaluator.reports.table import difference_cells, difference_head
from citeforge.evaluator.statistics.compare import BY_QUERY_NOTE, Comparison, Difference
from citeforge.schemas.text import markdown_table

_TEMPLATE = Path(__file__).parent / "templates" / "comparison.html.j2"
_NOTE = (
    "Second minus first system over the queries that both define; 95 % intervals; p of paired t "
    "and permutation tests, the latter adjusted by Holm over the measures of a pair; the smallest "
    "difference that 80 % power finds."
)


def _note(found: Comparison) -> str:
    """How the tables are to be read."""
    marked = any(d.by_query for d in found.differences)
    return f"{_NOTE} {BY_QUERY_NOTE}" if marked else _NOTE


def _pairs(found: Comparison) -> dict[str, list[Difference]]:
    pairs: dict[str, list[Difference]] = {}
    for d in found.differences:
        pairs.setdefault(f"{d.second} − {d.first}", []).append(d)
    return pairs


def _across(rows: list[Difference]) -> str:
    parts = dict.fromkeys(p for d in rows for p in d.across)
    return f"across {'; '.join(parts)}" if parts else ""


def to_html(found: Comparison) -> str:
    """One page that asks nothing from outside."""
    environment = Environment(
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    pairs = [
        (
            title,
            rows[0].second,
            rows[0].first,
            _across(rows),
            [(difference_cells(d), d.p_holm < 0.05) for d in rows],
        )
        for title, rows in _pairs(found).items()
    ]
    return template.render(
        pairs=pairs, head=difference_head(), note=_note(found), left_out=found.left_out
    )  # fmt: skip


def to_markdown(found: Comparison) -> str:
    """A table a pair."""
    parts = [_note(found)]
    for title, rows in _pairs(found).items():
        across = _across(rows)
        parts += [f"## {title}" + (f" ({across})" if across else "")]
        parts += [markdown_table(difference_head(), map(difference_cells, rows))]
    return "\n\n".join([*parts, *(f"Not compared: {line}" for line in found.left_out)]) + "\n"


def to_latex(found: Comparison) -> str:
    """A tabular a pair, for booktabs."""
    lines = [latex.comment(_note(found))]
    for title, rows in _pairs(found).items():
        head = difference_head()
        lines += [latex.comment(f"{title} {_across(rows)}")]
        lines += latex.tabular(head, list(map(difference_cells, rows)), "l" + "r" * (len(head) - 1))
    return (
        "\n".join([*lines, *(latex.comment(f"not compared: {x}") for x in found.left_out)]) + "\n"
    )


def comparison_csv(found: Comparison) -> str:
    """One line a measure and pair."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["measure", "first", "second", "n", "difference", "low", "high", "p_t",
                     "p_permutation", "p_holm", "detectable", "also", "across",
                     "by_query"])  # fmt: skip
    for d in found.differences:
        found_numbers = (
            d.difference, d.low, d.high, d.p_t, d.p_permutation, d.p_holm, d.detectable,
        )  # fmt: skip
        numbers = ["" if math.isnan(x) else x for x in found_numbers]
        writer.writerow([d.measure, harmless(d.first), harmless(d.second), d.n, *numbers,
                         " ".join(d.also), harmless("; ".join(d.across)),
                         " ".join(d.by_query)])  # fmt: skip
    return text.getvalue()


def to_json(found: Comparison) -> str:
    """All numbers; null where one is not defined."""

    def plain(d: Difference) -> dict[str, object]:
        return {
            k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(d).items()
        }

    content = {"differences": [plain(d) for d in found.differences], "left_out": found.left_out}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


COMPARISONS: dict[str, Callable[[Comparison], str]] = {
    "html": to_html, "md": to_markdown, "latex": to_latex, "csv": comparison_csv, "json": to_json,
}  # fmt: skip
"""Format to what writes a comparison in it."""
