"""Cutting a corpus into short passages (ALCE, section 2: 100 words, as DPR's Wikipedia)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from citeforge.engines.io.tables import batch_of
from citeforge.ir_convert.source import Source
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.errors import InputError

_SIGN = "#"


def pieces(text: str, size: int) -> list[str]:
    """A text in consecutive pieces of ``size`` words, the last one shorter; words are what white
    space separates, and are joined by single spaces."""
    words = text.split()
    return [" ".join(words[at : at + size]) for at in range(0, len(words), size)]


def piece_id(passage: str, number: int) -> str:
    """Id of a piece, numbered from 0. All pieces have such ids, so that none is another's."""
    return f"{passage}{_SIGN}{number}"


def whole_id(piece: str) -> str:
    """Id of the passage that a piece was cut from."""
    return piece.rpartition(_SIGN)[0]


def passage_chunks(source: Source, size: int) -> Iterator[pa.RecordBatch]:
    """The passages of a source (schema CORPUS) in pieces, each with title and metadata of its
    passage; what was cut is counted in ``source.info().counts``.

    Raises:
        InputError: no passage has a word.
    """
    counts: Counter[str] = Counter()
    for batch in source.passages():
        rows = []
        for name, title, text, metadata in zip(
            *(c.to_pylist() for c in batch.columns), strict=True
        ):
            chunks = pieces(text, size)
            counts["passages before cutting"] += 1
            counts["passages without a word, left out"] += not chunks
            rows += [(piece_id(name, i), title, t, metadata) for i, t in enumerate(chunks)]
        counts["passages after cutting"] += len(rows)
        if rows:
            yield batch_of(rows, CORPUS)
    if not counts["passages after cutting"]:
        raise InputError("has no passage with a word", path=source.info().spec)
    source.info().counts.update({what: n for what, n in counts.items() if n})
