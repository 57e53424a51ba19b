"""Reading a corpus of Parquet shards by blocks, rows and ids; memory grows with the rows read."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.progress import progress
from citeforge.engines.tables import ROWS_PER_GROUP, iter_batches, regroup
from citeforge.schemas.tables import CORPUS
from citeforge.schemas.text import normalise_passages


def embedding_texts(corpus: list[Path], shard_rows: int) -> Iterator[pa.Array]:
    """Stream the texts to embed (title and text of each passage), ``shard_rows`` per array."""
    batches = iter_batches(corpus, ["title", "text"], rows=min(shard_rows, ROWS_PER_GROUP))
    return map(pa.concat_arrays, regroup(map(join_titles, batches), shard_rows))


def join_titles(rows: pa.RecordBatch | pa.Table) -> pa.Array:
    """Join title and text of each passage; the text alone if the title is empty or equal to it."""
    joined = pc.binary_join_element_wise(rows["title"], rows["text"], " ")
    is_bare = pc.or_(pc.equal(rows["title"], ""), pc.equal(rows["title"], rows["text"]))
    texts = pc.if_else(is_bare, rows["text"], joined)
    return pa.concat_arrays(texts.chunks) if isinstance(texts, pa.ChunkedArray) else texts


def take_rows(corpus: list[Path], positions: npt.NDArray[np.int64], columns: list[str]) -> pa.Table:
    """Read some columns of the corpus rows at sorted positions."""
    pieces = []
    start = at = 0
    for batch in iter_batches(corpus, columns):
        end = int(np.searchsorted(positions, start + batch.num_rows))
        if end > at:
            pieces.append(batch.take(pa.array(positions[at:end] - start)))
        start, at = start + batch.num_rows, end
    schema = pa.schema([CORPUS.field(c) for c in columns])
    return pa.Table.from_batches(pieces, schema)


def find_rows(
    corpus: list[Path], column: str, values: pa.Array, stage: str = "looking passages up"
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the rows of a corpus with given ids or texts: (positions, indices of the values there).

    Args:
        corpus: Parquet files.
        column: ``_id``, or ``text`` for equality under :func:`normalise_passages`.
        values: distinct values to look for.
        stage: description of the work, for the progress line.

    Returns:
        (positions in the corpus, index of the value found there), in corpus order.
    """
    positions, indices = [], []
    start = 0
    with progress(stage, None, "passages") as advance:
        for batch in iter_batches(corpus, [column]):
            data = batch[column] if column == "_id" else normalise_passages(batch[column])
            matches = pc.index_in(data, value_set=values)
            rows = np.flatnonzero(matches.is_valid().to_numpy(False))
            positions.append(rows + start)
            indices.append(matches.take(pa.array(rows)).to_numpy(False).astype(np.int64))
            start += batch.num_rows
            advance(batch.num_rows)
    return np.concatenate(positions).astype(np.int64), np.concatenate(indices)


def read_ids_and_ranks(
    corpus: list[Path], positions: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
    """Read the passage ids at corpus positions, and the rank of each id when sorted.

    The ranks break ties.
    """
    unique, inverse = np.unique(positions, return_inverse=True)
    ids = take_rows(corpus, unique, ["_id"])["_id"]
    ranks = np.empty(len(unique), np.int64)
    ranks[pc.sort_indices(ids).to_numpy()] = np.arange(len(unique))
    names = np.array(ids.to_pylist(), dtype=object)
    return names[inverse], ranks[inverse]
