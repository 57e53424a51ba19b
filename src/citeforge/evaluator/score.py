"""``score``: a submission against a benchmark."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from citeforge.engines.files import sha256_file
from citeforge.evaluator.benchmark import Benchmark, ContextTable
from citeforge.evaluator.measures import rage
from citeforge.evaluator.measures.registry import Measure
from citeforge.evaluator.statistics import (
    Estimate,
    Floats,
    Sample,
    estimate_all,
    harmonic,
    harmonic_sample,
    mean_sample,
)
from citeforge.evaluator.submission import (
    choose_context,
    read_answers,
    require_same_benchmark,
    system_name,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import Counts, MeasureScore, NotComputed, ScoreFile
from citeforge.schemas.signature import Signature

Protocol = Literal["strict", "reference"]


@dataclass
class _Run:
    """Values of one run, one row a query; NaN where nothing is defined."""

    values: Floats  # shape (queries, 5): precision, recall, distinct, length, short EM
    seen: np.ndarray  # shape (queries,), bool


def score(
    path: Path,
    benchmark: Benchmark,
    measures: list[Measure],
    *,
    context: str | None = None,
    protocol: Protocol = "strict",
) -> ScoreFile:
    """Score a submission.

    ``strict`` loops over the benchmark's queries and gives absent ones the worst value;
    ``reference`` loops over the lines of the file, as the papers' code does.

    Args:
        path: submission.
        benchmark: what it answers.
        measures: declared measures to compute.
        context: context set; None for the one that the submission is about.
        protocol: ``strict`` or ``reference``.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key.
        UsageError: the context set is not clear.
    """
    require_same_benchmark(path, benchmark)
    name = choose_context(path, list(benchmark.manifest.contexts), context)
    if name == "own":
        raise UsageError("the submission brings its own passages, which have no relevance labels")
    table = benchmark.context(name)
    runs, counts = _Reader(benchmark, table, protocol).read(path)
    samples, missing = _samples(runs, measures)
    signature = Signature(
        measure="",
        protocol=protocol,
        grammar=benchmark.grammar.signature if protocol == "strict" else "1,rage",
        context=name,
        benchmark=benchmark.label,
    )
    by_name = {m.name: m for m in measures}
    estimates = estimate_all(samples)
    return ScoreFile(
        system=system_name(path),
        submission=path.name,
        submission_sha256=sha256_file(path),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=protocol,
        context=name,
        counts=counts,
        query_ids=benchmark.query_ids,
        measures=[
            _entry(by_name[s.name], s, e, signature)
            for s, e in zip(samples, estimates, strict=True)
        ],
        not_computed=missing,
    )


class _Reader:
    """Scores answers while they are read: only numbers are kept."""

    def __init__(self, benchmark: Benchmark, table: ContextTable, protocol: Protocol) -> None:
        self.benchmark = benchmark
        self.table = table
        self.protocol = protocol
        make = rage.strict_scorer if protocol == "strict" else rage.reference_scorer
        self.scorer = make(benchmark.grammar)
        self.answers = self._answers()
        self.tally = dict.fromkeys(("unparsed", "empty", "uncited", "out_of_range"), 0)

    def _answers(self) -> dict[int, dict[int, list[str]]]:
        """Short answers by query row and position in the context."""
        known = self.benchmark.short_answers
        found: dict[int, dict[int, list[str]]] = {}
        if known:
            for row, query in enumerate(self.benchmark.query_ids):
                ids = self.table.ids_of(row)
                here = {
                    p: known[query, ids[p]]
                    for p in sorted(self.table.relevant[row])
                    if (query, ids[p]) in known
                }
                if here:
                    found[row] = here
        return found

    def read(self, path: Path) -> tuple[list[_Run], Counts]:
        n = len(self.benchmark.query_ids)
        runs: dict[int, _Run] = {}
        row_of = self.benchmark.row_of
        sizes, relevant, name = self.table.sizes, self.table.relevant, self.table.name
        nothing: dict[int, list[str]] = {}
        for line, answer in read_answers(path):
            if answer.context not in (None, name):
                if answer.context not in self.benchmark.manifest.contexts:
                    raise _refused(path, line, f"context {answer.context!r} is unknown")
                continue
            if answer.run < 0:
                raise _refused(path, line, f"run {answer.run} is negative")
            row = row_of.get(answer.query_id)
            if row is None:
                raise _refused(path, line, f"query_id {answer.query_id!r} is not in the benchmark")
            run = runs.get(answer.run)
            if run is None:
                run = runs[answer.run] = _Run(np.full((n, 5), np.nan), np.zeros(n, np.bool_))
            if run.seen[row]:
                raise _refused(
                    path, line, f"query_id {answer.query_id!r} (run {answer.run}) comes twice"
                )
            run.seen[row] = True
            result = self.scorer(
                answer.output, sizes[row], relevant[row], self.answers.get(row, nothing)
            )
            run.values[row] = result[:5]
            self._count(answer.output, result)
        if not runs:
            raise InputError(
                "holds no answer to this context set", path=path, allowed=f"context {name!r}"
            )
        ordered = [runs[number] for number in sorted(runs)]
        if self.protocol == "strict":
            self._fill_missing(ordered)
        return ordered, self._counts(ordered)

    def _count(self, output: str, result: rage.Answer) -> None:
        self.tally["unparsed"] += result.n_unparsed > 0
        self.tally["empty"] += not output.strip()
        self.tally["uncited"] += result.distinct == 0
        self.tally["out_of_range"] += result.n_out_of_range > 0

    def _fill_missing(self, runs: list[_Run]) -> None:
        for run in runs:
            for row in np.flatnonzero(~run.seen).tolist():
                run.values[row] = rage.worst(self.table.relevant[row], self.answers.get(row, {}))[
                    :5
                ]

    def _counts(self, runs: list[_Run]) -> Counts:
        n = len(self.benchmark.query_ids)
        answered = sum(int(run.seen.sum()) for run in runs)
        return Counts(
            n_queries=n,
            n_runs=len(runs),
            n_answered=answered,
            n_missing=n * len(runs) - answered,
            n_unparsed=self.tally["unparsed"],
            n_empty=self.tally["empty"],
            n_uncited=self.tally["uncited"],
            n_out_of_range=self.tally["out_of_range"],
            n_no_relevant=sum(not r for r in self.table.relevant),
        )


def _refused(path: Path, line: int, message: str) -> InputError:
    return InputError(message, path=path, line=line, allowed="see: citeforge check")


def _samples(runs: list[_Run], measures: list[Measure]) -> tuple[list[Sample], list[NotComputed]]:
    values = np.stack([run.values for run in runs])
    precision, recall, distinct, length, short_em = (values[..., i] for i in range(5))
    available = {
        "CiteP": lambda: mean_sample("CiteP", precision),
        "CiteR": lambda: mean_sample("CiteR", recall),
        "CiteF1": lambda: harmonic_sample("CiteF1", precision, recall),
        "CiteF1@query": lambda: mean_sample("CiteF1@query", harmonic(precision, recall)),
        "ShortEM": lambda: mean_sample("ShortEM", short_em),
        "Reward": lambda: mean_sample("Reward", (precision + recall) / 2),
        "Distinct": lambda: mean_sample("Distinct", distinct),
        "Length": lambda: mean_sample("Length", length),
    }
    samples, missing = [], []
    for measure in measures:
        sample = available[measure.name]()
        if np.isnan(sample.per_query).all():
            reason = measure.needs or "no query defines it"
            missing.append(NotComputed(name=measure.name, reason=f"needs {reason}"))
        else:
            samples.append(sample)
    return samples, missing


def _entry(
    measure: Measure, sample: Sample, estimate: Estimate, signature: Signature
) -> MeasureScore:
    defined = ~np.isnan(sample.per_query)
    n_defined = defined.any(axis=0)
    totals = np.where(defined, sample.per_query, 0.0).sum(axis=0)
    means = np.divide(
        totals, defined.sum(axis=0), out=np.full(totals.shape, np.nan), where=n_defined
    )
    scale = measure.scale
    return MeasureScore(
        name=measure.name,
        signature=str(replace(signature, measure=measure.name)),
        scale=scale,
        value=_shown(estimate.value, scale),
        low=_shown(estimate.low, scale),
        high=_shown(estimate.high, scale),
        stderr=_shown(estimate.stderr, scale),
        sd_runs=_shown(estimate.sd_runs, scale),
        interval=estimate.interval,
        n=int(n_defined.sum()),
        n_undefined=int((~n_defined).sum()),
        per_query=[None if math.isnan(v) else v for v in means.tolist()],
    )


def _shown(value: float, scale: int) -> float | None:
    """Displayed value; rounded where a matrix product's last bits depend on the threads."""
    return None if math.isnan(value) else round(value * scale, 10)
