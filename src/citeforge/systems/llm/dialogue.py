"""Moves all tasks of a system together: every round is one concurrent call of the LLM."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.records import Failure, Llm, LlmReply, Request
from citeforge.systems.llm.system import MakeSteps, Reply, Steps, Task


@dataclass
class _Talk:
    """One task under way.

    Attributes:
        steps: its generator.
        asked: what it waits for; empty when it is done.
        end: its reply, or the failure of one of its requests.
    """

    steps: Steps
    asked: Sequence[Request] = ()
    end: Reply | Failure | None = field(default=None)

    def go_on(self, answers: Sequence[LlmReply] | None) -> None:
        """Take answers, up to the next requests that there are or to the end."""
        try:
            self.asked = next(self.steps) if answers is None else self.steps.send(answers)
            while not self.asked:
                self.asked = self.steps.send([])
        except StopIteration as done:
            self.asked, self.end = (), done.value

    def take(self, results: Sequence[LlmReply | Failure]) -> None:
        """What was said to its requests; one failure ends it."""
        failure = next((r for r in results if isinstance(r, Failure)), None)
        if failure is None:
            self.go_on([r for r in results if isinstance(r, LlmReply)])
            return
        self.steps.close()
        self.asked, self.end = (), failure


def answer_all(
    jobs: Sequence[tuple[Task, MakeSteps]], llm: Llm, what: str, later_calls: int = 0
) -> list[Reply | Failure]:
    """One reply a job, in order, or why it has none.

    Args:
        jobs: tasks with what answers them.
        llm: is asked, round by round, what all unfinished tasks wait for.
        what: what is asked for, said with its cost before the first round.
        later_calls: calls that each job takes at most after the first round.

    Raises:
        InputError: the first calls all fail.
        BudgetError: the next call could pass the cost limit.
    """
    talks = [_Talk(steps(task)) for task, steps in jobs]
    for talk in talks:
        talk.go_on(None)
    first = [request for talk in talks for request in talk.asked]
    _announce(what, llm, first, later_calls * len(jobs))
    while waiting := [t for t in talks if t.asked]:
        results = llm.complete([request for talk in waiting for request in talk.asked])
        at = 0
        for talk in waiting:
            start, at = at, at + len(talk.asked)
            talk.take(results[start:at])
    return [talk.end for talk in talks if talk.end is not None]


def _announce(what: str, llm: Llm, first: Sequence[Request], n_later: int) -> None:
    lines = llm.plan(first).lines() if isinstance(llm, OpenAiLlm) else [f"requests {len(first):,}"]
    later = f"; later rounds: {n_later:,} requests at most" if n_later else ""
    sys.stderr.write(f"{what}; first round: {' '.join(', '.join(lines).split())}{later}\n")
