"""What answer-by-answer measures see: each answer with its passages and its gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.statistics import Floats
from citeforge.evaluator.submission import CLOSED_BOOK, OWN, Places
from citeforge.evaluator.tools import Tools
from citeforge.package.items import Gold, Passage
from citeforge.schemas.errors import InputError
from citeforge.schemas.grammar import Grammar
from citeforge.schemas.submission import SubmissionLine


@dataclass(frozen=True)
class Item:
    """One answer.

    Attributes:
        row: row of its query in the benchmark.
        query: text of the query.
        output: what the system wrote; empty for a missing answer.
        passages: what it was shown, in order.
        is_missing: whether the submission has no such line.
    """

    row: int
    query: str
    output: str
    passages: tuple[Passage, ...]
    is_missing: bool = False


@dataclass
class Inputs:
    """A submission, ready to be measured.

    Attributes:
        benchmark: what it answers.
        protocol: ``strict`` or ``reference``.
        runs: one list a run; ``strict`` has one item for every query, ``reference`` one a line.
        gold: gold rows of each query row.
        grammar: citation grammar.
        task: ``asqa``, ``qampari``, ``eli5``, or an empty string.
        tools: judge, segmenter and models.
        n_truncated: answers that were cut at the token limit.
        statements: what the families have read so far, so that no answer is segmented twice.
    """

    benchmark: Benchmark
    protocol: str
    runs: list[list[Item]]
    gold: list[list[Gold]]
    grammar: Grammar
    task: str
    tools: Tools = field(default_factory=Tools)
    n_truncated: int = 0
    statements: dict[Any, Any] = field(default_factory=dict)

    def column(self, values: dict[tuple[int, int], float]) -> Floats:
        """Values by (run, query row) as an array (runs, queries); NaN where there is none."""
        array = np.full((len(self.runs), len(self.benchmark.query_ids)), np.nan)
        for (run, row), value in values.items():
            array[run, row] = value
        return array

    def items(self) -> Iterator[tuple[int, Item]]:
        """(run, item) of every item."""
        for run, items in enumerate(self.runs):
            for item in items:
                yield run, item


def read_gold(benchmark: Benchmark) -> list[list[Gold]]:
    """Gold rows of each query, in their order."""
    found: list[list[Gold]] = [[] for _ in benchmark.query_ids]
    for row in benchmark.gold.to_pylist():
        found[benchmark.row_of[row["query_id"]]].append(Gold.of(row))
    return found


def read_inputs(
    path: Path,
    answers: Iterable[tuple[int, SubmissionLine]],
    benchmark: Benchmark,
    context: str,
    protocol: str,
    tools: Tools,
    base: int | None = None,
) -> Inputs:
    """Read a submission for one context set, ``own``, or ``none`` (closed book).

    Args:
        path: submission, for messages.
        answers: its lines.
        benchmark: what it answers.
        context: context set.
        protocol: ``strict`` or ``reference``.
        tools: judge, segmenter and models.
        base: index base of its markers; None for the benchmark's.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key.
    """
    texts: list[str] = benchmark.queries["text"].to_pylist()
    shown = _shown(benchmark, context)
    runs: dict[int, dict[int, Item]] = {}
    places = Places(path, benchmark)
    for line, answer in answers:
        if not places.is_of(line, answer, context):
            continue
        row = places.row(line, answer, context)
        runs.setdefault(answer.run, {})[row] = Item(
            row, texts[row], answer.output, _passages(answer, shown, row)
        )
    if not runs:
        raise InputError("holds no answer to this context set", path=path, allowed=context)
    ordered = [list(runs[number].values()) for number in sorted(runs)]
    if protocol == "strict":
        ordered = [_with_missing(items, texts, shown) for items in ordered]
    info = benchmark.manifest.sources[0] if benchmark.manifest.sources else None
    task = info.rules.get("data set", "") if info is not None else ""
    return Inputs(
        benchmark,
        protocol,
        ordered,
        read_gold(benchmark),
        benchmark.grammar if base is None else replace(benchmark.grammar, base=base),
        task,
        tools,
        places.n_truncated,
    )


def _shown(benchmark: Benchmark, context: str) -> list[tuple[Passage, ...]]:
    if context in (OWN, CLOSED_BOOK):
        return [() for _ in benchmark.query_ids]
    return [item.passages for item in benchmark.items(context)]


def _passages(
    answer: SubmissionLine, shown: list[tuple[Passage, ...]], row: int
) -> tuple[Passage, ...]:
    if answer.passages is None:
        return shown[row]
    return tuple(Passage(p.docid or "", p.title, p.text) for p in answer.passages)


def _with_missing(
    items: list[Item], texts: list[str], shown: list[tuple[Passage, ...]]
) -> list[Item]:
    """One item for every query, missing ones empty: they score the worst value."""
    by_row = {item.row: item for item in items}
    return [
        by_row.get(row) or Item(row, text, "", shown[row], is_missing=True)
        for row, text in enumerate(texts)
    ]
