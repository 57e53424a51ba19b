"""Hiding of labels: the secret of a package, and the ids and orders derived from it.

Ids and orders of a source may reveal labels: relevant passages come first in many corpora, and ids
are often numbered in that order. A seed can be guessed; the secret cannot, and is stored beside the
gold and in no public file. With it, ids become keyed hashes, the corpus is sorted by them, and each
context gets an order of its own.
"""

import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.package import PackageWriter
from citeforge.engines.files import sha256_file
from citeforge.engines.tables import (
    TableWriter,
    count_rows,
    iter_batches,
    read_table,
    rows_of,
    shard_paths,
    write_table,
)
from citeforge.package.secret import SECRET_BYTES, pseudonym, read_secret, write_secret
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.manifest import SECRET
from citeforge.schemas.tables import BY_CONFIG, CORPUS
from citeforge.schemas.text import splice

_ROWS_PER_BUCKET = 1 << 16
_ID_COLUMNS = {"corpus-id", "_id", "twin_id"}
NewPositions = dict[str, dict[int, int]]
"""Query to old and new position of each passage in its context, 0-based."""


def read_or_make_secret(folder: Path, source: Path | None) -> bytes:
    """Read the secret key of hidden labels from ``source`` or the folder, or make one; store it.

    Args:
        folder: staging folder of the build.
        source: package or gold half whose secret is used in place of the folder's.

    Raises:
        InputError: ``source`` holds no secret, or the one in the folder is damaged.
    """
    if source is None and (folder / SECRET).is_file():
        return read_secret(folder)
    secret = secrets.token_bytes(SECRET_BYTES) if source is None else read_secret(source)
    write_secret(folder, secret)
    return secret


def hide(writer: PackageWriter, secret: bytes, scratch: Path) -> None:
    """Rename and reorder the passages in all tables of a package by a secret key.

    Args:
        writer: writer of the package, with all its tables.
        secret: key of the new ids and orders; stored in the package.
        scratch: empty folder for buckets of the corpus.
    """
    sets = [_hide_contexts(writer, split, secret) for split in writer.splits.get("contexts", [])]
    # Marks of gold answers count the passages of the one context set that there is.
    new_positions = sets[0] if len(sets) == 1 else {}
    for config, splits in writer.splits.items():
        for split in splits:
            if config == "corpus":
                _hide_corpus(writer, split, secret, scratch)
            elif config == "gold":
                table = _read(writer, config, split)
                rows = [_hide_gold_row(row, new_positions, secret) for row in table.to_pylist()]
                _replace(writer, config, split, pa.Table.from_pylist(rows, schema=table.schema))
            elif config not in ("contexts", "queries"):
                _replace(writer, config, split, _hide_ids(_read(writer, config, split), secret))
    write_secret(writer.folder, secret)
    writer.files[SECRET] = sha256_file(writer.folder / SECRET)


def _read(writer: PackageWriter, config: str, split: str) -> pa.Table:
    """Read the table ``config/split`` of the package whose labels are being hidden."""
    return read_table(shard_paths(writer.folder / config, split), BY_CONFIG[config])


def _replace(writer: PackageWriter, config: str, split: str, table: pa.Table) -> None:
    """Replace the table ``config/split`` of the package, and record its new hashes."""
    files = write_table(writer.folder / config, split, table)
    writer.files |= {f"{config}/{name}": sha256 for name, sha256 in files.items()}


def _hide_id(secret: bytes, passage: str) -> str:
    """Derive the hidden id of a passage by a secret key; an empty id stays empty."""
    return pseudonym(secret, "passage", passage) if passage else ""


def _hide_contexts(writer: PackageWriter, split: str, secret: bytes) -> NewPositions:
    """Rename and reorder a context set's passages by a secret key; return new positions.

    Returns:
        Query to old and new position of each of its passages.
    """
    table = _read(writer, "contexts", split)
    new_positions, rows = {}, []
    for query, docs in rows_of(table, "query_id", "docs"):
        keys = [pseudonym(secret, "order", split, query, doc["corpus-id"]) for doc in docs]
        order = sorted(range(len(docs)), key=keys.__getitem__)
        new_positions[query] = {before: now for now, before in enumerate(order)}
        renamed = [{**docs[i], "corpus-id": _hide_id(secret, docs[i]["corpus-id"])} for i in order]
        rows.append({"query_id": query, "docs": renamed})
    _replace(writer, "contexts", split, pa.Table.from_pylist(rows, schema=table.schema))
    return new_positions


