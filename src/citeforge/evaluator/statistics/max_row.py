"""The ``MAX`` row of retrieval tables: per query the best of several rankings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from citeforge.evaluator.measures.rage.retrieval import rankings
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.reports.entries import displayed_value
from citeforge.evaluator.statistics.estimates import estimate_all, mean_sample
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import ScoreFile


def max_row(results: Sequence[ScoreFile]) -> ScoreFile:
    """A score file whose retrieval values are, query by query, the best over the systems.

    It is an oracle over rankings, not a system: other measures are left out.

    Raises:
        UsageError: fewer than two results, or no retrieval measure in all of them.
    """
    names = [
        m.name
        for m in results[0].measures
        if (known := find_measure(m.name)) is not None
        and known.compute is rankings
        and all(any(o.signature == m.signature for o in r.measures) for r in results)
    ]
    if len(results) < 2 or not names:
        raise UsageError("--max-row needs several submissions and --measures retrieval")
    samples = []
    for name in names:
        rows = [
            [np.nan if v is None else v for v in m.per_query]
            for r in results
            for m in r.measures
            if m.name == name
        ]
        best = np.fmax.reduce(np.array(rows, np.float64))
        declared = find_measure(name)
        assert declared is not None
        samples.append(replace(mean_sample(name, best[None, :]), within=declared.range))
    first = {m.name: m for m in results[0].measures}
    measures = []
    for sample, estimate in zip(samples, estimate_all(samples), strict=True):
        scale = first[sample.name].scale
        values = sample.per_query[0].tolist()
        measures.append(
            first[sample.name].model_copy(
                update={
                    "value": displayed_value(estimate.value, scale),
                    "low": displayed_value(estimate.low, scale),
                    "high": displayed_value(estimate.high, scale),
                    "stderr": displayed_value(estimate.stderr, scale),
                    "interval": estimate.interval,
                    "sd_runs": None,
                    "n": sum(v == v for v in values),
                    "n_undefined": sum(v != v for v in values),
                    "corrected": None,
                    "variance": None,
                    "per_query": [None if v != v else v for v in values],
                }
            )
        )
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
