"""How figures are shown, in every format: decimals, intervals, missing values, directions."""

import math
from collections.abc import Iterable

from citeforge.schemas.scores import MeasureScore

DASH = "–"
"""What is shown where there is no figure."""
ARROWS = {True: "↑", False: "↓", None: ""}
"""Whether higher is better, to an arrow."""
BETTER = {
    True: "higher is better", False: "lower is better", None: "neither direction is better",
}  # fmt: skip
"""Whether higher is better, in words."""
DIGITS = 2
"""Decimals of figures that hide nothing; :attr:`MeasureScore.n_digits` has those of a score."""
PLOT_DIGITS = 1
"""Decimals in titles and summaries of plots, at most."""


def plot_digits(scores: Iterable[MeasureScore]) -> int:
    """Choose the decimals of values in a plot's texts; none for shares that keep hidden labels."""
    return min(PLOT_DIGITS, max((score.n_digits for score in scores), default=PLOT_DIGITS))


def show_number(value: float | None, digits: int = DIGITS, sign: str = "") -> str:
    """Format a number; a dash for None and NaN.

    Args:
        value: the number.
        digits: decimals.
        sign: ``+`` for differences, which have a sign and never are −0.
    """
    if value is None or math.isnan(value):
        return DASH
    return f"{value:{sign}z.{digits}f}" if sign else f"{value:.{digits}f}"


def show_cost(dollars: float) -> str:
    """Format a cost in US dollars: ``$1,234.50``."""
    return f"${dollars:,.2f}"


def show_interval(
    low: float | None, high: float | None, digits: int = DIGITS, sign: str = ""
) -> str:
    """Format an interval as ``[low, high]``; a dash if it has no ends."""
    if low is None or high is None or math.isnan(low):
        return DASH
    return f"[{show_number(low, digits, sign)}, {show_number(high, digits, sign)}]"


def show_value(score: MeasureScore | None) -> str:
    """Format the value of a score; a dash if there is none."""
    return DASH if score is None else show_number(score.value, score.n_digits)


def show_score(score: MeasureScore | None, is_corrected: bool = False, has_sd: bool = False) -> str:
    """Format a score with its interval, and SD over runs if wanted; a dash if it has no value.

    Args:
        score: the score.
        is_corrected: whether its value corrected by labels is shown.
        has_sd: whether the standard deviation between runs follows the value.
    """
    entry = score.corrected if score is not None and is_corrected else score
    if score is None or entry is None or entry.value is None:
        return DASH
    parts = [show_number(entry.value, score.n_digits)]
    if has_sd and not is_corrected and score.sd_runs is not None:
        parts.append(f"±{show_number(score.sd_runs)}")
    if entry.low is not None and entry.high is not None:
        parts.append(show_interval(entry.low, entry.high, score.n_digits))
    return " ".join(parts)


def show_p(p: float, digits: int = 4) -> str:
    """Format a p-value with some decimals; a dash for NaN."""
    least = 10.0**-digits
    return f"<{show_number(least, digits)}" if p < least else show_number(p, digits)


def show_p_equation(p: float) -> str:
    """Format a p-value for a sentence: ``p = 0.0123`` or ``p < 0.0001``."""
    text = show_p(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def show_in_plot(value: float) -> str:
    """Format a value that hides nothing for the title or summary of a plot."""
    return show_number(value, PLOT_DIGITS)
