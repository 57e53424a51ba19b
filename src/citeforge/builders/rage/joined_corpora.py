"""Two corpora joined to one: passages that both have are written once."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.package import write_corpus
from citeforge.engines.progress import Advance, progress
from citeforge.engines.tables import find_rows, iter_batches, shard_paths
from citeforge.ir_convert.source import Source, hash_ids
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import CORPUS
from citeforge.schemas.text import normalise_passages


class SharedPassage(NamedTuple):
    """Title and normalised text of a passage whose id two corpora have."""

    title: str
    text: str


def join_corpora(
    source: Source, extra: Source, folder: Path, extra_id_prefix: str
) -> dict[str, str]:
    """Write the passages of two sources as one corpus, each passage once: names with sha256.

    A passage that both have (same id, equal normalised text) is written once, with whichever title
    is not empty; the first source's text and order stand.

    Args:
        source: first source.
        extra: further source.
        folder: folder for the tables.
        extra_id_prefix: prefix for the ids of ``extra``.

    Returns:
        File names with sha256.

    Raises:
        InputError: no passages at all, or one id with two texts.
    """
    scratch = folder / "first"
    write_corpus(scratch, source.passages(), source)
    first = shard_paths(scratch, "corpus")
    with progress("reading the other corpus", None, "passages") as advance:
        both = _find_overlap(first, _prefix_ids(extra, extra_id_prefix), advance)
    joined = _merge(first, _prefix_ids(extra, extra_id_prefix), both, extra)
    files = write_corpus(folder, joined, source, "joining both corpora")
    if both:
        extra.info().counts["passages_in_the_first_source"] = len(both)
    for path in first:
        path.unlink()
    scratch.rmdir()
    return files


def _prefix_ids(source: Source, prefix: str) -> Iterator[pa.RecordBatch]:
    """Stream the passages of a source (schema CORPUS) with a prefix before their ids."""
    for batch in source.passages():
        if prefix:
            ids = pc.binary_join_element_wise(pa.scalar(prefix), batch["_id"], "")
            batch = pa.RecordBatch.from_arrays([ids, *batch.columns[1:]], schema=CORPUS)
        yield batch


def _find_overlap(
    first: list[Path], second: Iterator[pa.RecordBatch], advance: Advance
) -> dict[str, SharedPassage]:
    """Map each id that is in both corpora to the second corpus's passage.

    Ids are compared by 64-bit hashes, 8 bytes each, and those that agree by their letters.

    Args:
        first: Parquet files of the first corpus.
        second: passages of the other one, schema CORPUS.
        advance: reports how many passages were read.

    Returns:
        Id to the other corpus's passage.
    """
    blocks = (batch["_id"].to_pylist() for batch in iter_batches(first, ["_id"]))
    digests = np.sort(np.concatenate([hash_ids(ids) for ids in blocks]))
    texts_of: dict[str, SharedPassage] = {}
    for batch in second:
        hashes = hash_ids(batch["_id"].to_pylist())
        at = np.minimum(np.searchsorted(digests, hashes), len(digests) - 1)
        shared = batch.filter(pa.array(digests[at] == hashes))
        texts = normalise_passages(shared["text"])
        for name, title, text in zip(
            shared["_id"].to_pylist(), shared["title"].to_pylist(), texts.to_pylist(), strict=True
        ):
            texts_of[name] = SharedPassage(title, text)
        advance(batch.num_rows)
    if not texts_of:
        return {}
    names = pa.array(list(texts_of), pa.string())
    _, indices = find_rows(first, "_id", names)
    return {name: texts_of[name] for name in names.take(pa.array(np.sort(indices))).to_pylist()}


def _merge(
    first: list[Path],
    second_batches: Iterator[pa.RecordBatch],
    shared: dict[str, SharedPassage],
    second_source: Source,
) -> Iterator[pa.RecordBatch]:
    """Stream the passages of two corpora; shared ids once, with a title if either has one.

    Args:
        first: Parquet files of the first corpus.
        second_batches: passages of the other one, schema CORPUS.
        shared: its passages whose id the first one has, too, by id.
        second_source: source of the other one, for messages.
    """
    names = pa.array(list(shared), pa.string())
    for batch in iter_batches(first):
        rows = np.flatnonzero(pc.is_in(batch["_id"], value_set=names).to_numpy(False))
        yield _fill_titles(batch, rows, shared, second_source) if len(rows) else batch
    for batch in second_batches:
        yield batch.filter(pc.invert(pc.is_in(batch["_id"], value_set=names)))


def _fill_titles(
    batch: pa.RecordBatch,
    rows: npt.NDArray[np.intp],
    shared: dict[str, SharedPassage],
    second_source: Source,
) -> pa.RecordBatch:
    """Fill the empty titles of passages with those that a second corpus has for their ids.

    Args:
        batch: passages of the first corpus.
        rows: numbers of those that both corpora have.
        shared: passages of the other corpus by id.
        second_source: source of the other corpus, for messages.

    Raises:
        InputError: an id has two texts.
    """
    texts = normalise_passages(batch["text"])
    titles = batch["title"].to_pylist()
    for row in rows.tolist():
        name = batch["_id"][row].as_py()
        title, text = shared[name]
        if texts[row].as_py() != text:
            raise InputError(
                f"passage {name!r} has a different text in the first source",
                path=second_source.info().spec,
                allowed="one text for each id, or --extra-prefix for ids of other passages",
                code="duplicate-id",
            )
        titles[row] = titles[row] or title
    columns = [batch["_id"], pa.array(titles, pa.string()), batch["text"], batch["metadata"]]
    return pa.RecordBatch.from_arrays(columns, schema=CORPUS)
