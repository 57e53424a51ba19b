"""Damage to files: to bytes, to lines, to JSON, to tables, and to the file itself.

Everything is drawn from the generator that is handed in, so that a seed names a damaged file.
"""

import csv
import gzip
import io
import json
import random
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Damage = Callable[[random.Random, bytes], bytes]

DEEP = 100_000
"""Depth of nesting that no decoder should follow."""

_RAW = "\0raw{}\0"
"""Stands for JSON that :mod:`json` would not write; replaced in its text."""
_RAW_JSON = [
    "NaN", "Infinity", "-Infinity", "1e999", "-0", "1" * 5000, "0.1e-400", '"\\ud800"',
    '"a\\udc00b"', '"\\u0000"', "[" * DEEP, '{"a":' * DEEP, "01", "'x'", "nul", "",
]  # fmt: skip
_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**30, 0.5, 1e308, "", " ", "x", "0", "[1]",
    "[9]", "\n", "\t", "\0", "é", "e\u0301", "\u202e", "\u2028", "=1+1", "<b>", "../x", "nan",
    "inf", [], {}, [[]], [None], [1], ["x"], [{}], {"x": 1}, {"": None}, ["x"] * 50, "x" * 70_000,
]  # fmt: skip
_SNIPPETS = [
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b",",
    b'"', b"'", b"[", b"]", b"{", b"}", b":", b"&a", b"*a", b"!!python/object:os.system",
    b"- ", b"---\n", b"\\ud800", b"NaN", b"null", b"1e999", b"<a> <b> <c> .\n", b"@prefix : <x> .",
    b'"""', b"^^<x>", b"\\u0000", b"[]", b"{}", b"%", b"{{", b"{% raw", b"\x1f\x8b", b"PAR1",
    b"=cmd()", b"9" * 5000, b"\xe2\x80\xa8", b"[1]", b"[0]", b"<<: *a", b"~", b"2024-13-45",
]  # fmt: skip


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    """One to four flipped bits."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(rng: random.Random, data: bytes) -> bytes:
    """A run of bytes becomes zeros, 0xff or noise."""
    at = rng.randrange(len(data) + 1)
    size = rng.choice([1, 2, 4, 8, 64])
    new = rng.choice([b"\0" * size, b"\xff" * size, rng.randbytes(size)])
    return data[:at] + new + data[at + size :]


def cut(rng: random.Random, data: bytes) -> bytes:
    """The end, the start, or a piece within is missing."""
    a, b = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return rng.choice([data[:a], data[b:], data[:a] + data[b:]])


def insert(rng: random.Random, data: bytes) -> bytes:
    """Something odd somewhere."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_SNIPPETS) + data[at:]


def change_lines(rng: random.Random, data: bytes) -> bytes:
    """A line is doubled, dropped, moved, blanked, cut, or joined with the next."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(6)
    if how == 0:
        lines.insert(j, lines[i])
    elif how == 1:
        del lines[i]
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif how == 3:
        lines[i] = b""
    elif how == 4:
        lines[i] = lines[i][: rng.randrange(len(lines[i]) + 1)]
    else:
        lines[i : i + 2] = [b"".join(lines[i : i + 2])]
    return b"\n".join(lines)


def change_fields(rng: random.Random, data: bytes) -> bytes:
    """A field of one line, parted by tabs or commas, is dropped, doubled, or something else."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    mark = rng.choice([b"\t", b",", b" "])
    fields = lines[i].split(mark)
    at = rng.randrange(len(fields))
    how = rng.randrange(4)
    if how == 0:
        del fields[at]
    elif how == 1:
        fields.insert(at, fields[at])
    elif how == 2:
        fields[at] = rng.choice(_SNIPPETS)
    else:
        fields[at] = str(rng.choice(_VALUES)).encode()
    lines[i] = mark.join(fields)
    return b"\n".join(lines)


def recode(rng: random.Random, data: bytes) -> bytes:
    """Another encoding or line end, or a byte order mark."""
    text = data.decode("utf-8", "replace")
    how = rng.randrange(6)
    if how == 0:
        return b"\xef\xbb\xbf" + data
    if how == 1:
        return data.replace(b"\n", b"\r\n")
    if how == 2:
        return data.replace(b"\n", b"\r")
    if how == 3:
        return text.replace("e", "é").encode("latin-1", "replace")
    return text.encode(("utf-16", "utf-32")[how - 4])


