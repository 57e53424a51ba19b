"""The corpus stage of a build: passages of all sources, merged, as Parquet."""

import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.files import sha256_file, storage_errors
from citeforge.engines.progress import Advance, progress
from citeforge.engines.tables import TableWriter, find_rows, iter_batches, rows_with, shard_paths
from citeforge.ir_convert.source import Source
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import CORPUS
from citeforge.schemas.text import normalise_passages


def write_corpus(
    source: Source, extra: Source | None, folder: Path, prefix: str = ""
) -> dict[str, str]:
    """Write the corpus of a build: passages of its source and, if given, of an extra source.

    A passage that both have (same id, equal normalised text) is written once, with whichever title
    is not empty; the first source's text and order stand.

    Args:
        source: first source.
        extra: further source; None for none.
        folder: folder for the tables.
        prefix: prefix for the ids of ``extra``.

    Returns:
        File names with sha256.

    Raises:
        InputError: no passages at all, or one id with two texts.
    """
    if extra is None:
        return write_batches(folder, source.passages(), source)
    scratch = folder / "first"
    write_batches(scratch, source.passages(), source)
    first = shard_paths(scratch, "corpus")
    with progress("reading the other corpus", None, "passages") as advance:
        both = _find_overlap(first, _prefix_ids(extra, prefix), advance)
    joined = _merge(first, _prefix_ids(extra, prefix), both, extra)
    files = write_batches(folder, joined, source, "joining both corpora")
    if both:
        extra.info().counts["passages already in the first source, merged"] = len(both)
    for path in first:
        path.unlink()
    scratch.rmdir()
    return files


def write_batches(
    folder: Path,
    batches: Iterable[pa.RecordBatch],
    source: Source,
    stage: str = "reading the corpus",
) -> dict[str, str]:
    """Write batches of passages as a corpus; refuse an empty one.

    Args:
        folder: folder for the tables.
        batches: schema CORPUS.
        source: source of the batches.
        stage: description of the work, for the progress line.

    Returns:
        File names with sha256.

    Raises:
        InputError: there are none.
    """
    files = _write_table(folder, batches, stage)
    if not files:
        raise InputError(
            "the corpus is empty",
            path=source.info().spec,
            allowed="at least one passage",
            code="empty-file",
        )
    return files


def _write_table(
    folder: Path, batches: Iterable[pa.RecordBatch | pa.Table], stage: str
) -> dict[str, str]:
    """Write a corpus table; return its file names with sha256."""
    with (
        progress(stage, None, "passages") as advance,
        TableWriter(folder, "corpus", CORPUS) as writer,
    ):
        for batch in batches:
            writer.write(batch)
            advance(batch.num_rows)
    return writer.files


def copy_corpus(
    folder: Path,
    corpus: list[Path],
    only: Iterable[str] | None = None,
    extra: pa.Table | None = None,
) -> dict[str, str]:
    """Write the corpus of a package from the files of another one: all or some passages.

    Args:
        folder: folder of the package.
        corpus: Parquet files of the passages; their order is kept.
        only: ids of those that the package needs; None for all.
        extra: further passages, schema CORPUS, written after them.

    Returns:
        File names with sha256.
    """
    batches = iter_batches(corpus)
    if only is not None:
        ids = pa.array(sorted(set(only)), pa.string())
        batches = (rows_with(b, "_id", ids) for b in batches)
    further = [] if extra is None else [extra]
    written = (batch.cast(CORPUS) for batch in chain(batches, further))
    return _write_table(folder / "corpus", written, "writing the corpus")


def link_corpus(folder: Path, corpus: list[Path]) -> dict[str, str]:
    """Link the corpus files of a stage into a package; copy them if links are not possible.

    Args:
        folder: folder of the package.
        corpus: files of the stage, which goes when the build ends.

    Returns:
        File names with sha256.
    """
    target = folder / "corpus"
    with storage_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        for path in corpus:
            try:
                os.link(path, target / path.name)
            except OSError:  # a file system without links
                shutil.copyfile(path, target / path.name)
    return {path.name: sha256_file(path) for path in corpus}


def _prefix_ids(source: Source, prefix: str) -> Iterator[pa.RecordBatch]:
    """Stream the passages of a source (schema CORPUS) with a prefix before their ids."""
    for batch in source.passages():
        if prefix:
            ids = pc.binary_join_element_wise(pa.scalar(prefix), batch["_id"], "")
            batch = pa.RecordBatch.from_arrays([ids, *batch.columns[1:]], schema=CORPUS)
        yield batch


def _find_overlap(
    first: list[Path], extra: Iterator[pa.RecordBatch], advance: Advance
) -> dict[str, tuple[str, str]]:
    """Find passages of ``extra`` with an id of the first source: id to (title, normalised text).

    Ids are compared by 64-bit hashes, 8 bytes each, and those that agree by their letters.
    """
    digests = np.sort(
        np.concatenate([_hash_ids(b["_id"].to_pylist()) for b in iter_batches(first, ["_id"])])
    )
    texts_of: dict[str, tuple[str, str]] = {}
    for batch in extra:
        hashes = _hash_ids(batch["_id"].to_pylist())
        at = np.minimum(np.searchsorted(digests, hashes), len(digests) - 1)
        shared = batch.filter(pa.array(digests[at] == hashes))
        texts = normalise_passages(shared["text"])
        for name, title, text in zip(
            shared["_id"].to_pylist(), shared["title"].to_pylist(), texts.to_pylist(), strict=True
        ):
            texts_of[name] = (title, text)
        advance(batch.num_rows)
    if not texts_of:
        return {}
    names = pa.array(list(texts_of), pa.string())
    _, indices = find_rows(first, "_id", names)
    return {name: texts_of[name] for name in names.take(pa.array(np.sort(indices))).to_pylist()}


def _hash_ids(ids: list[str]) -> npt.NDArray[np.int64]:
    """Compute a 64-bit hash of each id."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


def _merge(
    first: list[Path],
    extra: Iterator[pa.RecordBatch],
    both: dict[str, tuple[str, str]],
    source: Source,
) -> Iterator[pa.RecordBatch]:
    """Stream the passages of two corpora; those in both once, with a title if either has one."""
    names = pa.array(list(both), pa.string())
    for batch in iter_batches(first):
        shared = np.flatnonzero(pc.is_in(batch["_id"], value_set=names).to_numpy(False))
        yield _fill_titles(batch, shared, both, source) if len(shared) else batch
    for batch in extra:
        yield batch.filter(pc.invert(pc.is_in(batch["_id"], value_set=names)))


def _fill_titles(
    batch: pa.RecordBatch,
    rows: npt.NDArray[np.intp],
    both: dict[str, tuple[str, str]],
    extra: Source,
) -> pa.RecordBatch:
    """Fill empty titles of passages in both corpora; refuse different texts of one id."""
    texts = normalise_passages(batch["text"])
    titles = batch["title"].to_pylist()
    for row in rows.tolist():
        name = batch["_id"][row].as_py()
        title, text = both[name]
        if texts[row].as_py() != text:
            raise InputError(
                f"passage {name!r} has a different text in the first source",
                path=extra.info().spec,
                allowed="one text for each id, or --extra-prefix for ids of other passages",
                code="duplicate-id",
            )
        titles[row] = titles[row] or title
    columns = [batch["_id"], pa.array(titles, pa.string()), batch["text"], batch["metadata"]]
    return pa.RecordBatch.from_arrays(columns, schema=CORPUS)
