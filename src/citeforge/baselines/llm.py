"""An LLM as a system: prompts in, submission out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import atomic_file
from citeforge.engines.jsonlines import read_blocks
from citeforge.engines.llm.records import Answer, Failure, Request, Result
from citeforge.schemas.errors import InputError
from citeforge.schemas.grammar import Grammar


class PromptRow(msgspec.Struct, forbid_unknown_fields=True):
    """A line of `citeforge prompts`."""

    query_id: str
    prompt: str
    context: str | None = None


def read_prompts(path: Path) -> list[PromptRow]:
    """All prompts of a file.

    Raises:
        InputError: a line is wrong, or there is none.
    """
    rows = [row for block in read_blocks(path, PromptRow) for row in block.rows]
    if not rows:
        raise InputError("holds no prompts", path=path, allowed="what `citeforge prompts` writes")
    return rows


def requests_of(
    rows: Sequence[PromptRow], *, runs: int, temperature: float, max_tokens: int, logprobs: bool
) -> list[Request]:
    """One request for each run and prompt, run by run; runs are samples of their own."""
    params: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
    if logprobs:
        params["logprobs"] = True
    return [
        Request((("user", row.prompt),), params, sample=run) for run in range(runs) for row in rows
    ]


def write_submission(
    out: Path, system: str, rows: Sequence[PromptRow], results: Sequence[Result], runs: int
) -> list[tuple[str, Failure]]:
    """Write the answers; failures are left out, and scored as missing.

    Returns:
        (query id, failure) of every prompt without an answer.
    """
    failures: list[tuple[str, Failure]] = []
    keys = [(run, row) for run in range(runs) for row in rows]
    with atomic_file(out) as file:
        file.write(msgspec.json.encode({"submission": {"system": system}}) + b"\n")
        for (run, row), result in zip(keys, results, strict=True):
            if isinstance(result, Failure):
                failures.append((row.query_id, result))
                continue
            line: dict[str, Any] = {"query_id": row.query_id, "output": result.text, "run": run}
            if row.context is not None:
                line["context"] = row.context
            if result.logprobs is not None:
                line["logprobs"] = citation_logprobs(result)
            file.write(msgspec.json.encode(line) + b"\n")
    return failures


def citation_logprobs(answer: Answer) -> list[dict[str, Any]]:
    """Log probabilities of the tokens that write citation numbers.

    Each digit-bearing token inside a citation mark counts once, under the mark's index.
    """
    marks = Grammar().parse(answer.text, 1 << 30).markers
    found = []
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
                found.append({"index": index, "token": token.token, "logprob": token.logprob})
    return found
