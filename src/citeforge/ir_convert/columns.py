"""Columns of outside tables: mapped to a schema; those that it does not have counted or kept."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.extra_fields import count_extra_fields, merge_metadata
from citeforge.engines.model_files import error_reason
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import ExtraFields
from citeforge.schemas.tables import CORPUS, MAPPING, QUERIES

_IDS = ("_id", "id", "docid", "doc_id", "pid")
_QUERY_IDS = ("query-id", "query_id", "qid")
_NAMES: dict[pa.Schema, dict[str, tuple[str, ...]]] = {
    CORPUS: {"_id": _IDS, "text": ("text", "contents", "passage")},
    QUERIES: {"_id": ("_id", "id", *_QUERY_IDS), "text": ("text", "query", "question")},
    MAPPING: {
        "query-id": _QUERY_IDS,
        "corpus-id": ("corpus-id", "corpus_id", *_IDS[2:]),
        "score": ("score", "relevance"),
    },
}
"""Names of columns in outside tables; the first that a table has is read."""
INSTRUCTION = "instruction"
"""Column of MTEB's queries whose text belongs to the question."""


def map_columns(names: Iterable[str], schema: pa.Schema) -> dict[str, str]:
    """Map names of a table's columns to the columns of a schema that they are read as.

    Columns that the schema does not have are left out.
    """
    choices = _NAMES.get(schema, {})
    there = list(names)
    renames: dict[str, str] = {}
    for ours in schema.names:
        theirs = next((name for name in choices.get(ours, (ours,)) if name in there), None)
        if theirs is not None:
            renames[theirs] = ours
    return renames


def read_columns(
    tables: Iterable[pa.Table], schema: pa.Schema, source_name: str, extra_fields: ExtraFields,
    counts: dict[str, int], rows_noun: str, unread_columns: Iterable[str] = (),
) -> Iterator[pa.Table]:  # fmt: skip
    """Convert tables to a schema; count rows with extra columns, or keep these as metadata.

    The instruction of a query is kept, and follows its text, as in MTEB.

    Args:
        tables: tables with columns of any names.
        schema: CORPUS, QUERIES, MAPPING or GOLD.
        source_name: name of the data set or file, for messages.
        extra_fields: ``keep`` to put further columns into the metadata, if the schema has these.
        counts: takes in how many rows had further columns, at the end.
        rows_noun: plural noun for the rows.
        unread_columns: columns of the file that were not read because they are large.

    Raises:
        InputError: a required column is missing or cannot be converted.
    """
    keeps = extra_fields == "keep" and "metadata" in schema.names
    extra_names, n_extra, n_instructions, n_before = set(unread_columns), 0, 0, 0
    for table in tables:
        renames = map_columns(table.column_names, schema)
        made = _conform(table, renames, schema, source_name)
        extra = {n: _has_value(table[n]) for n in table.column_names if n not in renames}
        extra = {n: mask for n, mask in extra.items() if pc.any(mask).as_py()}
        kept = [n for n in extra if keeps]
        if schema is QUERIES and (instructed := extra.pop(INSTRUCTION, None)) is not None:
            texts = pc.binary_join_element_wise(
                made["text"], table[INSTRUCTION].cast(pa.string()), " "
            )
            texts = pc.if_else(instructed, texts, made["text"])
            made = made.set_column(made.schema.get_field_index("text"), schema.field("text"), texts)
            n_instructions += pc.sum(instructed).as_py()
            kept = [*dict.fromkeys((*kept, INSTRUCTION))]
        if kept:
            made = _add_to_metadata(made, table.select(kept), source_name, n_before + 1)
        if extra:
            extra_names |= extra.keys()
            masks = iter(extra.values())
            some = next(masks)
            for mask in masks:
                some = pc.or_(some, mask)
            n_extra += pc.sum(some).as_py()
        n_before += table.num_rows
        yield made
    if n_instructions:
        counts[count_key("rows_with_an_instruction", rows_noun)] = n_instructions
    count_extra_fields(
        counts,
        rows_noun,
        extra_names,
        n_before if unread_columns else n_extra,
        "keep" if keeps else "ignore",
    )


