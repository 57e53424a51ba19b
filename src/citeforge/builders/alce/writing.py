"""Asking a language model for sub-claims, summaries and snippets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template

from citeforge.engines.io.files import digest
from citeforge.engines.io.progress import progress
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.text.template_bounds import BoundedEnvironment, bounded_text

_FOLDER = Path(__file__).parent.parent / "templates" / "alce"


@cache
def _source(task: str) -> str:
    return (_FOLDER / f"{task}.j2").read_text(encoding="utf-8")


@cache
def _template(task: str) -> Template:
    return BoundedEnvironment().from_string(_source(task))


def prompt_sha256(task: str) -> str:
    """Digest of the prompt of a task."""
    return digest(_source(task))


def write_texts(
    llm: Llm, task: str, rows: Sequence[dict[str, Any]], most_tokens: int
) -> list[str | Failure]:
    """What the model writes for each row of values, at temperature 0; a failure says why nothing.

    Args:
        llm: the writer.
        task: name of the prompt.
        rows: what the prompt's expressions stand for.
        most_tokens: limit of a reply.
    """
    params = {"temperature": 0, "max_tokens": most_tokens}
    requests = [
        Request((("user", bounded_text(_template(task), row)),), params, task=task, values=row)
        for row in rows
    ]
    with progress(f"writing: {task}", len(requests), "requests") as advance:
        results = llm.complete(requests)
        advance(len(requests))
    return [r if isinstance(r, Failure) else r.text.strip() for r in results]
