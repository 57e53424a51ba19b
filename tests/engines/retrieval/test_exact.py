"""Retrieving candidates by matrix products: what FAISS finds, whatever the blocks and ties."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from citeforge.engines.models.vectors import VectorShard
from citeforge.engines.retrieval import exact as search
from citeforge.engines.retrieval.exact import (
    Faiss,
    TopScores,
    TorchSearch,
    choose_block_search,
    rescore,
    retrieve_candidates,
)
from conftest import refused

pytestmark = pytest.mark.numeric
PRODUCTS: Callable[[Any], Any] = partial(TorchSearch, device="cpu")


def unit(vectors: np.ndarray) -> np.ndarray:
    result: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return result.astype(np.float32)


def shard(folder: Path, vectors: np.ndarray) -> list[VectorShard]:
    path = folder / "vectors"
    path.write_bytes(vectors.astype("<f4").tobytes())
    return [VectorShard(path, *vectors.shape, "k")]


def decided(
    queries: np.ndarray, shards: list[VectorShard], k: int, block: int
) -> tuple[list[list[tuple[float, int]]], np.ndarray]:
    """What rescoring makes of k candidates: those surely in front, by score and position."""
    floor, positions = retrieve_candidates(queries, shards, k, lambda n: None, block)
    rows = np.repeat(np.arange(len(queries)), k)
    exact = rescore(queries, shards, rows, positions.ravel()).reshape(-1, k)
    lists = []
    for row in range(len(queries)):
        pairs = zip(-exact[row], positions[row].tolist(), strict=True)
        certain = float(floor[row, -1]) + search.CANDIDATE_ERROR
        lists.append(sorted(p for p in pairs if -p[0] > certain))
    return lists, floor


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 700),
    distinct=st.integers(1, 300),
    cone=st.sampled_from([0.0, 1.0, 5.0]),
    k=st.integers(1, 40),
    block=st.sampled_from([50, 64, 200, 1000]),
)
def test_both_ways_agree_after_rescoring(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int, n: int, distinct: int, cone: float, k: int, block: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    # Few directions among many passages: there are ties, also at the last candidate.
    base = rng.normal(size=(distinct, 16)) + cone
    shards = shard(tmp_path_factory.mktemp("v"), unit(base[rng.integers(0, distinct, n)]))
    queries = unit(rng.normal(size=(5, 16)) + cone)
    result = []
    for way in (PRODUCTS, Faiss):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                search, "choose_block_search", lambda queries, *rest, way=way: way(queries)
            )
            result.append(decided(queries, shards, min(k, n), block))
    (products, floor), (faiss, its_floor) = result
    assert np.allclose(floor, its_floor, atol=1e-5)
    for ours, theirs in zip(products, faiss, strict=True):
        # Who is certain may differ by the last digits of the floor; the shorter leads both.
        shorter = min(len(ours), len(theirs))
        assert ours[:shorter] == theirs[:shorter]


def blockwise(way: Any, k: int, sizes: tuple[int, ...] = (2048, 2048, 904)) -> TopScores:
    """The best of a corpus that is searched block by block."""
    best, start = TopScores(len(way.queries), k), 0
    for size in sizes:
        scores, rows = way(CORPUS[start : start + size], min(k, size))
        best.add(scores, rows + start)
        start += size
    return best


RNG = np.random.default_rng(1)
CORPUS, QUERIES = unit(RNG.normal(size=(5000, 64))), unit(RNG.normal(size=(13, 64)))
EXACT = QUERIES.astype(np.float64) @ CORPUS.astype(np.float64).T


@pytest.mark.parametrize("k", [1, 22, 400])
def test_the_best_of_several_blocks(k: int) -> None:
    best = blockwise(PRODUCTS(QUERIES), k)
    # Some scores are nearer to each other than float32 can tell: either order is right.
    found = np.take_along_axis(EXACT, best.positions, axis=1)
    assert np.allclose(found, -np.sort(-EXACT, axis=1)[:, :k], rtol=0, atol=1e-6)
    assert np.allclose(best.scores, found, rtol=0, atol=1e-6)
    assert all(len(set(row)) == k for row in best.positions.tolist())


def test_small_searches_do_not_wait_for_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = unit(np.ones((4, 8)))
    assert isinstance(choose_block_search(queries, 1e6), TorchSearch)
    monkeypatch.delitem(sys.modules, "torch")
    assert isinstance(choose_block_search(queries, 1e6), Faiss)


def test_the_number_of_queries_says_what_retrieves_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "has_gpu", lambda: False)
    ways = [choose_block_search(unit(np.ones((n, 8))), 1e13, "cpu") for n in (3, 4, 351, 352)]
    assert [type(w) for w in ways] == [Faiss, TorchSearch, TorchSearch, Faiss]


def test_a_device_that_is_named_is_taken() -> None:
    named = choose_block_search(QUERIES, 1.0, "meta")
    assert isinstance(named, TorchSearch)
    assert named.device == "meta"


def scarce(monkeypatch: pytest.MonkeyPatch, most: int) -> list[int]:
    """Let products of more than so many queries not fit; gives the sizes that were tried."""
    tried: list[int] = []

    def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        tried.append(len(left))
        if len(left) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return torch.mm(left, right)

    monkeypatch.setattr(torch.Tensor, "__matmul__", product)
    return tried


def test_memory_that_runs_out_halves_the_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = scarce(monkeypatch, 4)
    best = blockwise(PRODUCTS(QUERIES), 5, (40, 3, 57))
    # 13 = 7 + 6, 7 = 4 + 3, 6 = 3 + 3; for each of three blocks.
    assert tried == [13, 7, 4, 3, 6, 3, 3] * 3
    assert (best.positions == np.argsort(-EXACT[:, :100], axis=1)[:, :5]).all()


def test_memory_that_never_suffices_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scarce(monkeypatch, 0)
    with refused("out-of-memory", path="cpu"):
        blockwise(PRODUCTS(QUERIES), 5)


def test_approximate_products_are_switched_off_and_on_again() -> None:
    torch.set_float32_matmul_precision("high")
    try:
        blockwise(PRODUCTS(QUERIES), 5)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
