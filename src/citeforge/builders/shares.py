"""Shares with their counts and intervals, in words of cards."""


def share_text(hits: int, of: int) -> str:
    """Write a share with its counts: ``9 of 10 (90.0 %)``."""
    return f"{hits:,} of {of:,} ({100 * hits / of:.1f} %)" if of else "0 of 0"


def share_with_interval(k: int, of: int) -> str:
    """Write a share with counts and Wilson's 95 % interval: ``3 of 12 (25.0 % [8.9, 53.2])``."""
    if not of:
        return share_text(k, of)
    from scipy.stats import binomtest

    interval = binomtest(k, of).proportion_ci(method="wilson")
    low, high = 100 * interval.low, 100 * interval.high
    return f"{k:,} of {of:,} ({100 * k / of:.1f} % [{low:.1f}, {high:.1f}])"
