"""Schemas of the tables of documents, repeated passages and questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from citeforge.engines.tables import rows_of

if TYPE_CHECKING:
    from citeforge.package.package import Package

DOCUMENTS = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),  # path in the folder
        pa.field("format", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("sha256", pa.string()),
        pa.field("pages", pa.int32(), nullable=False),
        pa.field("passages", pa.int32(), nullable=False),  # without repetitions
        pa.field("problem", pa.string()),  # why it has no passages
        pa.field("notes", pa.list_(pa.string()), nullable=False),
    ]
)
REPEATS = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("page", pa.int32()),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("corpus-id", pa.string(), nullable=False),  # the earlier passage
        pa.field("exact", pa.bool_(), nullable=False),
    ]
)
QUESTIONS = pa.schema(
    [
        pa.field("_id", pa.string(), nullable=False),
        pa.field("form", pa.string(), nullable=False),
        pa.field("base", pa.string(), nullable=False),  # single, pair, list or absent
        pa.field("user", pa.string()),  # group of users that asks
        pa.field("topic", pa.string()),  # topic of the passages it was written from
        pa.field("question", pa.string(), nullable=False),
        pa.field("answers", pa.list_(pa.string()), nullable=False),
        pa.field("statement", pa.string(), nullable=False),
        pa.field("quotes", pa.list_(pa.string()), nullable=False),
        pa.field("premise", pa.string()),  # what is wrongly taken for granted
        pa.field("corrected", pa.string()),  # without its misspellings
        pa.field("evidence", pa.list_(pa.string()), nullable=False),  # passages it was written from
        pa.field("relevant", pa.list_(pa.string()), nullable=False),  # others that answer it
        pa.field("unsure", pa.list_(pa.string()), nullable=False),  # others that may answer it
        pa.field("accepted", pa.bool_(), nullable=False),
        pa.field("check", pa.string()),  # the check that rejected it
        pa.field("reason", pa.string()),
    ]
)
TABLES = {"documents": DOCUMENTS, "repeats": REPEATS, "questions": QUESTIONS}
"""Config to schema of the tables that only the kind ``documents`` has."""


def question_column(package: Package, column: str) -> dict[str, Any]:
    """Map question ids to their values in a column of a package's table of questions."""
    return dict(rows_of(package.written_questions(), "_id", column))
