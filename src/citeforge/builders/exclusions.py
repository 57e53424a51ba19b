"""Which passages may not stand as negatives of which query."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.corpus import find_rows, take_rows
from citeforge.schemas.text import normalise_passages


@dataclass
class Exclusions:
    """Positions in the corpus that are no negatives, for each query.

    Attributes:
        relevant: positions of the query's relevant passages, in the order of the judgements.
        forbidden: those, and passages with the same normalised text as one of them, and (when
            asked) passages that are the query's own text.
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
    drop_self: bool,
) -> Exclusions:
    """Work out the exclusions of all queries in two passes over the corpus.

    Args:
        corpus: Parquet files of the corpus.
        queries: schema QUERIES.
        relevant: schema MAPPING, only queries of ``queries``.
        relevant_positions: corpus position of each row of ``relevant``.
        answers: short answers of each query whose carriers are excluded; empty lists for none.
        drop_self: whether a passage equal to the query text is excluded.
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
    if drop_self:
        _exclude_own_text(corpus, queries, result)
    return result


def _exclude_equal_texts(corpus: list[Path], result: Exclusions) -> None:
    unique = np.unique([p for positions in result.relevant for p in positions]).astype(np.int64)
    if not len(unique):
        return
    texts = normalise_passages(pa.concat_arrays(take_rows(corpus, unique, ["text"])["text"].chunks))
    distinct = texts.unique()
    text_of = dict(
        zip(unique.tolist(), pc.index_in(texts, value_set=distinct).to_pylist(), strict=True)
    )
    positions, indices = find_rows(
        corpus, "text", distinct, "looking for copies of relevant passages"
    )
    twins: dict[int, list[int]] = {}
    for position, index in zip(positions.tolist(), indices.tolist(), strict=True):
        twins.setdefault(index, []).append(position)
    added = 0
    for row, relevant in enumerate(result.relevant):
        before = len(result.forbidden[row])
        for position in relevant:
            result.forbidden[row].update(twins[text_of[position]])
        added += len(result.forbidden[row]) - before
    result.counts["negatives excluded: same text as a relevant passage"] = added


def _exclude_own_text(corpus: list[Path], queries: pa.Table, result: Exclusions) -> None:
    texts = normalise_passages(pa.concat_arrays(queries["text"].chunks))
    distinct = texts.unique()
    asked: dict[int, list[int]] = {}
    for row, index in enumerate(pc.index_in(texts, value_set=distinct).to_pylist()):
        asked.setdefault(index, []).append(row)
    added = 0
    positions, indices = find_rows(corpus, "text", distinct, "looking for queries")
    for position, index in zip(positions.tolist(), indices.tolist(), strict=True):
        for row in asked[index]:
            added += position not in result.forbidden[row]
            result.forbidden[row].add(position)
    result.counts["negatives excluded: the query's own text"] = added


def short_answers(queries: pa.Table, relevant: pa.Table, gold: pa.Table) -> list[list[str]]:
    """Gold short answers of each query, from its judgements and its gold rows, without repeats."""
    row_of = {name: row for row, name in enumerate(queries["_id"].to_pylist())}
    found: list[dict[str, None]] = [{} for _ in row_of]
    for name, text in zip(
        relevant["query-id"].to_pylist(), relevant["short_answers"].to_pylist(), strict=True
    ):
        if text is not None:
            found[row_of[name]].update(dict.fromkeys(json.loads(text)))
    for name, aliases in zip(
        gold["query_id"].to_pylist(), gold["aliases"].to_pylist(), strict=True
    ):
        if aliases and name in row_of:
            found[row_of[name]].update(dict.fromkeys(aliases))
    return [list(answers) for answers in found]
