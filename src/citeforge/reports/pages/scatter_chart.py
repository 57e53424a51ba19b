"""Scatter plots of systems: precision against recall, and score against cost."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from citeforge.engines.shown import plot_digits, show_cost, show_number
from citeforge.evaluator.measures.registry import direction
from citeforge.reports.pages import palette
from citeforge.reports.pages.charts import (
    FONT_SIZE,
    are_comparable,
    axis_domain,
    estimate_width,
    find_score,
    measure_and_unit,
    overlap_size,
    scores_best_first,
    system_encodings,
    value_and_ends,
)
from citeforge.reports.pages.figure import WIDTH, Figure, Rows, altair, make_figure, values
from citeforge.schemas.scores import MeasureScore, ScoreFile

PAIRS = (("CiteP", "CiteR"), ("ALCE.CitPrec", "ALCE.CitRec"), ("NLI.prec", "NLI.rec"),
         ("Overlap.P", "Overlap.R"))  # fmt: skip
"""Pairs of measures: (precision, recall)."""
HEIGHT = 250
_LONGEST_LABEL = 28
"""Most characters of a label."""
_MOST_LABELS = 12
"""Most dots with labels; more dots have a legend."""
_GAP = 3.0
_RADIUS = 6.0


@dataclass(frozen=True)
class Box:
    """A label's rectangle in pixels, from the upper left corner of the frame."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "Box") -> bool:
        """Whether two boxes overlap, or are less than 2 pixels apart horizontally."""
        return (
            self.x < other.x + other.width + 2 and other.x < self.x + self.width + 2
            and self.y < other.y + other.height and other.y < self.y + self.height
        )  # fmt: skip

    def distance(self, x: float, y: float) -> float:
        """Compute the distance from a point to the nearest point of the box."""
        return math.hypot(
            max(self.x - x, 0.0, x - self.x - self.width),
            max(self.y - y, 0.0, y - self.y - self.height),
        )


@dataclass(frozen=True)
class _Axis:
    """Title and ends of an axis."""

    title: str
    ends: list[float]


def precision_recall(files: Sequence[ScoreFile], precision: str, recall: str) -> Figure | None:
    """Draw each system's precision against its recall, with the intervals of both.

    Returns:
        None where no system has both.
    """
    rows: list[dict[str, Any]] = []
    scores: list[MeasureScore] = []
    for file in files:
        p, r = find_score(file, precision), find_score(file, recall)
        if p is not None and r is not None:
            scores += [p, r]
            rows.append({"system": file.system, **_axis_fields("y", p), **_axis_fields("x", r)})
    if not rows:
        return None
    shown = partial(show_number, digits=plot_digits(scores))
    ranked = [f for f in files if not f.is_control]
    systems = {f.system for f in ranked}
    of_systems = [r for r in rows if r["system"] in systems]
    best = {axis: max(of_systems or rows, key=lambda r: r[axis]) for axis in "xy"}
    is_most = all(best[axis][axis] == max(r[axis] for r in rows) for axis in "xy")
    among = "" if is_most else " of the ranked systems"
    if len(of_systems or rows) == 1:
        only = (of_systems or rows)[0]
        title = f"{only['system']}: {precision} {shown(only['y'])}, {recall} {shown(only['x'])}"
    elif not of_systems:
        title = f"{precision} and {recall}: {len(rows)} scores of controls"
    elif not all(
        all(are_comparable(scores_best_first(ranked, name))) for name in (precision, recall)
    ):
        title = f"{precision} and {recall}: {len(of_systems)} scores that cannot all be compared"
    elif best["x"] is best["y"]:
        title = f"{best['x']['system']} is highest{among} in both {precision} and {recall}"
    else:
        title = (
            f"{best['y']['system']} is highest{among} in {precision} ({shown(best['y']['y'])}), "
            f"{best['x']['system']} in {recall} ({shown(best['x']['x'])})"
        )
    x = _Axis(f"{recall} (%), 95 % interval", _axis_ends(rows, "x", 100))
    y = _Axis(f"{precision} (%), 95 % interval", _axis_ends(rows, "y", 100))
    summary = "; ".join(f"{r['system']}: {precision} {shown(r['y'])}, {recall} {shown(r['x'])}"
                     for r in rows[:12])  # fmt: skip
    return make_figure(
        f"precision-recall-{precision}", title, f"{summary}{'; …' if len(rows) > 12 else ''}.",
        "Lines are 95 % intervals of both measures.",
        {"system": "system", f"{recall} (%)": "x", f"{recall} low": "x_low",
         f"{recall} high": "x_high", f"{precision} (%)": "y", f"{precision} low": "y_low",
         f"{precision} high": "y_high"},
        rows, _draw_scatter(rows, [f.system for f in files], x, y),
    )  # fmt: skip


