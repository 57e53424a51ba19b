"""Scoring a submission to a KaLMA benchmark in one context set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from citeforge.engines.files import sha256_file
from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.segment import Segmenter
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.entries import bounded_entries
from citeforge.evaluator.formats import answers_of, detect
from citeforge.evaluator.kalma import geval
from citeforge.evaluator.kalma.citations import citation_samples
from citeforge.evaluator.kalma.inputs import Claim, KalmaInputs, read_kalma
from citeforge.evaluator.kalma.judged import align_samples, hypothesis, na_samples
from citeforge.evaluator.kalma.reference import SENTENCES
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.origin import (
    Reach,
    anonymous_warnings,
    is_anonymous,
    require_same_benchmark,
)
from citeforge.evaluator.statistics import Measured
from citeforge.evaluator.submission import (
    FULL,
    OWN,
    choose_context,
    system_name,
)
from citeforge.evaluator.tools import NO_JUDGE, Tools
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import (
    AnswerDetail,
    Counts,
    NotComputed,
    PassageDetail,
    ScoreFile,
    StatementDetail,
)
from citeforge.schemas.signature import Signature

Protocol = Literal["strict", "reference"]
Found = Iterator[tuple[str, Measured | str]]


def score_kalma(
    path: Path,
    benchmark: Benchmark,
    measures: list[Measure],
    *,
    context: str | None,
    protocol: Protocol,
    tools: Tools,
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
    if context is None and name == OWN:
        name = FULL  # whose reader says which line brings passages
    inputs = read_kalma(
        path, answers_of(path, benchmark, chosen), benchmark, name, protocol, tools.segmenter
    )
    if tools.judge is not None:
        tools.judge.begin()
    marker = None if tools.llm is None else geval.Marker(tools.llm, protocol == "reference")
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
        measures=bounded_entries(
            [(wanted[n], samples[n]) for n in wanted if n in samples],
            lambda m: _signature_of(base, m, tools),
        ),
        not_computed=missing,
        answers=_details(inputs, tools.judge) if details and inputs.can_split else [],
        warnings=_warnings(path, inputs, chosen),
    )


def _warnings(path: Path, inputs: KalmaInputs, chosen: str) -> list[str]:
    """What makes it doubtful that the submission answers this benchmark."""
    if chosen == "citeforge" and not is_anonymous(path):
        return []
    reach = Reach()
    for reading in (r for run in inputs.runs for r in run):
        keys = {c.key.compared for c in reading.citations if c.complete}
        reach.add((), len(keys - reading.shown.citable), 0)
    unnamed = anonymous_warnings(path, inputs.benchmark) if chosen == "citeforge" else []
    return unnamed + reach.warnings("triples")


_SUMS = frozenset({"KaLMA.Corr@micro", "KaLMA.P@micro", "KaLMA.F1@micro", "KaLMA.Align@micro"})
"""Ratios of sums: 0, not undefined, when nobody cites anything."""


def _compute(
    inputs: KalmaInputs, names: set[str], tools: Tools, marker: geval.Marker | None
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
        if tools.judge is None or not inputs.can_split:
            reason = NO_JUDGE if tools.judge is None else tools.why_no_segmenter
            yield from ((n, reason) for n in here)
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


def _signature_of(base: Signature, measure: Measure, tools: Tools) -> Signature:
    """The signature of one measure: only what that measure depends on."""
    judge = tools.judge if "judge" in measure.uses else None
    segmenter: Segmenter | None = None
    if judge is not None:
        segmenter = SENTENCES if base.protocol == "reference" else tools.segmenter
    return replace(
        base,
        measure=measure.name,
        judge=None if judge is None else judge.judge.signature,
        segmenter=None if segmenter is None else segmenter.signature,
        gold=_gold_sets(measure.name, base.protocol),
        options=_options(measure, tools),
    )


def _gold_sets(name: str, protocol: str) -> str | None:
    """Rounds whose gold a measure looks at."""
    if not name.startswith(("KaLMA.P@", "KaLMA.R@", "KaLMA.F1@", "KaLMA.Corr@", "KaLMA.NA.")):
        return None
    if protocol == "strict":
        return None if "Corr" in name else "removed" if "NA" in name else "all"
    if "F1" in name:
        return "P:all,R:2+"
    if "Corr" in name:
        return None
    return "all" if ".P@" in name else "2+"


def _options(measure: Measure, tools: Tools) -> str | None:
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
        n_truncated=inputs.n_truncated,
        n_uncited=sum(not r.citations for r in readings),
        n_out_of_range=sum(any(not r.shown.shows(c) for c in r.citations) for r in readings),
    )


def _details(inputs: KalmaInputs, judge: JudgeSession | None) -> list[AnswerDetail]:
    """Answers of the first run; triples take the place of passages."""
    claims = [inputs.claims(reading) for reading in inputs.runs[0]]
    wanted = [pair for of_answer in claims for claim in of_answer for pair in _pairs(claim)]
    decisions = {} if judge is None else judge.ask(wanted)
    found = []
    for reading, mine in zip(inputs.runs[0], claims, strict=True):
        place = {t.key.compared: i for i, t in enumerate(reading.shown.triples)}
        statements = [
            StatementDetail(
                text=claim.text,
                cited=[
                    at for c in claim.citations if (at := place.get(c.key.compared)) is not None
                ],
                wrong=sum(not reading.shown.shows(c) for c in claim.citations),
                supported=_supported(claim, decisions),
            )
            for claim in mine
        ]
        gold = {key.compared for key, _ in reading.shown.gold}
        passages = [
            PassageDetail(
                id=t.qid,
                title=t.name,
                text=f"{t.relation}: {t.value}",
                label="minimum knowledge" if t.key.compared in gold else None,
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


def _pairs(claim: Claim) -> list[Pair]:
    return [Pair(claim.text, hypothesis(c.relation, c.value)) for c in claim.citations]


def _supported(claim: Claim, decisions: Mapping[Pair, Decision]) -> bool | None:
    """Whether a statement entails all that it cites; None without verdicts or a citation."""
    verdicts = [decisions.get(pair) for pair in _pairs(claim)]
    known = [v for v in verdicts if isinstance(v, Verdict)]
    if not verdicts or len(known) < len(verdicts):
        return None
    return all(v.entailed for v in known)
