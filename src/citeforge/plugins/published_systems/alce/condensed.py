"""Short versions of passages: those of the package, or made by the LLM that answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from citeforge.builders.alce.writing import is_irrelevant
from citeforge.builders.packaging.prompts import PromptDoc, neutralise
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.systems.llm.system import Setting, Task

_TOKENS = 160

Docs = Generator[Sequence[Request], Sequence[LlmReply], list[PromptDoc]]


def condenser(setting: Setting[Any], how: str, k: int) -> Callable[[Task], Docs]:
    """Summaries or extracts of passages; those that do not help are left out (ALCE, 3.1).

    Documents keep their numbers, so that citations mean the same as with full passages.

    Args:
        setting: of the system.
        how: ``summary`` or ``snippet``.
        k: passages of the context that are looked at.

    Returns:
        Steps that end with the short versions of the passages that help.
    """
    package, counts = setting.benchmark, setting.counts
    own = package.condensed(how) if how in package.splits.get("condensed", []) else None
    if own is not None:
        counts["short versions of the package"] += len(own)

    def docs(task: Task) -> Docs:
        full = setting.docs(task.item)[:k]
        if own is None:
            answers = yield [request(doc, task) for doc in full]
            texts = [_useful(answer.text) for answer in answers]
        else:
            texts = [own.get((task.item.query_id, p.id), "") for p in task.item.passages[:k]]
        short = zip(full, texts, strict=True)
        good = [replace(doc, text=neutralise(text)) for doc, text in short if text]
        counts["passages without a short version that helps"] += len(full) - len(good)
        counts["queries without a passage"] += not good
        return good

    def request(doc: PromptDoc, task: Task) -> Request:
        words = {"question": task.item.query, "title": doc.title, "text": doc.text}
        # One short version for all runs.
        return setting.request(
            setting.render(f"alce/{how}", **words), task, sample=0, temperature=0.0,
            max_tokens=_TOKENS,
        )  # fmt: skip

    return docs


def _useful(reply: str) -> str:
    """A short version in one line; empty where the passage does not help."""
    return "" if is_irrelevant(reply) else " ".join(reply.split())
