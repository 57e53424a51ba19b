"""Scoring a submission to a KaLMA benchmark in one context set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from citeforge.engines.files import sha256_file
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.segment import Segmenter
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.entries import make_entry, shown
from citeforge.evaluator.formats import answers_of, detect
from citeforge.evaluator.kalma import geval
from citeforge.evaluator.kalma.citations import citation_samples
from citeforge.evaluator.kalma.inputs import KalmaInputs, read_kalma
from citeforge.evaluator.kalma.judged import align_samples, na_samples
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.families import Measured
from citeforge.evaluator.statistics import estimate_all
from citeforge.evaluator.submission import (
    choose_context,
    require_same_benchmark,
    system_name,
)
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import (
    AnswerDetail,
    Counts,
    MeasureScore,
    NotComputed,
    PassageDetail,
    ScoreFile,
    StatementDetail,
)
from citeforge.schemas.signature import Signature

Protocol = Literal["strict", "reference"]
Found = Iterator[tuple[str, Measured | str]]
_NO_JUDGE = "needs a judge: --judge hf:MODEL, openai:MODEL, table:FILE or lexical"


@dataclass(frozen=True)
class KalmaTools:
    """What measures may need besides the data.

    Attributes:
        judge: decides entailment.
        segmenter: splits sentences.
        llm: gives marks (G-Eval), and decides whether a sentence answers at all.
    """

    judge: JudgeSession | None = None
    segmenter: Segmenter | None = None
    llm: Llm | None = None


def score_kalma(
    path: Path,
    benchmark: Benchmark,
    measures: list[Measure],
    *,
    context: str | None,
    protocol: Protocol,
    tools: KalmaTools,
    file_format: str = "auto",
    details: bool = False,
) -> ScoreFile:
    """Score a submission.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key.
        UsageError: another kind of benchmark, other measures, or no clear context.
    """
    if benchmark.manifest.kind != "kalma":
        raise UsageError(
            f"kalma measures need a kalma benchmark; {benchmark.manifest.name} is "
            f"{benchmark.manifest.kind}"
        )
    others = [m.name for m in measures if m.family != "kalma"]
    if others:
        raise UsageError(f"--measures {','.join(others)}: not of a kalma benchmark")
    chosen = detect(path) if file_format == "auto" else file_format
    if chosen == "citeforge":
        require_same_benchmark(path, benchmark)
    known = list(benchmark.manifest.contexts)
    name = choose_context(answers_of(path, benchmark, chosen), known, context)
    inputs = read_kalma(
        path, answers_of(path, benchmark, chosen), benchmark, name, protocol, tools.segmenter
    )
    if tools.judge is not None:
        tools.judge.begin()
    marker = None if tools.llm is None else geval.Marker(tools.llm)
    wanted = {m.name: m for m in measures}
    samples: dict[str, Measured] = {}
    missing: list[NotComputed] = []
    for measure, found in _compute(inputs, set(wanted), tools, marker):
        if isinstance(found, str):
            missing.append(NotComputed(name=measure, reason=found))
        elif np.isnan(found.sample.per_query).all() and measure not in _SUMS:
            missing.append(NotComputed(name=measure, reason="no query defines it"))
        else:
            samples[measure] = found
    ordered = [n for n in wanted if n in samples]
    base = _signature(benchmark, protocol, name)
    counts = _counts(inputs)
    failed = tools.judge.failures() if tools.judge is not None else 0
    counts.n_judge_failed = failed + (marker.failed if marker is not None else 0)
    return ScoreFile(
        system=system_name(path) if path.is_file() and chosen == "citeforge" else path.stem,
        submission=path.name,
        submission_format=chosen,
        submission_sha256=sha256_file(path),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=protocol,
        context=name,
        counts=counts,
        query_ids=benchmark.query_ids,
        measures=_entries([(wanted[n], samples[n]) for n in ordered], base, tools),
        not_computed=missing,
        answers=_details(inputs, tools.judge) if details and tools.segmenter else [],
    )


_SUMS = frozenset({"KaLMA.Corr@micro", "KaLMA.P@micro", "KaLMA.F1@micro", "KaLMA.Align@micro"})
"""Ratios of sums: 0, not undefined, when nobody cites anything."""


def _compute(
    inputs: KalmaInputs, names: set[str], tools: KalmaTools, marker: geval.Marker | None
) -> Found:
    plain = dict(citation_samples(inputs))
    for name in sorted(names):
        if name in plain:
            yield name, Measured(plain[name])
        elif name.startswith(("KaLMA.P@", "KaLMA.R@", "KaLMA.F1@")):
            yield name, "the benchmark has no minimum knowledge sets"
    for group in (("KaLMA.Align@micro", "KaLMA.Align@macro"), ("KaLMA.NA.P", "KaLMA.NA.R")):
        here = [n for n in group if n in names]
        if not here:
            continue
        if tools.judge is None or inputs.segmenter is None:
            yield from ((n, _NO_JUDGE) for n in here)
            continue
        answers = None if marker is None else marker.answers
        found: Found = (
            iter(align_samples(inputs, tools.judge))
            if "Align" in group[0]
            else na_samples(inputs, tools.judge, answers)
        )
        yield from ((n, s) for n, s in found if n in names)
    aspects = [a for a in geval.ASPECTS if f"GEval.{a}" in names]
    if aspects and marker is None:
        yield from ((f"GEval.{a}", "needs --llm openai:MODEL or replay:FILE") for a in aspects)
    elif marker is not None:
        yield from geval.geval_samples(inputs, marker, aspects)


def _signature(benchmark: Benchmark, protocol: str, context: str) -> Signature:
    grammar = benchmark.manifest.grammar.name if protocol == "strict" else "triples,kalma"
    return Signature(
        measure="", protocol=protocol, grammar=grammar, context=context, benchmark=benchmark.label
    )


def _entries(
    rows: list[tuple[Measure, Measured]], base: Signature, tools: KalmaTools
) -> list[MeasureScore]:
    estimates = estimate_all([m.sample for _, m in rows])
    uppers = estimate_all([m.upper for _, m in rows if m.upper is not None], resamples=2)
    upper = iter(uppers)
    entries = []
    for (measure, measured), estimate in zip(rows, estimates, strict=True):
        judged = "judge" in measure.uses and tools.judge is not None
        signature = replace(
            base,
            measure=measure.name,
            judge=tools.judge.judge.signature if judged and tools.judge else None,
            segmenter=tools.segmenter.signature if judged and tools.segmenter else None,
            gold=_gold_sets(measure.name, base.protocol),
            options=_options(measure, tools),
        )
        entry = make_entry(measure, measured.sample, estimate, signature)
        if measured.upper is not None:
            entry.lower_bound = entry.value
            entry.upper_bound = shown(next(upper).value, measure.scale)
        entries.append(entry)
    return entries


def _gold_sets(name: str, protocol: str) -> str | None:
    """Rounds whose gold a measure looks at."""
    if not name.startswith(("KaLMA.P@", "KaLMA.R@", "KaLMA.F1@", "KaLMA.Corr@", "KaLMA.NA.")):
        return None
    if protocol == "strict":
        return None if "Corr" in name else "removed" if "NA" in name else "all"
    if "F1" in name:
        return "P:all,R:2+"
    return "all" if ".P@" in name else "2+"


def _options(measure: Measure, tools: KalmaTools) -> str | None:
    if "llm" in measure.uses and tools.llm is not None:
        return f"{tools.llm.identity()['name']},prompts {geval.prompt_digest()}"
    if measure.name == "KaLMA.NA.P":
        clause = "off" if tools.llm is None else str(tools.llm.identity()["name"])
        return f"answers-nothing clause {clause}"
    return None


def _counts(inputs: KalmaInputs) -> Counts:
    n = len(inputs.benchmark.query_ids)
    readings = [r for run in inputs.runs for r in run if not r.is_missing]
    return Counts(
        n_queries=n,
        n_runs=len(inputs.runs),
        n_answered=len(readings),
        n_missing=n * len(inputs.runs) - len(readings),
        n_unparsed=sum(r.n_unparsed > 0 for r in readings),
        n_empty=sum(not r.output.strip() for r in readings),
        n_uncited=sum(not r.citations for r in readings),
        n_out_of_range=sum(any(c.key not in r.shown.keys for c in r.citations) for r in readings),
    )


def _details(inputs: KalmaInputs, judge: JudgeSession | None) -> list[AnswerDetail]:
    """Answers of the first run; triples take the place of passages."""
    found = []
    for reading in inputs.runs[0]:
        place = {t.key: i for i, t in enumerate(reading.shown.triples)}
        statements = [
            StatementDetail(
                text=claim.text,
                cited=[place[c.key] for c in claim.citations if c.key in place],
                wrong=sum(c.key not in place for c in claim.citations),
                supported=_supported(claim.text, claim.citations, judge),
            )
            for claim in inputs.claims(reading)
        ]
        gold = {key for key, _ in reading.shown.gold}
        passages = [
            PassageDetail(
                id=t.qid,
                title=t.name,
                text=f"{t.relation}: {t.value}",
                label="minimum knowledge" if t.key in gold else None,
            )
            for t in reading.shown.triples
        ]
        found.append(
            AnswerDetail(
                query_id=inputs.benchmark.query_ids[reading.row],
                query=reading.shown.question,
                statements=statements,
                passages=passages,
                is_missing=reading.is_missing,
            )
        )
    return found


def _supported(text: str, citations: object, judge: JudgeSession | None) -> bool | None:
    """Whether a statement entails all that it cites; None without a judge or a citation."""
    from citeforge.engines.judge.records import JudgeFailure, Pair
    from citeforge.schemas.triples import TripleCitation

    assert isinstance(citations, tuple)
    cited: tuple[TripleCitation, ...] = citations
    if judge is None or not cited:
        return None
    pairs = [Pair(text, f"{c.relation}: {c.value}") for c in cited]
    decisions = judge.ask(pairs)
    if any(isinstance(decisions[p], JudgeFailure) for p in pairs):
        return None
    return all(getattr(decisions[p], "entailed", False) for p in pairs)
