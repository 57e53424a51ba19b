"""Ask an LLM for all answers of a system."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from citeforge.engines.judge.llm import LlmJudge
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import Bound, RunPlan, bound_call
from citeforge.engines.llm.records import Failure, Llm, LlmReply, Request, Result
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.running.setup import run_embedder
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item, Passage
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Part, RunOptions
from citeforge.schemas.recipes.systems import System
from citeforge.systems.editing import (
    cites_candidates,
    keep_best,
    post_cite,
    require_editing,
)
from citeforge.systems.prompts import Prompts, TokenWindow, make_counter
from citeforge.systems.submission_writer import answer_line, count_endings
from citeforge.systems.system import MakeSteps, Reply, Setting, Task, warn_of_repeats
from citeforge.systems.system_options import EditedOptions, LlmOptions

_BYTES_PER_TOKEN = 4


Jobs = list[tuple[Task, MakeSteps]]
"""Queries to answer, run by run and context set by context set, with the steps that do it."""


def prepare_jobs(
    system: System, benchmark: Benchmark, contexts: Sequence[str], runs: int, seed: int,
    llm: Llm, options: Part, limit: int | None,
) -> tuple[Jobs, Setting[LlmOptions]]:  # fmt: skip
    """Prepare a run: list of (task, steps that answer it), and its setting (options, LLM, …).

    See :func:`citeforge.systems.run.run_system`.

    Args:
        options: options of the system.
        limit: number of queries of each context set; None for all.

    Returns:
        (tasks, each with the steps that answer it; the setting).

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
    warn_of_repeats(runs, options)
    edited = options if isinstance(options, EditedOptions) else EditedOptions()
    names = system.template.split()
    replacements = {} if options.template is None else dict.fromkeys(names, options.template)
    prompts = Prompts(replacements, system.templates)
    size = options.window or getattr(llm, "window", None)
    window = TokenWindow(size, options.max_answer, *make_counter(options.tokenizer, llm))
    shared = Setting(benchmark, "", options, llm, seed, prompts, window)
    jobs: Jobs = []
    for context in contexts:
        steps: MakeSteps = system.factory(replace(shared, context=context))
        items = list(islice(benchmark.items(context), limit))
        draws = edited.rerank or 1
        jobs += [
            (Task(item, run, run * draws + draw), steps)
            for run in range(runs)
            for item in items
            for draw in range(draws)
        ]
    return jobs, shared


def ask(
    system: System, benchmark: Benchmark, contexts: Sequence[str], runs: int, seed: int,
    llm: Llm, options: Part, limit: int | None, judge: JudgeSession | None = None,
) -> tuple[list[tuple[Task, Reply | Failure]], dict[str, Any], Counter[str]]:  # fmt: skip
    """Ask an LLM for a system's answers: (tasks with replies, header fields, counts).

    Returns:
        Queries with their replies, run by run and context set by context set; fields of the
        submission's header about how they were made; figures of the run, by name.

    Raises:
        UsageError: see :func:`prepare_jobs`; or a reranking that could not choose.
        InputError: a template is wrong, or the LLM's first calls all fail.
    """
    edited = options if isinstance(options, EditedOptions) else EditedOptions()
    require_editing(edited, judge)
    jobs, setting = prepare_jobs(system, benchmark, contexts, runs, seed, llm, options, limit)
    counts, own = setting.counts, setting.options
    tasks = [task for task, _ in jobs]
    asked = f"asking {system.name} for {count_text(len(tasks), 'answer')}"
    what = f"{asked} (context sets: {', '.join(contexts)})"
    replies = answer_all(jobs, llm, what, own.later_calls)
    if edited.rerank is not None and judge is not None:
        tasks, replies = keep_best(edited.rerank, tasks, replies, benchmark, judge)
    if edited.post_cite:
        only_shown = not cites_candidates(edited, benchmark)
        embedder = run_embedder(edited.embedder, getattr(llm, "options", RunOptions()))
        replies, n = post_cite(tasks, replies, benchmark, embedder, only_shown)
        counts["statements_cited_afterwards"] += n
    counts.update(count_endings(replies, own.max_answer, own.logprobs))
    recipe = {
        "llm": dict(llm.identity()),
        "options": own.model_dump(mode="json", exclude_none=True),
        "prompts": setting.prompts.hashes,
        "runs": runs,
        "seed": seed,
        "counts": {name: n for name, n in sorted(counts.items()) if n},
        "tokens": setting.window.counter,
        **setting.facts,
        **({} if limit is None else {"limit": limit}),
    }
    return list(zip(tasks, replies, strict=True)), recipe, +counts


def plan_jobs(jobs: Jobs, options: LlmOptions, llm: Llm) -> RunPlan:
    """Plan a system's LLM calls: those of the first round, and an upper bound for later ones.

    Later prompts are not known: each is counted as long as the longest one of the first round with
    all replies before it.

    Args:
        jobs: tasks, each with the steps that answer it.
        options: most tokens of an answer, and most later calls per task.
        llm: the LLM.

    Raises:
        UsageError: the LLM is not asked over a network.
    """
    if not isinstance(llm, OpenAiLlm):
        raise UsageError(
            f"--dry-run: {llm.identity()['name']} costs nothing; the option is for openai: models",
            code="option-without-effect",
        )
    first: list[Request] = []
    for task, steps in jobs:
        talk = steps(task)
        try:
            first += next(talk)
        except StopIteration:
            continue  # it needs no LLM for this query
        talk.close()
    plan, n = llm.plan(first), options.later_calls
    bounds = [bound_call(request.payload(llm.model)) for request in first]
    longest = max((bound.prompt_tokens for bound in bounds), default=0)
    said = options.max_answer
    later = Bound(1, longest + n * said * _BYTES_PER_TOKEN, said).times(n * len(jobs))
    notes = (f"{count_text(n * len(jobs), 'call')} of later rounds at most",) if n else ()
    return replace(plan, most=plan.most + later, notes=notes)


