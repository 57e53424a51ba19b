"""Parquet files that unpack to more than anybody meant, and honest ones of every encoding."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from citeforge import InputError
from citeforge.engines import tables
from citeforge.engines.pages import bound_unpacked_bytes
from citeforge.engines.tables import iter_batches, read_table
from conftest import refused

SCHEMA = pa.schema([("_id", pa.string()), ("text", pa.string())])
_LIMIT = 2 << 30
_CHILD = """
import resource, sys
from pathlib import Path
import pyarrow as pa
from citeforge.engines.tables import iter_batches, read_table
from citeforge.schemas.errors import InputError
schema = pa.schema([("_id", pa.string()), ("text", pa.string())])
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
try:
    {read}
except InputError as error:
    print(error.code, error.field, error)
    sys.exit(error.exit_code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stored_schema", [False, True])
@pytest.mark.parametrize(
    "read",
    [
        "read_table([Path(sys.argv[1])], schema)",
        "list(iter_batches([Path(sys.argv[1])]))",
        "list(iter_batches([Path(sys.argv[1])], ['text'], rows=100, schema=schema))",
    ],
)
def test_one_long_text_that_a_thousand_rows_share(
    tmp_path: Path, read: str, stored_schema: bool
) -> None:
    """8 MiB a row in under 4 KB: as texts, and as a dictionary that grows where it is used."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), ["x" * (8 << 20)])
    path = tmp_path / "bomb.parquet"
    pq.write_table(
        pa.table({"_id": [f"{n}" for n in range(1000)], "text": text}),
        path,
        compression="zstd",
        use_dictionary=["text"],
        dictionary_pagesize_limit=1 << 26,
        write_statistics=False,
        store_schema=stored_schema,
    )
    assert path.stat().st_size < 8000
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(limit=_LIMIT, read=read), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(f"too-large text {path}"), done.stdout
    assert "bytes in 63 rows" in done.stdout  # (512 MiB) // (8 MiB + 4) = 63 rows per piece


_HOW: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False},
    "dictionary": {"use_dictionary": True},
    "prefixes": {
        "use_dictionary": False,
        "column_encoding": {"_id": "PLAIN", "text": "DELTA_BYTE_ARRAY"},
    },
    "lengths": {
        "use_dictionary": False,
        "column_encoding": {"_id": "PLAIN", "text": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "second version": {"data_page_version": "2.0", "use_dictionary": ["text"]},
}


def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a small file reaches: pieces of 16 KiB, and no file is harmless."""
    monkeypatch.setattr(tables, "_PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(tables, "_HARMLESS_RATIO", 0)


@pytest.mark.parametrize("how", _HOW)
def test_every_encoding_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """500 rows of 100,000 equal bytes: 50 MB in a few KB."""
    _small(monkeypatch)
    monkeypatch.setattr(tables, "LARGEST_RATIO", 1)
    path = tmp_path / "t.parquet"
    rows = pa.table([[f"{n}" for n in range(500)], ["x" * 100_000] * 500], schema=SCHEMA)
    pq.write_table(rows, path, compression="zstd", **_HOW[how])
    with refused("too-large", path=path, field="text") as caught:
        read_table([path], SCHEMA)
    assert "in 1 rows" in str(caught.value)  # no row fits into a piece


@pytest.mark.parametrize("how", _HOW)
@pytest.mark.parametrize("pieces", [False, True])
def test_honest_tables_read_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, pieces: bool
) -> None:
    if pieces:
        _small(monkeypatch)
    path = tmp_path / "t.parquet"
    texts = [None if n % 10 == 3 else f"text {n % 7} " * (n % 50) for n in range(1000)]
    rows = pa.table([[f"d{n}" for n in range(1000)], texts], schema=SCHEMA)
    pq.write_table(rows, path, row_group_size=300, **_HOW[how])
    assert read_table([path], SCHEMA).equals(rows)
    (only,) = iter_batches([path], ["text", "_id"], rows=1000)
    assert only.equals(rows.select(["text", "_id"]).combine_chunks().to_batches()[0])
    batches = list(iter_batches([path], rows=128))
    assert [b.num_rows for b in batches] == [128] * 7 + [104]  # 7 * 128 + 104 = 1000
    assert pa.Table.from_batches(batches).equals(rows)


def test_nested_columns_read_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(monkeypatch)
    lists = [[{"id": f"{n}", "labels": ["a"] * (n % 3)}] * (n % 4) for n in range(100)]
    rows = pa.table({"a.b": range(100), "a": lists})
    path = tmp_path / "t.parquet"
    pq.write_table(rows, path)
    assert read_table([path], rows.schema).equals(rows)


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(SCHEMA.empty_table(), path)
    assert read_table([path], SCHEMA).equals(SCHEMA.empty_table())
    with refused("bad-parquet", path=path):
        read_table([path], pa.schema([("_id", pa.string()), ("text", pa.list_(pa.int32()))]))
    written = pa.table({"text": pa.array([], pa.list_(pa.string()))})
    pq.write_table(written, path)
    assert list(iter_batches([path])) == []


def test_the_largest_page_and_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = pa.table([["a", "b"], ["x" * 100, "y" * 200]], schema=SCHEMA)
    pq.write_table(rows, path, use_dictionary=False)
    with pq.ParquetFile(path) as file:
        result = bound_unpacked_bytes(path, file, ["text"])
    levels = 6  # that both rows hold something: a length of 4 bytes, one run of 2
    page = levels + (4 + 100) + (4 + 200)
    assert result == (page, page + 2 * 16)


@pytest.mark.slow
def test_a_wrong_byte_anywhere_is_a_clear_error_or_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([["a", "b"], ["x", "y"]], schema=SCHEMA), path, store_schema=False)
    content = path.read_bytes()
    for at in range(4, len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            read_table([path], SCHEMA)
        except InputError as error:
            assert error.path == str(path)
