"""Moves all tasks of a system together: every round is one concurrent call of the LLM."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice

from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.records import Failure, Llm, LlmReply, Request
from citeforge.systems.llm.system import MakeSteps, Reply, Task


def answer_all(
    jobs: Sequence[tuple[Task, MakeSteps]], llm: Llm, what: str, later_calls: int = 0
) -> list[Reply | Failure]:
    """One reply a job, in order, or why it has none: one failure ends it.

    Args:
        jobs: tasks with what answers them.
        llm: is asked, round by round, what all unfinished tasks wait for.
        what: what is asked for, said with its cost before the first round.
        later_calls: calls that each job takes at most after the first round.

    Raises:
        InputError: the first calls all fail.
        BudgetError: the next call could pass the cost limit.
    """
    talks = [steps(task) for task, steps in jobs]
    ends: dict[int, Reply | Failure] = {}
    waiting: dict[int, Sequence[Request]] = {}

    def go_on(place: int, answers: Sequence[LlmReply] | None) -> None:
        """Take answers, up to the next requests that there are or to the end."""
        try:
            requests = next(talks[place]) if answers is None else talks[place].send(answers)
            while not requests:
                requests = talks[place].send([])
            waiting[place] = requests
        except StopIteration as done:
            ends[place] = done.value

    for place in range(len(talks)):
        go_on(place, None)
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
                go_on(place, [r for r in some if isinstance(r, LlmReply)])
            else:
                talks[place].close()
                ends[place] = failure
    return [ends[place] for place in range(len(talks))]


def _announce(what: str, llm: Llm, first: Sequence[Request], n_later: int) -> None:
    lines = llm.plan(first).lines() if isinstance(llm, OpenAiLlm) else [f"requests {len(first):,}"]
    later = f"; later rounds: {n_later:,} requests at most" if n_later else ""
    sys.stderr.write(f"{what}; first round: {' '.join(', '.join(lines).split())}{later}\n")