_USUAL_STATEMENTS, _USUAL_CITATIONS, _USUAL_STATEMENT = 4, 2, 100
"""Statements of an answer, citations of a statement, and its characters, for estimates."""


def plan_judging(
    items: Sequence[Item], answers_per_query: int, max_answer: int, judge: LlmJudge
) -> RunPlan:
    """Estimate a judge's calls about answers that do not exist yet, with an upper bound.

    Args:
        items: queries with the passages that are shown.
        answers_per_query: answers to each.
        max_answer: most tokens of an answer; each question is about a token of its own at least.
        judge: the judge.
    """
    pairs, most = [], Bound()
    for item in items:
        shown = [f"{p.title} {p.text}" for p in item.passages] or [
            f"{t.name} {t.relation} {t.value}" for graph in item.graphs for t in graph.triples
        ]
        for n in range(answers_per_query * _USUAL_STATEMENTS):
            statement = f"{item.query_id} {item.context} {n}".ljust(_USUAL_STATEMENT, "?")
            cited = shown[:_USUAL_CITATIONS]
            pairs += [Pair(text, statement) for text in [" ".join(cited), *cited] if text.strip()]
        answer = "?" * (_BYTES_PER_TOKEN * max_answer)
        longest = judge.plan_calls([Pair(" ".join(["?", *shown]), answer)]).most
        most += longest.times(answers_per_query * max_answer)
    note = (
        f"judge: about {_USUAL_STATEMENTS} statements per answer with {_USUAL_CITATIONS} citations "
        "each; at most one question per token of an answer"
    )
    return replace(judge.plan_calls(pairs), most=most, notes=(note,))


def reply_line(task: Task, reply: Reply) -> dict[str, Any]:
    """Make a line of a submission from a task (query and run) and the system's reply."""
    fields: dict[str, Any] = {"context": task.item.context}
    if reply.passages is not None:
        fields = {"passages": [_passage_fields(p) for p in reply.passages]}
    line = answer_line(task.item.query_id, task.run, fields, reply)
    return line if reply.meta is None else {**line, "meta": reply.meta}


def _passage_fields(passage: Passage) -> dict[str, Any]:
    """Convert a retrieved passage to JSON fields of a submission line: text, docid, title."""
    row: dict[str, Any] = {"text": passage.text}
    if passage.id:
        row["docid"] = passage.id
    if passage.title:
        row["title"] = passage.title
    return row


def answer_all(
    jobs: Jobs, llm: Llm, description: str, max_later_calls: int = 0
) -> list[Reply | Failure]:
    """Run tasks in rounds of LLM requests; return a reply or a failure for each task.

    Args:
        jobs: tasks, with the steps that answer them.
        llm: the LLM; each round sends the requests of all unfinished tasks.
        description: description of the answers, printed with their cost before the first round.
        max_later_calls: most calls of a job after the first round.

    Raises:
        InputError: the first calls all fail.
        BudgetError: the next call could pass the cost limit.
    """
    coroutines = [steps(task) for task, steps in jobs]
    replies: dict[int, Reply | Failure] = {}
    waiting: dict[int, Sequence[Request]] = {}

    def advance(index: int, answers: Sequence[LlmReply] | None) -> None:
        """Pass LLM replies to a task; store its next requests, or its final reply."""
        try:
            requests = (
                next(coroutines[index]) if answers is None else coroutines[index].send(answers)
            )
            while not requests:
                requests = coroutines[index].send([])
            waiting[index] = requests
        except StopIteration as done:
            replies[index] = done.value

    for index in range(len(coroutines)):
        advance(index, None)
    _announce(
        description,
        llm,
        [r for requests in waiting.values() for r in requests],
        max_later_calls * len(jobs),
    )
    while waiting:
        open_requests, waiting = waiting, {}
        results = iter(llm.complete([r for rs in open_requests.values() for r in rs]))
        for index, requests in open_requests.items():
            some = list(islice(results, len(requests)))
            failure = next((r for r in some if isinstance(r, Failure)), None)
            if failure is None:
                advance(index, _separate_thoughts(requests, some))
            else:
                coroutines[index].close()
                replies[index] = failure
    return [replies[index] for index in range(len(coroutines))]


def _separate_thoughts(requests: Sequence[Request], results: Sequence[Result]) -> list[LlmReply]:
    """Move thoughts that an LLM left in its text to a field of their own, in each reply."""
    replies = zip(requests, results, strict=True)
    checked = [request.check_reply(r) for request, r in replies if isinstance(r, LlmReply)]
    return [reply for reply in checked if isinstance(reply, LlmReply)]


def _announce(description: str, llm: Llm, requests: Sequence[Request], n_later: int) -> None:
    """Print the number of LLM requests and their cost, before the first round.

    Args:
        description: description of the answers.
        llm: the LLM, which knows prices.
        requests: requests of the first round.
        n_later: most requests of later rounds.
    """
    lines = (
        llm.plan(requests).to_text_lines()
        if isinstance(llm, OpenAiLlm)
        else [f"requests {len(requests):,}"]
    )
    later = f"; later rounds: {count_text(n_later, 'request')} at most" if n_later else ""
    sys.stderr.write(f"{description}; first round: {' '.join(', '.join(lines).split())}{later}\n")
