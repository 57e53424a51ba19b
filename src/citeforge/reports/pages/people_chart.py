"""Calibration plot: values by human labels against values by the judge."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from citeforge.engines.shown import show_in_plot
from citeforge.evaluator.statistics.intervals import wilson_interval
from citeforge.reports.pages import palette
from citeforge.reports.pages.charts import find_score, lookup, name_lines
from citeforge.reports.pages.figure import WIDTH, Figure, Rows, altair, make_figure, values
from citeforge.schemas.scores import ScoreFile

MOST_SYSTEMS = 6
"""Most systems whose calibration is drawn."""
_BINS = 5
"""Number of bins of the judge's values."""


def labelled_measures(files: Sequence[ScoreFile]) -> list[str]:
    """List the measures that some file has corrected by human labels of its own answers."""
    names = (
        m.name for f in files for m in f.measures
        if m.corrected is not None and m.corrected.value is not None and m.corrected.labelled
    )  # fmt: skip
    return list(dict.fromkeys(names))


def calibration(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw each system's calibration: mean values by human labels, for bins of the judge's values.

    Args:
        files: score files.
        measure: measure to draw; if labels do not correct it, the first one that they correct.

    Returns:
        None where no score file has labels of its own answers.
    """
    measures = labelled_measures(files)
    if not measures:
        return None
    measure = measure if measure in measures else measures[0]
    every = [(f, rows) for f in files if (rows := _make_bins(f, measure))]
    if not every:
        return None
    drawn = every[:MOST_SYSTEMS]
    names = [f.system for f, _ in drawn]
    rows = [row for _, bins in drawn for row in bins]
    means = {f.system: _mean_values(f, measure) for f, _ in drawn}
    furthest = max(names, key=lambda n: abs(means[n][0] - means[n][1]))
    judge, people = means[furthest]
    who = "the judge is furthest from people with" if len(names) > 1 else "the judge beside people,"
    both = f"{show_in_plot(judge)} against {show_in_plot(people)} on average"
    title = f"{measure}: {who} {furthest}: {both}"
    note = (
        f"Labelled answers in {_BINS} classes by the judge's value; the dot stands at their means, "
        "the line is the 95 % interval of people's (Wilson's score interval; answers are counted, "
        "which is on the safe side for shares within an answer). On the diagonal both agree."
    )
    if len(every) > MOST_SYSTEMS:
        note += f" The first {MOST_SYSTEMS} of {len(every)} systems with labels."
    shown = {n: [show_in_plot(value) for value in means[n]] for n in names}
    words = "; ".join(f"{n}: judge {shown[n][0]}, people {shown[n][1]}" for n in names)
    return make_figure(
        f"calibration-{measure}", title, f"{words}.", note,
        {"system": "system", "judge from": "from", "judge to": "to", "judge, mean (%)": "judge",
         "people, mean (%)": "people", "low": "low", "high": "high", "answers": "n"},
        rows, _draw_panels(rows, names, measure),
    )  # fmt: skip


class _LabelledAnswer(NamedTuple):
    """An answer with human labels: row of its query, and its values in [0, 1]."""

    row: int
    by_judge: float
    by_people: float


def _labelled_answers(file: ScoreFile, measure: str) -> list[_LabelledAnswer]:
    """List a system's labelled answers that both the judge and the labels give a value."""
    score = find_score(file, measure)
    if score is None or score.corrected is None:
        return []
    people = score.corrected.human
    return [
        _LabelledAnswer(i, j, p) for i in score.corrected.labelled
        if (j := score.per_query[i]) is not None and (p := people[i]) is not None
        and 0 <= j <= 1 and 0 <= p <= 1
    ]  # fmt: skip


def _mean_values(file: ScoreFile, measure: str) -> tuple[float, float]:
    """Average labelled answers' values in percent: (by the judge, by human labels)."""
    _, judge, people = zip(*_labelled_answers(file, measure), strict=True)
    return 100 * float(np.mean(judge)), 100 * float(np.mean(people))


def _make_bins(file: ScoreFile, measure: str) -> list[dict[str, Any]]:
    """Group labelled answers by the judge's value: a row per bin, with means in percent."""
    rows: list[dict[str, Any]] = []
    bins: dict[int, list[_LabelledAnswer]] = defaultdict(list)
    for answer in _labelled_answers(file, measure):
        bins[min(_BINS - 1, int(answer.by_judge * _BINS + 1e-9))].append(answer)
    for number, here in sorted(bins.items()):
        answer_rows, judge, people = zip(*here, strict=True)
        share = float(np.mean(people))
        # Answers to two forms of one question may be as dependent as one observation.
        n = len({file.clusters[i] for i in answer_rows}) if file.clusters else len(here)
        low, high = wilson_interval(share, n)
        rows.append({
            "system": file.system, "from": 100 * number / _BINS, "to": 100 * (number + 1) / _BINS,
            "judge": 100 * float(np.mean(judge)), "people": 100 * share,
            "low": 100 * low, "high": 100 * high, "n": len(here),
        })  # fmt: skip
    return rows


def _draw_panels(rows: Rows, names: Sequence[str], measure: str) -> Any:
    """Draw one calibration panel per system, with the diagonal: values by people against judge's.

    Args:
        rows: bins of all systems, as :func:`_make_bins` makes them.
        names: systems, a panel each.
        measure: measure that is drawn.
    """
    alt = altair()
    columns = min(2, len(names))
    side = WIDTH if columns == 1 else (WIDTH - 30) // 2
    scale = alt.Scale(domain=[-4, 104], nice=False)
    most = max(r["n"] for r in rows)
    sizes = sorted({max(1, most // 4), max(1, most // 2), most})
    ticks = alt.Axis(values=[0, 25, 50, 75, 100])
    x = alt.X("judge:Q", title=f"{measure} by the judge (%)", scale=scale, axis=ticks)
    base = alt.Chart()
    line = base.mark_rule(color=palette.SOFT, strokeDash=[4, 3]).encode(
        x=alt.XDatum(0, scale=scale), y=alt.YDatum(0, scale=scale), x2=alt.X2Datum(100),
        y2=alt.Y2Datum(100),
    )  # fmt: skip
    whiskers = base.mark_rule(color=palette.colour(0), strokeWidth=2).encode(
        x=x, y=alt.Y("low:Q", title="by people (%), 95 % interval", scale=scale, axis=ticks),
        y2=alt.Y2("high"),
    )  # fmt: skip
    dots = base.mark_point(color=palette.colour(0), fill=palette.colour(0), opacity=1).encode(
        x=x, y=alt.Y("people:Q", scale=scale, axis=ticks),
        size=alt.Size("n:Q", title="answers", scale=alt.Scale(domain=[0, most], range=[15, 120]),
                      legend=alt.Legend(orient="bottom", values=sizes, format="d",
                                        symbolFillColor=palette.colour(0),
                                        symbolStrokeColor=palette.colour(0))),
    )  # fmt: skip
    layered = alt.layer(line, whiskers, dots, data=values(rows)).properties(width=side, height=side)
    labels = lookup(name_lines(names))
    return layered.facet(
        facet=alt.Facet("system:N", sort=list(names), title=None,
                        header=alt.Header(labelExpr=labels, labelLimit=150, labelAnchor="start")),
        columns=columns, spacing=14,
    )  # fmt: skip
