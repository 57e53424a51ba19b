"""Plots of single queries and answers: distributions, differences of two systems, properties."""

import math
import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from citeforge.engines.shown import show_change, show_in_plot
from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.statistics.estimates import estimate_value, mean_sample
from citeforge.reports.pages import palette
from citeforge.reports.pages.charts import (
    are_comparable,
    find_score,
    lookup,
    measure_and_unit,
    name_lines,
    per_query,
    scores_best_first,
    system_encodings,
)
from citeforge.reports.pages.figure import WIDTH, Figure, altair, make_figure, values
from citeforge.schemas.scores import AnswerDetail, ScoreFile
from citeforge.schemas.tables import RELEVANT

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
    pairs = scores_best_first(files, measure)
    rows = [(f.system, numbers) for f, e in pairs if (numbers := per_query(e))]
    if not rows:
        return None
    scale = pairs[0][1].scale
    title_of_x = measure_and_unit(measure, scale)
    return _draw_histograms(rows, measure, title_of_x, "query", "queries", _names_of_ranked(files))


def best_differences(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the differences by query between the two best systems (best minus second).

    A single system is compared with the first control; None where there is no pair.
    """
    pairs = scores_best_first(files, measure)
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
    """Get the names of all systems that are not controls."""
    return {f.system for f in files if not f.is_control}


def _draw_histograms(
    rows: Sequence[tuple[str, list[float]]],
    measure_name: str,
    title_of_x: str,
    item_noun: str,
    item_plural: str,
    ranked_systems: Collection[str],
) -> Figure:
    """Draw one histogram of values per system, all on the same axes.

    Args:
        rows: (system, its values).
        measure_name: name of what the values measure.
        title_of_x: the same with its unit.
        item_noun: what a value is of, such as "query".
        item_plural: its plural.
        ranked_systems: systems that the title may name; the others are controls.
    """
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
        x=alt.X("from:Q", title=f"{title_of_x}, by {item_noun}", bin="binned",
                scale=alt.Scale(domain=[low, high], nice=False)),
        x2=alt.X2("to"),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(tickCount=3, format="d")),
    ).properties(width=WIDTH, height=52)  # fmt: skip
    labels = lookup(name_lines(names, 40))
    chart = bars.facet(
        row=alt.Row("system:N", sort=names, title=f"share of {item_plural} (%)",
                    header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top",
                                      labelAnchor="start",
                                      labelPadding=2, labelLimit=WIDTH, labelExpr=labels)),
        spacing=8,
    )  # fmt: skip
    middles = {system: statistics.median(numbers) for system, numbers in rows}
    candidates = [n for n in names if n in ranked_systems] or names
    best = max(candidates, key=lambda n: middles[n])
    title = f"Median {measure_name} of {item_plural}: {show_in_plot(middles[best])}"
    worst = min(candidates, key=lambda n: middles[n])
    if middles[worst] == middles[best]:
        title += f" with {best}" if len(candidates) == 1 else " with each system"
    else:
        title += f" with {best}, {show_in_plot(middles[worst])} with {worst}"
    note = f"{_BINS} bins of equal width, the same axes for all systems."
    if len(all_rows) > MOST_SYSTEMS:
        note += f" The first {MOST_SYSTEMS} of {len(all_rows)} systems."
    words = "; ".join(f"{n}: median {show_in_plot(middles[n])}" for n in names)
    return make_figure(
        f"distribution-{measure_name}", title, f"{words}.", note,
        {"system": "system", "from": "from", "to": "to", item_plural: "count",
         f"share of {item_plural} (%)": "share"},
        cells, chart,
    )  # fmt: skip


def query_differences(first: ScoreFile, second: ScoreFile, measure: str) -> Figure | None:
    """Draw the second minus the first system's value on every query where both are defined, sorted.

    Returns:
        None where there is no such query, or the files have different queries.
    """
    alt = altair()
    a, b = find_score(first, measure), find_score(second, measure)
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
    return make_figure(
        f"differences-{measure}", title,
        f"The largest differences are {show_change(gaps[0][0])} and "
        f"{show_change(gaps[-1][0])}.", note,
        {"query": "query", gap: "gap"}, [{"query": q, "gap": d} for d, q in gaps], chart,
    )  # fmt: skip


MOST = 6
"""Most systems that are drawn (the best ones): as many as there are colours."""


def _first_relevant_position(answer: AnswerDetail) -> int | None:
    """Get the position, from 1, of the first relevant passage shown for an answer; None without."""
    positions = (i for i, p in enumerate(answer.passages, 1) if p.label == RELEVANT)
    return next(positions, None)


def _count_citations(answer: AnswerDetail) -> int | None:
    """Count the distinct citations of an answer; None if the answer is missing."""
    return None if answer.is_missing else len(answer.all_cited)


@dataclass(frozen=True)
class AnswerProperty:
    """Property by which a plot groups answers (its x axis).

    Attributes:
        name: name of the plot.
        axis: title of the x axis.
        words: text for titles, with ``{}`` for a value.
        get: gets an answer's value; None where it has none.
        last: values from this one on are one group; None for no such group.
    """

    name: str
    axis: str
    words: str
    get: Callable[[AnswerDetail], int | None]
    last: int | None = None


POSITION = AnswerProperty(
    "position", "position of the first relevant passage", "at position {}", _first_relevant_position
)
CITATIONS = AnswerProperty(
    "citations", "distinct passages or triples that an answer cites", "where it cites {}",
    _count_citations, 9,
)  # fmt: skip


def by_property(prop: AnswerProperty, files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw mean scores of groups of answers that share a property, such as a citation count.

    Returns:
        None where no score file has answers with two values of the property.
    """
    alt = altair()
    rows: list[dict[str, Any]] = []
    drawn: list[ScoreFile] = []
    answering = [f for f, _ in scores_best_first(files, measure) if f.answers]
    for file in answering:
        # A system that brought its own passages has no relevant ones, and so no groups.
        mine = _group_means(file, measure, prop) if len(drawn) < MOST else []
        drawn += [file] if mine else []
        rows += mine
    if len({r["x"] for r in rows}) < 2:
        return None
    measured = find_score(drawn[0], measure)
    assert measured is not None
    names = [f.system for f in drawn]
    look = system_encodings(names, [f.system for f in files], legend=True)
    base = alt.Chart(values(rows))
    down = {"title": f"mean {measure_and_unit(measure, measured.scale)}, 95 % interval",
            "scale": alt.Scale(zero=False)}  # fmt: skip
    dodge = alt.XOffset("system:N", sort=names, scale=alt.Scale(domain=names))
    order = list(dict.fromkeys(r["at"] for r in sorted(rows, key=lambda r: r["x"])))
    x = alt.X("at:N", title=prop.axis, sort=order, axis=alt.Axis(labelAngle=0))
    chart = alt.layer(
        base.mark_rule(opacity=0.6).encode(x=x, xOffset=dodge, color=look["color"],
                                           y=alt.Y("low:Q", **down), y2=alt.Y2("high")),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, xOffset=dodge,
                                                                y=alt.Y("value:Q", **down), **look),
    ).properties(width=WIDTH, height=240)  # fmt: skip
    title = _title(rows, names, measure, prop.words)
    note = "Mean over the queries of each column, with 95 % intervals (columns of one query: none)."
    if len(answering) > len(drawn):
        note += f" The best {len(drawn)} of {len(answering)} systems with answers."
    words = (f"{r['system']} at {r['at']}: {show_in_plot(r['value'])}" for r in rows[:20])
    return make_figure(
        f"{prop.name}-{measure}", title, "; ".join(words) + ".", note,
        {"system": "system", prop.axis: "at", measure_and_unit(measure, measured.scale): "value",
         "low": "low", "high": "high", "queries": "n"},
        rows, chart,
    )  # fmt: skip


