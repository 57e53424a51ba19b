"""``llm run``: prompts of a file to a submission."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.records import Failure, Request
from citeforge.engines.llm.writers import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import replay_path, replay_store
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import NO_TEMPERATURE, RunOptions
from citeforge.schemas.recipes.command_options import PromptingOptions
from citeforge.schemas.submission import make_header
from citeforge.systems.run import Outcome
from citeforge.systems.writing import answer_line, endings, write_submission


class PromptRow(msgspec.Struct, forbid_unknown_fields=True):
    """A line of `citeforge export prompts`.

    Attributes:
        query_id: query of the benchmark.
        prompt: what is asked.
        context: context set that the prompt shows.
        benchmark: name of the benchmark that it was made of; None in files of 0.1.
        benchmark_hash: its hash; likewise.
    """

    query_id: str
    prompt: str
    context: str | None = None
    benchmark: str | None = None
    benchmark_hash: str | None = None


def read_prompts(path: Path) -> list[PromptRow]:
    """All prompts of a file, which are of one benchmark.

    Raises:
        InputError: a line is wrong or of another benchmark than the first, or there is none.
    """
    rows: list[PromptRow] = []
    for line, row in read_rows(path, PromptRow):
        rows.append(row)
        if row.benchmark_hash != rows[0].benchmark_hash:
            raise InputError(
                f"is of {_benchmark_text(row)}, the lines before are of {_benchmark_text(rows[0])}",
                path=path,
                line=line,
                field="benchmark_hash",
                allowed="one file, and one submission, per benchmark",
                code="wrong-benchmark",
            )
    if not rows:
        raise InputError(
            "contains no prompts", path=path, allowed="what `citeforge export prompts` writes",
            code="empty-file"
        )  # fmt: skip
    return rows


def _benchmark_text(row: PromptRow) -> str:
    if row.benchmark_hash is None:
        return "a benchmark that it does not name"
    return f"{row.benchmark or 'the benchmark'} with hash {row.benchmark_hash[:16]}…"


def answer_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> Outcome:
    """Answer prompts and write the submission ``run.out``: what ``citeforge llm run`` does.

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
    model = make_llm(options.llm, store=store, options=run)
    results = model.complete(requests_of(rows, options))
    system = options.system or model.identity()["name"]
    answers, failures = [], []
    keys = ((number, row) for number in range(options.runs) for row in rows)
    for (number, row), result in zip(keys, results, strict=True):
        if isinstance(result, Failure):  # left out, and scored as missing
            failures.append((row.query_id, result))
        else:
            place = {} if row.context is None else {"context": row.context}
            answers.append(answer_line(row.query_id, number, place, result))
    contexts = [row.context for row in rows if row.context is not None]
    header = make_header(system, rows[0].benchmark, rows[0].benchmark_hash, contexts)
    count = write_submission(run.folder, header, answers)
    return Outcome(
        system, count, failures, +Counter(endings(results, options.max_answer, options.logprobs))
    )


def plan_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> RunPlan:
    """Count what :func:`answer_prompts` would ask, and its cost; nothing is asked or written.

    Raises:
        InputError: a prompt is wrong.
        UsageError: there is no such LLM, or it costs nothing.
    """
    requests = requests_of(read_prompts(prompts), options)
    return llm_for_dry_run(options.llm, run, replay_path(run, options.llm)).plan(requests)


def requests_of(rows: Sequence[PromptRow], options: PromptingOptions) -> list[Request]:
    """Make one request per run and prompt, run by run; each run is a sample of its own."""
    params: dict[str, Any] = {"max_tokens": options.max_answer}
    if options.temperature != NO_TEMPERATURE:
        params["temperature"] = options.temperature
    if options.logprobs:
        params["logprobs"] = True
    return [
        Request((("user", row.prompt),), params, sample=run, needs_text=False)
        for run in range(options.runs)
        for row in rows
    ]
