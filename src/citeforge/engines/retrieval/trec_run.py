"""``--retriever run:FILE``: rankings that another engine wrote as a TREC run."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.engines.files import sha256_file
from citeforge.engines.retrieval.records import DEPTH, Rankings, ranked
from citeforge.engines.tables import find_rows
from citeforge.engines.textfiles import text_lines
from citeforge.schemas.errors import InputError


def read_run(
    path: Path, queries: Collection[str]
) -> tuple[dict[str, dict[str, float]], dict[str, int]]:
    """Read queries' rankings from a TREC run: (query to passage to score, passage to line).

    Returns:
        (query to passage to score, passage to the first line that names it).

    Raises:
        InputError: a malformed line, a duplicate passage, or no line about the queries.
    """
    by_query: dict[str, dict[str, float]] = {query: {} for query in queries}
    lines: dict[str, int] = {}
    for number, line in text_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise InputError(
                f"has {len(fields)} fields", path=path, line=number,
                allowed="qid Q0 docid rank score tag", code="wrong-type"
            )  # fmt: skip
        query, _, passage, _, score, _ = fields
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(
                f"{score!r} is not a number", path=path, line=number, field="score",
                allowed="a finite number", code="wrong-type"
            )  # fmt: skip
        if query not in by_query:
            continue
        if passage in by_query[query]:
            raise InputError(
                f"duplicate passage {passage!r} for query {query!r}", path=path, line=number,
                field="docid", code="duplicate-id"
            )  # fmt: skip
        by_query[query][passage] = value
        lines.setdefault(passage, number)
    if not lines:
        raise InputError("names no query of the benchmark", path=path, code="wrong-benchmark")
    return by_query, lines


class TrecRun:
    """Retriever that takes its rankings of a corpus of Parquet shards from a TREC run."""

    def __init__(self, path: Path, corpus: list[Path]) -> None:
        """Store the paths; the run is read when queries are ranked.

        Args:
            path: file of the run.
            corpus: shards of the corpus.
        """
        self.path, self._corpus = path, corpus

    def identity(self) -> dict[str, Any]:
        """Describe the rankings for manifests by the sha256 of the run's file."""
        return {"name": "run", "sha256": sha256_file(self.path)}

    def rank(self, queries: Mapping[str, str], depth: int = DEPTH) -> Rankings:
        """Rank passages by the run's scores; ties by descending id, as in trec_eval.

        Raises:
            InputError: see :func:`read_run`; or the corpus is missing one of its passages.
        """
        by_query, lines = read_run(self.path, queries)
        _, rows = find_rows(self._corpus, "_id", pa.array(list(lines), pa.string()))
        there = set(rows.tolist())
        for row, (passage, line) in enumerate(lines.items()):
            if row not in there:
                raise InputError(
                    f"the corpus has no passage {passage!r}", path=self.path, line=line,
                    field="docid", allowed="a run over this benchmark's corpus",
                    code="unknown-id"
                )  # fmt: skip
        return {
            query: ranked(
                query,
                sorted(sorted(scores.items(), reverse=True), key=lambda pair: -pair[1])[:depth],
            )
            for query, scores in by_query.items()
        }
