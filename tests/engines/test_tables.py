"""Parquet tables."""

import hashlib
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge import InputError
from citeforge.engines import tables
from citeforge.engines.interrupts import interrupt
from citeforge.engines.tables import (
    TableWriter,
    iter_batches,
    read_table,
    shard_paths,
    table_of,
    write_table,
)
from conftest import refused

SCHEMA = pa.schema([("_id", pa.string()), ("n", pa.int64())])


@contextmanager
def cut_at(shard: int, group: int) -> Iterator[None]:
    """Shards and row groups of so many rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROWS_PER_SHARD", shard)
        patch.setattr(tables, "ROWS_PER_GROUP", group)
        yield


def numbered(start: int, stop: int) -> pa.Table:
    return pa.table({"_id": [f"i{n}" for n in range(start, stop)], "n": range(start, stop)}, SCHEMA)


@given(st.lists(st.integers(0, 40), max_size=8))
def test_equal_rows_give_equal_bytes_however_they_arrive(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    at = 0
    with cut_at(30, 10), TableWriter(folder / "a", "t", SCHEMA) as pieces:
        for size in sizes:
            pieces.write(numbered(at, at + size))
            at += size
    with cut_at(30, 10), TableWriter(folder / "b", "t", SCHEMA) as whole:
        whole.write(numbered(0, at))
    assert pieces.files == whole.files
    assert len(pieces.files) == -(-at // 30)
    assert read_table(shard_paths(folder / "a", "t"), SCHEMA).equals(numbered(0, at))
    for name, sha256 in pieces.files.items():
        content = (folder / "a" / name).read_bytes()
        assert content == (folder / "b" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == sha256


def test_names_and_compression(tmp_path: Path) -> None:
    files = write_table(tmp_path, "t", numbered(0, 3))
    assert list(files) == ["t-00000-of-00001.parquet"]
    column = pq.ParquetFile(tmp_path / "t-00000-of-00001.parquet").metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"


def test_a_table_without_rows_is_not_written(tmp_path: Path) -> None:
    assert write_table(tmp_path, "t", numbered(0, 0)) == {}
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        cut_at(10, 10),
        TableWriter(tmp_path, "t", SCHEMA) as writer,
    ):
        writer.write(numbered(0, 100))
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_encoder_starts_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool does not wait for a thread whose start is cut, and that thread would write on."""
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def start_and_interrupt(thread: threading.Thread) -> None:
        start(thread)
        started.append(thread)
        interrupt()

    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    with (
        pytest.raises(KeyboardInterrupt),
        cut_at(10, 10),
        TableWriter(tmp_path, "t", SCHEMA) as writer,
    ):
        writer.write(numbered(0, 100))
    [encoder] = started
    assert not encoder.is_alive()
    assert not list(tmp_path.iterdir())


def test_rows_of_another_schema_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid), TableWriter(tmp_path, "t", SCHEMA) as writer:
        writer.write(pa.table({"other": [1]}))
    assert list(tmp_path.iterdir()) == []


def test_a_size_limit_of_the_system_stops_the_encoding_thread_cleanly(tmp_path: Path) -> None:
    script = """
import random, resource, sys
from pathlib import Path
import pyarrow as pa
from citeforge.engines.tables import write_table
table = pa.table({"x": [random.random() for _ in range(200_000)]})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    write_table(Path(sys.argv[1]), "t", table)
except Exception as error:
    print(type(error).__name__, error.code)
"""
    folder = tmp_path / "out"
    result = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True
    )
    assert result.stdout == "InputError disk-full\n", result.stderr
    assert list(folder.iterdir()) == []


