"""Reading of JSON Lines with msgspec; errors name the line, and nothing is repaired.

JSON objects with a repeated name are refused, too: parsers differ in which value they take.
"""

import bz2
import codecs
import gzip
import io
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import msgspec

from citeforge.engines.json_errors import field_names, json_error, validation_error
from citeforge.engines.pipes import readable_path
from citeforge.schemas.errors import InputError, read_error
from citeforge.schemas.text import printable

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of msgspec's decoder for what is no JSON, of another shape, or nested too deeply."""


DEFAULT_LINE = 4
"""Megabytes of a line or an answer that are read where nobody asks for more."""
_MEGABYTE = 1_000_000
_largest_line = ContextVar("largest line", default=DEFAULT_LINE * _MEGABYTE)


def largest_line() -> int:
    """Get the size limit in bytes of an input line, a table cell or an answer."""
    return _largest_line.get()


def set_largest_line(megabytes: int) -> None:
    """Set the size limit in megabytes of an input line, a table cell or an answer."""
    _largest_line.set(megabytes * _MEGABYTE)


def size_error(path: Path, line: int | None, subject: str, size: int | None = None) -> InputError:
    """Make the error for a line, cell or answer that is larger than :func:`largest_line`.

    Args:
        path: its file.
        line: its line.
        subject: what is too large, with an article.
        size: its bytes; None if these are not known.
    """
    has = "has more" if size is None else f"has {size:,} bytes, more"
    return InputError(
        f"{subject} {has} than the {largest_line():,} bytes that are read",
        path=path,
        line=line,
        allowed=f"one record per line; if it is what it should be, --largest-line MEGABYTES "
        f"(default: {DEFAULT_LINE}) or CITEFORGE_LARGEST_LINE",
        code="too-large",
    )


class _RepeatedNameError(Exception):
    """A JSON object has two members of one name."""


def _refuse_repeats(members: list[tuple[str, Any]]) -> None:
    """Raise an error if two members of a JSON object have the same name (``object_pairs_hook``)."""
    if len(dict(members)) != len(members):
        names: set[str] = set()
        for name, _ in members:
            if name in names:
                raise _RepeatedNameError(name)
            names.add(name)


# Numbers are not read: an integer of 5,000 digits is no error here. What `decode` does beside this
# costs as much again.
_decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeats, parse_int=len, parse_float=len)


def names_in_json(row_type: type[msgspec.Struct]) -> tuple[bytes, ...]:
    """List a record's field names in the form that begins JSON members: ``b'"name":'``."""
    return tuple(f'"{name}":'.encode() for name in field_names(row_type))


def require_unique_names(
    content: bytes, path: Path, line: int | None = None, expected_names: Sequence[bytes] = ()
) -> None:
    """Refuse JSON in which an object has a name twice; fast if it has only expected names.

    Args:
        content: JSON in UTF-8 that has been decoded without an error before.
        path: file of the document, for the message.
        line: line of that file.
        expected_names: names that it may have (:func:`names_in_json`). A document that has no
            others is passed several times faster.

    Raises:
        InputError: names the first one.
        UnicodeDecodeError: it is not UTF-8 in a part that the other decoder passed over.
        RecursionError: it is nested too deeply.
        ValueError: it is no JSON in a part that the other decoder passed over.
    """
    # A quote with a colon behind it ends a string, so a name that occurs so is that of a member, or
    # the end of it. Members are no more than colons: where as many names occur, all have another.
    n_members = content.count(b":")
    if n_members <= len(expected_names):
        for name in expected_names:
            if name in content:
                n_members -= 1
                if not n_members:
                    return
    try:
        _decoder.raw_decode(content.decode().lstrip(" \t\r\n"))
    except _RepeatedNameError as error:
        raise InputError(
            f"duplicate key {printable(str(error))} in one object",
            path=path,
            line=line,
            code="duplicate-key",
        ) from error


