"""Asking an LLM for all answers of a system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from citeforge.engines.embedding.embed import make_embedder
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm
from citeforge.engines.llm.tokens import make_counter
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.systems.declaration import System
from citeforge.systems.llm.dialogue import answer_all
from citeforge.systems.llm.editing import (
    best_of,
    cites_candidates,
    post_cite,
    require_editing,
    with_candidates,
)
from citeforge.systems.llm.prompts import Prompts, TokenWindow
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Task
from citeforge.systems.llm.writing import answer_line, endings
from citeforge.systems.options import EditedOptions, LlmOptions

Make = Callable[[Setting[Any]], MakeSteps]


@dataclass
class Asked:
    """What a system said to every query.

    Attributes:
        tasks: what was asked, run by run and context by context.
        replies: one a task.
        llm: what the LLM says of itself.
        options: of the system.
        prompts: hashes of its templates.
        counter: what measured prompts.
        counts: what is told of the run.
        facts: what else the header says of how the answers were made.
    """

    tasks: Sequence[Task]
    replies: Sequence[Reply | Failure]
    llm: Mapping[str, Any]
    options: Part
    prompts: Mapping[str, str]
    counter: str
    counts: Counter[str] = field(default_factory=Counter)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failures(self) -> list[tuple[str, Failure]]:
        """(query id, failure) of every task without a reply."""
        pairs = zip(self.tasks, self.replies, strict=True)
        return [(t.item.query_id, r) for t, r in pairs if isinstance(r, Failure)]

    def recipe(self, runs: int, seed: int, limit: int | None) -> dict[str, Any]:
        """What the header says of how the answers were made."""
        values = {
            "llm": dict(self.llm),
            "options": self.options.model_dump(mode="json", exclude_none=True),
            "prompts": dict(self.prompts),
            "runs": runs,
            "seed": seed,
            "counts": {name: n for name, n in sorted(self.counts.items()) if n},
            "tokens": self.counter,
            **self.facts,
        }
        return values if limit is None else {**values, "limit": limit}

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines of the submission; failures are left out, and scored as missing."""
        for task, reply in zip(self.tasks, self.replies, strict=True):
            if isinstance(reply, Reply):
                yield _line(task, reply)


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
) -> Asked:
    """Ask an LLM for a system's answers; see :func:`citeforge.systems.run.run_system`.

    Raises:
        UsageError: ``--template`` for a system without a main prompt, or a window that is too
            small for one passage.
        InputError: a template is wrong, or the LLM's first calls all fail.
    """
    if not isinstance(options, LlmOptions):
        raise UsageError(f"{system.name}: its options must be a record of LlmOptions")
    edited = options if isinstance(options, EditedOptions) else EditedOptions()
    require_editing(edited, judge)
    if options.template is not None and not system.template:
        raise UsageError(f"--template: {system.name} has no main prompt that could be replaced")
    instead = {} if options.template is None else {system.template: options.template}
    prompts = Prompts(instead, system.templates)
    counter = make_counter(options.tokenizer, llm)
    size = options.window or getattr(llm, "window", None)
    window = TokenWindow(size, options.max_answer, counter)
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
    tasks = [task for task, _ in jobs]
    what = f"{len(tasks):,} answers of {system.name} (context sets: {', '.join(contexts)})"
    replies = answer_all(jobs, llm, what, options.later_calls)
    if edited.rerank is not None and judge is not None:
        tasks, replies = best_of(edited.rerank, tasks, replies, benchmark, judge)
    if edited.post_cite:
        if cites_candidates(edited, benchmark):
            replies = with_candidates(tasks, replies, benchmark)
        replies, n = post_cite(tasks, replies, benchmark, make_embedder(edited.embedder))
        counts["statements cited afterwards"] += n
    counts.update(endings(replies, options.max_answer, options.logprobs))
    identity = llm.identity()
    return Asked(tasks, replies, identity, options, prompts.hashes, counter.name, counts, facts)


def _line(task: Task, reply: Reply) -> dict[str, Any]:
    place: dict[str, Any] = {"context": task.item.context}
    if reply.passages is not None:
        place = {"passages": [_own(p) for p in reply.passages]}
    line = answer_line(task.item.query_id, task.run, place, reply)
    return line if reply.meta is None else {**line, "meta": reply.meta}


def _own(passage: Passage) -> dict[str, Any]:
    row: dict[str, Any] = {"text": passage.text}
    if passage.id:
        row["docid"] = passage.id
    if passage.title:
        row["title"] = passage.title
    return row
