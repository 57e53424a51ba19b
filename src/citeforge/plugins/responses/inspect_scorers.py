"""Measures of citeforge as a scorer and a metric of inspect_ai."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import anyio.to_thread
import msgspec
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from citeforge.plugins.responses.inspect_files import sample_answer
from citeforge.plugins.responses.task_scoring import (
    Scoring,
    Settings,
    list_raw_values,
    open_scoring,
)
from citeforge.schemas.errors import CiteforgeError, InputError, UsageError
from citeforge.schemas.submission import SubmissionLine

_KEY = "citeforge"


@contextmanager
def user_errors() -> Iterator[None]:
    """Convert citeforge's errors in the block to inspect_ai's PrerequisiteError.

    Its runner shows these without a traceback.
    """
    from inspect_ai._util.error import PrerequisiteError
    from rich.markup import escape

    try:
        yield
    except CiteforgeError as error:
        raise PrerequisiteError(escape(str(error))) from error


def split_names(names: str | list[str] | None) -> tuple[str, ...]:
    """Split names of measures at commas: ``a,b``, or a list of such texts."""
    parts = names.split(",") if isinstance(names, str) else names or []
    return tuple(p.strip() for part in parts for p in str(part).split(",") if p.strip())


@metric(scores="unreduced")  # type: ignore[untyped-decorator]
def whole() -> Metric:
    """Make the inspect_ai metric that computes measures over all samples of a run.

    Measures are those of ``citeforge score``. Values are raw: a hundredth of what it shows where
    that is a percentage. With answers to several context sets each name ends in ``[context]``.
    """

    def compute(scores: list[SampleScore]) -> Value:
        """Compute measures of all samples: values by name (not in %), with ``NAME_stderr``."""
        groups: dict[Settings, list[SubmissionLine]] = {}
        for sample in scores:
            origin = (sample.score.metadata or {}).get(_KEY)
            if origin is not None:
                settings = msgspec.convert(origin["settings"], Settings)
                line = SubmissionLine(
                    query_id=origin["query_id"], output=sample.score.answer or "",
                    context=origin.get("context"), run=origin["run"],
                )  # fmt: skip
                groups.setdefault(settings, []).append(line)
        values: dict[str, float | None] = {}
        for settings, answers in groups.items():
            values |= list_raw_values(open_scoring(settings).score_all(answers))
        return values

    return compute


@scorer(metrics=[whole()])  # type: ignore[untyped-decorator]
def measured(
    benchmark: str,
    measures: str | list[str] | None = None,
    judge: str | None = None,
    protocol: str = "strict",
    gold: str | None = None,
) -> Scorer:
    """Make the inspect_ai scorer that scores each sample's answer by citeforge's measures.

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
    settings = Settings(benchmark, gold, split_names(measures), protocol, judge)
    with user_errors():
        scoring = open_scoring(settings)
    lock = anyio.Lock()  # a judge and its store are asked by one at a time

    async def score(state: TaskState, target: Target) -> Score:
        """Score a sample's answer: value by measure (not in %), and reasons for missing ones."""
        answer = _convert_answer(state, scoring)
        async with lock:
            values, reasons = await anyio.to_thread.run_sync(scoring.score_one, answer)
        lines = (f"{name} was not computed: {why}" for name, why in reasons.items())
        origin = {
            "query_id": answer.query_id,
            "context": answer.context,
            "run": answer.run,
            "settings": msgspec.to_builtins(settings),
        }
        return Score(
            value=dict(values),
            answer=answer.output,
            explanation="; ".join(lines) or None,
            metadata={_KEY: origin},
        )

    return score


def _convert_answer(state: TaskState, scoring: Scoring) -> SubmissionLine:
    """Convert an inspect_ai sample's output to a submission line, with citations as marks.

    Raises:
        UsageError: it was made on another build of the benchmark.
    """
    benchmark = scoring.benchmark
    try:
        benchmark.require_hash(state.metadata.get("benchmark_hash"), benchmark.folder, 1)
        return sample_answer(
            scoring.placer, str(state.sample_id), state.metadata, state.output, state.epoch
        )
    except InputError as error:
        raise UsageError(
            f"the sample {state.sample_id!r}: {error.message}", code=error.code
        ) from error
