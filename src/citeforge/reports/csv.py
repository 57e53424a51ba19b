"""Reports as CSV; no cell starts a formula."""

import math

from citeforge.engines.report_table import Table
from citeforge.reports.comparison import ComparisonReport
from citeforge.reports.model import ScoreReport
from citeforge.reports.paper import PaperTable

_HEAD = ("system", "measure", "value", "low", "high", "n", "signature", "rank_low", "rank_high",
         "trivial", "line", "missing", "uncited", "refused")  # fmt: skip
_CORRECTED = ("corrected", "corrected_low", "corrected_high", "n_labels")
_SLICE = ("field", "slice")


def write_scores(report: ScoreReport) -> str:
    """Write scores as CSV: a line per system and measure (with ranks), then one per slice."""
    extra = _CORRECTED if any(row.score.corrected for row in report.rows) else ()
    labels = _SLICE if report.slice_fields else ()
    rows: list[tuple[object, ...]] = []
    for row in report.rows:
        m, counts, c = row.score, row.file.counts, row.score.corrected
        rows.append((
            row.file.system, m.name, m.value, m.low, m.high, m.n, m.signature,
            *(row.ranks or (None, None)), int(row.is_trivial), row.line,
            counts.n_missing, counts.n_uncited, counts.n_refused,
            *([c.value, c.low, c.high, c.n_labels] if c else [None] * len(extra)),
            *[""] * len(labels),
        ))  # fmt: skip
    for row in report.slice_rows():
        m = row.score
        score_fields = row.file.system, m.name, m.value, m.low, m.high, m.n, m.signature
        rows.append(
            (
                *score_fields,
                *[""] * (len(_HEAD) - len(score_fields) + len(extra)),
                *(row.slice or _SLICE),
            )
        )
    return Table([*_HEAD, *extra, *labels], rows).csv()


_FIGURES = ("n", "difference", "low", "high", "p_t", "p_permutation", "p_holm", "detectable")


def write_comparison(comparison: ComparisonReport) -> str:
    """Write a comparison of systems as CSV, with a line per measure and pair."""
    head = ("measure", "first", "second", *_FIGURES, "same_as", "across", "by_query", "trivial",
            "slice")  # fmt: skip
    rows = [
        (d.measure, d.first, d.second, *(getattr(d, name) for name in _FIGURES), d.same_as,
         "; ".join(d.across), d.by_query, d.is_trivial, d.slice)
        for d in comparison.differences
    ]  # fmt: skip
    return Table(head, rows).csv()


def write_paper(table: PaperTable) -> str:
    """Write a paper's table as CSV, a line per system and column, with 0/1 for bold and marks."""
    rows: list[tuple[object, ...]] = []
    for system in table.rows:
        for column in table.columns:
            cell = table.cells.get((system, column))
            if cell is None:
                continue
            m = cell.score
            parts = dict(p.partition(":")[::2] for p in m.signature.split("|"))
            significant = None if math.isnan(cell.p) else int(cell.is_significant)
            rows.append((
                system, column.context or parts.get("ctx", ""), m.name, m.value, m.low, m.high, m.n,
                int(cell.is_best), cell.p, significant, int(cell.is_trivial), int(cell.is_below),
                m.signature,
            ))  # fmt: skip
    head = ("system", "context", "measure", "value", "low", "high", "n", "best", "p_holm",
            "significant", "trivial", "below", "signature")  # fmt: skip
    return Table(head, rows).csv()
