"""Run a system on a benchmark, and write its answers as a submission."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import require_writable
from citeforge.engines.judge.llm import LlmJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import USUAL_ANSWER, RunPlan
from citeforge.engines.llm.records import Failure, Llm
from citeforge.engines.progress import Advance, progress
from citeforge.engines.progress_files import progress_file
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.unwrapping import SameAnswers
from citeforge.schemas.errors import FailuresError, InputError, UnknownValueError, UsageError
from citeforge.schemas.recipes.base import Part, make_record
from citeforge.schemas.recipes.command_options import AmountOptions
from citeforge.schemas.recipes.systems import System, name_problem
from citeforge.schemas.submission import CONTROL, SubmissionLine, make_header
from citeforge.systems.llm_answers import ask, plan_jobs, plan_judging, prepare_jobs, reply_line
from citeforge.systems.registry import refusal
from citeforge.systems.submission_writer import write_submission
from citeforge.systems.system import Reply


@dataclass(frozen=True)
class Outcome:
    """Counts and failures of a run, and the name of its system.

    Attributes:
        system: name of the system in the submission's header.
        answers: number of answers written.
        failures: (query id, failure) of every missing answer.
        counts: other figures above 0 by key, such as ``dropped_from_prompts[passages]``.
        warnings: doubts about the answers, such as one text in all of them.
    """

    system: str
    answers: int
    failures: Sequence[tuple[str, Failure]] = ()
    counts: Counter[str] = field(default_factory=Counter)
    warnings: Sequence[str] = ()

    @classmethod
    def of_written(
        cls, system: str, written: SameAnswers, failures: Sequence[tuple[str, Failure]] = (),
        counts: Counter[str] | None = None,
    ) -> "Outcome":  # fmt: skip
        """Make the outcome of a run from its written answers, with warnings about them."""
        warnings = [finding.message for finding in written.findings()]
        return cls(system, written.n, failures, counts or Counter(), warnings)


def run_system(
    system: System, benchmark: Benchmark, contexts: list[str], runs: int, seed: int, out: Path, *,
    llm: Llm | None = None, judge: JudgeSession | None = None, options: Part | None = None,
    limit: int | None = None, header_name: str | None = None,
) -> Outcome:  # fmt: skip
    """Run a system on a benchmark, and write its answers to a submission file.

    Args:
        system: declaration of the system.
        benchmark: benchmark to answer.
        contexts: context sets to answer; empty for all, or for the one that the system is about.
        runs: number of runs.
        seed: seed of all draws.
        out: submission to write.
        llm: LLM to ask; None for systems that need none.
        judge: judge of ``--rerank``.
        options: record of the system's options; None for its defaults.
        limit: number of queries to answer, from the first; None for all.
        header_name: name in the header; None for the system's name with the LLM's.

    Returns:
        Number of answers, and the failures.

    Raises:
        UnknownValueError: no such context set.
        UsageError: the system does not answer this kind of benchmark, has nothing to say, or needs
            an LLM, or the runs or the limit are below 1.
        InputError: the LLM's first calls all fail.
        FailuresError: there is no answer at all.
    """
    sets = _check_contexts(system, benchmark, contexts, runs, seed, limit, llm)
    name = header_name or system.name
    if (fault := name_problem(name)) is not None:
        raise UsageError(f"--system: the name {fault}", code="bad-name")
    manifest = benchmark.manifest
    start = partial(make_header, benchmark=manifest.name, benchmark_hash=manifest.answer_hash)
    if not system.llm:
        made = system.factory(benchmark, sets, runs, seed)
        lines = _check_lines(made, system.name, benchmark)
        queries = None if limit is None else set(benchmark.query_ids[:limit])
        rows = (x for x in lines if queries is None or x["query_id"] in queries)
        if (first := next(rows, None)) is None:
            raise UsageError(
                f"{manifest.name} has nothing for the system {name!r} to answer with",
                code="no-answers",
            )
        more: dict[str, Any] = {} if limit is None else {"limit": limit}
        more |= {CONTROL: True} if system.is_control else {}
        header, total = start(name, contexts=sets, **more), None if runs > 1 else limit
        with progress_file("run", out), progress("answering", total, "answers") as advance:
            written = write_submission(out, header, _report_each(chain([first], rows), advance))
        return Outcome.of_written(name, written)
    assert llm is not None  # else `require_fit` has raised an error
    require_writable(out)
    settings = options if options is not None else system.options()
    with progress_file("run", out):
        answers, recipe, counts = ask(
            system, benchmark, sets, runs, seed, llm, settings, limit, judge
        )
    failures = [(task.item.query_id, r) for task, r in answers if isinstance(r, Failure)]
    if failures and len(failures) == len(answers):
        query, failure = failures[0]
        raise FailuresError(
            f"none of {len(answers):,} prompts has an answer, so nothing is written; query "
            f"{query!r}: {failure.reason}: {failure.message}",
            code="no-answers",
        )
    own = system.name if system.asks else f"{system.name} ({llm.identity()['name']})"
    header_name = header_name or own
    header = start(header_name, contexts=sets, **recipe)
    replied = (reply_line(task, reply) for task, reply in answers if isinstance(reply, Reply))
    return Outcome.of_written(header_name, write_submission(out, header, replied), failures, counts)


def _report_each(rows: Iterable[dict[str, Any]], advance: Advance) -> Iterator[dict[str, Any]]:
    """Yield submission lines, and report each one to the progress bar."""
    for row in rows:
        yield row
        advance(1)


def plan_system(
    system: System, benchmark: Benchmark, contexts: list[str], runs: int, seed: int,
    llm: Llm | None, options: Part, limit: int | None,
) -> RunPlan:  # fmt: skip
    """Plan the LLM calls of a system's run on a benchmark, with an upper bound; ask nothing.

    Raises:
        UnknownValueError: no such context set.
        UsageError: the system asks no LLM, or see :func:`run_system`.
    """
    sets = _check_contexts(system, benchmark, contexts, runs, seed, limit, llm)
    if not system.llm:
        raise UsageError(f"--dry-run: {system.name} asks no LLM", code="option-without-effect")
    assert llm is not None  # else `require_fit` has raised an error
    jobs, setting = prepare_jobs(system, benchmark, sets, runs, seed, llm, options, limit)
    return plan_jobs(jobs, setting.options, llm)


def plan_answers(
    system: System, benchmark: Benchmark, contexts: list[str], runs: int, seed: int,
    llm: Llm | None, options: Part, limit: int | None, judge: LlmJudge, judgings_per_answer: int,
) -> RunPlan:  # fmt: skip
    """Estimate the calls of a judge that judges a system's answers, each one or more times.

    Args:
        judge: judge of the answers.
        judgings_per_answer: how often an answer is judged: for a score, and for each candidate of
            ``--rerank``.
    """
    sets = _check_contexts(system, benchmark, contexts, runs, seed, limit, llm)
    items = [item for name in sets for item in islice(benchmark.items(name), limit)]
    return plan_judging(
        items, runs * judgings_per_answer, getattr(options, "max_answer", USUAL_ANSWER), judge
    )


def _check_contexts(
    system: System, benchmark: Benchmark, contexts: list[str], runs: int, seed: int,
    limit: int | None, llm: Llm | None,
) -> list[str]:  # fmt: skip
    """Check that a system can run on a benchmark; list the context sets to answer."""
    make_record(AmountOptions, runs=runs, seed=seed, limit=limit)
    require_fit(system, benchmark, llm)
    return _choose_contexts(system, benchmark, contexts)


def require_fit(system: System, benchmark: Benchmark, llm: object) -> None:
    """Raise an error if a system cannot answer a benchmark, or lacks an LLM that it needs.

    Args:
        system: declaration of the system.
        benchmark: benchmark to answer.
        llm: an LLM or its name; None for none.

    Raises:
        UsageError: says why.
    """
    if reason := refusal(system, benchmark):
        raise UsageError(f"{system.name}: {reason}", code="wrong-kind")
    if system.argument and not system.asks:
        raise UsageError(f"{system.name}: write {system.form}", code="missing-option")
    if system.llm and llm is None and not system.asks:
        raise UsageError(
            f"{system.name} asks an LLM; give --llm, e.g. openai:MODEL", code="missing-option"
        )


def _check_lines(
    lines: Iterable[dict[str, Any]], name: str, benchmark: Benchmark
) -> Iterator[dict[str, Any]]:
    """Yield the submission lines of a system; raise an error at an invalid one.

    Args:
        lines: lines as the system gives them.
        name: name of the system, for the error.
        benchmark: has the queries that they may answer.

    Raises:
        InputError: a line is not valid; the system is broken.
    """
    queries = {*benchmark.query_ids}
    for line in lines:
        try:
            query = msgspec.convert(line, SubmissionLine).query_id
            reason = "" if query in queries else f"there is no query {query!r}"
        except msgspec.ValidationError as error:
            reason = str(error)
        if reason:
            raise InputError(
                f"the system {name!r} wrote the line {line!r:.80}: {reason}",
                allowed="fix the plugin that defines it",
                code="broken-plugin",
            )
        yield line


def _choose_contexts(system: System, benchmark: Benchmark, names: list[str]) -> list[str]:
    """Choose the context sets that a system answers: the named ones, else its default.

    Args:
        system: declaration of the system.
        benchmark: benchmark to answer.
        names: context sets that the user names; ``all`` for all; empty for the default.
    """
    every = list(benchmark.manifest.contexts)
    if names == ["all"] and "all" not in every:
        names = every
    for context in names:
        if context not in every:
            raise UnknownValueError("context", context, every)
    if system.own and len(names) > 1:
        raise UsageError(
            f"{system.name} brings its own passages; name one context set, or none",
            code="conflicting-options",
        )
    if names or not system.llm:
        return names or every
    if system.own:
        return every[:1]
    if system.context and system.context not in every:
        raise UsageError(
            f"{system.name}: {benchmark.manifest.name} has no context set {system.context!r}; "
            f"build one, or name another with --context: {', '.join(every)}",
            code="unknown-context",
        )
    return [system.context] if system.context else every
