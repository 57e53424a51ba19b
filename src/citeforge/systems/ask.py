"""Asking an LLM for all answers of a system."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import Bound, RunPlan, bound_call
from citeforge.engines.llm.records import Failure, Llm, LlmReply, Request, Result
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.models.embed import make_embedder
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.systems import System
from citeforge.systems.editing import (
    best_of,
    cites_candidates,
    post_cite,
    require_editing,
)
from citeforge.systems.options import EditedOptions, LlmOptions
from citeforge.systems.prompts import Prompts, TokenWindow, make_counter
from citeforge.systems.system import MakeSteps, Reply, Setting, Task
from citeforge.systems.writing import answer_line, endings

Make = Callable[[Setting[Any]], MakeSteps]
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class SystemAnswers:
    """Answers of a system to every query.

    Attributes:
        tasks: what was asked, run by run and context by context.
        replies: one a task.
        recipe: what the header says of how the answers were made.
        counts: what is told of the run.
    """

    tasks: Sequence[Task]
    replies: Sequence[Reply | Failure]
    recipe: dict[str, Any]
    counts: Counter[str]

    @property
    def failures(self) -> list[tuple[str, Failure]]:
        """(query id, failure) of every task without a reply."""
        pairs = zip(self.tasks, self.replies, strict=True)
        return [(t.item.query_id, r) for t, r in pairs if isinstance(r, Failure)]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines of the submission; failures are left out, and scored as missing."""
        for task, reply in zip(self.tasks, self.replies, strict=True):
            if isinstance(reply, Reply):
                yield _line(task, reply)


@dataclass(frozen=True)
class PreparedJobs:
    """Jobs of a system before anything is asked.

    Attributes:
        jobs: tasks, run by run and context by context, with the steps that answer them.
        options: options of the system.
        prompts: its templates.
        window: how long prompts may be.
        counts: figures of the run.
        facts: further fields of the submission's header.
    """

    jobs: list[tuple[Task, MakeSteps]]
    options: LlmOptions
    prompts: Prompts
    window: TokenWindow
    counts: Counter[str]
    facts: dict[str, Any]


def prepare(
    system: System, make: Make, benchmark: Benchmark, contexts: Sequence[str], runs: int,
    seed: int, llm: Llm, options: Part, limit: int | None,
) -> PreparedJobs:  # fmt: skip
    """Make the jobs of a system; see :func:`citeforge.systems.run.run_system`.

    Raises:
        UsageError: ``--template`` for a system without a main prompt, or a window that is too
            small for one passage.
        InputError: a template is wrong.
    """
    if not isinstance(options, LlmOptions):
        raise UsageError(
            f"{system.name}: its options must be a record of LlmOptions", code="wrong-type"
        )
    if options.template is not None and not system.template:
        raise UsageError(
            f"--template: {system.name} has no main prompt that could be replaced",
            code="option-without-effect",
        )
    if options.later_calls and isinstance(llm, OpenAiLlm) and llm.options.batch:
        raise UsageError(
            f"--batch: not for {system.name} with these options: it asks in rounds, up to "
            f"{1 + options.later_calls} for one query, and each would wait up to a day for a batch",
            code="option-without-effect",
        )
    edited = options if isinstance(options, EditedOptions) else EditedOptions()
    instead = {} if options.template is None else {system.template: options.template}
    prompts = Prompts(instead, system.templates)
    size = options.window or getattr(llm, "window", None)
    window = TokenWindow(size, options.max_answer, *make_counter(options.tokenizer, llm))
    counts: Counter[str] = Counter()
    facts: dict[str, Any] = {}
    jobs: list[tuple[Task, MakeSteps]] = []
    for context in contexts:
        setting = Setting(benchmark, context, options, llm, seed, prompts, window, counts, facts)
        steps = make(setting)
        items = list(islice(benchmark.items(context), limit))
        draws = edited.rerank or 1
        jobs += [
            (Task(item, run, run * draws + draw), steps)
            for run in range(runs)
            for item in items
            for draw in range(draws)
        ]
    return PreparedJobs(jobs, options, prompts, window, counts, facts)


def ask(
    system: System,
    make: Make,
    benchmark: Benchmark,
    contexts: Sequence[str],
    runs: int,
    seed: int,
    llm: Llm,
    options: Part,
    limit: int | None,
    judge: JudgeSession | None = None,
) -> SystemAnswers:
    """Ask an LLM for a system's answers; see :func:`citeforge.systems.run.run_system`.

    Raises:
        UsageError: see :func:`prepare`; or a reranking that could not choose.
        InputError: a template is wrong, or the LLM's first calls all fail.
    """
    edited = options if isinstance(options, EditedOptions) else EditedOptions()
    require_editing(edited, judge)
    prepared = prepare(system, make, benchmark, contexts, runs, seed, llm, options, limit)
    jobs, counts, own = prepared.jobs, prepared.counts, prepared.options
    tasks = [task for task, _ in jobs]
    what = f"{len(tasks):,} answers of {system.name} (context sets: {', '.join(contexts)})"
    replies = answer_all(jobs, llm, what, own.later_calls)
    if edited.rerank is not None and judge is not None:
        tasks, replies = best_of(edited.rerank, tasks, replies, benchmark, judge)
    if edited.post_cite:
        over_own = not cites_candidates(edited, benchmark)
        embedder = make_embedder(edited.embedder)
        replies, n = post_cite(tasks, replies, benchmark, embedder, over_own)
        counts["statements cited afterwards"] += n
    counts.update(endings(replies, own.max_answer, own.logprobs))
    recipe = {
        "llm": dict(llm.identity()),
        "options": own.model_dump(mode="json", exclude_none=True),
        "prompts": prepared.prompts.hashes,
        "runs": runs,
        "seed": seed,
        "counts": {name: n for name, n in sorted(counts.items()) if n},
        "tokens": prepared.window.counter,
        **prepared.facts,
        **({} if limit is None else {"limit": limit}),
    }
    return SystemAnswers(tasks, replies, recipe, +counts)