def test_missing_columns_and_damaged_files(tmp_path: Path) -> None:
    write_table(tmp_path, "t", pa.table({"_id": ["a"]}))
    (path,) = shard_paths(tmp_path, "t")
    with refused("schema-mismatch", path=path) as caught:
        read_table([path], SCHEMA)
    assert "has no column n; columns: _id, n" in str(caught.value)
    with refused("schema-mismatch", path=path):
        list(iter_batches([path], ["_id", "text"]))
    broken = tmp_path / "u-00000-of-00001.parquet"
    broken.write_bytes(b"PAR1 nonsense")
    with refused("bad-parquet", path=broken):
        read_table([broken], SCHEMA)


def test_reading_holds_no_more_of_a_long_file_than_of_a_short_one(tmp_path: Path) -> None:
    texts = [random.Random(i).randbytes(500).hex() for i in range(2000)]  # does not compress
    schema = pa.schema([("text", pa.string())])
    with cut_at(1 << 20, 100), TableWriter(tmp_path, "t", schema) as writer:
        writer.write(pa.table([texts], schema=schema))
    before = pa.total_allocated_bytes()
    held = [
        pa.total_allocated_bytes() - before
        for _ in iter_batches(shard_paths(tmp_path, "t"), rows=100)
    ]
    assert len(held) == 20
    assert max(held) < sum(map(len, texts)) / 4


def test_table_of_no_rows() -> None:
    assert table_of([], SCHEMA).equals(SCHEMA.empty_table())


def _with_column(path: Path, column: pa.Array) -> Path:
    pq.write_table(pa.table({"_id": column, "n": pa.array(range(len(column)))}), path)
    return path


def test_damaged_columns(tmp_path: Path) -> None:
    """Text that is not UTF-8, nulls in a required column, other types."""
    bad = pa.array([b"ok", b"a\xff"], pa.binary())
    text = pa.StringArray.from_buffers(2, bad.buffers()[1], bad.buffers()[2])
    strict = pa.schema([pa.field("_id", pa.string(), nullable=False), ("n", pa.int64())])
    for name, column, code, field in (
        ("bytes", text, "bad-parquet", None),
        ("nulls", pa.array(["a", None]), "schema-mismatch", "_id"),
        ("lists", pa.array([["a"], ["b"]]), "bad-parquet", None),
    ):
        path = _with_column(tmp_path / f"{name}.parquet", column)
        with refused(code, path=path, field=field) as caught:
            read_table([path], strict)
        assert "citeforge verify" in str(caught.value)
    with refused("bad-parquet", path=tmp_path / "bytes.parquet") as caught:
        list(iter_batches([tmp_path / "bytes.parquet"], ["_id"]))
    assert "Invalid UTF8" in str(caught.value)


def test_every_flipped_byte_of_a_table(tmp_path: Path) -> None:
    """The table is read as something, or its file is named; nothing else."""
    whole = _with_column(tmp_path / "t.parquet", pa.array(["é" * 9, "b" * 30])).read_bytes()
    damaged = tmp_path / "d.parquet"
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 0xFF
        damaged.write_bytes(data)
        try:
            read_table([damaged], SCHEMA)
            sum(b.num_rows for b in iter_batches([damaged], ["_id"]))
        except InputError as error:
            assert error.path == str(damaged)


def test_unexpected_and_duplicate_columns(tmp_path: Path) -> None:
    """An unexpected column is not even read (its bytes are damaged here)."""
    path = tmp_path / "t.parquet"
    schema = pa.schema([pa.field("a", pa.string(), nullable=False)])
    names = pa.array(["x", "y"])
    pq.write_table(pa.table([names, pa.array(["needle" * 40] * 2)], ["a", "bomb"]), path,
                   compression="NONE", use_dictionary=False)  # fmt: skip
    content = path.read_bytes()
    at = content.index(b"needle")
    path.write_bytes(content[:at] + b"\xff" * 480 + content[at + 480 :])
    assert read_table([path], schema).column("a").to_pylist() == ["x", "y"]
    pq.write_table(pa.table([names, names], ["a", "a"]), path)
    with refused("schema-mismatch", path=path, field="a"):
        read_table([path], schema)
    with refused("schema-mismatch", path=path, field="a"):
        list(iter_batches([path], schema=schema))
