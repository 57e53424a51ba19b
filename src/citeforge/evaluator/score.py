"""``score``: a submission against a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from citeforge.engines.files import digest_folder, sha256_file
from citeforge.evaluator.benchmark import Benchmark, ContextTable
from citeforge.evaluator.details import describe, labels_of
from citeforge.evaluator.entries import bounded_entries
from citeforge.evaluator.formats import answers_of, detect
from citeforge.evaluator.inputs import Inputs, read_inputs
from citeforge.evaluator.measures import rage
from citeforge.evaluator.measures.declared import MOST_CITATIONS
from citeforge.evaluator.measures.families import compute
from citeforge.evaluator.measures.registry import Measure
from citeforge.evaluator.origin import (
    anonymous_warnings,
    is_anonymous,
    require_same_benchmark,
    survey,
)
from citeforge.evaluator.statistics import (
    Floats,
    Measured,
    Sample,
    harmonic,
    harmonic_sample,
    mean_sample,
)
from citeforge.evaluator.submission import (
    CLOSED_BOOK,
    OWN,
    Places,
    choose_context,
    system_name,
)
from citeforge.evaluator.tools import Tools
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.grammar import Grammar
from citeforge.schemas.scores import AnswerDetail, Counts, NotComputed, ScoreFile
from citeforge.schemas.signature import Signature
from citeforge.schemas.submission import SubmissionLine

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
    tools: Tools | None = None,
    file_format: str = "auto",
    details: bool = False,
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
        tools: judge and segmenter, for measures that need them.
        file_format: format of the submission; see :mod:`citeforge.evaluator.formats`.
        details: keep the answers of the first run, in statements, for reports.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key.
        UsageError: the context set is not clear.
    """
    if any(m.family == "authorship" for m in measures):
        from citeforge.evaluator.authorship.score import score_design

        return score_design(path, benchmark, measures, protocol, context, file_format)
    if any(m.family == "kalma" for m in measures):
        from citeforge.evaluator.kalma.score import score_kalma

        return score_kalma(
            path,
            benchmark,
            measures,
            context=context,
            protocol=protocol,
            tools=tools or Tools(),
            file_format=file_format,
            details=details,
        )
    if benchmark.has_graphs:
        raise UsageError(
            f"--measures {','.join(m.name for m in measures)}: these look at passages, and "
            f"{benchmark.manifest.name} shows triples; what fits is --measures kalma, or any of "
            "that family: citeforge measures"
        )
    chosen = detect(path) if file_format == "auto" else file_format
    index_base = None
    if chosen in ("citeforge", "attributed-ir") and path.is_file():
        require_same_benchmark(path, benchmark)
    if chosen == "attrieval":
        index_base = 0  # its prompts count from 0

    def answers() -> Iterator[tuple[int, SubmissionLine]]:
        return answers_of(path, benchmark, chosen)

    name = choose_context(answers(), list(benchmark.manifest.contexts), context)
    grammar = _grammar(benchmark, index_base)
    warnings: list[str] = []
    if chosen != "citeforge" or is_anonymous(path):
        warnings += anonymous_warnings(path, benchmark) if chosen == "citeforge" else []
        warnings += survey(path, answers(), benchmark, name, grammar)
    tools = tools or Tools()
    if tools.judge is not None:
        tools.judge.begin()
    labelled = [m for m in measures if m.family == "rage"]
    others = [m for m in measures if m.family != "rage"]
    samples: list[Measured] = []
    missing: list[NotComputed] = []
    counts: Counts | None = None
    if labelled and name in (OWN, CLOSED_BOOK):
        reason = "passages without relevance labels" if name == OWN else "no passages were shown"
        missing += [NotComputed(name=m.name, reason=reason) for m in labelled]
    elif labelled:
        table = benchmark.context(name)
        runs, counts = _Reader(benchmark, table, protocol).read(path, answers())
        plain, missing = _samples(runs, labelled, table.is_judged)
        samples = [Measured(s) for s in plain]
    answers_kept: list[AnswerDetail] = []
    if others or counts is None or details:
        inputs = read_inputs(path, answers(), benchmark, name, protocol, tools, index_base)
        counts = counts or count_inputs(inputs)
        if details:
            answers_kept = describe(inputs, labels_of(benchmark, name))
        for measure, found in compute(inputs, {m.name for m in others}).items():
            if isinstance(found, str):
                missing.append(NotComputed(name=measure, reason=found))
            else:
                samples.append(found)
    if tools.judge is not None:
        counts.n_judge_failed = tools.judge.failures()
    by_name = {m.sample.name: m for m in samples}
    base = Signature(
        measure="",
        protocol=protocol,
        grammar=grammar.signature,
        context=name,
        benchmark=benchmark.label,
    )
    return ScoreFile(
        system=system_name(path) if path.is_file() else path.name,
        submission=path.name,
        submission_format=chosen,
        submission_sha256=sha256_file(path) if path.is_file() else digest_folder(path),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=protocol,
        context=name,
        counts=counts,
        query_ids=benchmark.query_ids,
        measures=bounded_entries(
            [(m, by_name[m.name]) for m in measures if m.name in by_name],
            lambda m: _signature(base, m, tools),
        ),
        not_computed=missing,
        answers=answers_kept,
        warnings=warnings,
    )


def _grammar(benchmark: Benchmark, index_base: int | None) -> Grammar:
    if index_base is None:
        return benchmark.grammar
    return replace(benchmark.grammar, base=index_base)


