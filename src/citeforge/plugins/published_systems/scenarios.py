"""Attributed-IR's systems (sections 2.3 and 2.4)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from citeforge.builders.prompts import neutralise
from citeforge.engines.llm.records import Request
from citeforge.engines.retrieval.fusion import FUSIONS, Ranking, pool_ids
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.package.items import Item, Passage
from citeforge.plugins.published_systems.attributed_ir_options import (
    GoldPassagesOptions,
    GtrOptions,
    QueryGenOptions,
    VanillaOptions,
)
from citeforge.plugins.published_systems.search import Search
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import UsageError
from citeforge.schemas.text import splice
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task
from citeforge.systems.system_options import LlmOptions

_ENDS = ".!?。！？"


def _closed_book_request(setting: Setting[Any], task: Task) -> Request:
    """Make the LLM request for an answer from the question alone, without passages."""
    query = task.item.query
    text = setting.fit_items(task, [], lambda _: setting.render("air-closed", query=query))
    return setting.request(text, task)


def generate(setting: Setting[LlmOptions]) -> MakeSteps:
    """Make Attributed-IR's system ``g``: an LLM answers without passages (section 2.3)."""

    def steps(task: Task) -> Steps:
        """Ask the LLM to answer a query without passages, in one request."""
        (answer,) = yield [_closed_book_request(setting, task)]
        return replace(Reply.from_llm(answer), passages=())

    return steps


def ask_with_passages(setting: Setting[Any], task: Task, passages: Sequence[Passage]) -> Steps:
    """Ask the LLM for an answer from passages; without any, from its own knowledge.

    The reply contains the passages; answers without any are counted.

    Args:
        setting: setting of the system.
        task: query and run.
        passages: passages to show, in order; those that do not fit the window are left out.
    """
    if not passages:
        setting.counts["answered_without_passages"] += 1
        (answer,) = yield [_closed_book_request(setting, task)]
        return replace(Reply.from_llm(answer), passages=())
    item, docs = task.item, setting.docs(task.item, passages)
    text, kept = setting.window.fit(
        item.query_id, docs, lambda some: setting.render("air-cited", query=item.query, docs=some)
    )
    setting.counts[count_key("dropped_from_prompts", "passages")] += len(docs) - kept
    (answer,) = yield [setting.request(text, task)]
    return replace(Reply.from_llm(answer), passages=tuple(passages[:kept]))


def gold(setting: Setting[GoldPassagesOptions]) -> MakeSteps:
    """Make the system whose LLM answers from a query's (first k) relevant passages, in order."""
    benchmark = setting.benchmark
    relevant = {
        query: ids[: setting.options.k]
        for query, ids in zip(benchmark.query_ids, benchmark.relevant_ids, strict=True)
    }
    if not any(relevant.values()):
        raise UsageError(f"rtg-gold: {benchmark.name} has no relevant passages", code="no-relevant")
    texts = benchmark.texts({i for ids in relevant.values() for i in ids})

    def steps(task: Task) -> Steps:
        """Ask the LLM to answer a query from its gold relevant passages."""
        ids = relevant[task.item.query_id]
        return ask_with_passages(setting, task, [Passage(i, *texts[i]) for i in ids if i in texts])

    return steps


def retrieve_first(setting: Setting[VanillaOptions]) -> MakeSteps:
    """Make the system whose LLM answers from the ``k`` best retrieved passages."""
    search = Search(setting)

    def steps(task: Task) -> Steps:
        """Retrieve passages for a query, and ask the LLM to answer from them."""
        (ranking,) = search.rankings(task.item, [task.item.query], setting.options.k)
        return ask_with_passages(
            setting, task, search.passages(task.item, [name for name, _ in ranking])
        )

    return steps