def _hide_ids(table: pa.Table, secret: bytes) -> pa.Table:
    """Replace the passage ids in all id columns of a table by hidden ones."""
    for at, field in enumerate(table.schema):
        if field.name in _ID_COLUMNS:
            column = table[field.name].combine_chunks()
            unique = column.unique()
            names = pa.array([_hide_id(secret, passage) for passage in unique.to_pylist()])
            table = table.set_column(at, field, names.take(pc.index_in(column, value_set=unique)))
    return table


def _hide_gold_row(
    row: dict[str, Any], new_positions: NewPositions, secret: bytes
) -> dict[str, Any]:
    """Replace the passage ids in a gold row by hidden ones, and renumber its citation marks.

    Args:
        row: row of the gold table, field to value.
        new_positions: query to old and new position of each passage; empty to keep the numbers.
        secret: key of the new ids.
    """

    def hide_ids(ids: list[str] | None) -> list[str] | None:
        """Replace passage ids by hidden ones; None stays."""
        return None if ids is None else [_hide_id(secret, passage) for passage in ids]

    def renumber(text: str | None) -> str | None:
        """Renumber the citation marks of a gold answer; other texts stay."""
        mine = new_positions.get(row["query_id"]) if row["kind"] == "answer" else None
        return text if text is None or mine is None else _renumber_marks(text, mine)

    sentences = row["sentences"]
    if sentences is not None:
        sentences = [
            {**s, "text": renumber(s["text"]), "citations": hide_ids(s["citations"])}
            for s in sentences
        ]
    changes = {"text": renumber(row["text"]), "citations": hide_ids(row["citations"])}
    return {**row, **changes, "sentences": sentences}


def _renumber_marks(text: str, new_positions: dict[int, int]) -> str:
    """Renumber the citation marks of a gold answer by the new positions of its passages."""
    marks = [m for m in Grammar(base=1).parse(text, len(new_positions)).markers if not m.is_residue]
    new = ("".join(f"[{new_positions.get(n - 1, n - 1) + 1}]" for n in m.numbers) for m in marks)
    return splice(text, ((m.start, m.end, t) for m, t in zip(marks, new, strict=True)))


def _hide_corpus(writer: PackageWriter, split: str, secret: bytes, scratch: Path) -> None:
    """Rename the corpus's passages, and sort them by new id in buckets that fit into memory.

    Args:
        writer: writer of the package.
        split: split of the config ``corpus``.
        secret: key of the new ids.
        scratch: empty folder for the buckets.
    """
    corpus = shard_paths(writer.folder / "corpus", split)
    n_buckets = 1 + count_rows(corpus) // _ROWS_PER_BUCKET
    with ExitStack() as stack:
        buckets = [
            stack.enter_context(TableWriter(scratch, f"{number:05d}", CORPUS))
            for number in range(n_buckets)
        ]
        for batch in iter_batches(corpus, schema=CORPUS):
            names = [_hide_id(secret, passage) for passage in batch["_id"].to_pylist()]
            batch = batch.set_column(0, CORPUS.field("_id"), pa.array(names))
            # By the first digits, so that buckets follow each other in the order of the names.
            number = pa.array([int(name[:8], 16) * n_buckets >> 32 for name in names])
            for bucket in number.unique().to_pylist():
                buckets[bucket].write(batch.filter(pc.equal(number, bucket)))
    with TableWriter(writer.folder / "corpus", split, CORPUS) as hidden:
        for number in range(n_buckets):
            table = read_table(shard_paths(scratch, f"{number:05d}"), CORPUS)
            hidden.write(table.sort_by("_id"))
    writer.files |= {f"corpus/{name}": sha256 for name, sha256 in hidden.files.items()}
