"""Short versions of passages: those of the package, or made by the LLM that answers."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from citeforge.baselines.system import Setting, Task
from citeforge.builders.prompts import PromptDoc
from citeforge.engines.llm.records import Answer, Request

_TOKENS = 120
_IRRELEVANT = re.compile(r"\W*irrelevant\b", re.IGNORECASE)

Docs = Generator[Sequence[Request], Sequence[Answer], list[PromptDoc]]


class Condenser:
    """Summaries or extracts of passages; those that do not help are left out (ALCE, 3.1).

    Documents keep their numbers, so that citations mean the same as with full passages.
    """

    def __init__(self, setting: Setting[Any], how: str, k: int) -> None:
        """Prepare.

        Args:
            setting: of the system.
            how: ``summary`` or ``snippet``, which are names of templates, too.
            k: passages of the context that are looked at.
        """
        self._setting, self._how, self._k = setting, how, k

    def docs(self, task: Task) -> Docs:
        """Steps that end with the short versions of the passages that help."""
        docs = self._setting.docs(task.item)[: self._k]
        answers = yield [self._request(doc, task) for doc in docs]
        kept = [
            replace(doc, text=" ".join(answer.text.split()))
            for doc, answer in zip(docs, answers, strict=True)
            if answer.text.strip() and not _IRRELEVANT.match(answer.text)
        ]
        self._setting.counts["passages left out as irrelevant"] += len(docs) - len(kept)
        self._setting.counts["queries without a passage"] += not kept
        return kept

    def _request(self, doc: PromptDoc, task: Task) -> Request:
        text = self._setting.render(self._how, query=task.item.query, doc=doc)
        # One short version for all runs.
        return self._setting.request(text, task, sample=0, temperature=0.0, max_tokens=_TOKENS)