def gtr(setting: Setting[GtrOptions]) -> MakeSteps:
    """Make the system whose LLM answers without passages; citations are retrieved afterwards."""
    search, segmenter = Search(setting), SentenceSegmenter()

    def steps(task: Task) -> Steps:
        """Ask the LLM for an answer, retrieve passages per statement, and insert citations."""
        (answer,) = yield [_closed_book_request(setting, task)]
        text = neutralise(answer.text)  # its own marks would cite passages that it was not shown
        spans = [s for s in segmenter.split(text) if any(c.isalnum() for c in text[slice(*s)])]
        statements = [text[start:end] for start, end in spans]
        rankings = search.rankings(task.item, statements, setting.options.per_statement)
        setting.counts["statements_without_passages"] += sum(not ranking for ranking in rankings)
        ids = pool_ids(rankings)
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


_SHOTS = Path(__file__).parent / "data" / "air-queries.yaml"
_LISTED = re.compile(r"\s*(?:\(?\d{1,2}[.):]|[-*•–])\s+(.*)")
_LONGEST = 25
"""Most words of a query; a line of more words is prose."""


@cache
def read_examples() -> list[dict[str, Any]]:
    """Read the built-in few-shot examples of sub-queries: ``question`` and its ``queries``."""
    rows: list[dict[str, Any]] = yaml.safe_load(_SHOTS.read_text(encoding="utf-8"))
    return rows


def query_gen(setting: Setting[QueryGenOptions]) -> MakeSteps:
    """Make the system that fuses rankings of LLM-written sub-queries and answers from them."""
    search, options = Search(setting), setting.options

    def steps(task: Task) -> Steps:
        """Ask the LLM for sub-queries, retrieve, fuse the rankings, and ask for the answer."""
        words = {"query": task.item.query, "queries": options.queries}
        demos = read_examples()[: options.shots]
        text = setting.fit_items(
            task, (), lambda _: setting.render("air-queries", **words, shots=demos)
        )
        (reply,) = yield [setting.request(text, task, logprobs=False)]
        queries = _distinct_queries(setting, task.item.query, reply.text)
        rankings = search.rankings(task.item, [task.item.query, *queries], options.candidates)
        ids = _fuse_rankings(options.fusion, rankings, search, task.item)[: options.k]
        passages = search.passages(task.item, ids)
        meta = {"queries": queries}
        if options.retrieve_only:
            return Reply("", passages=passages, meta=meta)
        answer = yield from ask_with_passages(setting, task, passages)
        return replace(answer, meta=meta)

    return steps


def _distinct_queries(setting: Setting[QueryGenOptions], query: str, reply: str) -> list[str]:
    """Read a reply's distinct sub-queries, not the query itself; count repeats in ``setting``."""
    lines = read_queries(reply)
    seen = {_normalise_query(query)}
    queries: list[str] = []
    for line in lines:
        if _normalise_query(line) not in seen:
            queries.append(line)
        seen.add(_normalise_query(line))
    setting.counts["subqueries_repeated"] += len(lines) - len(queries)
    setting.counts["replies_without_subqueries"] += not lines
    return queries[: setting.options.queries]


def read_queries(reply: str) -> list[str]:
    """Read the sub-queries in an LLM's reply: items of its list, else all lines.

    A reply with a line of more than 25 words is prose and has none, unless it has a list.
    """
    lines = [line for line in reply.splitlines() if _normalise_query(line)]
    listed = [match[1] for match in map(_LISTED.fullmatch, lines) if match]
    if not listed:
        if any(len(line.split()) > _LONGEST for line in lines):
            return []
        listed = [line for line in lines if not line.rstrip().endswith(":")]
    stripped = (line.strip().strip("\"'“”*` ") for line in listed)
    return [line for line in stripped if _normalise_query(line)]


def _normalise_query(text: str) -> str:
    """Normalise a query to words in lower case, to find equal ones."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _fuse_rankings(
    method: str, rankings: Sequence[Ranking], search: Search, query_item: Item
) -> list[str]:
    """Fuse rankings by a named method into one list of passage ids, best first."""
    fuse = FUSIONS.maker(method)()
    return [name for name, _ in fuse(rankings, search.scorer(query_item, query_item.query))]