def zip_it(rng: random.Random, data: bytes) -> bytes:
    """gzip where none is expected, whole or damaged; for .gz data, damage under the gzip."""
    try:
        inner = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        inner = None
    if inner is not None and rng.random() < 0.6:
        return gzip.compress(rng.choice(TEXT)(rng, inner), mtime=0)
    whole = data if inner is not None else gzip.compress(data, mtime=0)
    how = rng.randrange(6)
    if how == 0:
        return whole
    if how == 1:
        return gzip.compress(b"", mtime=0)
    if how == 2:
        return whole[: rng.randrange(2, len(whole))]
    if how == 3:
        return whole + rng.choice([b"\0" * 9, b"trailing", whole])
    if how == 4:
        at = rng.randrange(2, 10)  # the header behind its mark
        return whole[:at] + rng.randbytes(1) + whole[at + 1 :]
    return whole[:2] + flip_bits(rng, whole[2:])


def _change_value(rng: random.Random, value: Any) -> Any:
    """A copy of a JSON value with one thing changed."""
    holder = [json.loads(json.dumps(value))]
    # The way down is drawn step by step: what stands deep in long lists is not the only thing hit.
    parent: Any = holder
    key: Any = 0
    while isinstance(parent[key], (dict, list)) and parent[key] and rng.random() < 0.8:
        parent = parent[key]
        key = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    how = rng.randrange(10)
    if how == 0 and parent is not holder:
        del parent[key]
    elif how == 1 and isinstance(parent, dict):
        parent[rng.choice(["x", "", "_id", "text", key + "s", key.upper()])] = parent[key]
    elif how == 1 and parent is not holder:
        parent.append(parent[key])
    elif how == 2:
        parent[key] = rng.choice([[parent[key]], {"x": parent[key]}, str(parent[key])])
    elif how == 3 and isinstance(parent[key], str) and parent[key]:
        at = rng.randrange(len(parent[key]))
        new = rng.choice(["\0", "\x7f", "|", ":", "\n", "[", "]", "[99]", "[0]", "\\", "'", "€"])
        parent[key] = parent[key][:at] + new + parent[key][at:]
    elif how == 4:
        parent[key] = _RAW.format(rng.randrange(len(_RAW_JSON)))
    elif how == 5:
        parent[key] = json.loads(json.dumps(value))
    else:
        parent[key] = rng.choice(_VALUES)
    return holder[0]


def _dump(value: Any, ascii_only: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=ascii_only)
    for i, raw in enumerate(_RAW_JSON):
        text = text.replace(json.dumps(_RAW.format(i)), raw)
    return text.encode("utf-8", "surrogatepass")


def change_json(rng: random.Random, data: bytes) -> bytes:
    """Another type, a missing or further key, odd numbers, deep nesting, lone surrogates.

    Of a JSON file, or of one line of JSON Lines; anything else comes back as it is.
    """
    try:
        return _dump(_change_value(rng, json.loads(data)), rng.random() < 0.5)
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    try:
        lines[i] = _dump(_change_value(rng, json.loads(lines[i])), rng.random() < 0.5)
    except (ValueError, RecursionError):
        return data
    return b"\n".join(lines)


