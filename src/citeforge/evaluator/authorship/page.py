"""The authorship part of the HTML report: bias with intervals as a plot, and all tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, select_autoescape

from citeforge.evaluator.authorship.tables import Table, tables
from citeforge.schemas.authorship import PLACEBO
from citeforge.schemas.scores import MeasureScore, ScoreFile

_TEMPLATE = Path(__file__).parent.parent / "templates" / "authorship.html.j2"
_WIDTH, _LEFT, _RIGHT = 720.0, 250.0, 700.0
_ROW = 26.0


@dataclass(frozen=True)
class Mark:
    """One row of the plot, in units of the drawing.

    Attributes:
        label: system, label set and origins.
        y: height.
        x: value.
        low: lower end of the interval.
        high: upper end.
        band: ends of the placebo's interval; None without a placebo.
        text: value and interval, for those who cannot see the plot.
    """

    label: str
    y: float
    x: float
    low: float
    high: float
    band: tuple[float, float] | None
    text: str


@dataclass(frozen=True)
class Plot:
    """Bias of all systems on one measure.

    Attributes:
        title: what it shows.
        marks: rows.
        height: height of the drawing.
        ticks: (x, label) of the axis.
        zero: x of no bias.
    """

    title: str
    marks: tuple[Mark, ...]
    height: float
    ticks: tuple[tuple[float, str], ...]
    zero: float


def render(files: Sequence[ScoreFile]) -> str:
    """HTML of the authorship part; all texts are escaped."""
    environment = Environment(autoescape=select_autoescape(default=True))
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    found: list[Table] = tables(files)
    plots = [p for p in (_plot(files, m) for m in ("P", "R")) if p.marks]
    return template.render(tables=found, plots=plots)


def _plot(files: Sequence[ScoreFile], letter: str) -> Plot:
    rows: list[tuple[str, MeasureScore, MeasureScore | None]] = []
    for file in files:
        known = {m.name: m for m in file.measures}
        for name, score in known.items():
            if not name.startswith(f"CAB.{letter}[") or score.value is None:
                continue
            origins, _, labels = name[6:-1].partition("_")
            if labels == PLACEBO:
                continue
            control = known.get(f"CAB.{letter}[{origins}_{PLACEBO}]")
            rows.append((f"{file.system} · {labels} · {origins}", score, control))
    ends = [abs(v) for _, s, c in rows for x in (s, c) if x for v in (x.low, x.high, x.value) if v]
    limit = next((n for n in (5.0, 10.0, 20.0, 50.0) if n >= max(ends, default=0)), 100.0)

    def at(value: float) -> float:
        share = (max(-limit, min(limit, value)) + limit) / (2 * limit)
        return round(_LEFT + share * (_RIGHT - _LEFT), 2)

    marks = []
    for number, (label, score, control) in enumerate(rows):
        value = score.value or 0.0
        low = value if score.low is None else score.low
        high = value if score.high is None else score.high
        band = None
        if control is not None and control.low is not None and control.high is not None:
            band = (at(control.low), at(control.high))
        marks.append(
            Mark(
                label, 24 + number * _ROW, at(value), at(low), at(high), band,
                f"{label}: {value:+.1f} [{low:+.1f}, {high:+.1f}]",
            )
        )  # fmt: skip
    ticks = tuple((at(t * limit), f"{t * limit:+g}") for t in (-1, -0.5, 0, 0.5, 1))
    word = "precision" if letter == "P" else "recall"
    return Plot(f"Bias (CAB) of {word}", tuple(marks), 50 + len(marks) * _ROW, ticks, at(0))
