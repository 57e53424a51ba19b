"""Plots of single queries' values: their distribution, and the differences of two systems."""

import statistics
from collections.abc import Collection, Sequence
from typing import Any

from citeforge.evaluator.measures.registry import direction
from citeforge.plugins.plots import palette
from citeforge.plugins.plots.charts import (
    are_comparable,
    entries,
    entry,
    lookup,
    measure_and_unit,
    name_lines,
    per_query,
)
from citeforge.plugins.plots.figure import WIDTH, Figure, altair, figure_of, values
from citeforge.schemas.scores import ScoreFile

MOST_SYSTEMS = 12
"""Most systems whose distribution is drawn (the best ones)."""
_BINS = 20
_BARS = 400
"""Most bars of differences that are drawn; more queries are sampled evenly."""
_WORDS = "words per answer"


def distribution(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw histograms of a measure's values over queries, one per system, on shared axes.

    Returns:
        None where no system has values.
    """
    pairs = entries(files, measure)
    rows = [(f.system, numbers) for f, e in pairs if (numbers := per_query(e))]
    if not rows:
        return None
    scale = pairs[0][1].scale
    title_of_x = measure_and_unit(measure, scale)
    return _draw_histograms(rows, measure, title_of_x, "query", "queries", _names_of_ranked(files))


def best_differences(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the differences by query between the two best systems (best minus second).

    A single system is compared with the first reference; None where there is no pair.
    """
    pairs = entries(files, measure)
    if not any(are_comparable(pairs)):
        return None
    (best, of_best), *others = pairs
    recipe = (of_best.signature, best.query_ids)
    other = next((f for f, e in others if (e.signature, f.query_ids) == recipe), None)
    return None if other is None else query_differences(other, best, measure)


def answer_lengths(files: Sequence[ScoreFile]) -> Figure | None:
    """Draw histograms of the number of words per answer; None where no score file has answers."""
    rows = []
    for file in files:
        n_words = [float(sum(len(s.text.split()) for s in a.statements)) for a in file.answers]
        if n_words:
            rows.append((file.system, n_words))
    if not rows:
        return None
    return _draw_histograms(rows, "length", _WORDS, "answer", "answers", _names_of_ranked(files))


def _names_of_ranked(files: Sequence[ScoreFile]) -> set[str]:
    """Get the names of the systems that are not references, which titles may name."""
    return {f.system for f in files if not f.is_control}


def _draw_histograms(
    rows: Sequence[tuple[str, list[float]]], name: str, title_of_x: str, one: str, several: str,
    ranked: Collection[str],
) -> Figure:  # fmt: skip
    """Draw one histogram of values per system, all on the same axes."""
    alt = altair()
    all_rows, rows = rows, rows[:MOST_SYSTEMS]
    low = min(0.0, *(min(numbers) for _, numbers in rows))
    high = max(max(numbers) for _, numbers in rows)
    high = high if high > low else low + 1
    step = (high - low) / _BINS
    cells: list[dict[str, Any]] = []
    for system, numbers in rows:
        counts = [0] * _BINS
        for value in numbers:
            counts[min(_BINS - 1, int((value - low) / step))] += 1
        cells += [
            {"system": system, "from": low + i * step, "to": low + (i + 1) * step, "count": n,
             "share": 100 * n / len(numbers)}
            for i, n in enumerate(counts)
        ]  # fmt: skip
    names = [system for system, _ in rows]
    bars = alt.Chart(values(cells)).mark_bar(color=palette.colour(0)).encode(
        x=alt.X("from:Q", title=f"{title_of_x}, by {one}", bin="binned",
                scale=alt.Scale(domain=[low, high], nice=False)),
        x2=alt.X2("to"),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(tickCount=3, format="d")),
    ).properties(width=WIDTH, height=52)  # fmt: skip
    labels = lookup(name_lines(names, 40))
    chart = bars.facet(
        row=alt.Row("system:N", sort=names, title=f"share of {several} (%)",
                    header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top",
                                      labelAnchor="start",
                                      labelPadding=2, labelLimit=WIDTH, labelExpr=labels)),
        spacing=8,
    )  # fmt: skip
    middles = {system: statistics.median(numbers) for system, numbers in rows}
    candidates = [n for n in names if n in ranked] or names
    best = max(candidates, key=lambda n: middles[n])
    title = f"Median {name} of {several}: {middles[best]:.1f}"
    worst = min(candidates, key=lambda n: middles[n])
    if middles[worst] == middles[best]:
        title += f" with {best}" if len(candidates) == 1 else " with each system"
    else:
        title += f" with {best}, {middles[worst]:.1f} with {worst}"
    note = f"{_BINS} bins of equal width, the same axes for all systems."
    if len(all_rows) > MOST_SYSTEMS:
        note += f" The first {MOST_SYSTEMS} of {len(all_rows)} systems."
    words = "; ".join(f"{n}: median {middles[n]:.1f}" for n in names)
    return figure_of(
        f"distribution-{name}", title, f"{words}.", note,
        {"system": "system", "from": "from", "to": "to", several: "count",
         f"share of {several} (%)": "share"},
        cells, chart,
    )  # fmt: skip


