"""Differences of two systems, corrected as differences: what both answers to a query share goes."""

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.corrections import CorrectedDifference
from citeforge.evaluator.statistics.estimates import column, mean_sample
from citeforge.plugins.labels.correction.ppi import LEAST_LABELS, Units, powered, t_test
from citeforge.schemas.scores import MeasureScore


def corrected_difference(
    a: MeasureScore, b: MeasureScore, clusters: npt.NDArray[np.int64] | None = None
) -> CorrectedDifference | None:
    """The paired difference on one measure; None where labels do not allow one.

    Both systems' answers to the same queries must be labelled (``labels export`` samples so).

    Args:
        a: first system's entry.
        b: second system's.
        clusters: cluster of each query, where questions repeat.
    """
    first, second = a.corrected, b.corrected
    if first is None or second is None or not (first.human and second.human):
        return None
    judged = [column(c.linear_judged or m.per_query) for m, c in ((a, first), (b, second))]
    change = a.scale * (judged[1] - judged[0])
    n = len(change)
    by_people = [column(c.linear_human or c.human) for c in (first, second)]
    labelled = [np.isin(np.arange(n), c.labelled) for c in (first, second)]
    open_ = [m | np.isnan(v) for m, v in zip(labelled, by_people, strict=True)]
    defined = ~np.isnan(change)
    open_ = [o & defined for o in open_]
    if ((labelled[0] & open_[1] & ~labelled[1]) | (labelled[1] & open_[0] & ~labelled[0])).any():
        return None  # other queries were labelled: the answers of one alone are no difference
    both = (labelled[0] | labelled[1]) & defined
    if both.sum() < LEAST_LABELS:
        return None
    human = a.scale * (by_people[1] - by_people[0])
    if np.ptp(human[both]) == 0:
        return None
    sample = mean_sample(change[None])
    sums = mean_sample(human[None]).sums[0]
    units = Units(sample.sums[0], sums, both, ~(open_[0] | open_[1]), clusters)
    gap = powered(units, sample.combine)
    return CorrectedDifference(gap.value, gap.low, gap.high, t_test(gap), gap.n_labels, gap.tuning)
