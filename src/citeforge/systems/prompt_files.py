"""``llm run``: answer the prompts of a file, and write a submission."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from citeforge.engines.files import require_writable
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.records import Failure, Request
from citeforge.engines.running.names import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import replay_path, replay_store
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.command_options import PromptingOptions
from citeforge.schemas.submission import make_header
from citeforge.systems.run import Outcome
from citeforge.systems.submission_writer import answer_line, count_endings, write_submission
from citeforge.systems.system import decoding_params, warn_of_repeats


class PromptRow(msgspec.Struct, forbid_unknown_fields=True):
    """A line of `citeforge export prompts`.

    Attributes:
        query_id: id of the query.
        prompt: text that an LLM is sent.
        context: context set that the prompt shows; None if the file does not say.
        benchmark: name of the benchmark; None if the file does not say.
        benchmark_hash: hash of the benchmark; None if the file does not say.
    """

    query_id: str
    prompt: str
    context: str | None = None
    benchmark: str | None = None
    benchmark_hash: str | None = None


def read_prompts(path: Path) -> list[PromptRow]:
    """Read the prompts of a JSON Lines file; raise an error if they are of several benchmarks.

    Raises:
        InputError: a line is wrong or of another benchmark than the first, or there are none.
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
    """Describe the benchmark of a prompt, for error messages."""
    if row.benchmark_hash is None:
        return "a benchmark that it does not name"
    return f"{row.benchmark or 'the benchmark'} with hash {row.benchmark_hash[:16]}…"


def answer_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> Outcome:
    """Ask an LLM the prompts of a file, and write its answers as a submission.

    Args:
        prompts: file that ``citeforge export prompts`` wrote.
        options: the LLM, and how it answers.
        run: file to write; how an endpoint is reached, what it may cost. Answers of an endpoint
            are kept in ``run.store``, or beside ``run.out``.

    Raises:
        InputError: a prompt is wrong, or the LLM cannot be loaded.
        UsageError: there is no such LLM.
    """
    rows = read_prompts(prompts)
    require_writable(run.folder)
    store = replay_store(run, options.llm)
    model = make_llm(options.llm, store=store, options=run)
    results = model.complete(make_requests(rows, options))
    system = options.system or model.identity()["name"]
    answers, failures = [], []
    keys = ((number, row) for number in range(options.runs) for row in rows)
    for (number, row), result in zip(keys, results, strict=True):
        if isinstance(result, Failure):  # left out, and scored as missing
            failures.append((row.query_id, result))
        else:
            fields = {} if row.context is None else {"context": row.context}
            answers.append(answer_line(row.query_id, number, fields, result))
    contexts = [row.context for row in rows if row.context is not None]
    header = make_header(system, rows[0].benchmark, rows[0].benchmark_hash, contexts)
    written = write_submission(run.folder, header, answers)
    counts = +Counter(count_endings(results, options.max_answer, options.logprobs))
    return Outcome.of_written(system, written, failures, counts)


def plan_prompts(prompts: Path, options: PromptingOptions, run: RunOptions) -> RunPlan:
    """Count the LLM calls that the prompts of a file take, and their cost; ask nothing.

    Raises:
        InputError: a prompt is wrong.
        UsageError: there is no such LLM, or it costs nothing.
    """
    requests = make_requests(read_prompts(prompts), options)
    return llm_for_dry_run(options.llm, run, replay_path(run, options.llm)).plan(requests)


def make_requests(rows: Sequence[PromptRow], options: PromptingOptions) -> list[Request]:
    """Make one LLM request per run and prompt; each run is sampled independently."""
    params = decoding_params(options)
    warn_of_repeats(options.runs, options)
    return [
        Request((("user", row.prompt),), params, sample=run, needs_text=False, gets_room=False)
        for run in range(options.runs)
        for row in rows
    ]