def query_differences(first: ScoreFile, second: ScoreFile, measure: str) -> Figure | None:
    """Draw the second minus the first system's value on every query where both are defined, sorted.

    Returns:
        None where there is no such query, or the files have different queries.
    """
    alt = altair()
    a, b = entry(first, measure), entry(second, measure)
    if a is None or b is None or first.query_ids != second.query_ids:
        return None
    gaps = sorted(
        ((y - x) * a.scale, q)
        for q, x, y in zip(first.query_ids, a.per_query, b.per_query, strict=True)
        if x is not None and y is not None
    )
    if not gaps:
        return None
    n = len(gaps)
    towards = direction(measure)
    sign = -1 if towards is False else 1
    more, less = ("higher", "lower") if towards is None else ("better", "worse")
    better, worse = sum(sign * d > 0 for d, _ in gaps), sum(sign * d < 0 for d, _ in gaps)
    drawn = [min(n - 1, i * n // _BARS) for i in range(_BARS)] if n > _BARS else range(n)
    edges = [*drawn, n]
    one, other = f"{first.system} is {more}", f"{second.system} is {more}"
    bars: list[dict[str, Any]] = [
        {"from": i, "to": end, "difference": gaps[i][0], "zero": 0,
         "who": other if sign * gaps[i][0] > 0 else one}
        for i, end in zip(drawn, edges[1:], strict=True) if gaps[i][0]
    ]  # fmt: skip
    sides = alt.Scale(domain=[one, other], range=[palette.colour(1), palette.colour(0)])
    key = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=WIDTH)
    chart = alt.Chart(values(bars)).mark_rect().encode(
        x=alt.X("from:Q", title="queries, sorted by the difference",
                scale=alt.Scale(domain=[0, n], nice=False)),
        x2=alt.X2("to"),
        y=alt.Y("zero:Q", title=f"difference of {measure_and_unit(measure, a.scale)}"),
        y2=alt.Y2("difference"),
        # Bars that only touch show the background between them.
        strokeWidth=alt.StrokeWidthValue(0.6), stroke=alt.Stroke("who:N", legend=None, scale=sides),
        color=alt.Color("who:N", legend=key, scale=sides),
    ).properties(width=WIDTH, height=240)  # fmt: skip
    if not bars:
        level = alt.Y("zero:Q", scale=alt.Scale(domain=[-1, 1]))
        line = alt.Chart(values([{"zero": 0}])).mark_rule(color=palette.SOFT, strokeWidth=2)
        chart = alt.layer(chart, line.encode(y=level))
    title = (
        f"{measure}: {second.system} is {more} than {first.system} on {better:,} queries, "
        f"{less} on {worse:,}, equal on {n - better - worse:,}"
    )
    note = "One bar a query." if n <= _BARS else f"{_BARS} of {n:,} queries, evenly by rank."
    gap = f"{second.system} − {first.system}, {measure_and_unit(measure, a.scale)}"
    return figure_of(
        f"differences-{measure}", title,
        f"The largest differences are {gaps[0][0]:+.1f} and {gaps[-1][0]:+.1f}.", note,
        {"query": "query", gap: "gap"}, [{"query": q, "gap": d} for d, q in gaps], chart,
    )  # fmt: skip
