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
    """Choose the decimals of scores in a plot's texts: 1, or 0 for shares with privacy noise."""
    return min(PLOT_DIGITS, max((score.n_digits for score in scores), default=PLOT_DIGITS))


def show_number(value: float | None, digits: int = DIGITS, sign: str = "") -> str:
    """Format a number, never as −0, with plus if ``sign`` is ``+``; a dash for None and NaN.

    Args:
        value: the number.
        digits: decimals.
        sign: ``+`` for differences, which have a sign.
    """
    if value is None or math.isnan(value):
        return DASH
    return f"{value:{sign}z.{digits}f}"


def show_amount(amount: float, digits: int = DIGITS) -> str:
    """Format an amount that may be large, with commas: ``1,234.50``."""
    return f"{amount:z,.{digits}f}"


def show_rounded(value: float, digits: int) -> str:
    """Format a statistic with some decimals at most, and commas: ``1,234``, ``0.25``."""
    return f"{round(value, digits) + 0:,}"  # + 0: never −0


def show_cost(dollars: float) -> str:
    """Format a cost in US dollars: ``$1,234.50``, ``-$1.00``."""
    amount = show_amount(dollars)
    return f"-${amount[1:]}" if amount.startswith("-") else f"${amount}"


def show_percent(share: float | None, digits: int = 0) -> str:
    """Format a share in per cent: ``90 %``; a dash for None and NaN."""
    if share is None or math.isnan(share):
        return DASH
    return f"{show_number(100 * share, digits)} %"


def show_share(count: int, total: int, low: float | None = None, high: float | None = None) -> str:
    """Format a share with its counts, and its interval if given: ``3 of 12 (25.0 %)``.

    Returns:
        ``3 of 12 (25.0 % [8.9, 53.2])``.
    """
    if not total:
        return "0 of 0"
    ends = "" if low is None or high is None else f" {show_interval(100 * low, 100 * high, 1)}"
    return f"{count:,} of {total:,} ({show_percent(count / total, 1)}{ends})"


def show_significant(value: float, digits: int) -> str:
    """Format a number with some significant digits, without trailing zeros."""
    return f"{value:.{digits}g}"


def hundredths(value: float | None) -> int | None:
    """Convert a number to integer hundredths, rounded as it is shown; None for None and NaN."""
    return (
        None if value is None or math.isnan(value) else int(show_number(value, 2).replace(".", ""))
    )


def show_interval(
    low: float | None, high: float | None, digits: int = DIGITS, sign: str = ""
) -> str:
    """Format an interval as ``[low, high]``, ``sign`` as in a number; a dash if it has no ends."""
    if low is None or high is None or math.isnan(low):
        return DASH
    return f"[{show_number(low, digits, sign)}, {show_number(high, digits, sign)}]"


def show_value(score: MeasureScore | None) -> str:
    """Format the value of a score; a dash if there is none."""
    return DASH if score is None else show_number(score.value, score.n_digits)


def show_score(score: MeasureScore | None, is_corrected: bool = False, has_sd: bool = False) -> str:
    """Format a score (or its label-corrected value) with interval and SD; a dash without value.

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


def show_change(value: float) -> str:
    """Format a signed difference for the text of a plot: ``+1.5``."""
    return show_number(value, PLOT_DIGITS, sign="+")


def show_in_plot(value: float) -> str:
    """Format a value with one decimal for a plot's title; use it only where no noise was added."""
    return show_number(value, PLOT_DIGITS)
