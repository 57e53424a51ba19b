"""The ``MAX`` row of retrieval tables: the best of several rankings, query by query."""

import hashlib
from collections.abc import Sequence

import numpy as np

from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.measures.results import make_entry
from citeforge.evaluator.measures.retrieval import rankings
from citeforge.evaluator.statistics.estimates import column, mean_sample
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import ScoreFile


def max_row(results: Sequence[ScoreFile]) -> ScoreFile:
    """Make an oracle's score file: for each query, the best retrieval value of any system.

    It is an oracle over rankings, not a system; other measures are left out.

    Raises:
        UsageError: fewer than two results, or no retrieval measure in all of them.
    """
    shared = {
        entry.name: measure
        for entry in results[0].measures
        if (measure := find_measure(entry.name)) is not None
        and measure.group is rankings
        and all(any(o.signature == entry.signature for o in r.measures) for r in results)
    }
    if len(results) < 2 or not shared:
        raise UsageError(
            "--max-row needs several submissions and --measures retrieval", code="missing-option"
        )
    signatures = {m.name: m.signature for m in results[0].measures}
    measures = []
    for name, measure in shared.items():
        rows = [column(m.per_query) for r in results for m in r.measures if m.name == name]
        best = np.fmax.reduce(np.array(rows))
        measures.append(make_entry(measure, mean_sample(best[None, :]), signatures[name]))
    together = hashlib.sha256("".join(r.submission_sha256 for r in results).encode()).hexdigest()
    return results[0].model_copy(
        update={
            "system": f"MAX of {len(results)}",
            "submission": ", ".join(r.submission for r in results),
            "submission_sha256": together,
            "measures": measures,
            "not_computed": [],
            "answers": [],
        }
    )
