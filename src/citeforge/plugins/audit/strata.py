"""A share from labels that were drawn at random within strata, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from citeforge.evaluator.statistics.intervals import wilson


@dataclass(frozen=True)
class Stratum:
    """Rows of one kind, some of them labelled.

    Attributes:
        size: rows, at least 1.
        labelled: rows drawn at random and labelled, at most ``size``.
        hits: those of them that have what is looked for.
    """

    size: int
    labelled: int
    hits: int

    @property
    def share(self) -> float:
        """Of the labelled rows; .5 without any."""
        return self.hits / self.labelled if self.labelled else 0.5

    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson 1927); everything is possible without labels, nothing
        else when every row is labelled."""
        if self.labelled == 0:
            return 0.0, 1.0
        if self.labelled == self.size:
            return self.share, self.share
        return wilson(self.share, self.labelled)


def stratified(strata: Sequence[Stratum]) -> tuple[float, float, float]:
    """(share, low, high) over all rows of the strata, each weighing as many as it has.

    The ends come from those of the strata by the method of variance estimates recovery (Zou and
    Donner 2008; for one proportion over strata: Yan and Su 2010): squared distances add up. With
    one stratum it is Wilson's interval.

    Raises:
        ValueError: no rows.
    """
    total = sum(s.size for s in strata)
    if not total:
        raise ValueError("no rows")
    weights = [s.size / total for s in strata]
    share = sum(w * s.share for w, s in zip(weights, strata, strict=True))
    below = above = 0.0
    for weight, stratum in zip(weights, strata, strict=True):
        low, high = stratum.interval()
        below += (weight * (stratum.share - low)) ** 2
        above += (weight * (high - stratum.share)) ** 2
    return share, max(0.0, share - sqrt(below)), min(1.0, share + sqrt(above))
