"""An LLM as a system: prompts in, submission out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.files import atomic_file
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.llm.records import TRUNCATED, Failure, LlmReply, Request, Result
from citeforge.schemas.citations.marks import citation_marks
from citeforge.schemas.commands.command_options import PromptingOptions
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import make_header
from citeforge.systems.llm.system import Reply

EMPTY = "empty"
NO_LOGPROBS = "without the log probabilities that were asked for"
"""What is told of such answers: some servers take the parameter and give none."""


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
                f"is of {_origin(row)}, the lines before are of {_origin(rows[0])}",
                path=path,
                line=line,
                field="benchmark_hash",
                allowed="one file, and one submission, a benchmark",
            )
    if not rows:
        raise InputError(
            "holds no prompts", path=path, allowed="what `citeforge export prompts` writes"
        )
    return rows


def _origin(row: PromptRow) -> str:
    if row.benchmark_hash is None:
        return "a benchmark that it does not name"
    return f"{row.benchmark or 'the benchmark'} with hash {row.benchmark_hash[:16]}…"


def requests_of(rows: Sequence[PromptRow], options: PromptingOptions) -> list[Request]:
    """One request for each run and prompt, run by run; runs are samples of their own."""
    params: dict[str, Any] = {"temperature": options.temperature, "max_tokens": options.max_answer}
    if options.logprobs:
        params["logprobs"] = True
    return [
        Request((("user", row.prompt),), params, sample=run, needs_text=False)
        for run in range(options.runs)
        for row in rows
    ]


def write_submission(
    out: Path, system: str, rows: Sequence[PromptRow], results: Sequence[Result], runs: int
) -> list[tuple[str, Failure]]:
    """Write the answers, empty and cut ones too; failures are left out, and scored as missing.

    Returns:
        (query id, failure) of every prompt without an answer.
    """
    failures: list[tuple[str, Failure]] = []
    keys = [(run, row) for run in range(runs) for row in rows]
    header = make_header(
        system,
        rows[0].benchmark,
        rows[0].benchmark_hash,
        [row.context for row in rows if row.context is not None],
    )
    with atomic_file(out) as file:
        file.write(msgspec.json.encode(header) + b"\n")
        for (run, row), result in zip(keys, results, strict=True):
            if isinstance(result, Failure):
                failures.append((row.query_id, result))
                continue
            place = {} if row.context is None else {"context": row.context}
            line = answer_line(row.query_id, run, place, result)
            file.write(msgspec.json.encode(line) + b"\n")
    return failures


def endings(
    answers: Sequence[LlmReply | Reply | Failure], most: int, logprobs: bool
) -> dict[str, int]:
    """How many answers were cut, are empty, or lack the log probabilities that were asked for; of
    ``most`` tokens each."""
    answered = [a for a in answers if not isinstance(a, Failure)]
    return {
        f"cut at --max-answer {most}": sum(a.finish_reason == TRUNCATED for a in answered),
        EMPTY: sum(not a.text.strip() for a in answered),
        NO_LOGPROBS: sum(logprobs and a.logprobs is None for a in answered),
    }


def answer_line(
    query_id: str, run: int, place: Mapping[str, Any], answer: LlmReply | Reply
) -> dict[str, Any]:
    """A line of a submission; ``place`` is the context set or the passages that it answers from."""
    line = {"query_id": query_id, "output": answer.text, "run": run, **place}
    if answer.logprobs is not None:
        line["logprobs"] = citation_logprobs(answer)
    if answer.finish_reason is not None:
        line["finish_reason"] = answer.finish_reason
    return line


def citation_logprobs(answer: LlmReply | Reply) -> list[dict[str, Any]]:
    """Log probabilities of the tokens that write citation numbers.

    Each digit-bearing token inside a citation mark counts once, under the mark's index: that of
    :func:`citeforge.schemas.citations.marks.citation_marks`, which the scorer asks too.
    """
    marks = citation_marks(answer.text)
    values = []
    at = 0
    for token in answer.logprobs or ():
        start = answer.text.find(token.token, at)
        if start < 0:
            continue
        at = start + len(token.token)
        if not any(c.isdigit() for c in token.token):
            continue
        for index, mark in enumerate(marks):
            if mark.start < at and start < mark.end:
                values.append({"index": index, "token": token.token, "logprob": token.logprob})
    return values