def _has_value(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a mask of the rows whose value is neither null nor an empty text."""
    there = pc.is_valid(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        there = pc.and_(there, pc.fill_null(pc.not_equal(column, ""), False))
    return there


def _add_to_metadata(
    table: pa.Table, extra_columns: pa.Table, source_name: str, first_row_number: int
) -> pa.Table:
    """Add the values of extra columns to a table's JSON metadata; return the new table.

    Args:
        table: table with a column ``metadata``.
        extra_columns: further columns of the same rows.
        source_name: name of the data set or file, for messages.
        first_row_number: number of the first row in the data set, from 1, for messages.

    Raises:
        InputError: the metadata are no object, or have a field of the same name.
    """
    texts = []
    rows = zip(table["metadata"].to_pylist(), extra_columns.to_pylist(), strict=True)
    for number, (text, row) in enumerate(rows, first_row_number):
        more = {
            name: msgspec.Raw(msgspec.json.encode(value))
            for name, value in row.items() if value is not None and value != ""
        }  # fmt: skip
        own = None if text is None else msgspec.Raw(text.encode())
        texts.append(
            bytes(merge_metadata(Path(source_name), number, own, more)).decode() if more else text
        )
    column = table.schema.get_field_index("metadata")
    return table.set_column(column, table.schema.field(column), [pa.array(texts, pa.string())])


def _conform(
    table: pa.Table, renames: dict[str, str], schema: pa.Schema, source_name: str
) -> pa.Table:
    """Rename a table's columns and convert it to a schema; absent ones become null if allowed.

    Absent titles become empty, numbers as ids their digits, structures as metadata JSON.

    Args:
        table: table of a data set.
        renames: name of a column of the table to that of the schema that it becomes.
        schema: CORPUS, QUERIES, MAPPING or GOLD.
        source_name: name of the data set or file, for messages.

    Raises:
        InputError: a required column is missing or cannot be converted.
    """
    theirs = {ours: name for name, ours in renames.items()}
    columns = []
    for field in schema:
        if field.name in theirs:
            columns.append(
                _convert(table[theirs[field.name]], field, theirs[field.name], source_name)
            )
        elif field.nullable:
            columns.append(pa.nulls(table.num_rows, field.type))
        elif field.name == "title":
            columns.append(pa.array([""] * table.num_rows))
        else:
            choices = _NAMES.get(schema, {}).get(field.name, (field.name,))
            raise InputError(
                "is missing",
                path=source_name,
                field=field.name,
                allowed=f"a column {' or '.join(choices)}; the columns are "
                f"{', '.join(table.column_names) or 'none'}",
                code="missing-field",
            )
    return pa.table(columns, schema=schema)


def _convert(
    column: pa.ChunkedArray, field: pa.Field, column_name: str, source_name: str
) -> pa.ChunkedArray:
    """Convert a column to the type of a field of a schema.

    Args:
        column: values.
        field: field of the schema.
        column_name: name of the column in its data set, for messages.
        source_name: name of the data set or file, for messages.

    Raises:
        InputError: a value cannot be converted, or is null where the field allows none.
    """
    try:
        column.validate(full=True)  # strings of a file may be invalid
        if pa.types.is_string(field.type) and pa.types.is_nested(column.type):
            values = column.to_pylist()
            texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            return pa.chunked_array([pa.array(texts, pa.string())])
        converted = column.cast(field.type)
    except pa.ArrowException as error:
        raise InputError(
            f"cannot be read as a data set ({error_reason(error)})",
            path=source_name,
            field=column_name,
            allowed=f"a column of the type {field.type}",
            code="hub-failed",
        ) from error
    if field.name == "title":
        converted = pc.fill_null(converted, "")
    if not field.nullable and converted.null_count:
        raise InputError(
            "is empty in some row", path=source_name, field=column_name, code="missing-field"
        )
    return converted