_LONGEST_SKIPPED = 1 << 26
"""Bytes of a line that are passed over; a longer one is a damaged file, or a gzip bomb."""
LARGEST_UNPACKED = 1 << 28
"""Bytes that a compressed file may hold where it is read whole."""
_MAGIC_BYTES = 10
_COMPRESSED: tuple[tuple[re.Pattern[bytes], Callable[[IO[bytes]], Any]], ...] = (
    (re.compile(rb"\x1f\x8b"), lambda file: gzip.GzipFile(fileobj=file)),
    (re.compile(rb"BZh[1-9]1AY&SY"), bz2.BZ2File),
    (re.compile(rb"\xfd7zXZ\0"), lzma.LZMAFile),
)
"""First bytes of compressed files, and what opens them."""
_ARCHIVES = {
    "zip": re.compile(rb"PK(?:\x03\x04|\x05\x06|\x07\x08)"),
    "tar": re.compile(rb"(?s).{257}ustar"),
    "7z": re.compile(rb"7z\xbc\xaf\x27\x1c"),
    "rar": re.compile(rb"Rar!\x1a\x07"),
}
"""First bytes of archives, which may hold many files."""
_START_OF_ARCHIVES = 262
Row = TypeVar("Row", bound=msgspec.Struct)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading; gzip, bzip2 and xz, known by their first bytes, are unpacked.

    Raises:
        InputError: the file cannot be read, is damaged at its beginning, or is an archive.
    """
    try:
        file = readable_path(path).open("rb")
        start = file.peek(_MAGIC_BYTES)[:_MAGIC_BYTES]
    except OSError as error:
        raise read_error(error, path) from error
    opener = next((o for magic, o in _COMPRESSED if magic.match(start)), None)
    opened: Any = file if opener is None else opener(file)
    with read_errors(path):
        start = opened.peek(_START_OF_ARCHIVES)
    if kind := next((name for name, magic in _ARCHIVES.items() if magic.match(start)), None):
        opened.close()
        raise InputError(
            f"is a {kind} archive",
            path=path,
            allowed="unpack it, and name the file in it",
            code="bad-archive",
        )
    return cast(IO[bytes], opened)


def read_rows(
    path: Path,
    row_type: type[Row],
    header: re.Pattern[bytes] | None = None,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[tuple[int, Row]]:
    """Stream (line number, row) of JSON Lines; skip a ``header``; pass errors to ``on_error``.

    One JSON object per line, UTF-8; a byte order mark and CR before LF are no part of a line, and
    blank lines are passed over. Memory grows with the longest line only.

    Args:
        path: file to read.
        row_type: msgspec structure of a row; its field types are enforced.
        header: how a first line begins that is no row, and passed over.
        on_error: called with the error of a wrong line, which is then skipped; None to raise.

    Raises:
        InputError: names the file, the line, the field, and what would be right.
    """
    decoder = msgspec.json.Decoder(row_type)
    decode = decoder.decode
    names = names_in_json(row_type)
    with open_bytes(path) as file, read_errors(path):
        for number, line in _numbered_lines(file, path, on_error):
            if number == 1 and header is not None and header.match(line):
                continue
            if line.endswith((b"}\n", b"}\r\n")):
                try:
                    row = decode(line)
                    require_unique_names(line, path, number, names)
                except (msgspec.MsgspecError, ValueError, RecursionError, InputError):
                    pass  # found again below, with what is wrong
                else:
                    yield number, row
                    continue
            text = _without_end(line)
            if not text.strip(b" \t"):
                continue
            try:
                row = decode_line(path, number, text, decoder, row_type)
            except InputError as error:
                if on_error is None:
                    raise
                on_error(error)
            else:
                yield number, row


def _numbered_lines(
    file: IO[bytes], path: Path, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of a file; ``on_error`` gets the errors of oversized lines.

    Args:
        file: content of the file.
        path: its path, for errors.
        on_error: gets the error of a line that is too large, which is then skipped; None to raise.

    Raises:
        InputError: a line is larger than :func:`largest_line`.
    """
    most = largest_line()
    longest = most + len("\r\n") + 1
    first = file.readline(longest + len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    lines = iter(partial(file.readline, longest), b"")
    for number, line in enumerate(chain((first,) if first else (), lines), 1):
        if len(line) > most and len(_without_end(line)) > most:
            size = _measure_rest(file, line)
            error = size_error(path, number, "the line", size)
            if on_error is None or size is None:
                raise error
            on_error(error)
        else:
            yield number, line


def _measure_rest(file: IO[bytes], line_start: bytes) -> int | None:
    """Read a line that begins with ``line_start`` to its end; return its bytes, None if huge."""
    line, size = line_start, len(line_start)
    while not line.endswith(b"\n") and size <= _LONGEST_SKIPPED:
        if not (line := file.readline(1 << 20)):
            return size
        size += len(line)
    return size - len(line) + len(_without_end(line)) if line.endswith(b"\n") else None


def _without_end(line: bytes) -> bytes:
    """Remove the line end (LF or CR LF) of a line."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def read_all(path: Path) -> bytes:
    """Read a small file, plain or compressed, without its byte order mark.

    Raises:
        InputError: it cannot be read, or compressed data is damaged or unpacks to more than
            ``LARGEST_UNPACKED``.
    """
    with open_bytes(path) as file, read_errors(path):
        if isinstance(file, io.BufferedReader):
            return file.read().removeprefix(codecs.BOM_UTF8)
        content = file.read(LARGEST_UNPACKED + 1)
    if len(content) > LARGEST_UNPACKED:
        raise InputError(
            f"unpacks to more than {LARGEST_UNPACKED >> 20} MiB",
            path=path,
            allowed="a file of this kind is read whole; unpack it with gunzip if it is what it "
            "should be",
            code="too-large",
        )
    return content.removeprefix(codecs.BOM_UTF8)


def read_start(path: Path, size: int) -> bytes:
    """Read the first ``size`` bytes of a plain or compressed file, without a byte order mark.

    Raises:
        InputError: it cannot be read, or compressed data is damaged.
    """
    with open_bytes(path) as file, read_errors(path):
        return file.read(size).removeprefix(codecs.BOM_UTF8)


def raw_lines(
    path: Path, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) without line ends; ``on_error`` gets the errors of oversized lines.

    Args:
        path: file to read.
        on_error: gets the error of a line that is too large, which is then skipped; None to raise.

    Raises:
        InputError: it cannot be read, compressed data is damaged, or a line is larger than
            :func:`largest_line`.
    """
    with open_bytes(path) as file, read_errors(path):
        for number, line in _numbered_lines(file, path, on_error):
            yield number, _without_end(line)


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn errors of reading or unpacking a file in the ``with`` block into an InputError.

    Raises:
        InputError: the compressed data is damaged, or the system cannot read the file.
    """
    try:
        yield
    except OSError as error:
        # bz2 says so by an OSError without a number.
        if error.errno is None:
            raise _damaged_error(path, error) from error
        raise read_error(error, path) from error
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise _damaged_error(path, error) from error


def _damaged_error(path: Path, error: Exception) -> InputError:
    """Make the error for a file whose compressed data is damaged."""
    return InputError(
        f"the compressed data is damaged or cut short ({error})",
        path=path,
        allowed="fetch or compress the file again",
        code="bad-archive",
    )


def decode_line(
    path: Path, number: int, line: bytes, decoder: msgspec.json.Decoder[Row], row_type: type[Row]
) -> Row:
    """Decode one line to a row; raise an error that says what is wrong, and where.

    Args:
        path: the file, for errors.
        number: number of the line.
        line: the line.
        decoder: decoder of rows.
        row_type: structure of a row, whose fields errors list.

    Raises:
        InputError: always with file and line.
    """
    decode_text(path, number, line)
    try:
        row = decoder.decode(line)
        require_unique_names(line, path, number)
        return row
    except msgspec.ValidationError as error:
        raise validation_error(path, number, str(error), row_type) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        allowed = "one complete JSON object on each line"
        raise json_error(line, error, path, number, "is not one JSON object", allowed) from error


def decode_text(path: Path, number: int, line: bytes) -> str:
    """Decode a line of a text file as UTF-8; refuse other encodings.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        is_utf16 = number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        raise InputError(
            f"is not UTF-8 (byte {error.start + 1} of the line)",
            path=path,
            line=number,
            allowed="the file is UTF-16: iconv -f UTF-16 -t UTF-8 FILE" if is_utf16 else "UTF-8",
            code="bad-encoding",
        ) from error
