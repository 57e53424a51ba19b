"""The corpus stage: passages of all sources, merged, as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import ROWS_PER_GROUP, TableWriter, iter_batches, shard_paths
from citeforge.ir_convert.source import Source
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import CORPUS
from citeforge.schemas.text import normalise_passages


def write_corpus(source: Source, extra: Source | None, folder: Path) -> dict[str, str]:
    """Write the corpus of a source, and of a further one to mine from.

    A passage that both have (same id, equal normalised text) is written once, with whichever title
    is not empty; the first source's text and order stand.

    Returns:
        File names with sha256.

    Raises:
        InputError: no passages at all, or one id with two texts.
    """
    if extra is None:
        return _write(folder, source.passages(), source)
    scratch = folder / "first"
    _write(scratch, source.passages(), source)
    first = shard_paths(scratch, "corpus")
    both = _overlap(first, extra)
    files = _write(folder, _merged(first, extra, both), source)
    if both:
        extra.info().counts["passages already in the first source, merged"] = len(both)
    for path in first:
        path.unlink()
    scratch.rmdir()
    return files


def _write(folder: Path, batches: Iterable[pa.RecordBatch], source: Source) -> dict[str, str]:
    with TableWriter(folder, "corpus", CORPUS) as writer:
        for batch in batches:
            writer.write(batch)
    if writer.rows == 0:
        raise InputError(
            "the corpus is empty", path=source.info().spec, allowed="at least one passage"
        )
    return writer.files


def _overlap(first: list[Path], extra: Source) -> dict[str, tuple[str, str]]:
    """Passages of ``extra`` whose id the first source has: id to (title, normalised text)."""
    known = pa.concat_arrays([b["_id"] for b in iter_batches(first, ["_id"])])
    both: dict[str, tuple[str, str]] = {}
    for batch in extra.passages():
        shared = batch.filter(pc.is_in(batch["_id"], value_set=known))
        texts = normalise_passages(shared["text"])
        for name, title, text in zip(
            shared["_id"].to_pylist(), shared["title"].to_pylist(), texts.to_pylist(), strict=True
        ):
            both[name] = (title, text)
    return both


def _merged(
    first: list[Path], extra: Source, both: dict[str, tuple[str, str]]
) -> Iterator[pa.RecordBatch]:
    names = pa.array(list(both), pa.string())
    for batch in iter_batches(first):
        shared = np.flatnonzero(pc.is_in(batch["_id"], value_set=names).to_numpy(False))
        yield _with_titles(batch, shared, both, extra) if len(shared) else batch
    for batch in extra.passages():
        yield batch.filter(pc.invert(pc.is_in(batch["_id"], value_set=names)))


def _with_titles(
    batch: pa.RecordBatch,
    rows: npt.NDArray[np.intp],
    both: dict[str, tuple[str, str]],
    extra: Source,
) -> pa.RecordBatch:
    texts = normalise_passages(batch["text"])
    titles = batch["title"].to_pylist()
    for row in rows.tolist():
        name = batch["_id"][row].as_py()
        title, text = both[name]
        if texts[row].as_py() != text:
            raise InputError(
                f"passage {name!r} has another text than in the first source",
                path=extra.info().spec,
                allowed="one text for each id",
            )
        titles[row] = titles[row] or title
    columns = [batch["_id"], pa.array(titles, pa.string()), batch["text"], batch["metadata"]]
    return pa.RecordBatch.from_arrays(columns, schema=CORPUS)


def embedding_texts(corpus: list[Path], shard_rows: int) -> Iterator[pa.Array]:
    """What the embedder reads of each passage, title and text, in arrays of ``shard_rows``."""
    pending: list[pa.Array] = []
    count = 0
    for batch in iter_batches(corpus, ["title", "text"], rows=min(shard_rows, ROWS_PER_GROUP)):
        titled = pc.binary_join_element_wise(batch["title"], batch["text"], " ")
        texts = pc.if_else(pc.equal(batch["title"], ""), batch["text"], titled)
        while len(texts):
            piece = texts.slice(0, shard_rows - count)
            pending.append(piece)
            count += len(piece)
            texts = texts.slice(len(piece))
            if count == shard_rows:
                yield pa.concat_arrays(pending)
                pending, count = [], 0
    if pending:
        yield pa.concat_arrays(pending)


def take_rows(corpus: list[Path], positions: npt.NDArray[np.int64], columns: list[str]) -> pa.Table:
    """Rows at sorted positions, streamed: memory grows with the rows taken."""
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
    corpus: list[Path], column: str, values: pa.Array
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where values stand in a column.

    Args:
        corpus: Parquet files.
        column: ``_id``, or ``text`` for equality under :func:`normalise_passages`.
        values: distinct values to look for.

    Returns:
        (positions in the corpus, index of the value found there), in corpus order.
    """
    positions, indices = [], []
    start = 0
    for batch in iter_batches(corpus, [column]):
        data = batch[column] if column == "_id" else normalise_passages(batch[column])
        found = pc.index_in(data, value_set=values)
        rows = np.flatnonzero(found.is_valid().to_numpy(False))
        positions.append(rows + start)
        indices.append(found.take(pa.array(rows)).to_numpy(False).astype(np.int64))
        start += batch.num_rows
    return np.concatenate(positions).astype(np.int64), np.concatenate(indices)
