"""Fields of a row that its format does not define: refused, ignored, or kept as metadata."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from citeforge.engines.jsonlines import (
    Row,
    decode_line,
    decode_text,
    names_in_json,
    raw_lines,
    require_unique_names,
)
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError, suggestion
from citeforge.schemas.recipes.base import ExtraFields

_MOST_FIELDS_NAMED = 5
"""Names of fields that a manifest mentions."""
_Members = dict[str, msgspec.Raw]


def read_known_fields(
    path: Path, row_type: type[Row], option: ExtraFields, counts: dict[str, int], noun: str
) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row); refuse, drop or keep undefined fields, counted per ``noun``.

    Args:
        path: file to read.
        row_type: structure of a row; it has a field ``metadata``.
        option: whether such fields are refused, ignored or kept.
        counts: takes in how many rows had some, at the end.
        noun: plural noun for the rows, for the name of the count.

    Raises:
        InputError: a malformed row, or one with such a field where they are refused.
    """
    decoder, likely = msgspec.json.Decoder(row_type), names_in_json(row_type)
    unknown = _UnknownFields(path, row_type, option)
    for number, line in raw_lines(path):
        try:
            row = decoder.decode(line)
            require_unique_names(line, path, number, likely)
        except (msgspec.MsgspecError, ValueError, RecursionError, InputError):
            if not line.strip(b" \t"):
                continue
            # Malformed JSON stays, and the error is found again, with its reason.
            known = unknown.remove_undefined(number, line)
            row = decode_line(path, number, known, decoder, row_type)
        yield number, row
    count_extra_fields(counts, noun, unknown.names, unknown.n_rows, option)


class _UnknownFields:
    """Fields of JSON lines that a row type does not define: refused, ignored, or kept as metadata.

    Attributes:
        names: unknown fields met so far.
        n_rows: rows that had some.
    """

    def __init__(self, path: Path, row_type: type[msgspec.Struct], option: ExtraFields) -> None:
        """Set the file, the type of its rows, and what to do with undefined fields."""
        self.names: set[str] = set()
        self.n_rows = 0
        self._path, self._row_type, self._option = path, row_type, option

    def remove_undefined(self, number: int, line: bytes) -> bytes:
        """Remove undefined fields from a JSON line: by option, refuse, drop or move them.

        With ``keep`` they are moved into ``metadata``. Malformed JSON is returned as it is.

        Raises:
            InputError: it has such a field, and these are refused.
        """
        decode_text(self._path, number, line)
        kind: Any = inspect.type_info(self._row_type)
        extra: _Members = {}
        try:
            content = _drop_extra(msgspec.Raw(line), kind, "", extra)
            require_unique_names(line, self._path, number)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return line
        if not extra:
            return line
        if self._option == "refuse":
            name, fields = next(iter(extra)), [f.encode_name for f in kind.fields]
            allowed = f"the fields are {', '.join(fields)}{suggestion(name, fields)}"
            raise InputError(
                "is not a field of this file", path=self._path, line=number, field=name,
                allowed=f"{allowed}; --extra-fields keep puts it into metadata, ignore leaves it "
                "out", code="unknown-field"
            )  # fmt: skip
        self.n_rows += 1
        self.names.update(re.sub(r"\[\d+\]", "", name) for name in extra)
        if self._option == "keep":
            members = msgspec.json.decode(content, type=_Members)
            members["metadata"] = merge_metadata(self._path, number, members.get("metadata"), extra)
            content = msgspec.json.encode(members)
        return content


def count_extra_fields(
    counts: dict[str, int], noun: str, names: Iterable[str], n_rows: int, option: ExtraFields
) -> None:
    """Set in ``counts`` how many rows (``noun``) had undefined fields dropped or kept, if any.

    Args:
        counts: takes in the number, unless it is 0.
        noun: plural noun for the rows.
        names: names of the fields.
        n_rows: number of the rows.
        option: whether the fields were ignored or kept.
    """
    if n_rows:
        safe = sorted({re.sub(r"[^\w.]", "_", name)[:40] for name in names})
        listed = ", ".join(safe[:_MOST_FIELDS_NAMED]) + ", …" * (len(safe) > _MOST_FIELDS_NAMED)
        name = "extra_fields_kept" if option == "keep" else "extra_fields_ignored"
        counts[count_key(name, noun, listed)] = n_rows


def metadata_text(value: msgspec.Raw, path: Path, line: int) -> str | None:
    """Decode a row's metadata from bytes to JSON text, unchanged; None if there is none.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return bytes(value).decode() or None
    except UnicodeDecodeError as error:
        raise InputError(
            "is not UTF-8", path=path, line=line, field="metadata", code="bad-encoding"
        ) from error


def _drop_extra(value: msgspec.Raw, type_info: Any, json_path: str, removed: _Members) -> bytes:
    """Remove undefined fields from JSON, at any depth; add them to ``removed``, by path.

    Args:
        value: JSON of one value.
        type_info: its type, as ``msgspec.inspect`` describes it.
        json_path: path of the value in its row.
        removed: the removed fields are added, by their paths.
    """
    kinds = type_info.types if isinstance(type_info, inspect.UnionType) else (type_info,)
    of = next((k for k in kinds if isinstance(k, inspect.StructType | inspect.ListType)), None)
    content = bytes(value)
    if of is None or content.strip() == b"null":
        return content
    if isinstance(of, inspect.ListType):
        items = msgspec.json.decode(content, type=list[msgspec.Raw])
        parts = [
            _drop_extra(v, of.item_type, f"{json_path}[{i}]", removed) for i, v in enumerate(items)
        ]
        return msgspec.json.encode([msgspec.Raw(part) for part in parts])
    fields = {f.encode_name: f.type for f in of.fields}
    members: _Members = {}
    for name, member in msgspec.json.decode(content, type=_Members).items():
        inside = f"{json_path}.{name}" if json_path else name
        if name in fields:
            members[name] = msgspec.Raw(_drop_extra(member, fields[name], inside, removed))
        else:
            removed[inside] = member
    return msgspec.json.encode(members)


def merge_metadata(
    path: Path, number: int, metadata: msgspec.Raw | None, extra: _Members
) -> msgspec.Raw:
    """Join a row's metadata and undefined fields into one JSON object, values unchanged.

    Args:
        path: file of the row, for errors.
        number: its line.
        metadata: its metadata; None if it has none.
        extra: values of the undefined fields, by their paths.

    Raises:
        InputError: the metadata is no object, or has a field of the same name.
    """
    own: _Members = {}
    if metadata is not None and bytes(metadata) not in (b"", b"null"):
        try:
            own = msgspec.json.decode(metadata, type=_Members)
        except msgspec.ValidationError as error:
            raise InputError(
                "is not an object, so further fields cannot be added to it", path=path, line=number,
                field="metadata", allowed="a JSON object, or --extra-fields ignore",
                code="wrong-type"
            ) from error  # fmt: skip
    both = next((name for name in extra if name in own), None)
    if both is not None:
        raise InputError(
            "is also a field of metadata", path=path, line=number, field=both,
            allowed="one of the two, or --extra-fields ignore", code="duplicate-key"
        )  # fmt: skip
    return msgspec.Raw(msgspec.json.encode(own | extra))
