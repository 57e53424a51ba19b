"""Correctness, precision and recall of citations (KaLMA, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from citeforge.evaluator.kalma.inputs import KalmaInputs, Reading
from citeforge.evaluator.statistics import Floats, Sample, harmonic, mean_sample, ratio

Counts = tuple[float, float]
"""(hits, out of)."""


def strict_counts(reading: Reading) -> dict[str, Counts]:
    """Hits and totals of one answer.

    A citation is correct when it is complete and its triple was shown; precise when it is also in
    the minimum knowledge set. A triple cited twice counts each time for P and once for R.
    """
    gold = {key for key, _ in reading.shown.gold}
    correct = [
        c.key for c in reading.citations if c.complete and c.key in reading.shown.keys
    ]  # fmt: skip
    n = len(reading.citations)
    return {
        "Corr": (float(len(correct)), float(n)),
        "P": (float(sum(k in gold for k in correct)), float(n)),
        "R": (float(len(gold & set(correct))), float(len(gold))),
    }


def reference_counts(reading: Reading) -> dict[str, Counts]:
    """The same as KaLMA's own code counts.

    Incomplete citations are dropped. Precision is knowledge hit ÷ citations on the gold of all
    rounds, recall and correctness look at the gold of rounds ≥ 2, and neither asks whether the
    triple was shown.
    """
    everything = {key for key, _ in reading.shown.gold}
    later = {key for key, number in reading.shown.gold if number >= 2}
    complete = [c.key for c in reading.citations if c.complete]
    n = float(len(complete))
    shown = float(sum(k in reading.shown.keys for k in complete))
    # Correctness is taken over the queries that have gold of those rounds.
    in_scope = bool(later) or not everything
    return {
        "Corr": (shown, n) if in_scope else (0.0, 0.0),
        "P": (float(len(everything & set(complete))), n),
        "R": (float(len(later & set(complete))), float(len(later))),
    }


def citation_samples(inputs: KalmaInputs) -> Iterator[tuple[str, Sample]]:
    """Corr, P, R and F1, micro and macro, and the counters."""
    strict = inputs.protocol == "strict"
    count = strict_counts if strict else reference_counts
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids))
    sums = {name: np.zeros((*shape, 2)) for name in ("Corr", "P", "R")}
    macro = {name: np.full(shape, np.nan) for name in ("Corr", "P", "R")}
    n_cited, n_na = np.full(shape, np.nan), np.full(shape, np.nan)
    for run, readings in enumerate(inputs.runs):
        for reading in readings:
            if not strict and not reading.shown.triples:
                continue  # the reference leaves queries with an empty graph out
            for name, (hits, total) in count(reading).items():
                sums[name][run, reading.row] = hits, total
                macro[name][run, reading.row] = _per_answer(name, hits, total, strict)
            n_cited[run, reading.row] = len(reading.citations)
            n_na[run, reading.row] = reading.n_na
    has_gold = bool(sums["R"][..., 1].any())
    for name in ("Corr", "P", "R"):
        if name == "Corr" or has_gold:
            yield f"KaLMA.{name}@micro", micro_sample(f"KaLMA.{name}@micro", sums[name])
            yield f"KaLMA.{name}@macro", mean_sample(f"KaLMA.{name}@macro", macro[name])
    if has_gold:
        yield "KaLMA.F1@micro", _micro_f1(sums["P"], sums["R"])
        yield "KaLMA.F1@macro", _macro_f1(macro["P"], macro["R"])
    yield "KaLMA.Citations", mean_sample("KaLMA.Citations", n_cited)
    yield "KaLMA.NAs", mean_sample("KaLMA.NAs", n_na)


def _per_answer(name: str, hits: float, total: float, strict: bool) -> float:
    """An answer's own value. Without citations P and Corr are 0, and undefined in reference;
    without gold R is undefined."""
    if total:
        return hits / total
    return 0.0 if strict and name != "R" else math.nan


def micro_sample(name: str, sums: Floats) -> Sample:
    """Sum of hits ÷ sum of totals; 0 when there is nothing to divide by."""

    def combine(s: Floats) -> Floats:
        return np.nan_to_num(ratio(s[..., 0], s[..., 1]))

    return Sample(name, sums, combine, ratio(sums[..., 0], sums[..., 1]))


def _micro_f1(precision: Floats, recall: Floats) -> Sample:
    sums = np.concatenate([precision, recall], axis=-1)

    def combine(s: Floats) -> Floats:
        p = np.nan_to_num(ratio(s[..., 0], s[..., 1]))
        r = np.nan_to_num(ratio(s[..., 2], s[..., 3]))
        return harmonic(p, r)

    return Sample("KaLMA.F1@micro", sums, combine, combine(sums))


def _macro_f1(precision: Floats, recall: Floats) -> Sample:
    from citeforge.evaluator.statistics import harmonic_sample

    return harmonic_sample("KaLMA.F1@macro", precision, recall)
