"""Helpers of all plots: scores of a measure, units, and encodings and labels of systems."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from rich.cells import cell_len

from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.ranks import comparable_entries
from citeforge.reports.pages import palette
from citeforge.reports.pages.figure import altair
from citeforge.schemas.scores import MeasureScore, ScoreFile

FileScore = tuple[ScoreFile, MeasureScore]
"""A score file, and its score of the measure that is drawn."""
FONT_SIZE = 12
"""Font size of labels, in pixels."""


def find_score(file: ScoreFile, measure: str) -> MeasureScore | None:
    """Find a measure's score in a score file; None if it has no value."""
    measured = next((m for m in file.measures if m.name == measure), None)
    return None if measured is None or measured.value is None else measured


def scores_best_first(files: Sequence[ScoreFile], measure: str) -> list[FileScore]:
    """List (score file, its score of a measure), best or highest first, incomparable ones last.

    Files without a score are left out; those that may not be compared come last, in given order.
    """
    towards = 1 if direction(measure) is False else -1
    pairs = [(f, e) for f in files if (e := find_score(f, measure)) is not None]
    comparable = are_comparable(pairs)
    ranked = list(compress(pairs, comparable))
    ranked.sort(key=lambda pair: (towards * (pair[1].value or 0.0), pair[0].system))
    return ranked + [pair for pair, c in zip(pairs, comparable, strict=True) if not c]


def are_comparable(pairs: Sequence[FileScore]) -> list[bool]:
    """Check for each (score file, score) pair whether it may be ranked with the others."""
    return comparable_entries([f for f, _ in pairs], [e for _, e in pairs])


def measure_and_unit(measure: str, scale: int) -> str:
    """Write a measure's name with its unit: ``(%)`` if its scale is 100."""
    return f"{measure} (%)" if scale == 100 else measure


def value_and_ends(score: MeasureScore) -> tuple[float, float, float]:
    """Get (value, low, high) of a score; without an interval, the value three times."""
    value = score.value or 0.0
    if score.low is None or score.high is None:
        return value, value, value
    return value, score.low, score.high


def per_query(score: MeasureScore) -> list[float]:
    """List a measure's values per query, scaled as displayed, without undefined ones."""
    return [v * score.scale for v in score.per_query if v is not None]


def system_encodings(
    names: Sequence[str], all_systems: Sequence[str], legend: bool
) -> dict[str, Any]:
    """Make Altair's ``color`` and ``shape`` encodings, with a colour and shape per system.

    Args:
        names: systems that are drawn.
        all_systems: systems of the whole report, in one order for all its plots, so that a system
            looks the same in each.
        legend: whether to draw a legend.
    """
    alt = altair()
    numbers = [all_systems.index(name) for name in names]
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


def overlap_size(n_above: int) -> int:
    """Compute a point's area in square pixels, so that it shows beneath ``n_above`` others."""
    return 70 * (1 + 2 * n_above)


def axis_domain(
    lows: Sequence[float], highs: Sequence[float], maximum: float | None
) -> list[float]:
    """Choose the two ends of an axis so that all intervals fit, with a margin.

    Args:
        lows: lower ends of the intervals.
        highs: upper ends of the intervals.
        maximum: largest possible value, just above which the axis ends; None if there is none.
    """
    low, high = min(lows), max(highs)
    room = max(0.08 * (high - low), 3.0 if maximum else 0.04 * max(abs(low), abs(high), 1e-9))
    first = low - room if low < 0 else max(0.0, low - room)
    last = high + room
    return [first, last if maximum is None or high > maximum else min(maximum * 1.03, last)]


def estimate_width(text: str) -> float:
    """Estimate the width of a text in pixels; no sans-serif font needs more."""
    return 0.66 * FONT_SIZE * cell_len(text)


def name_lines(names: Iterable[str], max_letters: int = 22) -> dict[str, list[str]]:
    """Wrap each name into at most three lines (name to lines); longer names are cut."""
    cut = textwrap.TextWrapper(max_letters, max_lines=3, placeholder="…")
    return {name: cut.wrap(name) or [name] for name in names}


def lookup(wrapped_names: dict[str, list[str]]) -> str:
    """Write a Vega expression that maps an axis label (a name) to its wrapped lines."""
    return f"({json.dumps(wrapped_names)})[datum.label]"
