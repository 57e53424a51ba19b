"""``llm run``: prompts of a file to a submission."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.stores.replay import ReplayStore
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.setup import client_options, replay_path, replay_store
from citeforge.schemas.commands.command_options import PromptingOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.run import RunOptions
from citeforge.systems.llm.writing import endings, read_prompts, requests_of, write_submission
from citeforge.systems.run import Ran


def answer_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> Ran:
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
    results = model.complete(requests_of(rows, options))
    system = options.system or model.identity()["name"]
    failures = write_submission(run.folder, system, rows, results, options.runs)
    n_answers = len(results) - len(failures)
    counts = Counter(endings(results, options.max_answer, options.logprobs))
    return Ran(system, n_answers, failures, +counts)


def plan_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> RunPlan:
    """What :func:`answer_prompts` would ask and what it would cost; nothing is asked or written.

    Raises:
        InputError: a prompt is wrong.
        UsageError: there is no such LLM, or it costs nothing.
    """
    requests = requests_of(read_prompts(prompts), options)
    path = replay_path(run, options.llm)
    store = ReplayStore(path, readonly=True) if path is not None and path.exists() else None
    model = make_llm(options.llm, store=store, options=client_options(run))
    if not isinstance(model, OpenAiLlm):
        raise UsageError("--dry-run: only openai: models are asked")
    return model.plan(requests)
