"""Forest plots (a row per name, with value and interval): of measures, slices, citation bias."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from citeforge.engines.shown import plot_digits, show_change, show_in_plot, show_number
from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.ranks import rank_systems, rank_text
from citeforge.evaluator.slices import list_slices, make_slice_file, slice_fields
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.reports.notes import FEW, RANKS_NOTE
from citeforge.reports.pages import palette
from citeforge.reports.pages.charts import (
    are_comparable,
    axis_domain,
    estimate_width,
    find_score,
    lookup,
    measure_and_unit,
    name_lines,
    scores_best_first,
    value_and_ends,
)
from citeforge.reports.pages.figure import NARROW_WIDTH, Figure, Rows, altair, make_figure, values
from citeforge.schemas.authorship import AUTHORS, PLACEBO
from citeforge.schemas.recipes.gate import FEWEST_QUERIES
from citeforge.schemas.scores import ScoreFile

_MOST_INTERVALS = 4
"""Most measures whose intervals a page draws; its table has the others."""
_LINE_PIXELS = 14
"""Pixels from line to line of a name."""
_NAME_PIXELS = 150
"""Width in pixels of the names beside an axis."""


@dataclass(frozen=True)
class Forest:
    """Base chart, axes and helpers that the layers of a forest plot share.

    Attributes:
        base: Altair chart with the rows as data.
        y: encoding of the names.
        step: height of a row, in pixels.
        across: options of the x axis.
    """

    base: Any
    y: Any
    step: int
    across: dict[str, Any]

    def place(self, mark: Any, field: str = "value") -> Any:
        """Draw a mark in each row of the plot, where x is the row's value of a field."""
        return mark.encode(y=self.y, x=altair().X(f"{field}:Q", **self.across))

    def stretch(self, mark: Any, low: str = "low", high: str = "high") -> Any:
        """Draw a mark in each row of the plot, from the value of one field to that of another."""
        return self.place(mark, low).encode(x2=altair().X2(high))

    def whiskers(self) -> Any:
        """Make the layer that draws each row's interval as a line."""
        return self.stretch(self.base.mark_rule(color=palette.colour(0), strokeWidth=2))

    def dots(self) -> Any:
        """Make the layer that draws each row's value as a dot."""
        ink = palette.colour(0)
        return self.place(self.base.mark_point(color=ink, fill=ink, size=50, opacity=1))

    def stack(self, *layers: Any) -> Any:
        """Lay chart layers over each other, and set the plot's width and height."""
        chart = altair().layer(*layers)
        return chart.properties(width=NARROW_WIDTH, height=altair().Step(self.step))


def forest(
    rows: Rows, name_field: str, title: str, maximum: float | None,
    values_to_include: Sequence[float] = (),
) -> Forest:  # fmt: skip
    """Make axes and data of a forest plot with a row per name; layers are drawn on it.

    Args:
        rows: rows with ``value``, ``low``, ``high`` and a name.
        name_field: field of the name.
        title: title of the x axis.
        maximum: largest possible value; None if there is none.
        values_to_include: further values that the axis must include.
    """
    alt = altair()
    lines = name_lines([str(r[name_field]) for r in rows])
    room = max(estimate_width(line) for cut in lines.values() for line in cut)
    up = f"-{_LINE_PIXELS // 2} * (length({lookup(lines)}) - 1)"  # the middle line at the row
    axis = alt.Axis(grid=False, minExtent=min(room, _NAME_PIXELS) + 8, labelLineHeight=_LINE_PIXELS,
                    labelOffset={"condition": {"test": "true", "expr": up}, "value": 0},
                    labelLimit=_NAME_PIXELS, labelExpr=lookup(lines))  # fmt: skip
    lows, highs = ([r[end] for r in rows] + list(values_to_include) for end in ("low", "high"))
    scale = alt.Scale(domain=axis_domain(lows, highs, maximum), nice=False, zero=False)
    y = alt.Y(f"{name_field}:N", sort=list(lines), title=None, axis=axis)
    step = 8 + _LINE_PIXELS * max(map(len, lines.values()))
    return Forest(alt.Chart(values(rows)), y, step, {"title": title, "scale": scale})


MOST_ROWS = 60
"""Most rows that are drawn (the best ones)."""
_AT_RANKS = {"value": NARROW_WIDTH + 48}
"""Right end of the column of ranks, in pixels."""


