"""Answers of a store as a file that people and other stores read."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import asdict

from citeforge.engines.io.files import atomic_file
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.llm.stores.replay import ReplayStore
from citeforge.engines.llm.stores.spill import ExportedRow
from citeforge.schemas.errors import InputError


def export_store(store: Path, out: Path) -> int:
    """Write all answers of a store as JSON Lines.

    Returns:
        Number of answers.

    Raises:
        InputError: the store cannot be read.
    """
    count = 0
    with ReplayStore(store, readonly=True) as opened, atomic_file(out) as file:
        for row in opened.export():
            text = json.dumps(asdict(row), ensure_ascii=False, sort_keys=True)
            file.write(text.encode() + b"\n")
            count += 1
    return count


def import_store(store: Path, file: Path) -> tuple[int, int]:
    """Take exported answers into a store; what is there stands.

    Returns:
        (answers added, answers that were there).

    Raises:
        InputError: a line is not an exported answer, or its key is not that of its payload.
    """
    rows = (row for _, row in read_rows(file, ExportedRow))
    with ReplayStore(store) as opened:
        try:
            return opened.import_rows(rows)
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(
                error.message, path=file, line=error.line, field=error.field
            ) from error
