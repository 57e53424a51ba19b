"""Passages that come again and again (quotes, retrieved documents) become one corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from citeforge.engines.io.tables import batch_of
from citeforge.ir_convert.checks import check_id, empty_text
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import normalise_passages

_BATCH = 4096


class PassageCollector:
    """Merges repeated passages: same id and equal normalised text are one, else an error.

    Keeps a digest and a line number for each id, not the texts.

    Attributes:
        counts: what was merged or skipped.
    """

    def __init__(self, path: Path, skip_empty: bool) -> None:
        self.counts: dict[str, int] = {}
        self._path = path
        self._skip_empty = skip_empty
        self._seen: dict[str, tuple[bytes, int]] = {}
        self._rows: list[tuple[str, str, str, None]] = []

    def add(self, line: int, name: str, title: str, text: str) -> bool:
        """Take in one passage.

        Returns:
            Whether it is part of the corpus (False when skipped for having no text).

        Raises:
            InputError: empty id, empty text, or another text under the same id.
        """
        check_id(name, self._path, line, "docid")
        if not text.strip():
            if not self._skip_empty:
                raise empty_text(self._path, line)
            self._count("passages without text, skipped")
            return False
        digest = hashlib.sha256(
            normalise_passages(pa.array([text]))[0].as_py().encode("utf-8")
        ).digest()
        if name not in self._seen:
            self._seen[name] = (digest, line)
            self._rows.append((name, title, text, None))
            return True
        known, first = self._seen[name]
        if known != digest:
            raise InputError(
                f"passage {name!r} has another text than in line {first}",
                path=self._path,
                line=line,
                allowed="one text for each id",
            )
        self._count("repeated passages, merged")
        return True

    def full_batches(self) -> Iterator[pa.RecordBatch]:
        """Batches that are complete so far."""
        while len(self._rows) >= _BATCH:
            rows, self._rows = self._rows[:_BATCH], self._rows[_BATCH:]
            yield batch_of(rows, CORPUS)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What is left at the end."""
        yield from self.full_batches()
        if self._rows:
            yield batch_of(self._rows, CORPUS)
            self._rows = []

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
