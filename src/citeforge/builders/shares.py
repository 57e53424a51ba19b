"""Shares of judged items with Wilson's interval, in words of cards."""

from citeforge.engines.shown import show_share


def share_with_interval(n_hits: int, n_all: int) -> str:
    """Write a share with counts and Wilson's 95 % interval: ``3 of 12 (25.0 % [8.9, 53.2])``."""
    if not n_all:
        return show_share(n_hits, n_all)
    from scipy.stats import binomtest

    interval = binomtest(n_hits, n_all).proportion_ci(method="wilson")
    return show_share(n_hits, n_all, interval.low, interval.high)
