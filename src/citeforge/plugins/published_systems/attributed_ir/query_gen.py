"""``rtg-query-gen``: the LLM writes sub-queries, whose rankings are fused with that of the query
(Attributed-IR, sections 2.3 and 2.4)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from citeforge.package.items import Item
from citeforge.plugins.published_systems.attributed_ir.fusion import FUSIONS, Ranking
from citeforge.plugins.published_systems.attributed_ir.options import QueryGenOptions
from citeforge.plugins.published_systems.attributed_ir.scenarios import ask_with_passages
from citeforge.plugins.published_systems.attributed_ir.search import Search
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

_SHOTS = Path(__file__).parent / "data" / "air-queries.yaml"
_LISTED = re.compile(r"\s*(?:\(?\d{1,2}[.):]|[-*•–])\s+(.*)")
_LONGEST = 25
"""Most words of a query; a line of more words is prose."""


@cache
def read_examples() -> list[dict[str, Any]]:
    """Read all worked examples: each a ``question``, and sub-``queries`` for it."""
    rows: list[dict[str, Any]] = yaml.safe_load(_SHOTS.read_text(encoding="utf-8"))
    return rows


def query_gen(setting: Setting[QueryGenOptions]) -> MakeSteps:
    """Make the system that asks an LLM for sub-queries, fuses their rankings and answers."""
    search, options = Search(setting), setting.options

    def steps(task: Task) -> Steps:
        """Ask the LLM for sub-queries, search, fuse the rankings, and ask for the answer."""
        words = {"query": task.item.query, "queries": options.queries}
        demos = read_examples()[: options.shots]
        text = setting.fitted(
            task, (), lambda _: setting.render("air-queries", **words, shots=demos)
        )
        (reply,) = yield [setting.request(text, task, logprobs=False)]
        queries = _distinct_queries(setting, task.item.query, reply.text)
        rankings = search.rankings(task.item, [task.item.query, *queries], options.candidates)
        ids = _fuse(options.fusion, rankings, search, task.item)[: options.k]
        passages = search.passages(task.item, ids)
        meta = {"queries": queries}
        if options.retrieve_only:
            return Reply("", passages=passages, meta=meta)
        answer = yield from ask_with_passages(setting, task, passages)
        return replace(answer, meta=meta)

    return steps


def _distinct_queries(setting: Setting[QueryGenOptions], query: str, reply: str) -> list[str]:
    """Read the distinct sub-queries in a reply; count repeated ones, and replies without any."""
    lines = read_queries(reply)
    seen = {_comparison_form(query)}
    queries: list[str] = []
    for line in lines:
        if _comparison_form(line) not in seen:
            queries.append(line)
        seen.add(_comparison_form(line))
    setting.counts["sub-queries repeated"] += len(lines) - len(queries)
    setting.counts["replies without sub-queries"] += not lines
    return queries[: setting.options.queries]


def read_queries(reply: str) -> list[str]:
    """Read the queries in a reply: the items of its list, or all lines without a list.

    A reply with a line of more than 25 words is prose and has none, unless it has a list.
    """
    lines = [line for line in reply.splitlines() if _comparison_form(line)]
    listed = [match[1] for match in map(_LISTED.fullmatch, lines) if match]
    if not listed:
        if any(len(line.split()) > _LONGEST for line in lines):
            return []
        listed = [line for line in lines if not line.rstrip().endswith(":")]
    stripped = (line.strip().strip("\"'“”*` ") for line in listed)
    return [line for line in stripped if _comparison_form(line)]


def _comparison_form(text: str) -> str:
    """Reduce a query to its words in lower case, for comparing queries."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _fuse(how: str, rankings: Sequence[Ranking], search: Search, item: Item) -> list[str]:
    """Fuse rankings to a list of passage ids, best first; ``query:N`` selects one ranking."""
    if how.startswith("query:"):
        number = int(how.removeprefix("query:"))
        ranking = rankings[number] if number < len(rankings) else rankings[0]
    else:
        ranking = FUSIONS[how](rankings, search.scorer(item, item.query))
    return [name for name, _ in ranking]
