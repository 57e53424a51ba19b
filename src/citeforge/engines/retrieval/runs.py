"""TREC runs: what another engine retrieved."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.engines.io.corpus import find_rows
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.textfiles import text_lines
from citeforge.engines.retrieval.records import DEPTH, Rankings, ranked
from citeforge.schemas.errors import InputError


@dataclass
class Run:
    """The part of a run that is about some queries.

    Attributes:
        path: the file.
        scores: query to passage to score.
        lines: passage to the first line that names it.
    """

    path: Path
    scores: dict[str, dict[str, float]]
    lines: dict[str, int] = field(default_factory=dict)

    def rankings(self, depth: int) -> Rankings:
        """By score; ties by descending id, as trec_eval breaks them."""
        return {
            query: ranked(
                query,
                sorted(sorted(scores.items(), reverse=True), key=lambda pair: -pair[1])[:depth],
            )
            for query, scores in self.scores.items()
        }


def read_run(path: Path, queries: Collection[str]) -> Run:
    """``qid Q0 docid rank score tag``; lines about other queries are passed over, since runs often
    cover more than a sample has.

    Raises:
        InputError: a line that is none, a passage given twice, or no line about the queries.
    """
    run = Run(path, {query: {} for query in queries})
    for number, line in text_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise InputError(
                f"has {len(fields)} fields", path=path, line=number,
                allowed="qid Q0 docid rank score tag",
            )  # fmt: skip
        query, _, passage, _, score, _ = fields
        value = _number(score)
        if not math.isfinite(value):
            raise InputError(
                f"{score!r} is no number", path=path, line=number, field="score",
                allowed="a finite number",
            )  # fmt: skip
        if query not in run.scores:
            continue
        if passage in run.scores[query]:
            raise InputError(
                f"{passage!r} comes twice for query {query!r}", path=path, line=number,
                field="docid",
            )  # fmt: skip
        run.scores[query][passage] = value
        run.lines.setdefault(passage, number)
    if not run.lines:
        raise InputError("names no query of the benchmark", path=path)
    return run


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class TrecRun:
    """A run over a corpus of Parquet shards."""

    def __init__(self, path: Path, corpus: list[Path]) -> None:
        """Name the two; the run is read when queries are asked.

        Args:
            path: the run.
            corpus: the shards.
        """
        self.path = path
        self._corpus = corpus

    def identity(self) -> dict[str, Any]:
        """The file's sha256."""
        return {"name": "run", "sha256": sha256_file(self.path)}

    def rank(self, queries: Mapping[str, str], depth: int = DEPTH) -> Rankings:
        """What the run says of the queries.

        Raises:
            InputError: see :func:`read_run`; or the corpus lacks a passage that it names.
        """
        run = read_run(self.path, queries)
        names = pa.array(list(run.lines), pa.string())
        _, rows = find_rows(self._corpus, "_id", names)
        there = set(rows.tolist())
        for row, (passage, line) in enumerate(run.lines.items()):
            if row not in there:
                raise InputError(
                    f"the corpus has no passage {passage!r}", path=self.path, line=line,
                    field="docid", allowed="a run over this benchmark's corpus",
                )  # fmt: skip
        return run.rankings(depth)