def change_csv(rng: random.Random, data: bytes) -> bytes:
    """A cell, column or row of a CSV file is changed, doubled or dropped."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode())))
    except (csv.Error, UnicodeDecodeError):
        return data
    rows = [r for r in rows if r]
    if not rows:
        return data
    i = rng.randrange(len(rows))
    at = rng.randrange(len(rows[i]))
    how = rng.randrange(6)
    if how == 0:
        del rows[i][at]
    elif how == 1:
        rows[i].append("more")
    elif how == 2:
        rows.insert(i, rows[rng.randrange(len(rows))])
    elif how == 3:
        rows[i][at] = str(rng.choice(_VALUES)).replace("\0", "")
    elif how == 4:
        rows[i][at] = _change_literal(rng, rows[i][at])
    else:
        column = rng.randrange(len(rows[0]))
        rows = [r[:column] + r[column + 1 :] for r in rows]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _change_literal(rng: random.Random, cell: str) -> str:
    """A cell that holds a Python literal, with one thing in it changed."""
    import ast

    try:
        value = json.loads(json.dumps(ast.literal_eval(cell)))
    except (ValueError, SyntaxError, TypeError):
        return cell[: rng.randrange(len(cell) + 1)]
    text = repr(_change_value(rng, value))
    for i, raw in enumerate(_RAW_JSON):
        text = text.replace(repr(_RAW.format(i)), raw)
    return text


def change_table(rng: random.Random, data: bytes) -> bytes:
    """A Parquet table of other columns, types or rows; anything else comes back as it is."""
    if not data.startswith(b"PAR1"):
        return data
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
        assert table.column_names  # damaged names are no UTF-8
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return data
    i = rng.randrange(table.num_columns)
    name = table.column_names[i]
    n = table.num_rows
    how = rng.randrange(9)
    if how == 0:
        table = table.drop_columns([name])
    elif how == 1:
        table = table.rename_columns([f"{c}x" if c == name else c for c in table.column_names])
    elif how == 2:
        table = table.set_column(i, name, pa.array(range(n)))
    elif how == 3:
        table = table.set_column(i, name, pa.nulls(n, table.schema.field(name).type))
    elif how == 4:
        table = table.slice(0, rng.choice([0, 1, n // 2]))
    elif how == 5:
        table = pa.concat_tables([table, table.slice(rng.randrange(n + 1))])
    elif how == 6:
        order = list(range(n))
        rng.shuffle(order)
        table = table.take(pa.array(order, pa.int64()))
    elif how == 7:
        values = table.column(i).to_pylist()
        if values:
            values[rng.randrange(n)] = rng.choice([None, *values])
        field = table.schema.field(name).with_nullable(True)
        table = table.set_column(i, field, pa.array(values, field.type))
    else:
        bad = pa.array([b"a\xff\xfe"] * n, pa.binary())
        text = pa.StringArray.from_buffers(n, bad.buffers()[1], bad.buffers()[2])
        table = table.set_column(i, name, text)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


BYTES: list[Damage] = [flip_bits, set_bytes, cut, insert]
TEXT: list[Damage] = [change_lines, change_fields, recode, change_json, change_csv]


def _damages(path: Path) -> list[Damage]:
    """What is done to a file, what fits its kind most often."""
    name = path.name.removesuffix(".gz")
    fitting: dict[str, list[Damage]] = {
        ".json": [change_json] * 6,
        ".jsonl": [change_json] * 6 + [change_lines],
        ".csv": [change_csv] * 5 + [change_fields],
        ".tsv": [change_fields] * 3 + [change_lines] * 2,
        ".txt": [change_fields] * 3 + [change_lines] * 2,
        ".yaml": [change_lines, insert, change_fields] * 2,
        ".parquet": [change_table] * 3 + [flip_bits, set_bytes, cut],
        ".arrow": [flip_bits, set_bytes, cut] * 2,
        ".db": [flip_bits, set_bytes, cut] * 2,
    }
    if path.suffix == ".gz":
        return [zip_it] * 6 + BYTES
    return [*fitting.get(Path(name).suffix, TEXT), *BYTES, change_lines, recode, zip_it]


def damage(rng: random.Random, path: Path) -> str:
    """Damage a file where it stands.

    Returns:
        What was done, in words.
    """
    if rng.random() < 0.03:
        return _replace(rng, path)
    data = path.read_bytes()
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.choice(_damages(path))
        data = change(rng, data)
        done.append(change.__name__)
    path.write_bytes(data)
    return ", ".join(done)


def _replace(rng: random.Random, path: Path) -> str:
    """Something else under the file's name: nothing, a folder, no bytes, a loop of links."""
    how = rng.choice(["missing", "folder", "empty", "loop", "blank"])
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "loop":
        path.symlink_to(path.name)
    elif how == "blank":
        path.write_bytes(b"\n \n")
    return how