def cost(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw score against cost, of systems whose submissions state their cost.

    Returns:
        None where fewer than two systems state it.
    """
    rows: list[dict[str, Any]] = []
    for file, e in scores_best_first(files, measure):
        spent = file.about.cost if file.about else None
        if spent is not None:
            rows.append({"system": file.system, **_axis_fields("y", e), "x": spent, "x_low": spent,
                         "x_high": spent})  # fmt: skip
    if len(rows) < 2:
        return None
    scale = scores_best_first(files, measure)[0][1].scale
    shown = partial(
        show_number, digits=plot_digits(e for _, e in scores_best_first(files, measure))
    )
    cheapest, dearest = (end(rows, key=lambda r: r["x"]) for end in (min, max))
    is_alike = cheapest["x"] == dearest["x"]
    which = "all cost the same" if is_alike else f"{cheapest['system']} costs least"
    least = f"{which}, {show_cost(cheapest['x'])}"
    title = f"{_title_of_best(files, measure, rows[0])}; {least}"
    x = _Axis("cost of the submission (US dollars)", _axis_ends(rows, "x", None))
    y = _Axis(
        f"{measure_and_unit(measure, scale)}, 95 % interval",
        _axis_ends(rows, "y", scale if scale == 100 else None),
    )
    left_out = len(files) - len(rows)
    return make_figure(
        f"cost-{measure}", title,
        "; ".join(f"{r['system']} {shown(r['y'])} at {show_cost(r['x'])}" for r in rows[:12]),
        f"Lines are 95 % intervals of {measure}."
        + (f" {left_out} systems do not say what they cost." if left_out else ""),
        {"system": "system", "cost (US dollars)": "x", measure_and_unit(measure, scale): "y",
         "low": "y_low", "high": "y_high"},
        rows, _draw_scatter(rows, [f.system for f in files], x, y),
    )  # fmt: skip


def _title_of_best(files: Sequence[ScoreFile], measure: str, first_row: dict[str, Any]) -> str:
    """Write a cost plot's title: which system is best, or a value if systems must not be ranked.

    Args:
        files: score files.
        measure: measure that is drawn.
        first_row: row of the first system drawn, with its score ``y`` and cost ``x``.
    """
    towards, every_entry = direction(measure), scores_best_first(files, measure)
    is_best = first_row["system"] == every_entry[0][0].system
    if towards is None or not is_best or not are_comparable(every_entry)[0]:
        value = show_number(first_row["y"], plot_digits(e for _, e in every_entry))
        return f"{measure} of {first_row['system']} is {value} at {show_cost(first_row['x'])}"
    extreme = "highest" if towards else "lowest"
    return f"{first_row['system']} has the {extreme} {measure} at {show_cost(first_row['x'])}"


def _axis_fields(axis: str, score: MeasureScore) -> dict[str, Any]:
    """Make a score's fields for an axis, such as ``x``, ``x_low`` and ``x_high``."""
    return dict(zip((axis, f"{axis}_low", f"{axis}_high"), value_and_ends(score), strict=True))


def _axis_ends(rows: Rows, axis: str, maximum: float | None) -> list[float]:
    """Choose the ends of axis ``x`` or ``y``, so that it shows the intervals of all rows.

    Args:
        rows: data of the chart, with the fields of :func:`_axis_fields`.
        axis: ``x`` or ``y``.
        maximum: largest possible value; None if there is none.
    """
    lows, highs = ([r[f"{axis}_{end}"] for r in rows] for end in ("low", "high"))
    return axis_domain(lows, highs, maximum)


def _draw_scatter(rows: Rows, all_systems: Sequence[str], x: _Axis, y: _Axis) -> Any:
    """Draw systems as dots with intervals, labelled if all labels have room, else with a legend.

    Args:
        rows: a row per system, with the fields of :func:`_axis_fields` of both axes.
        all_systems: systems of the whole report, which have fixed colours.
        x: title and ends of the x axis.
        y: title and ends of the y axis.
    """
    alt = altair()
    names = [str(r["system"]) for r in rows]
    texts = [n if len(n) <= _LONGEST_LABEL else n[: _LONGEST_LABEL - 1] + "…" for n in names]
    boxes = _label_all(rows, texts, x, y)
    across, down = (
        {"title": axis.title, "axis": alt.Axis(labelSeparation=6),
         "scale": alt.Scale(domain=axis.ends, nice=False, zero=False)}
        for axis in (x, y)
    )  # fmt: skip
    points = [(r["x"], r["y"]) for r in rows]
    sizes = [overlap_size(points[n + 1 :].count(point)) for n, point in enumerate(points)]
    base = alt.Chart(values([{**r, "size": s} for r, s in zip(rows, sizes, strict=True)]))
    look = system_encodings(names, all_systems, legend=boxes is None)
    layers = [
        base.mark_rule(opacity=0.5).encode(
            x=alt.X("x_low:Q", **across), x2=alt.X2("x_high"), y=alt.Y("y:Q", **down),
            color=look["color"]),
        base.mark_rule(opacity=0.5).encode(
            x=alt.X("x:Q", **across), y=alt.Y("y_low:Q", **down), y2=alt.Y2("y_high"),
            color=look["color"]),
        base.mark_point(filled=True, opacity=1).encode(
            x=alt.X("x:Q", **across), y=alt.Y("y:Q", **down),
            size=alt.Size("size:Q", scale=None, legend=None), **look),
    ]  # fmt: skip
    if boxes is not None:
        placed: list[dict[str, Any]] = [
            {"text": text, "left": box.x, "middle": box.y + box.height / 2}
            for text, box in zip(texts, boxes, strict=True)
        ]
        words = alt.Chart(values(placed)).encode(
            x=alt.X("left:Q", scale=None, axis=None), y=alt.Y("middle:Q", scale=None, axis=None),
            text=alt.Text("text:N"),
        )  # fmt: skip
        style = {"align": "left", "baseline": "middle", "fontSize": FONT_SIZE}
        # The background first, as a rim: intervals pass behind the words.
        rim = words.mark_text(**style, stroke=palette.GROUND, strokeWidth=4, strokeJoin="round")
        named = alt.layer(rim, words.mark_text(**style, color=palette.FOREGROUND))
        chart = alt.layer(alt.layer(*layers), named).resolve_scale(x="independent", y="independent")
    else:
        chart = alt.layer(*layers)
    return chart.properties(width=WIDTH, height=HEIGHT)


def _label_all(rows: Rows, names: Sequence[str], x: _Axis, y: _Axis) -> list[Box] | None:
    """Compute a pixel box for each dot's label by both axes; None if too many, or no room."""
    if len(rows) > _MOST_LABELS:
        return None
    dots = [
        (WIDTH * _axis_share(r["x"], x.ends), HEIGHT * (1 - _axis_share(r["y"], y.ends)))
        for r in rows
    ]
    return place_labels(dots, names, (WIDTH, HEIGHT))


def _axis_share(value: float, ends: Sequence[float]) -> float:
    """Compute a value's position between the two ends of an axis, from 0 to 1."""
    return (value - ends[0]) / (ends[1] - ends[0])


def place_labels(
    dots: Sequence[tuple[float, float]], texts: Sequence[str], frame: tuple[float, float]
) -> list[Box] | None:
    """Compute a box for each dot's label beside it; None if the labels do not all have room.

    Every box is inside the frame, overlaps no other and no dot, and is nearest to its own dot.
    Labels of dots at the same point never have room.

    Args:
        dots: centres in pixels.
        texts: label of each dot.
        frame: width and height in pixels.
    """
    near = [sum(math.dist(a, b) < 80 for b in dots) for a in dots]
    orders = (
        sorted(range(len(dots)), key=lambda i: (-near[i], dots[i])),
        sorted(range(len(dots)), key=lambda i: dots[i]),
        sorted(range(len(dots)), key=lambda i: (dots[i][1], dots[i][0])),
        sorted(range(len(dots)), key=lambda i: (-dots[i][0], dots[i][1])),
    )
    for order in orders:
        placed: dict[int, Box] = {}
        for i in order:
            box = next(
                (b for b in _label_boxes(*dots[i], texts[i]) if _fits(b, i, dots, placed, frame)),
                None,
            )
            if box is None:
                break
            placed[i] = box
        else:
            return [placed[i] for i in range(len(dots))]
    return None


def _label_boxes(x: float, y: float, text: str) -> Iterator[Box]:
    """Yield boxes for a dot's label, best first: above right, then below right, and so on.

    Args:
        x: pixels from the left to the dot's centre.
        y: pixels from the top to it.
        text: label.
    """
    width, height = estimate_width(text), FONT_SIZE + 3.0
    for gap in (_RADIUS, 2 * _RADIUS, 3 * _RADIUS, 4 * _RADIUS):
        for across, down in ((1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0)):
            left = x + gap if across > 0 else x - gap - width if across < 0 else x - width / 2
            top = y - gap - height if down < 0 else y + gap if down > 0 else y - height / 2
            yield Box(left, top, width, height)


def _fits(
    box: Box,
    own_dot: int,
    dots: Sequence[tuple[float, float]],
    placed: dict[int, Box],
    frame: tuple[float, float],
) -> bool:
    """Whether a label's box is in the frame, overlaps no other, and is nearest to its own dot.

    Args:
        box: where the label would be.
        own_dot: index of its dot.
        dots: centres of all dots in pixels.
        placed: boxes of the labels placed so far, by index of their dots.
        frame: width and height in pixels.
    """
    inside = (
        box.x >= 0 and box.y >= 0 and box.x + box.width <= frame[0]
        and box.y + box.height <= frame[1]
    )  # fmt: skip
    if not inside or any(box.overlaps(other) for other in placed.values()):
        return False
    mine = box.distance(*dots[own_dot])
    others = [box.distance(*dot) for i, dot in enumerate(dots) if i != own_dot]
    return all(d > mine + _GAP and d > _RADIUS for d in others)


def draw_first_pair(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw precision against recall of the measure's pair, else of the first pair with scores."""
    pairs = sorted(PAIRS, key=lambda pair: measure not in pair)
    figures = (precision_recall(files, *pair) for pair in pairs)
    return next((f for f in figures if f is not None), None)


def list_precisions(files: Sequence[ScoreFile]) -> list[str]:
    """List the precision measures whose recall measure some file has, too."""
    return [p for p, r in PAIRS if any(find_score(f, p) and find_score(f, r) for f in files)]