def _signature(base: Signature, measure: Measure, tools: Tools) -> Signature:
    """The signature of one measure: only what that measure depends on."""
    strict = base.protocol == "strict"
    protocol = base.protocol
    segmenter = None
    judge = None
    if "segmenter" in measure.uses and tools.segmenter is not None:
        segmenter = tools.segmenter.signature
        if not strict and not segmenter.startswith("punkt"):
            protocol = f"reference~seg:{segmenter.partition('-')[0]}"
    if "judge" in measure.uses and tools.judge is not None:
        judge = tools.judge.judge.signature
    return replace(
        base,
        measure=measure.name,
        protocol=protocol,
        segmenter=segmenter,
        judge=judge,
        options=_options(measure, tools, strict),
        grammar=base.grammar if strict else f"1,{measure.family}",
    )


def _options(measure: Measure, tools: Tools, strict: bool) -> str | None:
    """Model of a correctness measure, and choices that move it, as they stand in signatures."""
    models = tools.models
    is_citation = measure.family == "alce" and {"judge", "segmenter"} <= set(measure.uses)
    if tools.cot and (measure.name.startswith("QAMPARI.") or (is_citation and strict)):
        return "cot"
    if is_citation and not strict and tools.at_most_citations != MOST_CITATIONS:
        return f"at-most-{tools.at_most_citations}"
    if "bertscore" in measure.uses:
        return f"{Path(models.bertscore[0]).name}/layer{models.bertscore[1]}"
    if "mauve" in measure.uses:
        return Path(models.mauve).name
    return Path(models.qa).name if "qa" in measure.uses else None


def count_inputs(inputs: Inputs) -> Counts:
    """What a submission consists of."""
    tally = dict.fromkeys(("answered", "unparsed", "empty", "uncited", "beyond", "listed"), 0)
    for _, item in inputs.items():
        if item.is_missing:
            continue
        inside, outside, unparsed = inputs.grammar.cited(item.output, len(item.passages))
        tally["answered"] += 1
        tally["unparsed"] += unparsed > 0
        tally["empty"] += not item.output.strip()
        tally["uncited"] += not inside and not outside
        tally["beyond"] += outside > 0
        tally["listed"] += inputs.protocol == "strict" and inputs.grammar.has_list(item.output)
    n = len(inputs.benchmark.query_ids)
    return Counts(
        n_queries=n,
        n_runs=len(inputs.runs),
        n_answered=tally["answered"],
        n_missing=n * len(inputs.runs) - tally["answered"],
        n_unparsed=tally["unparsed"],
        n_empty=tally["empty"],
        n_truncated=inputs.n_truncated,
        n_uncited=tally["uncited"],
        n_out_of_range=tally["beyond"],
        n_listed=tally["listed"],
        n_no_relevant=sum(not ids for ids in inputs.benchmark.relevant_ids),
    )


class _Reader:
    """Scores answers while they are read: only numbers are kept."""

    def __init__(self, benchmark: Benchmark, table: ContextTable, protocol: Protocol) -> None:
        self.benchmark = benchmark
        self.table = table
        self.protocol = protocol
        make = rage.strict_scorer if protocol == "strict" else rage.reference_scorer
        self.grammar = benchmark.grammar
        self.scorer = make(self.grammar)
        self.answers = self._answers()
        self.tally = dict.fromkeys(
            ("unparsed", "empty", "truncated", "uncited", "out_of_range", "listed"), 0
        )

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

    def read(
        self, path: Path, answers: Iterable[tuple[int, SubmissionLine]]
    ) -> tuple[list[_Run], Counts]:
        n = len(self.benchmark.query_ids)
        runs: dict[int, _Run] = {}
        places = Places(path, self.benchmark)
        sizes, relevant, name = self.table.sizes, self.table.relevant, self.table.name
        nothing: dict[int, list[str]] = {}
        for line, answer in answers:
            if not places.is_of(line, answer, name):
                continue
            row = places.row(line, answer, name)
            run = runs.get(answer.run)
            if run is None:
                run = runs[answer.run] = _Run(np.full((n, 5), np.nan), np.zeros(n, np.bool_))
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
        self.tally["truncated"] = places.n_truncated
        ordered = [runs[number] for number in sorted(runs)]
        if self.protocol == "strict":
            self._fill_missing(ordered)
        return ordered, self._counts(ordered)

    def _count(self, output: str, result: rage.Answer) -> None:
        self.tally["unparsed"] += result.n_unparsed > 0
        self.tally["empty"] += not output.strip()
        self.tally["uncited"] += result.distinct == 0
        self.tally["out_of_range"] += result.n_out_of_range > 0
        if self.protocol == "strict":
            self.tally["listed"] += self.grammar.has_list(output)

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
            n_truncated=self.tally["truncated"],
            n_uncited=self.tally["uncited"],
            n_out_of_range=self.tally["out_of_range"],
            n_listed=self.tally["listed"],
            n_no_relevant=sum(not r for r in self.table.relevant),
        )


_UNLABELLED = frozenset({"Distinct", "Length"})


def _samples(
    runs: list[_Run], measures: list[Measure], is_judged: bool
) -> tuple[list[Sample], list[NotComputed]]:
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
        if not is_judged and measure.name not in _UNLABELLED:
            reason = "nobody judged which passages are relevant"
            missing.append(NotComputed(name=measure.name, reason=reason))
        elif np.isnan(sample.per_query).all():
            reason = f"needs {measure.needs}" if measure.needs else "no query defines it"
            missing.append(NotComputed(name=measure.name, reason=reason))
        else:
            samples.append(sample)
    return samples, missing
