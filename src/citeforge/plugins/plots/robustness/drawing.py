"""Ranks of systems under every definition, as a figure."""

from typing import Any

from citeforge.plugins.plots.charts.common import mark_size, system_encodings
from citeforge.plugins.plots.charts.forest import forest
from citeforge.plugins.plots.figure import Figure, altair, figure_of
from citeforge.plugins.plots.robustness.orders import Robustness, headline


def ranks_figure(result: Robustness) -> Figure:
    """One row a definition, one line a system: lines cross where two definitions disagree."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {"definition": f"D{number} {one.name}", "order": number, "system": system, "rank": rank,
         "low": rank, "high": rank, "value": value,
         "size": mark_size(one.ranks[place + 1 :].count(rank))}
        for number, one in enumerate(result.definitions, 1)
        for place, (system, rank, value)
        in enumerate(zip(result.systems, one.ranks, one.values, strict=True))
    ]  # fmt: skip
    plot = forest(rows, "definition", "rank", None)
    ticks = list(range(1, len(result.systems) + 1))
    x = alt.X(
        "rank:Q", title="rank (1 is the best)",
        axis=alt.Axis(values=ticks, format="d", orient="top"),
        scale=alt.Scale(domain=[0.7, len(ticks) + 0.3], nice=False, zero=False),
    )  # fmt: skip
    encodings = system_encodings(result.systems, result.systems, legend=True)
    lines = plot.base.mark_line(strokeWidth=1.5).encode(
        x=x, y=plot.y, color=encodings["color"], order=alt.Order("order:Q"), detail="system:N"
    )
    points = plot.base.mark_point(filled=True, opacity=1).encode(
        x=x, y=plot.y, size=alt.Size("size:Q", scale=None, legend=None), **encodings
    )
    title = headline(result)
    orders = [sorted(zip(d.ranks, result.systems, strict=True)) for d in result.definitions[:12]]
    words = "; ".join(
        f"{one.name}: {', '.join(system for _, system in order)}"
        for one, order in zip(result.definitions, orders, strict=False)
    )
    return figure_of(
        "robustness", title, f"From the best: {words}.",
        "One line a system, one row a definition. Lines cross where definitions disagree. "
        "Equal values share the mean of their places.",
        {"definition": "definition", "system": "system", "rank": "rank", "value": "value"},
        rows, plot.drawn(lines, points),
    )  # fmt: skip
