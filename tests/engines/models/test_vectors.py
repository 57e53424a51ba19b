"""Vector shards and exact search."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.models.vectors import (
    VectorShard,
    digest_texts,
    ensure_shards,
    gather,
    iter_blocks,
)
from citeforge.engines.retrieval.exact import rescore, retrieve_candidates
from conftest import refused
from stand_ins import RuleEmbedder


def silent(items: int) -> None:
    pass


def counting(revision: str = "1") -> RuleEmbedder:
    """Character counts as vectors."""
    return RuleEmbedder(lambda text: [1 + text.count(c) for c in "abcd"], revision=revision)


def shards_of(folder: Path, texts: list[list[str]], embedder: RuleEmbedder) -> list[VectorShard]:
    arrays = [pa.array(t, pa.string()) for t in texts]
    return ensure_shards(folder, "v", arrays, embedder, "passage", silent)


TEXTS = [["aa", "ab"], ["bc", "cd"], ["dd"]]


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    shards_of(tmp_path, TEXTS, counting())
    again = counting()
    shards = shards_of(tmp_path, TEXTS, again)
    assert again.asked == []
    assert [s.rows for s in shards] == [2, 2, 1]


def test_one_changed_text_redoes_its_shard_alone(tmp_path: Path) -> None:
    shards_of(tmp_path, TEXTS, counting())
    again = counting()
    shards_of(tmp_path, [TEXTS[0], ["bc", "changed"], TEXTS[2]], again)
    assert again.asked == ["bc", "changed"]


def test_another_revision_redoes_everything(tmp_path: Path) -> None:
    shards_of(tmp_path, TEXTS, counting())
    again = counting("2")
    shards_of(tmp_path, TEXTS, again)
    assert again.asked == ["aa", "ab", "bc", "cd", "dd"]


@pytest.mark.parametrize("damage", ["flip", "cut", "marker", "no marker", "array marker"])
def test_a_damaged_shard_is_made_again(tmp_path: Path, damage: str) -> None:
    before = shards_of(tmp_path, TEXTS, counting())[1].read()
    path, marker = tmp_path / "v-00001.vectors", tmp_path / "v-00001.json"
    content = path.read_bytes()
    if damage == "flip":
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    elif damage == "cut":
        path.write_bytes(content[:-1])
    elif damage == "marker":
        marker.write_text("{")
    elif damage == "array marker":
        marker.write_text("[]")
    else:
        marker.unlink()
    again = counting()
    after = shards_of(tmp_path, TEXTS, again)[1].read()
    assert again.asked == ["bc", "cd"]
    assert np.array_equal(before, after)


@given(st.lists(st.text(max_size=5)), st.lists(st.text(max_size=5)))
def test_text_digests(first: list[str], second: list[str]) -> None:
    a, b = (
        pa.array([t.encode("utf-8", "ignore").decode() for t in texts], pa.string())
        for texts in (first, second)
    )
    assert (digest_texts(a) == digest_texts(b)) == a.equals(b)
    padded = pa.concat_arrays([pa.array(["x"]), a, pa.array(["y"])])
    assert digest_texts(padded.slice(1, len(a))) == digest_texts(a)


def write_shards(folder: Path, vectors: np.ndarray, rows: int) -> list[VectorShard]:
    shards = []
    for number, start in enumerate(range(0, len(vectors), rows)):
        piece = vectors[start : start + rows].astype("<f4")
        path = folder / f"s-{number}.vectors"
        path.write_bytes(piece.tobytes())
        shards.append(VectorShard(path, len(piece), vectors.shape[1], str(number)))
    return shards


@pytest.fixture
def vectors() -> np.ndarray:
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(500, 16)).astype(np.float32)
    raw[200] = raw[100]  # a tie
    unit: np.ndarray = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize("block_rows", [1, 7, 64, 1000])
def test_blocks_cover_everything_once(tmp_path: Path, vectors: np.ndarray, block_rows: int) -> None:
    blocks = list(iter_blocks(write_shards(tmp_path, vectors, 90), block_rows))
    whole, rest = divmod(500, block_rows)
    assert [len(block) for block in blocks] == [block_rows] * whole + [rest] * (rest > 0)
    joined = np.concatenate(blocks)
    assert np.allclose(joined, vectors, atol=1e-6)
    assert np.allclose(np.linalg.norm(joined, axis=1), 1, atol=1e-6)


@pytest.mark.numeric
@pytest.mark.parametrize("block_rows", [7, 64, 1000])
def test_search_equals_brute_force(tmp_path: Path, vectors: np.ndarray, block_rows: int) -> None:
    shards = write_shards(tmp_path, vectors, 90)
    queries = vectors[:20] / np.linalg.norm(vectors[:20], axis=1, keepdims=True)
    scores, positions = retrieve_candidates(queries, shards, 10, silent, block_rows)
    wide = vectors.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    brute = wide[:20] @ wide.T
    assert np.allclose(scores, -np.sort(-brute, axis=1)[:, :10], atol=1e-5)
    rows = np.repeat(np.arange(20), 10)
    exact = rescore(queries, shards, rows, positions.ravel())
    assert np.allclose(exact, brute[rows, positions.ravel()], atol=1e-6)


@pytest.mark.numeric
def test_rescoring_does_not_depend_on_company(tmp_path: Path, vectors: np.ndarray) -> None:
    shards = write_shards(tmp_path, vectors, 90)
    rows, positions = np.repeat(np.arange(20), 25), np.arange(500)
    together = rescore(vectors[:20], shards, rows, positions)
    alone = [
        rescore(vectors[:20], shards, rows[i : i + 1], positions[i : i + 1])[0] for i in range(500)
    ]
    assert together.tolist() == alone


def test_gather(tmp_path: Path, vectors: np.ndarray) -> None:
    shards = write_shards(tmp_path, vectors, 90)
    positions = np.array([0, 89, 90, 91, 333, 499])
    assert np.array_equal(gather(shards, positions), vectors[positions])


def test_gather_reads_few_rows_alone(tmp_path: Path, vectors: np.ndarray) -> None:
    shards = write_shards(tmp_path, vectors, 400)
    few = np.array([0, 7, 399, 400, 401])  # 3 of 400 rows, then 2 of 100
    assert np.array_equal(gather(shards, few), vectors[few])
    shards[0].path.write_bytes(shards[0].path.read_bytes()[:-1])
    with refused("truncated-file", path=shards[0].path):
        gather(shards, few)
