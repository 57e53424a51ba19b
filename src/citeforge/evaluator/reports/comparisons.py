"""Comparisons as files: a page, data, tables."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from citeforge.engines.io.files import write_text
from citeforge.engines.io.report_table import Table, comment
from citeforge.evaluator.reports.markup import page_templates
from citeforge.evaluator.reports.report import format_of
from citeforge.evaluator.reports.table import difference_tables
from citeforge.evaluator.statistics.compare import (
    BY_QUERY_NOTE,
    Comparison,
    Difference,
    compare_many,
)
from citeforge.schemas.commands.command_options import CompareOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import ScoreFile

_TEMPLATES = Path(__file__).parent / "templates"
_NOTE = (
    "Second minus first system over the queries that both define; 95 % intervals; p of paired t "
    "and permutation tests, the latter adjusted by Holm over all pairs and measures of this table; "
    "the smallest difference that 80 % power finds."
)


def _note(comparison: Comparison) -> str:
    """How the tables are to be read."""
    marked = any(d.by_query for d in comparison.differences)
    return " ".join(
        [_NOTE, *[BY_QUERY_NOTE] * marked, *(f"{line}." for line in comparison.cautions)]
    )


def to_html(comparison: Comparison) -> str:
    """One page that asks nothing from outside."""
    tables = difference_tables(comparison.differences, has_bold=True)
    template = page_templates(_TEMPLATES).get_template("comparison.html.j2")
    return template.render(tables=tables, note=_note(comparison), left_out=comparison.left_out)


def to_markdown(comparison: Comparison) -> str:
    """A table a pair."""
    parts = [_note(comparison)]
    for _, table in difference_tables(comparison.differences):
        parts += [f"## {table.title}" + "".join(f" ({n})" for n in table.notes), table.markdown()]
    return "\n\n".join([*parts, *(f"Not compared: {line}" for line in comparison.left_out)]) + "\n"


def to_latex(comparison: Comparison) -> str:
    """A tabular a pair, for booktabs."""
    lines = [comment(_note(comparison))]
    for _, table in difference_tables(comparison.differences):
        heading = comment(" ".join([table.title, *table.notes]))
        lines += [heading, *replace(table, notes=()).latex()]
    return "\n".join([*lines, *(comment(f"not compared: {x}") for x in comparison.left_out)]) + "\n"


_FIGURES = ("n", "difference", "low", "high", "p_t", "p_permutation", "p_holm", "detectable")


def comparison_csv(comparison: Comparison) -> str:
    """One line a measure and pair."""
    head = ("measure", "first", "second", *_FIGURES, "also", "across", "by_query", "trivial")
    rows = [
        (d.measure, d.first, d.second, *(getattr(d, name) for name in _FIGURES), " ".join(d.also),
         "; ".join(d.across), " ".join(d.by_query), " ".join(d.trivial))
        for d in comparison.differences
    ]  # fmt: skip
    return Table(head, rows).csv()


def to_json(found: Comparison) -> str:
    """All numbers; null where one is not defined."""

    def plain(d: Difference) -> dict[str, object]:
        return {
            k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(d).items()
        }

    content = {"differences": [plain(d) for d in found.differences], "left_out": found.left_out,
               "cautions": found.cautions}  # fmt: skip
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


COMPARISONS: dict[str, Callable[[Comparison], str]] = {
    "html": to_html, "md": to_markdown, "latex": to_latex, "csv": comparison_csv, "json": to_json,
}  # fmt: skip
"""Format to what writes a comparison in it."""


def compare_files(
    files: Sequence[ScoreFile], options: CompareOptions, out: Path | None
) -> Comparison:
    """Compare systems, and write the comparison where a file is named.

    Args:
        files: score files.
        options: which of them are compared, and on what.
        out: file to write; its ending says the format. None to write none.

    Raises:
        UsageError: fewer than two files, no comparison is written in such a file, or as
            :func:`~citeforge.evaluator.statistics.compare.compare_many`.
        UnknownValueError: no such system or measure.
        InputError: no pair can be compared.
    """
    if len(files) < 2:
        raise UsageError("compare needs the scores of at least two systems")
    if (form := format_of(out)) not in COMPARISONS:
        raise UsageError(f"{out}: a comparison is written as {', '.join(COMPARISONS)}")
    comparison = compare_many(files, options.measures, options.against, options.across)
    if out is not None:
        write_text(out, COMPARISONS[form](comparison))
    return comparison
