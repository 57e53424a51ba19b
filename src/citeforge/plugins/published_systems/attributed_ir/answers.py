"""The two prompts that an answer comes from: with passages, and without any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from citeforge.builders.packaging.prompts import PromptDoc
from citeforge.engines.llm.records import Request
from citeforge.package.items import Passage
from citeforge.plugins.published_systems.attributed_ir.options import GenerateOptions
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Steps, Task

CLOSED, CITED = "air-closed", "air-cited"
_WITHOUT = "answered without passages"


def closed(setting: Setting[Any], task: Task) -> Request:
    """Asks for an answer from what the model knows, without citations."""

    def prompt(docs: Sequence[PromptDoc]) -> str:
        return setting.render(CLOSED, query=task.item.query)

    return setting.request(setting.fitted(task, [], prompt), task)


def generate(setting: Setting[GenerateOptions]) -> MakeSteps:
    """``g``: from what the model knows, without citations (section 2.3); nothing is shown."""

    def steps(task: Task) -> Steps:
        (answer,) = yield [closed(setting, task)]
        return replace(Reply.of(answer), passages=())

    return steps


def ask_with_passages(setting: Setting[Any], task: Task, passages: Sequence[Passage]) -> Steps:
    """Asks for an answer from passages, which the reply brings along.

    Where there are none it is asked for without, and counted.
    """
    if not passages:
        setting.counts[_WITHOUT] += 1
        (answer,) = yield [closed(setting, task)]
        return replace(Reply.of(answer), passages=())

    def prompt(docs: Sequence[PromptDoc]) -> str:
        return setting.render(CITED, query=task.item.query, docs=docs)

    docs = setting.docs(task.item, passages)
    text, kept = setting.window.fit(task.item.query_id, docs, prompt)
    setting.counts["passages dropped"] += len(docs) - kept
    (answer,) = yield [setting.request(text, task)]
    return replace(Reply.of(answer), passages=tuple(passages[:kept]))
