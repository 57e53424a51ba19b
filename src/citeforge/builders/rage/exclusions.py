"""Which passages may not stand as negatives of which query."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.io.corpus import find_rows, take_rows
from citeforge.engines.io.tables import rows_of
from citeforge.schemas.text import normalise_passages


@dataclass
class Exclusions:
    """Positions in the corpus that are no negatives, for each query.

    Attributes:
        relevant: positions of the query's relevant passages, in the order of the judgements.
        forbidden: those; passages with the same normalised text as one of them; and, unless they
            are wanted, the query itself: passages with its id or its text.
        answers: gold short answers of the query; empty when they are not to be looked for.
        counts: how many passages each rule excluded.
    """

    relevant: list[list[int]]
    forbidden: list[set[int]]
    answers: list[list[str]]
    counts: dict[str, int] = field(default_factory=dict)


def find_exclusions(
    corpus: list[Path],
    queries: pa.Table,
    relevant: pa.Table,
    relevant_positions: npt.NDArray[np.int64],
    answers: list[list[str]],
    keep_self: bool,
) -> Exclusions:
    """Work out the exclusions of all queries in a few passes over the corpus.

    Args:
        corpus: Parquet files of the corpus.
        queries: schema QUERIES.
        relevant: schema MAPPING, only queries of ``queries``.
        relevant_positions: corpus position of each row of ``relevant``.
        answers: short answers of each query whose carriers are excluded; empty lists for none.
        keep_self: whether a passage with the id or the text of the query may be a negative.
    """
    row_of = {name: row for row, name in enumerate(queries["_id"].to_pylist())}
    result = Exclusions([[] for _ in row_of], [set() for _ in row_of], answers)
    for name, position in zip(
        relevant["query-id"].to_pylist(), relevant_positions.tolist(), strict=True
    ):
        result.relevant[row_of[name]].append(position)
    for row, positions in enumerate(result.relevant):
        result.forbidden[row].update(positions)
    _exclude_equal_texts(corpus, result)
    if not keep_self:
        _exclude_queries(corpus, queries, result)
    return result


def _exclude_equal_texts(corpus: list[Path], result: Exclusions) -> None:
    unique = np.unique([p for positions in result.relevant for p in positions]).astype(np.int64)
    if not len(unique):
        return
    texts = normalise_passages(pa.concat_arrays(take_rows(corpus, unique, ["text"])["text"].chunks))
    carriers = _carriers(corpus, "text", texts, "looking for copies of relevant passages")
    twins = dict(zip(unique.tolist(), carriers, strict=True))
    added = sum(
        _forbid(result.forbidden[row], (p for r in relevant for p in twins[r]))
        for row, relevant in enumerate(result.relevant)
    )
    result.counts["negatives excluded: same text as a relevant passage"] = added


def _exclude_queries(corpus: list[Path], queries: pa.Table, result: Exclusions) -> None:
    """A corpus often holds the queries themselves (ArguAna, Quora): the nearest passage of all."""
    texts = normalise_passages(pa.concat_arrays(queries["text"].chunks))
    ids = pa.concat_arrays(queries["_id"].chunks)
    for column, values, what in (("text", texts, "text"), ("_id", ids, "id")):
        carriers = _carriers(corpus, column, values, f"looking for the queries' own {what}s")
        added = sum(map(_forbid, result.forbidden, carriers))
        result.counts[f"negatives excluded: the query's own {what}"] = added


def _carriers(corpus: list[Path], column: str, values: pa.Array, stage: str) -> list[list[int]]:
    """Corpus positions of each value, which may stand there several times."""
    distinct = values.unique()
    positions_of: list[list[int]] = [[] for _ in distinct]
    positions, indices = find_rows(corpus, column, distinct, stage)
    for position, index in zip(positions.tolist(), indices.tolist(), strict=True):
        positions_of[index].append(position)
    return [positions_of[i] for i in pc.index_in(values, value_set=distinct).to_pylist()]


def _forbid(forbidden: set[int], positions: Iterable[int]) -> int:
    """Add positions; how many were new."""
    before = len(forbidden)
    forbidden.update(positions)
    return len(forbidden) - before


def short_answers(queries: pa.Table, relevant: pa.Table, gold: pa.Table) -> list[list[str]]:
    """Gold short answers of each query, from its judgements and its gold rows, without repeats."""
    row_of = {name: row for row, name in enumerate(queries["_id"].to_pylist())}
    by_row: list[dict[str, None]] = [{} for _ in row_of]
    for name, text in rows_of(relevant, "query-id", "short_answers"):
        if text is not None:
            by_row[row_of[name]].update(dict.fromkeys(json.loads(text)))
    for name, aliases in rows_of(gold, "query_id", "aliases"):
        if aliases and name in row_of:
            by_row[row_of[name]].update(dict.fromkeys(aliases))
    return [list(answers) for answers in by_row]
