"""Passages of sources: none without an id or a text, no id twice, repeated ones merged."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.io.duplicates import DuplicateFinder, first_duplicate
from citeforge.engines.io.tables import batch_of
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import normalise_passages

_BATCH = 4096


class Place(NamedTuple):
    """Where a passage stands, for messages."""

    path: Path | str
    line: int


PlacedPassage = tuple[Place, str, str, str, str | None]
"""Place, id, title, text and metadata of a passage."""


def check_id(value: str, path: Path | str, line: int, field: str = "_id") -> None:
    """Refuse an empty id.

    Raises:
        InputError: it is empty.
    """
    if not value:
        raise InputError("is empty", path=path, line=line, field=field, allowed="a distinct id")


def duplicate_id(name: str, first: Place, second: Place, field: str = "_id") -> InputError:
    """Error for an id that comes twice."""
    other = f" of {first.path}" if first.path != second.path else ""
    return InputError(
        f"{name!r} stands already in line {first.line}{other}",
        path=second.path,
        line=second.line,
        field=field,
        allowed="every id once",
    )


def empty_text(path: Path | str, line: int, field: str = "text") -> InputError:
    """Error for a passage or query without text."""
    return InputError(
        "is empty", path=path, line=line, field=field, allowed="some text, or pass --skip-empty"
    )


def corpus_batches(rows: Iterator[tuple[str, str, str, str | None]]) -> Iterator[pa.RecordBatch]:
    """Rows of schema CORPUS in batches."""
    while some := list(islice(rows, _BATCH)):
        yield batch_of(some, CORPUS)


def checked_passages(
    read: Callable[[], Iterator[pa.RecordBatch]],
    place_of: Callable[[int], Place],
    counts: dict[str, int],
    skip_empty: bool,
    prefix: str = "",
    id_field: str = "_id",
    what: str = "passages",
) -> Iterator[pa.RecordBatch]:
    """The passages of a corpus, streamed.

    Args:
        read: batches of schema CORPUS, from the start at every call.
        place_of: where a passage stands, by its number from 0; asked for what is wrong alone.
        counts: takes in how many were skipped.
        skip_empty: whether passages without text are skipped.
        prefix: of names of fields, in messages.
        id_field: name of the field with the id there.
        what: what they are, where they are not passages.

    Raises:
        InputError: an empty id, an id that comes twice, or a passage without text.
    """
    finder = DuplicateFinder()
    at = skipped = 0
    for batch in read():
        ids: list[str] = batch["_id"].to_pylist()
        finder.add(ids)
        if "" in ids:
            check_id("", *place_of(at + ids.index("")), prefix + id_field)
        texts = batch["text"]
        full = pc.invert(pc.or_(pc.utf8_is_space(texts), pc.equal(pc.binary_length(texts), 0)))
        n_empty = len(ids) - (pc.sum(full).as_py() or 0)
        if n_empty and not skip_empty:
            raise empty_text(*place_of(at + full.index(False).as_py()), prefix + "text")
        skipped += n_empty
        at += len(ids)
        yield batch.filter(full) if n_empty else batch
    if suspects := finder.suspects():
        again = chain.from_iterable(batch["_id"].to_pylist() for batch in read())
        if duplicate := first_duplicate(again, suspects):
            name, first, second = duplicate
            raise duplicate_id(name, place_of(first), place_of(second), prefix + id_field)
    if skipped:
        counts[f"{what} without text, skipped"] = skipped


def merged_passages(
    rows: Iterator[PlacedPassage], counts: dict[str, int], skip_empty: bool
) -> Iterator[pa.RecordBatch]:
    """Passages of a corpus in which one may come several times: with equal normalised texts.

    Keeps a digest and a line number for each id, not the texts.

    Args:
        rows: passages.
        counts: takes in how many were skipped or merged.
        skip_empty: whether passages without text are skipped.

    Raises:
        InputError: empty id, empty text, or another text under the same id.
    """
    lines: dict[str, tuple[bytes, int]] = {}
    done: Counter[str] = Counter()

    def distinct() -> Iterator[PlacedPassage]:
        for row in rows:
            (path, line), name, _, text, _ = row
            check_id(name, path, line, "docid")
            if not text.strip():
                if not skip_empty:
                    raise empty_text(path, line)
                done["passages without text, skipped"] += 1
                continue
            normal: str = normalise_passages(pa.array([text]))[0].as_py()
            digest = hashlib.sha256(normal.encode()).digest()
            if name not in lines:
                lines[name] = digest, line
                yield row
                continue
            other, first = lines[name]
            if other != digest:
                raise InputError(
                    f"passage {name!r} has another text than in line {first}",
                    path=path,
                    line=line,
                    allowed="one text for each id",
                )
            done["repeated passages, merged"] += 1

    yield from corpus_batches(row[1:] for row in distinct())
    counts.update(done)
