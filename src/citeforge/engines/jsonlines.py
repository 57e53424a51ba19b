"""JSON Lines in blocks: decoded by msgspec, errors at the right line, nothing repaired."""

from __future__ import annotations

import gzip
import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, TypeVar, cast

import msgspec
import numpy as np

from citeforge.schemas.errors import InputError

BLOCK_BYTES = 1 << 20
LONGEST_LINE = 1 << 26
"""Bytes of a line; a longer one is no record but a damaged file, or a gzip bomb."""
LARGEST_UNPACKED = 1 << 28
"""Bytes that a .gz file may hold where it is read whole."""
_BOM = b"\xef\xbb\xbf"
_LF, _OPEN, _CLOSE = b"\n{}"
_PATH = re.compile(r" - at `\$(?:\[\d+\])?\.?(.*)`$")
_UNKNOWN = re.compile(r"unknown field `(.*)`")

Row = TypeVar("Row", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Block(Generic[Row]):
    """Consecutive rows of one file.

    Raw JSON in the rows is a view that the next block overwrites.

    Attributes:
        rows: decoded rows.
        lines: 1-based line numbers, one per row.
    """

    rows: list[Row]
    lines: range | list[int]


def open_bytes(path: Path) -> IO[bytes]:
    """Open a plain or gzip file (by its first bytes) for reading.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        file = path.open("rb")
        is_gzip = file.peek(2)[:2] == b"\x1f\x8b"
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    return cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_gzip else file


def read_blocks(
    path: Path,
    row_type: type[Row],
    block_bytes: int = BLOCK_BYTES,
    skip_lines: int = 0,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[Block[Row]]:
    """Decode a JSON Lines file (plain or .gz), a block of lines at a time.

    One JSON object a line, UTF-8 without a byte order mark, lines ended by LF; blank lines are
    passed over. Memory grows with the block size and the longest line only.

    Args:
        path: file to read.
        row_type: msgspec structure of a row; its field types are enforced.
        block_bytes: size of a block before it is extended to the next line end.
        skip_lines: lines at the start that hold something else.
        on_error: told of every wrong line, which is then passed over; None to raise.

    Raises:
        InputError: names the file, the line, the field, and what would be right.
    """
    decoder = msgspec.json.Decoder(row_type)
    first_line = 1 + skip_lines
    for block in _line_blocks(path, block_bytes):
        regular, n_lines = _survey(block)
        if skip_lines:
            text = bytes(block).split(b"\n", skip_lines)
            skip_lines -= len(text) - 1
            block = memoryview(text[-1])
            regular, n_lines = _survey(block)
        if regular:
            try:
                rows = decoder.decode_lines(block)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                rows = None  # found again, line by line, below
            if rows is not None and len(rows) == n_lines:
                yield Block(rows, range(first_line, first_line + n_lines))
                first_line += n_lines
                continue
        yield _decode_slowly(path, block, decoder, row_type, first_line, on_error)
        first_line += n_lines


def _survey(block: memoryview) -> tuple[bool, int]:
    """Whether every line starts with ``{`` and ends with ``}``, and the number of lines.

    Between ``}`` and ``{`` JSON needs a comma inside any container, so such lines never share an
    object; with as many rows as lines, each line then holds exactly one.
    """
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == _LF)
    if not len(ends) or ends[0] == 0:
        return False, len(ends)
    starts_well = data[0] == _OPEN and bool((data[ends[:-1] + 1] == _OPEN).all())
    return starts_well and bool((data[ends - 1] == _CLOSE).all()), len(ends)


def read_all(path: Path) -> bytes:
    """Whole content of a small plain or gzip file.

    Raises:
        InputError: it cannot be read, or the gzip data is damaged or unpacks to more than
            ``LARGEST_UNPACKED``.
    """
    with open_bytes(path) as file, read_errors(path):
        if not isinstance(file, gzip.GzipFile):
            return file.read()
        content = file.read(LARGEST_UNPACKED + 1)
    if len(content) > LARGEST_UNPACKED:
        raise InputError(
            f"unpacks to more than {LARGEST_UNPACKED >> 20} MiB",
            path=path,
            allowed="a file of this kind is read whole; unpack it with gunzip if it is what it "
            "should be",
        )
    return content


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a plain or gzip file, at most ``size``.

    Raises:
        InputError: it cannot be read, or the gzip data is damaged.
    """
    with open_bytes(path) as file, read_errors(path):
        return file.read(size)


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number, line without its LF) of a plain or gzip file, streamed.

    Raises:
        InputError: it cannot be read, the gzip data is damaged, or a line is longer than
            ``LONGEST_LINE``.
    """
    with open_bytes(path) as file:
        for number in itertools.count(1):
            with read_errors(path):
                line = file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise _too_long(path, number)
            yield number, line.removesuffix(b"\n")


def _too_long(path: Path, line: int) -> InputError:
    return InputError(
        f"the line is longer than {LONGEST_LINE >> 20} MiB",
        path=path,
        line=line,
        allowed="one record a line",
    )


def _line_blocks(path: Path, block_bytes: int) -> Iterator[memoryview]:
    """Blocks of whole lines; the last line gets a line end if it lacks one.

    All blocks share one buffer, which the next block overwrites: taking fresh memory for every
    block costs more than decoding it.
    """
    buffer = bytearray(block_bytes)
    filled = 0
    lines = 0
    with open_bytes(path) as file:
        while True:
            if filled == len(buffer):
                if filled >= LONGEST_LINE:
                    raise _too_long(path, lines + 1)
                buffer = buffer + bytearray(len(buffer))  # a line longer than the block
            view = memoryview(buffer)
            size = _read_into(file, path, view[filled:])
            if size == 0:
                break
            cut = buffer.rfind(b"\n", filled, filled + size) + 1
            filled += size
            if cut:
                lines += buffer.count(b"\n", 0, cut)
                yield view[:cut]
                rest = filled - cut
                view[:rest] = bytes(view[cut:filled])
                filled = rest
    if filled:
        yield memoryview(bytes(buffer[:filled]) + b"\n")


def _read_into(file: IO[bytes], path: Path, view: memoryview) -> int:
    with read_errors(path):
        return int(file.readinto(view))  # type: ignore[attr-defined]


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Around every read of a file that :func:`open_bytes` opened.

    Raises:
        InputError: the gzip data is damaged, or the system cannot read the file.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"the gzip data is damaged or cut short ({error})",
            path=path,
            allowed="fetch or compress the file again",
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error


def _decode_slowly(
    path: Path,
    block: memoryview,
    decoder: msgspec.json.Decoder[Row],
    row_type: type[Row],
    first_line: int,
    on_error: Callable[[InputError], None] | None,
) -> Block[Row]:
    rows: list[Row] = []
    lines: list[int] = []
    for number, line in enumerate(bytes(block).split(b"\n")[:-1], first_line):
        if not line.strip(b" \t"):
            continue
        try:
            rows.append(decode_line(path, number, line, decoder, row_type))
            lines.append(number)
        except InputError as error:
            if on_error is None:
                raise
            on_error(error)
    return Block(rows, lines)


def decode_line(
    path: Path, number: int, line: bytes, decoder: msgspec.json.Decoder[Row], row_type: type[Row]
) -> Row:
    """Decode one line, or say exactly what is wrong with it.

    Raises:
        InputError: always with file and line.
    """
    decode_text(path, number, line)
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise _validation_error(path, number, str(error), row_type) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"is not one JSON object ({str(error)[:200]})",
            path=path,
            line=number,
            allowed="one complete JSON object on each line",
        ) from error


def decode_text(path: Path, number: int, line: bytes) -> str:
    """A line of a text file as a string, without its LF.

    Raises:
        InputError: byte order mark, CR LF, or not UTF-8.
    """
    text = decode_utf8(path, number, line)
    if line.endswith(b"\r"):
        raise InputError(
            "the line ends with CR LF",
            path=path,
            line=number,
            allowed="lines end with LF; convert with: sed -i 's/\\r$//' FILE",
        )
    return text


def decode_utf8(path: Path, number: int, line: bytes) -> str:
    """A line of a text file as a string, whatever its line end.

    Raises:
        InputError: byte order mark, or not UTF-8.
    """
    if number == 1 and line.startswith(_BOM):
        raise InputError(
            "starts with a byte order mark",
            path=path,
            line=1,
            allowed="save the file as UTF-8 without BOM",
        )
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8 (byte {error.start + 1} of the line)", path=path, line=number
        ) from error


def _validation_error(
    path: Path, number: int, message: str, row_type: type[msgspec.Struct]
) -> InputError:
    names = ", ".join(f.encode_name for f in msgspec.structs.fields(row_type))
    unknown = _UNKNOWN.search(message)
    if unknown:
        return InputError(
            "is not a field of this file",
            path=path,
            line=number,
            field=unknown.group(1),
            allowed=f"the fields are {names}; further data goes into metadata",
        )
    place = _PATH.search(message)
    field = place.group(1) if place else None
    return InputError(
        _PATH.sub("", message), path=path, line=number, field=field, allowed=f"fields: {names}"
    )