def _group_means(file: ScoreFile, measure: str, prop: AnswerProperty) -> list[dict[str, Any]]:
    """Average a measure over answers grouped by a property: a chart row per group of answers."""
    score = find_score(file, measure)
    assert score is not None
    by_query = dict(zip(file.query_ids, score.per_query, strict=True))
    columns: dict[int, list[float]] = {}
    for answer in file.answers:
        group, value = prop.get(answer), by_query.get(answer.query_id)
        if group is not None and value is not None:
            group = group if prop.last is None else min(group, prop.last)
            columns.setdefault(group, []).append(value)
    rows: list[dict[str, Any]] = []
    declared = find_measure(measure.partition("[")[0])
    for group in sorted(columns):
        sample = mean_sample(np.array([columns[group]]))
        if declared is not None:
            sample = replace(sample, within=declared.range)
        estimate = estimate_value(sample)
        value, low, high = (score.scale * x for x in (estimate.value, estimate.low, estimate.high))
        ends = (value, value) if math.isnan(low) else (low, high)
        rows.append({"system": file.system, "x": group, "value": value, "low": ends[0],
                     "high": ends[1], "n": len(columns[group]),
                     "at": f"{group}+" if group == prop.last else str(group)})  # fmt: skip
    return rows


def _title(
    rows: Sequence[dict[str, Any]], names: Sequence[str], measure: str, template: str
) -> str:
    """Write a plot's title: the first system's mean values in its first and last group.

    Args:
        rows: rows of :func:`_group_means`.
        names: systems drawn, the best first.
        measure: measure that is drawn.
        template: text with ``{}`` for the group, such as ``where it cites {}``.
    """
    mine = [r for r in rows if r["system"] == names[0]]
    first, end = mine[0], mine[-1]
    text = (
        f"{measure} of {names[0]} is {show_in_plot(first['value'])} {template.format(first['at'])}"
    )
    return (
        text
        if end is first
        else f"{text}, {show_in_plot(end['value'])} {template.format(end['at'])}"
    )
