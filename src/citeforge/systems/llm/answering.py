"""``llm run``: prompts of a file to a submission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.records import TRUNCATED, Failure, LlmReply, Request
from citeforge.engines.llm.stores.replay import ReplayStore
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.setup import client_options, replay_path, replay_store
from citeforge.schemas.commands.command_options import PromptingOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.run import RunOptions
from citeforge.systems.llm.writing import PromptRow, read_prompts, requests_of, write_submission


@dataclass(frozen=True)
class Answered:
    """What an LLM made of a file of prompts.

    Attributes:
        system: its name in the submission.
        answers: answers written.
        cut: of these, those that were cut at the limit of tokens.
        empty: of these, those without text.
        without_logprobs: of these, those without log probabilities that were asked for.
        failures: (query id, failure) of every prompt without an answer.
    """

    system: str
    answers: int
    cut: int
    empty: int
    without_logprobs: int
    failures: list[tuple[str, Failure]]


def answer_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> Answered:
    """Answer prompts and write the submission ``run.out``, as ``citeforge llm run`` does.

    Args:
        prompts: what ``citeforge export prompts`` wrote.
        options: which LLM, and how it answers.
        run: what to write; how an endpoint is reached, what it may cost. Answers of an endpoint
            are kept in ``run.store``, or beside ``run.out``.

    Raises:
        InputError: a prompt is wrong, or the LLM cannot be had.
        UsageError: there is no such LLM.
    """
    rows = read_prompts(prompts)
    store = replay_store(run, options.llm)
    model = make_llm(options.llm, store=store, options=client_options(run))
    results = model.complete(_requests(rows, options))
    system = options.system or model.identity()["name"]
    failures = write_submission(run.folder, system, rows, results, options.runs)
    replies = [r for r in results if isinstance(r, LlmReply)]
    cut = sum(r.finish_reason == TRUNCATED for r in replies)
    empty = sum(not r.text.strip() for r in replies)
    without = sum(options.logprobs and r.logprobs is None for r in replies)
    return Answered(system, len(replies), cut, empty, without, failures)


def plan_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> RunPlan:
    """What :func:`answer_prompts` would ask and what it would cost; nothing is asked or written.

    Raises:
        InputError: a prompt is wrong.
        UsageError: there is no such LLM, or it costs nothing.
    """
    requests = _requests(read_prompts(prompts), options)
    path = replay_path(run, options.llm)
    store = ReplayStore(path, readonly=True) if path is not None and path.exists() else None
    model = make_llm(options.llm, store=store, options=client_options(run))
    if not isinstance(model, OpenAiLlm):
        raise UsageError("--dry-run: only openai: models are asked")
    return model.plan(requests)


def _requests(rows: Sequence[PromptRow], options: PromptingOptions) -> list[Request]:
    return requests_of(
        rows,
        runs=options.runs,
        temperature=options.temperature,
        max_tokens=options.max_answer,
        logprobs=options.logprobs,
    )