def plan_jobs(prepared: PreparedJobs, llm: Llm) -> RunPlan:
    """Count the calls of a system: those of the first round, and all that may follow.

    Later prompts are not known: they are counted as the longest one of the first round, with all
    replies before them.

    Raises:
        UsageError: an LLM that is not asked over a network.
    """
    if not isinstance(llm, OpenAiLlm):
        raise UsageError(
            f"--dry-run: {llm.identity()['name']} costs nothing; the option is for openai: models",
            code="option-without-effect",
        )
    first: list[Request] = []
    for task, steps in prepared.jobs:
        talk = steps(task)
        try:
            first += next(talk)
        except StopIteration:
            continue  # it needs no LLM for this query
        talk.close()
    plan, n = llm.plan(first), prepared.options.later_calls
    bounds = [bound_call(request.payload(llm.model)) for request in first]
    longest = max((bound.prompt_tokens for bound in bounds), default=0)
    said = prepared.options.max_answer
    later = Bound(1, longest + n * said * _BYTES_PER_TOKEN, said).times(n * len(prepared.jobs))
    notes = (f"{n * len(prepared.jobs):,} calls of later rounds at most",) if n else ()
    return replace(plan, most=plan.most + later, notes=notes)


def _line(task: Task, reply: Reply) -> dict[str, Any]:
    place: dict[str, Any] = {"context": task.item.context}
    if reply.passages is not None:
        place = {"passages": [_passage_fields(p) for p in reply.passages]}
    line = answer_line(task.item.query_id, task.run, place, reply)
    return line if reply.meta is None else {**line, "meta": reply.meta}


def _passage_fields(passage: Passage) -> dict[str, Any]:
    row: dict[str, Any] = {"text": passage.text}
    if passage.id:
        row["docid"] = passage.id
    if passage.title:
        row["title"] = passage.title
    return row


def answer_all(
    jobs: Sequence[tuple[Task, MakeSteps]], llm: Llm, what: str, later_calls: int = 0
) -> list[Reply | Failure]:
    """Answer all jobs, in order; a job that fails once has a failure for its reply.

    Args:
        jobs: tasks with what answers them.
        llm: is asked, round by round, what all unfinished tasks wait for.
        what: what is asked for, said with its cost before the first round.
        later_calls: calls that each job takes at most after the first round.

    Raises:
        InputError: the first calls all fail.
        BudgetError: the next call could pass the cost limit.
    """
    coroutines = [steps(task) for task, steps in jobs]
    ends: dict[int, Reply | Failure] = {}
    waiting: dict[int, Sequence[Request]] = {}

    def advance(place: int, answers: Sequence[LlmReply] | None) -> None:
        """Pass replies to a task until it makes requests or ends."""
        try:
            requests = (
                next(coroutines[place]) if answers is None else coroutines[place].send(answers)
            )
            while not requests:
                requests = coroutines[place].send([])
            waiting[place] = requests
        except StopIteration as done:
            ends[place] = done.value

    for place in range(len(coroutines)):
        advance(place, None)
    _announce(
        what, llm, [r for requests in waiting.values() for r in requests], later_calls * len(jobs)
    )
    while waiting:
        open_requests, waiting = waiting, {}
        results = iter(llm.complete([r for rs in open_requests.values() for r in rs]))
        for place, requests in open_requests.items():
            some = list(islice(results, len(requests)))
            failure = next((r for r in some if isinstance(r, Failure)), None)
            if failure is None:
                advance(place, _without_thoughts(requests, some))
            else:
                coroutines[place].close()
                ends[place] = failure
    return [ends[place] for place in range(len(coroutines))]


def _without_thoughts(requests: Sequence[Request], results: Sequence[Result]) -> list[LlmReply]:
    """Remove thoughts from replies, which LLMs of plugins may leave in them."""
    replies = zip(requests, results, strict=True)
    settled = [request.settle(r) for request, r in replies if isinstance(r, LlmReply)]
    return [reply for reply in settled if isinstance(reply, LlmReply)]


def _announce(what: str, llm: Llm, first: Sequence[Request], n_later: int) -> None:
    lines = llm.plan(first).lines() if isinstance(llm, OpenAiLlm) else [f"requests {len(first):,}"]
    later = f"; later rounds: {n_later:,} requests at most" if n_later else ""
    sys.stderr.write(f"{what}; first round: {' '.join(', '.join(lines).split())}{later}\n")
