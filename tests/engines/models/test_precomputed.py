"""Vectors that were made elsewhere: every layout, and what cannot be right."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from citeforge.engines.models.precomputed import open_vectors, passage_shards, query_rows
from citeforge.engines.models.vectors import (
    VectorShard,
    gather,
    iter_blocks,
    unit_vectors,
)
from conftest import refused

IDS = [f"p{i}" for i in range(10)]


def silent(*done: object) -> None:
    pass


def save(path: Path, vectors: np.ndarray, ids: list[str] | None = None) -> Path:
    """As NumPy's own writer, or pyarrow's, writes it."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, vectors)
    else:
        column = pa.array(vectors.tolist(), pa.list_(pa.float32()))
        pq.write_table(pa.table({"_id": ids or IDS[: len(vectors)], "vector": column}), path)
    return path


def shards_of(path: Path, folder: Path, ids: list[str] = IDS, size: int = 4) -> list[VectorShard]:
    pieces = (pa.array(ids[i : i + size]) for i in range(0, len(ids), size))
    return passage_shards(open_vectors(path), pieces, len(ids), folder, silent)


@pytest.fixture
def vectors() -> np.ndarray:
    # Halves and quarters: exact in every width, and not of length one.
    return np.random.default_rng(0).integers(1, 9, (10, 3)) / np.float32(4)


def unit(vectors: np.ndarray) -> np.ndarray:
    result: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return result


@pytest.mark.parametrize("layout", ["<f2", "<f4", "<f8", ">f4", "npy folder", "parquet", "folder"])
def test_every_layout_gives_the_same_vectors(
    tmp_path: Path, vectors: np.ndarray, layout: str
) -> None:
    if layout == "parquet":
        path = save(tmp_path / "v.parquet", vectors)
    elif layout == "folder":
        save(tmp_path / "v" / "0.parquet", vectors[:3], IDS[:3])
        save(tmp_path / "v" / "1.parquet", vectors[3:], IDS[3:])
        path = tmp_path / "v"
    elif layout == "npy folder":
        save(tmp_path / "v" / "0.npy", vectors[:5].astype("<f2"))
        save(tmp_path / "v" / "1.npy", vectors[5:].astype("<f2"))
        path = tmp_path / "v"
    else:
        path = save(tmp_path / "v.npy", vectors.astype(layout))
    shards = shards_of(path, tmp_path / "made")
    result = np.concatenate(list(iter_blocks(shards, 3)))
    assert np.allclose(result, unit(vectors), atol=1e-6)
    assert np.allclose(
        unit(gather(shards, np.array([0, 4, 9]))), unit(vectors)[[0, 4, 9]], atol=1e-6
    )
    # These are read where they lie; a shard that spans two files is written.
    written = len(list((tmp_path / "made").glob("*.vectors")))
    assert written == {"<f2": 0, "<f4": 0, "npy folder": 1}.get(layout, 3)
    assert [s.rows for s in shards] == [4, 4, 2]
    again = shards_of(path, tmp_path / "made")
    assert [s.key for s in again] == [s.key for s in shards]


def test_queries_by_id_or_by_place(tmp_path: Path, vectors: np.ndarray) -> None:
    placed = open_vectors(save(tmp_path / "q.npy", vectors))
    named = open_vectors(save(tmp_path / "q.parquet", vectors[::-1], IDS[::-1]))
    for source in (placed, named):
        result = query_rows(source, IDS, ["p7", "p2"])
        assert np.allclose(result, unit(vectors)[[7, 2]], atol=1e-6)
    with refused("bad-vectors", path=named.path):
        query_rows(named, [*IDS, "q"], ["q"])
    twice = open_vectors(save(tmp_path / "t.parquet", vectors[:2], ["p1", "p1"]))
    with refused("duplicate-id", path=twice.path, field="_id"):
        query_rows(twice, IDS, ["p1"])
    with refused("bad-vectors", path=placed.path) as caught:
        query_rows(placed, IDS[:9], ["p1"])
    assert "has 10 vectors for 9 texts" in str(caught.value)


@pytest.mark.parametrize("width", ["<f2", "<f4", "parquet"])
@pytest.mark.parametrize("value", [np.nan, -np.inf, 0.0])
def test_a_vector_without_a_direction(
    tmp_path: Path, vectors: np.ndarray, width: str, value: float
) -> None:
    vectors[5] = value
    if width == "parquet":
        path = save(tmp_path / "v.parquet", vectors)
    else:
        path = save(tmp_path / "v.npy", vectors.astype(width))
    with refused("bad-vectors", path=path, line=6) as caught:
        shards_of(path, tmp_path / "made")
    assert "'p5'" in str(caught.value)


def test_other_passages(tmp_path: Path, vectors: np.ndarray) -> None:
    path = save(tmp_path / "v.parquet", vectors, [*IDS[:6], "p7", "p6", *IDS[8:]])
    with refused("bad-vectors", path=path, line=7, field="_id") as caught:
        shards_of(path, tmp_path / "made")
    assert "has the vector of 'p7' where the corpus has 'p6'" in str(caught.value)
    with refused("bad-vectors", path=path, line=None):
        shards_of(path, tmp_path / "made", [*IDS, "p10"])


