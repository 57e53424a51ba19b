"""Upper bounds, from page headers, of the memory that pages of a Parquet file can take.

A file's footer may say anything; a page that unpacks to another size than its own header says is
refused by Arrow. No text is longer than the page, or the page of the dictionary, that it stands in.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_INT, _STRUCT = 5, 12
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of truth values, bytes and floats."""
_EACH_WRITTEN_OUT = {0, 3, 5, 6, 9}
"""Encodings in which every value has its own bytes, and no value those of another."""


def bound_unpacked_bytes(path: Path, file: pq.ParquetFile, columns: list[str]) -> tuple[int, int]:
    """Compute upper bounds of Parquet columns' unpacked bytes: (of one page, of all values).

    A small file can unpack to more than the memory holds; by these bounds it is refused before.

    Args:
        path: the file.
        file: the same, open.
        columns: top-level columns to look at.

    Returns:
        Upper bounds of the bytes of the largest page, and so of the longest value, and of all
        values.

    Raises:
        ArrowInvalid: the headers make no sense.
    """
    tops = tuple(f"{column}." for column in columns)
    paths = (f"{file.schema.column(i).path}." for i in range(len(file.schema)))
    members = [i for i, path in enumerate(paths) if path.startswith(tops)]
    page = whole = 0
    with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
            for column in map(group.column, members):
                largest = 0
                for size, values, shares in _read_pages(data, column):
                    largest = max(largest, size)
                    # Beside a text lie its offset and whether it is there.
                    whole += values * (largest if shares else 16) + size
                page = max(page, largest)
    return page, whole


def _read_pages(data: mmap.mmap, column: pq.ColumnChunkMetaData) -> Iterator[tuple[int, int, bool]]:
    """Yield (bytes, number of values, whether encoded jointly) for each page of a column.

    Values share bytes where a dictionary or differences encode them: then they may unpack to more.
    """
    if column.num_values < 1:  # Arrow reads none of it, and writers name any offset
        return
    at = column.data_page_offset
    if 0 < (column.dictionary_page_offset or 0) < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    if not 0 <= at <= end:
        raise pa.ArrowInvalid("a column has a negative offset or size")
    while at < end:
        try:
            header, at = _read_struct(data, at, 1)
            size, stored = header[2], header[3]
            old, new = header.get(5, {}), header.get(8, {})
            values = old.get(1, 0) + new.get(1, 0)
            encodings = {old.get(2, 0), new.get(4, 0)}
            if min(size, stored, values) < 0 or max(size, stored, values) >= 1 << 32:
                raise pa.ArrowInvalid("the header of a page has impossible sizes")
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise pa.ArrowInvalid("a page has no header") from error
        yield max(size, stored), values, not encodings <= _EACH_WRITTEN_OUT
        at += stored


def _read_struct(data: mmap.mmap, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Parse a Thrift structure, nested ``depth`` deep, at an offset: (fields, end offset).

    Integers of 32 bits and structures are kept, of other fields only that they are there.

    Args:
        data: the file.
        at: offset of the structure.
        depth: number of structures around it, this one included.

    Returns:
        (value by number of the field, offset behind the structure).
    """
    fields: dict[int, Any] = {}
    field = 0
    while byte := data[at]:
        at += 1
        wire_type, step = byte & 15, byte >> 4
        if step:
            field += step
        else:
            number, at = _read_varint(data, at)
            field = _decode_zigzag(number)
        if field in fields:  # Arrow might take the other
            raise pa.ArrowInvalid("the header of a page is ambiguous")
        fields[field] = None
        if wire_type in (4, _INT, 6):
            number, at = _read_varint(data, at)
            fields[field] = _decode_zigzag(number) if wire_type == _INT else None
        elif wire_type == 8:
            length, at = _read_varint(data, at)
            at += length
        elif wire_type == _STRUCT and depth < 4:
            fields[field], at = _read_struct(data, at, depth + 1)
        elif wire_type in _SIZES:
            at += _SIZES[wire_type]
        else:
            raise pa.ArrowInvalid("the header of a page has a field of an unexpected type")
    return fields, at + 1


def _read_varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Read an integer of variable length at a position; return it and the position after it."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 63:
            raise pa.ArrowInvalid("the header of a page has an integer that does not end")


def _decode_zigzag(number: int) -> int:
    """Decode a zigzag-encoded integer: 0, 1, 2, 3 stand for 0, -1, 1, -2."""
    return (number >> 1) ^ -(number & 1)