def intervals(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw systems with intervals and possible ranks, best first; possible winners are shaded.

    Returns:
        None where no system has a value.
    """
    alt = altair()
    pairs_of_all = scores_best_first(files, measure)
    if not pairs_of_all:
        return None
    pairs = pairs_of_all[:MOST_ROWS]
    ranks = rank_systems([f for f, _ in pairs_of_all], [e for _, e in pairs_of_all])[:MOST_ROWS]
    scale = pairs[0][1].scale
    rows: list[dict[str, Any]] = []
    for (file, e), rank in zip(pairs, ranks, strict=True):
        value, low, high = value_and_ends(e)
        rows.append({"system": file.system, "value": value, "low": low, "high": high,
                     "ranks": rank_text(rank), "n": e.n,
                     "reference": file.is_control,
                     "band": len(pairs) > 1 and rank is not None and rank[0] == 1})  # fmt: skip
    plot = forest(rows, "system", f"{measure_and_unit(measure, scale)}, 95 % interval",
                  100 if scale == 100 else None)  # fmt: skip
    bands = (
        plot.base.transform_filter("datum.band")
        .mark_rect(color=palette.BAND)
        .encode(y=plot.y, x=alt.XValue(0), x2=alt.X2Value(NARROW_WIDTH))
    )  # fmt: skip
    layers = [bands, plot.whiskers(), plot.dots()]
    if len(pairs) > 1:
        ranked = plot.base.mark_text(color=palette.SOFT, align="right", fontSize=12)
        layers += [ranked.encode(y=plot.y, x=_AT_RANKS, text=alt.Text("ranks:N")), _ranks_heading()]
    digits = plot_digits(e for _, e in pairs)
    title = _title_of_intervals(measure, rows, are_comparable(pairs_of_all), digits)
    left_out = len(pairs_of_all) - len(pairs)
    note = "Sorted by the value." if len(pairs) > 1 else "One system."
    if all(file.is_control for file, _ in pairs):
        note = "Not sorted: controls are not ranked."
    elif not are_comparable(pairs_of_all)[0]:
        note = "Not sorted: these systems were scored on other queries, or with other settings."
    if sum(rank is not None for rank in ranks) > 1:
        note += f" On the right {RANKS_NOTE}. Shaded: may be first."
    if direction(measure) is None and len(pairs) > 1:
        note += " Neither more nor less is better."
    elif len(pairs) > 1 and any(
        rank is None and not file.is_control for (file, _), rank in zip(pairs, ranks, strict=True)
    ):
        note += " No ranks: scored on other queries, or with other settings, than most."
    note += f" The best {MOST_ROWS} of {len(pairs_of_all)} systems." if left_out else ""
    words = "; ".join(
        f"{r['system']} {show_number(r['value'], digits)} "
        f"({show_number(r['low'], digits)} to {show_number(r['high'], digits)})"
        for r in rows[:12]
    )
    return make_figure(
        f"intervals-{measure}", title, f"{words}{'; …' if len(rows) > 12 else ''}.", note,
        {"system": "system", measure_and_unit(measure, scale): "value", "low": "low",
         "high": "high", "ranks, 95 %": "ranks", "queries": "n"},
        rows, plot.stack(*layers),
    )  # fmt: skip


def _ranks_heading() -> Any:
    """Make the layer with the heading of the column of ranks."""
    alt = altair()
    return alt.Chart(values([{"text": "ranks"}])).mark_text(
        color=palette.SOFT, align="right", baseline="bottom", fontSize=12, dy=-3
    ).encode(x=_AT_RANKS, y=alt.YValue(0), text=alt.Text("text:N"))  # fmt: skip


def _title_of_intervals(
    measure: str, all_rows: Rows, comparable: Sequence[bool], digits: int
) -> str:  # fmt: skip
    """Write a plot's title: which system is first by a measure, and how certain that is.

    Args:
        measure: measure that is drawn.
        all_rows: rows of :func:`intervals`, best first; ``band`` is true where it may be first.
        comparable: for every row, whether it may be compared with most others.
        digits: decimals of values.
    """
    rows = [r for r in all_rows if not r["reference"]] or all_rows
    best = rows[0]
    value = show_number(best["value"], digits)
    if len(rows) == 1:
        return f"{measure} of {best['system']} is {value}"
    if all(r["reference"] for r in rows):
        return f"{measure}: {len(rows)} scores of controls"
    if not comparable[0]:
        return f"{measure}: {len(rows)} scores that cannot be compared"
    if direction(measure) is None:
        return f"{measure} of {len(rows)} systems, from {value} down"
    extreme = "lowest" if direction(measure) is False else "highest"
    end = min if extreme == "lowest" else max
    is_most = end(r["value"] for r in all_rows) == best["value"]
    among = "" if is_most else " of the ranked systems"
    text = f"{best['system']} has the {extreme} {measure}{among}, {value}"
    beside = sum(bool(r["band"]) for r in rows[1:])
    if not best["band"]:
        return text
    if not beside:
        return f"{text}, and is first with 95 % confidence"
    return f"{text}; {beside} of {len(rows) - 1} others may be first, too"


_ASPECTS = {"P": "precision", "R": "recall"}


def bias(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the authorship bias (CAB) of each system, by labels shown and by who wrote the passages.

    It shows the numbers of tables 3, 6 and 8 of Abolghasemi et al. 2025.

    Args:
        files: score files.
        measure: ``CAB.R…`` for the bias of recall; any other for that of precision.

    Returns:
        None where no file has CAB.
    """
    letter = "R" if measure.startswith("CAB.R") else "P"
    rows = [row for file in files for row in _bias_rows(file, letter)]
    if not rows:
        return None
    word, title = _ASPECTS[letter], _title_of_bias(rows, _ASPECTS[letter])
    several = len({r["labels"] for r in rows}) > 1
    for row in rows:
        row["name"] = f"{row['system']}, {row['relevant']}/{row['others']}" + (
            f", {row['labels']}" if several else ""
        )
    words = "; ".join(f"{r['name']}: {show_change(r['value'])}" for r in rows[:12])
    return make_figure(
        f"bias-{letter}", title, f"{words}{'; …' if len(rows) > 12 else ''}.",
        "Named by the authors of the relevant passages and of the others. To the right: towards "
        "human authorship (the first label of other sets). Grey: the interval of the placebo, "
        "labels that mean nothing, on the same passages. Filled: differs from 0 at p < .05 (paired "
        "t-test, Holm over the cells).",
        {"system": "system", "labels": "labels", "relevant": "relevant", "others": "others",
         f"bias of {word} (points)": "value", "low": "low", "high": "high", "p, Holm": "p",
         "placebo low": "placebo_low", "placebo high": "placebo_high"},
        rows, _chart_of_bias(rows, word),
    )  # fmt: skip


def _bias_rows(file: ScoreFile, letter: str) -> Iterator[dict[str, Any]]:
    """Yield a row per label set and author pair: bias (CAB of ``letter`` P or R), and placebo's.

    Args:
        file: score file of an authorship benchmark; others give no rows.
        letter: ``P`` for the bias of precision, ``R`` for that of recall.
    """
    if file.design is None:
        return
    for vanilla in (c for c in file.design.cells if c.labels is None):
        placebo = find_score(file, f"CAB.{letter}[{vanilla.origins}_{PLACEBO}]")
        for label_set in (s.name for s in file.design.label_sets if s.name != PLACEBO):
            measured = find_score(file, f"CAB.{letter}[{vanilla.origins}_{label_set}]")
            if measured is None:
                continue
            value, low, high = value_and_ends(measured)
            p = measured.p_t if measured.p_holm is None else measured.p_holm
            yield {
                "system": file.system, "labels": label_set, "value": value, "low": low,
                "high": high, "p": p, "differs": p is not None and p < ALPHA,
                "relevant": AUTHORS[vanilla.relevant_origin],
                "others": AUTHORS[vanilla.other_origin],
                "placebo_low": None if placebo is None else value_and_ends(placebo)[1],
                "placebo_high": None if placebo is None else value_and_ends(placebo)[2],
            }  # fmt: skip


def _title_of_bias(rows: Rows, precision_or_recall: str) -> str:
    """Write a plot's title: which authorship bias is strongest, and how many differ from 0.

    Args:
        rows: rows of :func:`_bias_rows`.
        precision_or_recall: "precision" or "recall".
    """
    most = max(rows, key=lambda r: abs(r["value"]))
    n = sum(bool(r["differs"]) for r in rows)
    return (
        f"{most['system']} has the strongest bias of {precision_or_recall}, "
        f"{show_change(most['value'])} ({most['relevant']}/{most['others']}); "
        f"{n} of {len(rows)} biases differ from 0"
    )


def _chart_of_bias(rows: Rows, precision_or_recall: str) -> Any:
    """Draw each system's authorship bias and interval, over its interval for placebo labels."""
    alt = altair()
    keys = ("placebo_low", "placebo_high")
    ends = [r[k] for r in rows for k in keys if r[k] is not None]
    title = f"bias of {precision_or_recall} (points, CAB), 95 % interval"
    plot = forest(rows, "name", title, None, [0.0, *ends])
    placebo = plot.base.transform_filter("datum.placebo_low !== null").mark_bar(
        color=palette.LINE, height=16
    )
    nothing = alt.Chart(values([{"at": 0}])).mark_rule(color=palette.SOFT, strokeDash=[3, 3])
    filled = alt.condition("datum.differs", alt.value(palette.colour(0)), alt.value(palette.GROUND))
    dots = plot.base.mark_point(color=palette.colour(0), size=55, opacity=1, strokeWidth=2)
    return plot.stack(
        plot.stretch(placebo, *keys),
        nothing.encode(x=alt.X("at:Q", **plot.across)), plot.whiskers(),
        plot.place(dots).encode(fill=filled),
    )  # fmt: skip


def slices(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the scores of all slices of queries, by field; None without slices."""
    rows: list[dict[str, Any]] = []
    n_small = 0
    for name in slice_fields(files):
        for value, n in list_slices(files, name):
            n_small += n < FEWEST_QUERIES
            for file in files:
                part = make_slice_file(file, name, value)
                e = None if part is None else find_score(part, measure)
                if e is None or e.value is None:
                    continue
                middle, low, high = value_and_ends(e)
                label = f"{name} {value}" + (f" · {file.system}" if len(files) > 1 else "")
                label += f" ({FEW})" if e.n < FEWEST_QUERIES else ""
                rows.append({"slice": label, "system": file.system, "field": name, "of": value,
                             "value": middle, "low": low, "high": high, "n": e.n,
                             "scale": e.scale})  # fmt: skip
    if not rows:
        return None
    scale = rows[0]["scale"]
    drawn = rows[:MOST_ROWS]
    plot = forest(drawn, "slice", f"{measure_and_unit(measure, scale)}, 95 % intervals",
                  100 if scale == 100 else None)  # fmt: skip
    own = [r for r in rows if r["system"] == rows[0]["system"]]
    own = [r for r in own if r["n"] >= FEWEST_QUERIES] or own
    least, most = (f(own, key=lambda r: r["value"]) for f in (min, max))
    lowest, highest = (show_in_plot(r["value"]) for r in (least, most))
    title = f"{measure} of {least['system']} is {lowest}"
    if lowest == highest:
        title += " in every slice"
    else:
        title += (
            f" where {least['field']} is {least['of']}, and {highest} where "
            f"{most['field']} is {most['of']}"
        )
    note = "Intervals of a system hold at once for all its slices (Šidák)."
    if n_small:
        note += f" {FEW.capitalize()}: below {FEWEST_QUERIES} queries ({n_small} slices)."
    note += f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    words = "; ".join(
        f"{r['slice']} {show_in_plot(r['value'])} "
        f"({show_in_plot(r['low'])} to {show_in_plot(r['high'])})"
        for r in rows[:12]
    )
    return make_figure(
        f"slices-{measure}", title, f"{words}{'; …' if len(rows) > 12 else ''}.", note,
        {"slice": "slice", measure_and_unit(measure, scale): "value", "low": "low",
         "high": "high", "queries": "n"},
        drawn, plot.stack(plot.whiskers(), plot.dots()),
    )  # fmt: skip


def main_and_shares(files: Sequence[ScoreFile], main: str) -> list[str]:
    """List the main measure, then the first few other measures that are shares (0–100)."""
    names = dict.fromkeys(m.name for f in files for m in f.measures)
    return [main, *[n for n in names if n != main and _is_share(n)][: _MOST_INTERVALS - 1]]


def _is_share(name: str) -> bool:
    """Whether a measure is a share, shown from 0 to 100."""
    measure = find_measure(name.partition("[")[0])
    return measure is not None and measure.scale == 100