def check_refused(vectors: Path, code: str = "bad-vectors", **place: object) -> str:
    """What the error says of vectors that are refused."""
    with refused(code, **{"path": vectors} | place) as caught:
        open_vectors(vectors)
    return str(caught.value)


def test_files_that_hold_no_vectors(tmp_path: Path, vectors: np.ndarray) -> None:
    check_refused(tmp_path / "nothing.npy", "missing-file")
    (tmp_path / "empty").mkdir()
    check_refused(tmp_path / "empty")
    save(tmp_path / "two" / "a.npy", vectors)
    save(tmp_path / "two" / "b.parquet", vectors)
    check_refused(tmp_path / "two")
    (tmp_path / "v.txt").write_text("1 2 3")
    check_refused(tmp_path / "v.txt")
    (tmp_path / "v.npy").write_text("1 2 3")
    check_refused(tmp_path / "v.npy")
    for array in (vectors[0], vectors.astype(int), vectors.T.copy().T, vectors[:0]):
        assert "of shape" in check_refused(save(tmp_path / "v.npy", array))
    np.save(tmp_path / "v.npy", np.array([[{"a": 1}]], object), allow_pickle=True)
    assert "Python objects" in check_refused(tmp_path / "v.npy")
    path = save(tmp_path / "v.npy", vectors)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "greater than file size" in check_refused(path)
    path.write_bytes(content + b"0")
    assert "has 369 bytes; its header declares 368" in check_refused(path)  # 128 + 10 × 3 × 8
    save(tmp_path / "odd" / "a.npy", vectors)
    save(tmp_path / "odd" / "b.npy", vectors[:, :2])
    check_refused(tmp_path / "odd", path=tmp_path / "odd" / "b.npy")


@pytest.mark.parametrize(
    ("columns", "code", "field"),
    [
        ({"_id": ["a"]}, "missing-field", "vector"),
        ({"vector": [[1.0]]}, "missing-field", "_id"),
        ({"_id": ["a"], "vector": [1.0]}, "wrong-type", "vector"),
        ({"_id": ["a"], "embedding": [["x"]]}, "wrong-type", "embedding"),
        ({"_id": [["a"]], "vector": [[1.0]]}, "wrong-type", "_id"),
        ({"_id": [], "vector": pa.array([], pa.list_(pa.float32()))}, "bad-vectors", None),
        ({"_id": [], "vector": pa.array([], pa.list_(pa.float32(), 3))}, "bad-vectors", None),
    ],
)
def test_tables_that_hold_no_vectors(
    tmp_path: Path, columns: Any, code: str, field: str | None
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    check_refused(tmp_path / "v.parquet", code, field=field)


@pytest.mark.parametrize("odd", [[1.0], None, [1.0, None, 2.0]])
def test_rows_of_another_shape(tmp_path: Path, odd: Any) -> None:
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], odd]
    column = pa.array(rows, pa.list_(pa.float32()))
    pq.write_table(pa.table({"_id": IDS[:3], "vector": column}), tmp_path / "v.parquet")
    with refused("bad-vectors", line=3, field="vector"):
        shards_of(tmp_path / "v.parquet", tmp_path / "made", IDS[:3])


def test_a_table_that_begins_with_nothing(tmp_path: Path) -> None:
    column = pa.array([None, [1.0, 2.0, 3.0]], pa.list_(pa.float32()))
    pq.write_table(pa.table({"_id": IDS[:2], "vector": column}), tmp_path / "v.parquet")
    check_refused(tmp_path / "v.parquet", line=1, field="vector")


@pytest.mark.parametrize(
    "shape",
    [
        "(-2, -4)",
        "(True, True)",
        "(((((",  # an end that the reader of the head waits for
        "(1L, '''",
        "-" * 9000 + "1",  # deeper than Python's own parser goes
    ],
)
def test_heads_of_npy_files_that_mean_harm(tmp_path: Path, shape: str) -> None:
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    values = bytes(32)  # -2 × -4 values of 4 bytes
    path = tmp_path / "v.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + values)
    check_refused(path)


@pytest.mark.parametrize("power", [-1060, -600, 600, 1020])
def test_lengths_whose_squares_no_number_holds(
    tmp_path: Path, vectors: np.ndarray, power: int
) -> None:
    path = save(tmp_path / "v.npy", np.ldexp(vectors.astype(np.float64), power))
    plain = save(tmp_path / "plain.npy", vectors)
    one, other = (gather(shards_of(p, p.with_suffix("")), np.arange(10)) for p in (plain, path))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("power", [-100, 100])
def test_float32_in_place_whose_squares_no_float32_holds(
    tmp_path: Path, vectors: np.ndarray, power: int
) -> None:
    path = save(tmp_path / "v.npy", np.ldexp(vectors.astype(np.float32), power))
    plain = save(tmp_path / "plain.npy", vectors.astype(np.float32))
    one, other = (unit_vectors(shards_of(p, p.with_suffix(""))) for p in (plain, path))
    assert np.array_equal(one, other)
