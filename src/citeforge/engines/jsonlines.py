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
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import msgspec

from citeforge.engines.line_size import largest_line, size_error
from citeforge.engines.pipes import readable_path
from citeforge.schemas.errors import InputError, read_error, suggestion
from citeforge.schemas.text import printable

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of msgspec's decoder for what is no JSON, of another shape, or nested too deeply."""


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


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL
)


_BYTE = re.compile(r"\(byte (\d+)\)")
_NO_JSON = re.compile(
    rb"(?P<minus>-?)(?<![\w\"])(?:(?P<null>NaN|nan|Infinity|inf|None|undefined)|True|False)\b"
)
"""Values that Python and JavaScript write, and JSON does not have."""
_EVENT = re.compile(rb"\s*(?:data|event|id):")


def json_error(
    content: bytes,
    error: Exception,
    path: Path,
    line: int | None,
    problem: str,
    allowed: str | None,
) -> InputError:
    """Make the error for malformed JSON; it names Python literals and event streams as such.

    Args:
        content: the text.
        error: a decoder's.
        path: its file.
        line: its line, or the line at fault.
        problem: message without the reason.
        allowed: what would be right.
    """
    match = _BYTE.search(str(error))
    at = int(match[1]) if match else 0
    starts = range(at, max(at - 3, -1), -1) if match else ()
    found = next((m for start in starts if (m := _NO_JSON.match(content, start))), None)
    if found is not None:
        sign = "-" if found["minus"] or content[: found.start()].endswith(b"-") else ""
        word = found[0].removeprefix(b"-").decode()
        problem = f"{sign}{word} is not JSON"
        allowed = f"write {'null' if found['null'] else word.lower()}"
    elif _EVENT.match(content):
        problem = "is a line of a stream of events, not a JSON object"
        allowed = "a whole response per line: ask without stream"
    else:
        problem = f"{problem} ({_json_fault(content, error)})"
    return InputError(problem, path=path, line=line, allowed=allowed, code="bad-json")


def _json_fault(content: bytes, error: Exception) -> str:
    """Describe why msgspec rejects a JSON document; an unpaired surrogate is named as the reason.

    Its own message for these is that the document was truncated.
    """
    escapes = _ESCAPE.finditer(content) if isinstance(error, msgspec.DecodeError) else ()
    half = next((m["half"] for m in escapes if m["half"]), None)
    if half is None:
        return str(error)[:200]
    text = half.decode(errors="replace")
    return f"\\{text} is half of a surrogate pair and no character: both halves or neither"


def names_in_json(row_type: type[msgspec.Struct]) -> tuple[bytes, ...]:
    """List a record's field names in the form that begins JSON members: ``b'"name":'``."""
    return tuple(f'"{name}":'.encode() for name in _field_names(row_type))


def _field_names(row_type: type) -> tuple[str, ...]:
    """List a record's field names as JSON has them; a plain dict has none.

    msgspec.structs.fields compiles the annotations anew in every call: 3 ms, for each bad line.
    """
    if isinstance(row_type, msgspec.StructMeta) and issubclass(row_type, msgspec.Struct):
        return row_type.__struct_encode_fields__
    return ()


def require_unique_names(
    content: bytes, path: Path, line: int | None = None, expected_names: Sequence[bytes] = ()
) -> None:
    """Refuse a JSON document in which an object, at any depth, has a name twice.

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
_PATH = re.compile(r" - at `\$(?:\[\d+\])?\.?(.*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_TYPES = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_HINTS = (
    ("str", "int", "a text: put quotes around it"),
    ("str", "float", "a text: put quotes around it"),
    ("str", "null", 'a text, "" if it is empty; or leave the line out'),
    ("int", "str", "a number, without quotes"),
    ("float", "str", "a number, without quotes"),
)
"""Wanted type, type in the file, and what would be right."""
_MISSING = re.compile(r"missing required field `([^`]*)`")

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
    """Stream (1-based line number, row) from a JSON Lines file, plain or compressed.

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
    """Yield (number, line) of a file without its byte order mark.

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
    """Read the rest of an oversized line; return its total bytes, None if it is enormous."""
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
    """Yield (number, line) of a plain or compressed file, without line ends and byte order mark.

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
        raise _validation_error(path, number, str(error), row_type) from error
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


def _validation_error(
    path: Path, number: int, message: str, row_type: type[msgspec.Struct]
) -> InputError:
    """Turn a validation message of msgspec into an error with line, field and allowed values.

    Args:
        path: the file.
        number: number of the line.
        message: what msgspec says.
        row_type: structure of a row, whose fields the error lists.
    """
    fields = _field_names(row_type)
    names = ", ".join(fields)
    found, unknown = _PATH.search(message), _UNKNOWN.search(message)
    missing = _MISSING.search(message)
    field = found.group(1) if found else None
    reason, allowed = _PATH.sub("", message), f"fields: {names}"
    types = _TYPES.search(message)
    code = "wrong-type" if types else "wrong-value"
    if types:
        wanted = types[1].split(" | ")
        allowed = next((hint for t, g, hint in _HINTS if t in wanted and types[2] == g), types[1])
        if found is None and types[2] == "array":
            allowed = f"one object on each line: jq -c '.[]' {path.name}"
    if missing:
        field, reason = ".".join(filter(None, (field, missing.group(1)))), "is missing"
        code = "missing-field"
    elif unknown:
        name, code, reason = unknown.group(1), "unknown-field", "is not a field of this file"
        fields = _fields_at(row_type, field) if field else fields
        field = ".".join(filter(None, (field, name)))
        allowed = f"the fields are {', '.join(fields)}{suggestion(name, fields)}"
        if home := next((name for name in ("metadata", "meta") if name in fields), ""):
            allowed += f"; further data goes into {home}"
    return InputError(reason, path=path, line=number, field=field, allowed=allowed, code=code)


def _fields_at(row_type: type[msgspec.Struct], json_path: str) -> tuple[str, ...]:
    """List the field names of the record at a path in a row, such as ``passages[0]``."""
    kinds: list[Any] = [msgspec.inspect.type_info(row_type)]
    for name in ["", *re.findall(r"\w+|\[", re.sub(r"\[[^\]]*\]", "[", json_path))]:
        kinds = [
            inner
            for one in kinds
            for inner in (one.types if isinstance(one, msgspec.inspect.UnionType) else [one])
        ]
        if name == "[":
            kinds = [k.item_type for k in kinds if isinstance(k, msgspec.inspect.ListType)]
        elif name:
            kinds = [
                f.type
                for k in kinds
                if isinstance(k, msgspec.inspect.StructType)
                for f in k.fields
                if f.encode_name == name
            ]
    return tuple(
        f.encode_name for k in kinds if isinstance(k, msgspec.inspect.StructType) for f in k.fields
    )
