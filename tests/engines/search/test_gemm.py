"""Nominating by matrix products: what FAISS finds, whatever the precision, blocks and ties."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from citeforge.engines.embedding.vectors import VectorShard
from citeforge.engines.models import compute
from citeforge.engines.search import exact as search
from citeforge.engines.search.exact import Faiss, choose_first_stage, rescore, retrieve_candidates
from citeforge.engines.search.gemm import Best, Gemm, Precision

WAYS: dict[str, Callable[[Any], Any]] = {
    "faiss": Faiss,
    "float32": lambda queries: Gemm(queries, "float32"),
    "bfloat16": lambda queries: Gemm(queries, "bfloat16"),
}


def unit(vectors: np.ndarray) -> np.ndarray:
    found: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found.astype(np.float32)


def shard(folder: Path, vectors: np.ndarray) -> list[VectorShard]:
    path = folder / "v.f16"
    path.write_bytes(vectors.astype("<f2").tobytes())
    return [VectorShard(path, *vectors.shape, "k")]


def decided(
    queries: np.ndarray, shards: list[VectorShard], k: int, block: int
) -> tuple[list[list[tuple[float, int]]], np.ndarray]:
    """What rescoring makes of k nominations: those surely in front, by score and position."""
    floor, positions = retrieve_candidates(queries, shards, k, lambda n: None, block)
    rows = np.repeat(np.arange(len(queries)), k)
    exact = rescore(queries, shards, rows, positions.ravel()).reshape(-1, k)
    lists = []
    for row in range(len(queries)):
        pairs = zip(-exact[row], positions[row].tolist(), strict=True)
        certain = float(floor[row, -1]) + search.NOMINATION_ERROR
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
def test_all_ways_agree_after_rescoring(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int, n: int, distinct: int, cone: float, k: int, block: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    # Few directions among many passages: there are ties, also at the last nomination.
    base = rng.normal(size=(distinct, 16)) + cone
    shards = shard(tmp_path_factory.mktemp("v"), unit(base[rng.integers(0, distinct, n)]))
    queries = unit(rng.normal(size=(5, 16)) + cone)
    found = {}
    for name, way in WAYS.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                search, "choose_first_stage", lambda queries, *rest, way=way: way(queries)
            )
            found[name] = decided(queries, shards, min(k, n), block)
    for name in ("float32", "bfloat16"):
        assert np.allclose(found[name][1], found["faiss"][1], atol=1e-5)
        for ours, theirs in zip(found[name][0], found["faiss"][0], strict=True):
            # Who is certain may differ by the last digits of the floor; the shorter leads both.
            shorter = min(len(ours), len(theirs))
            assert ours[:shorter] == theirs[:shorter]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("k", [1, 22, 400])
def test_the_best_of_several_blocks(precision: Precision, k: int) -> None:
    rng = np.random.default_rng(1)
    corpus, queries = unit(rng.normal(size=(5000, 64))), unit(rng.normal(size=(33, 64)))
    best, way = Best(33, k), Gemm(queries, precision)
    for start in (0, 2048, 4096):
        way.search(corpus[start : start + 2048], start, best)
    scores = queries.astype(np.float64) @ corpus.astype(np.float64).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(best.where, order)
    assert np.allclose(best.scores, np.take_along_axis(scores, order, axis=1), atol=1e-6)


def test_bfloat16_leaves_open_what_its_rounding_might_hide() -> None:
    # In bfloat16 both cosines, 0.9523 and 0.9520, are 0.953125 = 244/256: it has nothing between
    # 243/256 and 245/256 but that. Float32 tells them apart.
    query = np.array([[1.0, 0.0]], np.float32)
    angles = np.array([0.310, 0.311], np.float32)
    passages = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    narrow = torch.from_numpy(passages).bfloat16()
    assert narrow[0, 0] == narrow[1, 0]
    best = Best(1, 1)
    Gemm(query, "bfloat16").search(passages[::-1].copy(), 0, best)
    assert best.where.tolist() == [[1]]


def test_a_crowd_is_scored_in_float32() -> None:
    """Hundreds of passages nearer to each other than bfloat16 can tell."""
    rng = np.random.default_rng(2)
    corpus = unit(np.ones((2000, 32)) + 1e-4 * rng.normal(size=(2000, 32)))
    corpus = np.concatenate([unit(rng.normal(size=(2000, 32))), corpus])
    queries = unit(np.ones((1, 32)) + 0.1 * rng.normal(size=(1, 32)))
    best = Best(1, 3)
    Gemm(queries, "bfloat16").search(corpus, 0, best)
    exact = corpus.astype(np.float64) @ queries[0].astype(np.float64)
    assert np.allclose(best.scores[0], -np.sort(-exact)[:3], atol=1e-6)


def test_small_searches_do_not_wait_for_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = unit(np.ones((4, 8)))
    assert isinstance(choose_first_stage(queries, 1e6), Gemm)
    monkeypatch.delitem(sys.modules, "torch")
    assert isinstance(choose_first_stage(queries, 1e6), Faiss)


@pytest.mark.parametrize(
    ("flags", "limit", "expected"),
    [
        # of 3, 4, 351 and 352 queries
        ({"avx512_vnni", "avx512_bf16"}, "", ["faiss", "bfloat16", "bfloat16", "bfloat16"]),
        ({"avx512_vnni"}, "", ["faiss", "float32", "float32", "float32"]),
        ({"avx512f"}, "", ["faiss", "float32", "float32", "faiss"]),
        ({"avx512_vnni", "avx512_bf16"}, "AVX2", ["faiss", "float32", "float32", "faiss"]),
    ],
)
def test_the_processor_and_the_queries_say_what_nominates(
    monkeypatch: pytest.MonkeyPatch, flags: set[str], limit: str, expected: list[str]
) -> None:
    monkeypatch.setattr(compute, "abilities", lambda: flags)
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setenv("DNNL_MAX_CPU_ISA", limit)
    ways = [choose_first_stage(unit(np.ones((n, 8))), 1e13, "cpu") for n in (3, 4, 351, 352)]
    assert [w.precision if isinstance(w, Gemm) else "faiss" for w in ways] == expected


def test_no_products_where_torch_would_round_them() -> None:
    queries = unit(np.ones((4, 8)))
    before = torch.get_float32_matmul_precision()
    assert isinstance(choose_first_stage(queries, 1e13), Gemm)
    torch.set_float32_matmul_precision("medium")
    try:
        assert isinstance(choose_first_stage(queries, 1e13), Faiss)
    finally:
        torch.set_float32_matmul_precision(before)
