"""Our measures as a scorer and a metric of inspect_ai."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from citeforge.plugins.inspect.scoring import Scoring, Settings, said_to_users, scoring_of
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import SubmissionLine

_KEY = "citeforge"


def words(given: str | list[str] | None) -> tuple[str, ...]:
    """Names from what ``-T measures=a,b`` gives: a list, or one text with commas."""
    parts = given.split(",") if isinstance(given, str) else given or []
    return tuple(p.strip() for part in parts for p in str(part).split(",") if p.strip())


@metric(scores="unreduced")  # type: ignore[untyped-decorator]
def whole() -> Metric:
    """Every measure over all samples that were scored, epochs being runs, as ``citeforge score``.

    Values are raw: a hundredth of what ``citeforge score`` shows where that is a percentage. With
    answers to several context sets each name ends in ``[context]``.
    """

    def compute(scores: list[SampleScore]) -> Value:
        groups: dict[Settings, list[SubmissionLine]] = {}
        for found in scores:
            kept = (found.score.metadata or {}).get(_KEY)
            if kept is not None:
                settings = Settings.of(kept["settings"])
                groups.setdefault(settings, []).append(_line(kept, found.score))
        values: dict[str, float | None] = {}
        for settings, answers in groups.items():
            files = scoring_of(settings).all(answers)
            for file in files:
                suffix = f"[{file.context}]" if len(files) > 1 else ""
                for entry in file.measures:
                    if entry.value is not None:
                        values[entry.name + suffix] = entry.value / entry.scale
                        if entry.stderr is not None:
                            values[f"{entry.name}{suffix}_stderr"] = entry.stderr / entry.scale
        return values

    return compute


def _line(kept: Mapping[str, Any], found: Score) -> SubmissionLine:
    return SubmissionLine(
        query_id=kept["query_id"],
        output=found.answer or "",
        context=kept.get("context"),
        run=kept["run"],
    )


@scorer(metrics=[whole()])  # type: ignore[untyped-decorator]
def measured(
    benchmark: str,
    measures: str | list[str] | None = None,
    judge: str | None = None,
    protocol: str = "strict",
    gold: str | None = None,
) -> Scorer:
    """Score answers by measures of citeforge.

    A sample's score maps measures to raw values, those that stand in ``per_query`` of a score file.
    Samples say in their metadata which query they ask (``query_id``; else their id is taken) and
    which context set they show (``context``).

    Args:
        benchmark: folder of a package, or ``hub:ORG/NAME``.
        measures: measures or families; None for those that fit the benchmark.
        judge: decides entailment: ``lexical``, ``hf:MODEL``, ``openai:MODEL`` or ``table:FILE``.
        protocol: ``strict``, or ``reference``: what the papers' own code prints.
        gold: the half with hidden labels.

    Raises:
        PrerequisiteError: the benchmark, a measure or the judge cannot be had.
    """
    settings = Settings(benchmark, gold, words(measures), protocol, judge)
    with said_to_users():
        scoring = scoring_of(settings)
    lock = anyio.Lock()  # a judge and its store are asked by one at a time

    async def score(state: TaskState, target: Target) -> Score:
        answer = _answer_of(state, scoring)
        async with lock:
            found = await anyio.to_thread.run_sync(scoring.one, answer)
        reasons = "; ".join(
            f"{name} was not computed: {why}" for name, why in found.reasons.items()
        )
        kept = {
            "query_id": answer.query_id,
            "context": answer.context,
            "run": answer.run,
            "settings": settings.as_metadata(),
        }
        return Score(
            value=dict(found.values),
            answer=answer.output,
            explanation=reasons or None,
            metadata={_KEY: kept},
        )

    return score


def _answer_of(state: TaskState, scoring: Scoring) -> SubmissionLine:
    """The answer that a sample came to.

    Raises:
        UsageError: it was made on another build of the benchmark, or names no context set.
    """
    said = state.metadata
    theirs, ours = said.get("benchmark_hash"), scoring.benchmark.hash
    if theirs is not None and theirs not in (ours, *scoring.benchmark.also_known):
        raise UsageError(
            f"the sample {state.sample_id!r} was made on a benchmark with hash {theirs[:16]}…, "
            f"{scoring.benchmark.name} has {ours[:16]}…; score it against the one that it answers"
        )
    known = scoring.benchmark.contexts
    context = said.get("context") or (known[0] if len(known) == 1 else None)
    if context not in known:
        raise UsageError(
            f"the sample {state.sample_id!r} names no context set; its metadata context should be "
            f"one of {', '.join(known)}"
        )
    try:
        return scoring.answers.answer(
            1, str(state.sample_id), {**said, "context": context}, state.output, state.epoch
        )
    except InputError as error:
        raise UsageError(f"the sample {state.sample_id!r}: {error.message}") from error
