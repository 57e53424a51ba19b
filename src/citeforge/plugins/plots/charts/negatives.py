"""How many negatives of a benchmark are relevant: before and after suspects were decided on."""

from __future__ import annotations

from citeforge.evaluator.statistics.intervals import wilson
from citeforge.plugins.plots.charts.forest import forest
from citeforge.plugins.plots.figure import Figure, Rows, figure_of
from citeforge.schemas.benchmarks.audit import Audit

_ALL, _KEPT = "all negatives", "those that stay"
_STRATA = {
    "relevant": "decided relevant",
    "cleared": "suspected, cleared",
    "unsuspected": "never suspected",
}


def negatives_plot(audit: Audit) -> Figure | None:
    """Estimated shares of relevant negatives with intervals: of all, of what stays, by stratum.

    Returns:
        None where nobody labelled a sample.
    """
    rows = _rows(audit)
    if not rows:
        return None
    plot = forest(rows, "of", "relevant (%), 95 % interval", 100)
    first = rows[0]
    title = f"{first['value']:.1f} % of the negatives are relevant"
    stays = next((r for r in rows if r["of"] == _KEPT), None)
    if stays is not None:
        title += f", {stays['value']:.1f} % of those that stay when what was decided relevant goes"
    words = "; ".join(f"{r['of']}: {r['value']:.1f} % ({r['low']:.1f} to {r['high']:.1f})"
                     for r in rows)  # fmt: skip
    assert audit.false_negatives is not None
    return figure_of(
        "negatives", title, f"{words}.",
        f"Estimated from labels of people, drawn at random; {audit.false_negatives.method}.",
        {"of": "of", "relevant (%)": "value", "low": "low", "high": "high", "negatives": "size",
         "labelled": "n"},
        rows, plot.drawn(plot.whiskers(), plot.dots()),
    )  # fmt: skip


def _rows(audit: Audit) -> Rows:
    share, cascade = audit.false_negatives, audit.cascade
    if share is None:
        return []
    rows: list[tuple[str, float, float, float, int | None, int]] = [
        (_ALL, share.share, share.low, share.high, audit.negatives, share.n)
    ]
    if cascade is not None and cascade.after is not None:
        after = cascade.after
        rows.append((_KEPT, after.share, after.low, after.high, None, after.n))
    if cascade is not None:
        for name, size in cascade.strata.items():
            n, hits = cascade.labelled.get(name, (0, 0))
            if size and n:
                rate = hits / n
                ends = (rate, rate) if n == size else wilson(rate, n)
                rows.append((_STRATA.get(name, name), rate, *ends, size, n))
    return [
        {"of": of, "value": 100 * value, "low": 100 * low, "high": 100 * high, "size": size, "n": n}
        for of, value, low, high, size, n in rows
    ]
