"""Attributed-IR's systems without sub-queries (sections 2.3 and 2.4).

``g`` generates, ``rtg-gold`` and ``rtg-vanilla`` retrieve and then generate, ``gtr`` generates and
then retrieves.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from citeforge.builders.packaging.prompts import neutralise
from citeforge.engines.llm.records import Request
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.package.items import Passage
from citeforge.plugins.published_systems.attributed_ir.fusion import pooled
from citeforge.plugins.published_systems.attributed_ir.options import (
    GoldPassagesOptions,
    GtrOptions,
    VanillaOptions,
)
from citeforge.plugins.published_systems.attributed_ir.search import Search
from citeforge.schemas.errors import UsageError
from citeforge.schemas.text import splice
from citeforge.systems.options import LlmOptions
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

_ENDS = ".!?。！？"


def _closed_book_request(setting: Setting[Any], task: Task) -> Request:
    """Make the LLM request for an answer without passages and citations."""
    query = task.item.query
    text = setting.fitted(task, [], lambda _: setting.render("air-closed", query=query))
    return setting.request(text, task)


def generate(setting: Setting[LlmOptions]) -> MakeSteps:
    """Make the system ``g``: the LLM answers without passages and citations (section 2.3)."""

    def steps(task: Task) -> Steps:
        """Ask the LLM for the answer in one request."""
        (answer,) = yield [_closed_book_request(setting, task)]
        return replace(Reply.of(answer), passages=())

    return steps


def ask_with_passages(setting: Setting[Any], task: Task, passages: Sequence[Passage]) -> Steps:
    """Ask the LLM for an answer from passages; without any, from its own knowledge.

    The reply contains the passages; answers without any are counted.
    """
    if not passages:
        setting.counts["answered without passages"] += 1
        (answer,) = yield [_closed_book_request(setting, task)]
        return replace(Reply.of(answer), passages=())
    item, docs = task.item, setting.docs(task.item, passages)
    text, kept = setting.window.fit(
        item.query_id, docs, lambda some: setting.render("air-cited", query=item.query, docs=some)
    )
    setting.counts["passages dropped"] += len(docs) - kept
    (answer,) = yield [setting.request(text, task)]
    return replace(Reply.of(answer), passages=tuple(passages[:kept]))


def gold(setting: Setting[GoldPassagesOptions]) -> MakeSteps:
    """Make the system that answers from the relevant passages, in the source's order."""
    benchmark = setting.benchmark
    relevant = {
        query: ids[: setting.options.k]
        for query, ids in zip(benchmark.query_ids, benchmark.relevant_ids, strict=True)
    }
    if not any(relevant.values()):
        raise UsageError(f"rtg-gold: {benchmark.name} has no relevant passages", code="no-relevant")
    texts = benchmark.texts({i for ids in relevant.values() for i in ids})

    def steps(task: Task) -> Steps:
        """Ask the LLM for an answer from the relevant passages."""
        ids = relevant[task.item.query_id]
        return ask_with_passages(setting, task, [Passage(i, *texts[i]) for i in ids if i in texts])

    return steps


def retrieve_first(setting: Setting[VanillaOptions]) -> MakeSteps:
    """Make the system that answers from the ``k`` passages that retrieval ranks highest."""
    search = Search(setting)

    def steps(task: Task) -> Steps:
        """Search, then ask the LLM for an answer from the passages found."""
        (ranking,) = search.rankings(task.item, [task.item.query], setting.options.k)
        return ask_with_passages(
            setting, task, search.passages(task.item, [name for name, _ in ranking])
        )

    return steps


def gtr(setting: Setting[GtrOptions]) -> MakeSteps:
    """Make the system that answers without passages, then finds a citation for each statement."""
    search, segmenter = Search(setting), SentenceSegmenter()

    def steps(task: Task) -> Steps:
        """Ask the LLM for an answer, search for each statement, and insert citations."""
        (answer,) = yield [_closed_book_request(setting, task)]
        text = neutralise(answer.text)  # its own marks would cite passages that it was not shown
        spans = [s for s in segmenter.split(text) if any(c.isalnum() for c in text[slice(*s)])]
        statements = [text[start:end] for start, end in spans]
        rankings = search.rankings(task.item, statements, setting.options.per_statement)
        setting.counts["statements without passages"] += sum(not ranking for ranking in rankings)
        ids = pooled(rankings)
        numbers = [[setting.base + ids.index(name) for name, _ in ranking] for ranking in rankings]
        return Reply(
            _add_marks(text, spans, numbers),
            answer.finish_reason,
            passages=search.passages(task.item, ids),
        )

    return steps


def _add_marks(text: str, spans: Sequence[tuple[int, int]], cited: Sequence[Sequence[int]]) -> str:
    """Insert each statement's citations before its final punctuation."""
    ends = [start + len(text[start:end].rstrip().rstrip(_ENDS)) for start, end in spans]
    marks = (" " * bool(own) + "".join(f"[{n}]" for n in own) for own in cited)
    return splice(text, ((end, end, mark) for end, mark in zip(ends, marks, strict=True)))
