"""What the plots share: values of a measure, units, encodings of systems."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from rich.cells import cell_len

from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.reports.ranks import comparable_entries
from citeforge.plugins.plots import palette
from citeforge.plugins.plots.figure import altair
from citeforge.schemas.scores import MeasureScore, ScoreFile

Pair = tuple[ScoreFile, MeasureScore]
FONT_SIZE = 12
"""Of labels, in pixels."""


def entry(file: ScoreFile, measure: str) -> MeasureScore | None:
    """Find a system's score on a measure; None where it has no value."""
    measured = next((m for m in file.measures if m.name == measure), None)
    return None if measured is None or measured.value is None else measured


def entries(files: Sequence[ScoreFile], measure: str) -> list[Pair]:
    """List the systems with a value of a measure, best first; incomparable ones come last.

    Without a better direction the highest comes first; incomparable ones keep their order.
    """
    towards = 1 if direction(measure) is False else -1
    pairs = [(f, e) for f in files if (e := entry(f, measure)) is not None]
    comparable = are_comparable(pairs)
    ranked = list(compress(pairs, comparable))
    ranked.sort(key=lambda pair: (towards * (pair[1].value or 0.0), pair[0].system))
    return ranked + [pair for pair, c in zip(pairs, comparable, strict=True) if not c]


def are_comparable(pairs: Sequence[Pair]) -> list[bool]:
    """Which systems may be ranked by a measure."""
    return comparable_entries([f for f, _ in pairs], [e for _, e in pairs])


def measure_and_unit(measure: str, scale: int) -> str:
    """Name of a measure with its unit: a percentage where the scale is 100."""
    return f"{measure} (%)" if scale == 100 else measure


def with_ends(score: MeasureScore) -> tuple[float, float, float]:
    """Value with the ends of its interval; they are the value where there is none."""
    value = score.value or 0.0
    if score.low is None or score.high is None:
        return value, value, value
    return value, score.low, score.high


def per_query(measured: MeasureScore) -> list[float]:
    """Values of the queries that define a measure, as displayed."""
    return [v * measured.scale for v in measured.per_query if v is not None]


def system_encodings(
    names: Sequence[str], everybody: Sequence[str], legend: bool
) -> dict[str, Any]:
    """Make the colour and shape encodings by which plots tell systems apart.

    Args:
        names: systems that are drawn.
        everybody: systems of the whole report, in one order for all its plots, so that a system
            looks the same in each.
        legend: whether there is one.
    """
    alt = altair()
    numbers = [everybody.index(name) for name in names]
    colours = [palette.colour(i) for i in numbers]
    shapes = [palette.shape(i) for i in numbers]
    labels = lookup(name_lines(names))
    key = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=150, labelExpr=labels)
    key = key if legend else None
    return {
        "color": alt.Color("system:N", legend=key, sort=None,
                           scale=alt.Scale(domain=list(names), range=colours)),
        "shape": alt.Shape("system:N", legend=key, sort=None,
                           scale=alt.Scale(domain=list(names), range=shapes)),
    }  # fmt: skip


def mark_size(n_above: int) -> int:
    """Area of a mark in square pixels: larger the more marks are drawn on top of it."""
    return 70 * (1 + 2 * n_above)


def domain(lows: Sequence[float], highs: Sequence[float], most: float | None) -> list[float]:
    """Ends of an axis: everything with some room, from 0 and to ``most`` at the widest."""
    low, high = min(lows), max(highs)
    room = max(0.08 * (high - low), 3.0 if most else 0.04 * max(abs(low), abs(high), 1e-9))
    first = low - room if low < 0 else max(0.0, low - room)
    last = high + room
    return [first, last if most is None or high > most else min(most * 1.03, last)]


def width_of(text: str) -> float:
    """Width in pixels, on the safe side for any sans-serif font."""
    return 0.66 * FONT_SIZE * cell_len(text)


def name_lines(names: Iterable[str], letters: int = 22) -> dict[str, list[str]]:
    """Wrap names into at most three lines each; longer names are cut off."""
    cut = textwrap.TextWrapper(letters, max_lines=3, placeholder="…")
    return {name: cut.wrap(name) or [name] for name in names}


def lookup(lines: dict[str, list[str]]) -> str:
    """Write the Vega expression that maps an axis label to its wrapped lines."""
    return f"({json.dumps(lines)})[datum.label]"
