"""Whether mined negatives are nearer to their queries than random passages are."""

from collections.abc import Sequence

import numpy as np

from citeforge.builders.rage.mining import Mined
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.search.two_stage import ExactSearch, TwoStageSearch
from citeforge.schemas.benchmarks.manifest import COMPARED, FAR

_RANDOM = 50
"""Passages of the corpus, drawn once, whose median cosine is the level of random passages."""
_QUERIES = 1000
"""Queries whose cosines are held at once."""


def count_far(
    search: ExactSearch | TwoStageSearch,
    relevant: Sequence[Sequence[int]],
    mined: Sequence[Sequence[Mined]],
    seed: int,
) -> dict[str, int]:
    """Mined passages whose cosine is not above the middle between random and relevant passages.

    The level of random passages is the median over a draw of the corpus, that of relevant ones
    their mean, both for the same query. Queries without relevant or mined passages do not count.

    Args:
        search: gives cosines.
        relevant: positions of the relevant passages of each query.
        mined: seemingly relevant passages of each query.
        seed: of the draw.

    Returns:
        How many were compared, and how many are not above, by their names in manifests.
    """
    draw = distinct_below(search.size, _RANDOM, generator(seed, "nearness"), ())
    random = np.sort(np.array(draw, np.int64))
    rows_of_both = [row for row, passages in enumerate(mined) if passages and relevant[row]]
    far = 0
    for start in range(0, len(rows_of_both), _QUERIES):
        rows = np.array(rows_of_both[start : start + _QUERIES], np.int64)
        pairs = np.repeat(rows, len(random)), np.tile(random, len(rows))
        levels = np.median(search.rescore(*pairs).reshape(len(rows), -1), axis=1)
        positions = [np.array(relevant[row], np.int64) for row in rows]
        ends = np.cumsum([len(p) for p in positions])
        scores = search.rescore(
            np.repeat(rows, np.diff(ends, prepend=0)), np.concatenate(positions)
        )
        for i, cosines in enumerate(np.split(scores, ends[:-1])):
            middle = (levels[i] + cosines.mean()) / 2
            far += sum(bool(passage.score <= middle) for passage in mined[rows[i]])
    return {COMPARED: sum(len(mined[row]) for row in rows_of_both), FAR: far}
