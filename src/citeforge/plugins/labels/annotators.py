"""Agreement of annotators: raw, Cohen's kappa, Krippendorff's alpha."""

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Labels = Mapping[str, Mapping[str, str]]
"""Item to annotator to label."""


@dataclass(frozen=True)
class Agreement:
    """Agreement over all items with at least two labels.

    Attributes:
        items: number of such items.
        annotators: number of annotators of any item.
        raw: share of agreeing pairs of labels.
        kappa: Cohen's kappa, mean over pairs of annotators with common items; NaN without.
        alpha: Krippendorff's alpha; NaN when all labels are alike.
    """

    items: int
    annotators: int
    raw: float
    kappa: float
    alpha: float


def agreement(labels: Labels, allowed_labels: Sequence[str], ordinal: bool) -> Agreement:
    """Compute annotators' agreement (share of equal labels, kappa, alpha) from their labels.

    Args:
        labels: item to annotator to label.
        allowed_labels: allowed labels, in order.
        ordinal: whether Krippendorff's alpha counts distances between ranks.
    """
    several = {i: dict(by) for i, by in labels.items() if len(by) > 1}
    names = sorted({a for by in labels.values() for a in by})
    units = [list(by.values()) for by in several.values()]
    alike = [x == y for unit in units for x, y in itertools.combinations(unit, 2)]
    each = (
        cohen_kappa([(by[a], by[b]) for by in several.values() if a in by and b in by])
        for a, b in itertools.combinations(names, 2)
    )
    kappas = [kappa for kappa in each if not math.isnan(kappa)]
    return Agreement(
        len(several),
        len(names),
        sum(alike) / len(alike) if alike else math.nan,
        sum(kappas) / len(kappas) if kappas else math.nan,
        krippendorff_alpha(units, allowed_labels, ordinal),
    )


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Compute Cohen's kappa of two annotators; NaN without pairs, or if chance agreement is 1.

    Args:
        pairs: (first annotator's, second annotator's) label of each item.
    """
    n = len(pairs)
    if n == 0:
        return math.nan
    observed = sum(a == b for a, b in pairs) / n
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[v] * second[v] for v in first) / n**2
    return math.nan if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(
    labels_by_item: Sequence[Sequence[str]], allowed_labels: Sequence[str], ordinal: bool
) -> float:
    """Compute Krippendorff's alpha (2011), nominal or ordinal, from each item's labels.

    Args:
        labels_by_item: labels of each item, at least two each.
        allowed_labels: allowed labels, in order.
        ordinal: whether disagreement is the distance between ranks; else two labels agree or not.
    """
    at = {value: row for row, value in enumerate(allowed_labels)}
    coincidence = np.zeros((len(allowed_labels), len(allowed_labels)))
    for unit in labels_by_item:
        for a, b in itertools.permutations(unit, 2):
            coincidence[at[a], at[b]] += 1 / (len(unit) - 1)
    totals = coincidence.sum(axis=0)
    n = totals.sum()
    if n <= 1:
        return math.nan
    if ordinal:  # mid-ranks: their distance counts the labels between, and half of those on both
        middles = np.cumsum(totals) - totals / 2
        distance = np.subtract.outer(middles, middles) ** 2
    else:
        distance = 1 - np.eye(len(allowed_labels))
    expected = totals @ distance @ totals / (n - 1)
    return math.nan if expected == 0 else float(1 - (coincidence * distance).sum() / expected)
