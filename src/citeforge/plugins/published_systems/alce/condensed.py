"""Short versions of passages: those of the package, or made by the LLM that answers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from citeforge.builders.alce.writing import is_irrelevant
from citeforge.builders.packaging.prompts import PromptDoc, neutralise
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.systems.llm.system import Setting, Task

_TOKENS = 160

Docs = Generator[Sequence[Request], Sequence[LlmReply], list[PromptDoc]]


class Condenser:
    """Summaries or extracts of passages; those that do not help are left out (ALCE, 3.1).

    Documents keep their numbers, so that citations mean the same as with full passages.
    """

    def __init__(self, setting: Setting[Any], how: str, k: int) -> None:
        """Prepare.

        Args:
            setting: of the system.
            how: ``summary`` or ``snippet``.
            k: passages of the context that are looked at.
        """
        self._setting, self._how, self._k = setting, how, k
        package = setting.benchmark
        self._ready: dict[tuple[str, str], str] | None = None
        if how in package.splits.get("condensed", []):
            self._ready = package.condensed(how)
            setting.counts["short versions of the package"] += len(self._ready)

    def docs(self, task: Task) -> Docs:
        """Steps that end with the short versions of the passages that help."""
        docs = self._setting.docs(task.item)[: self._k]
        if self._ready is None:
            answers = yield [self._request(doc, task) for doc in docs]
            texts = [_useful(answer.text) for answer in answers]
        else:
            passages = task.item.passages[: self._k]
            texts = [self._ready.get((task.item.query_id, p.id), "") for p in passages]
        short = zip(docs, texts, strict=True)
        good = [replace(doc, text=neutralise(text)) for doc, text in short if text]
        self._setting.counts["passages without a short version that helps"] += len(docs) - len(good)
        self._setting.counts["queries without a passage"] += not good
        return good

    def _request(self, doc: PromptDoc, task: Task) -> Request:
        text = self._setting.render(
            f"alce/{self._how}", question=task.item.query, title=doc.title, text=doc.text
        )
        # One short version for all runs.
        return self._setting.request(text, task, sample=0, temperature=0.0, max_tokens=_TOKENS)


def _useful(reply: str) -> str:
    """A short version in one line; empty where the passage does not help."""
    return "" if is_irrelevant(reply) else " ".join(reply.split())
