"""Plots of scores by a property of answers: position of a relevant passage, number of citations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.statistics.estimates import estimate_value, mean_sample
from citeforge.plugins.plots.charts import (
    entries,
    entry,
    measure_and_unit,
    system_encodings,
)
from citeforge.plugins.plots.figure import WIDTH, Figure, altair, figure_of, values
from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.scores import AnswerDetail, ScoreFile

MOST = 6
"""Most systems that are drawn (the best ones): as many as there are colours."""


def _first_relevant_position(answer: AnswerDetail) -> int | None:
    """Get the position, from 1, of the first relevant passage shown for an answer; None without."""
    places = (i for i, p in enumerate(answer.passages, 1) if p.label == RELEVANT)
    return next(places, None)


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
    """Draw mean scores by a property of answers, such as their number of citations.

    Returns:
        None where no score file has answers with two values of the property.
    """
    alt = altair()
    rows: list[dict[str, Any]] = []
    drawn: list[ScoreFile] = []
    answering = [f for f, _ in entries(files, measure) if f.answers]
    for file in answering:
        # A system that brought its own passages has no relevant ones, and so no groups.
        mine = _group_means(file, measure, prop) if len(drawn) < MOST else []
        drawn += [file] if mine else []
        rows += mine
    if len({r["x"] for r in rows}) < 2:
        return None
    measured = entry(drawn[0], measure)
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
    return figure_of(
        f"{prop.name}-{measure}", title,
        "; ".join(f"{r['system']} at {r['at']}: {r['value']:.1f}" for r in rows[:20]) + ".", note,
        {"system": "system", prop.axis: "at", measure_and_unit(measure, measured.scale): "value",
         "low": "low", "high": "high", "queries": "n"},
        rows, chart,
    )  # fmt: skip


def _group_means(file: ScoreFile, measure: str, prop: AnswerProperty) -> list[dict[str, Any]]:
    """Average a measure over the answers with each value of a property, with intervals."""
    score = entry(file, measure)
    assert score is not None
    by_query = dict(zip(file.query_ids, score.per_query, strict=True))
    columns: dict[int, list[float]] = {}
    for answer in file.answers:
        at, value = prop.get(answer), by_query.get(answer.query_id)
        if at is not None and value is not None:
            at = at if prop.last is None else min(at, prop.last)
            columns.setdefault(at, []).append(value)
    rows: list[dict[str, Any]] = []
    declared = find_measure(measure.partition("[")[0])
    for at in sorted(columns):
        sample = mean_sample(np.array([columns[at]]))
        if declared is not None:
            sample = replace(sample, within=declared.range)
        estimate = estimate_value(sample)
        value, low, high = (score.scale * x for x in (estimate.value, estimate.low, estimate.high))
        ends = (value, value) if math.isnan(low) else (low, high)
        rows.append({"system": file.system, "x": at, "value": value, "low": ends[0],
                     "high": ends[1], "n": len(columns[at]),
                     "at": f"{at}+" if at == prop.last else str(at)})  # fmt: skip
    return rows


def _title(rows: Sequence[dict[str, Any]], names: Sequence[str], measure: str, words: str) -> str:
    """Write the title: the first system's means in its first and last group."""
    mine = [r for r in rows if r["system"] == names[0]]
    first, end = mine[0], mine[-1]
    text = f"{measure} of {names[0]} is {first['value']:.1f} {words.format(first['at'])}"
    return text if end is first else f"{text}, {end['value']:.1f} {words.format(end['at'])}"
