"""Shares of judged items with Wilson's interval, in words of cards."""

from citeforge.engines.shown import show_share


def share_with_interval(k: int, of: int) -> str:
    """Write a share with counts and Wilson's 95 % interval: ``3 of 12 (25.0 % [8.9, 53.2])``."""
    if not of:
        return show_share(k, of)
    from scipy.stats import binomtest

    interval = binomtest(k, of).proportion_ci(method="wilson")
    return show_share(k, of, interval.low, interval.high)
