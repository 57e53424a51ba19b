"""Exact top-10 over vectors on disk, against `faiss.knn` on the same vectors in memory."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import best, machine, measure

DIMENSION = 384
QUERIES = 3452


def make_vectors(folder: Path, rows: int) -> None:
    """Write unit vectors in float16 shards, a corpus table with their ids, and queries."""
    import pyarrow as pa

    from citeforge.engines.tables import write_table
    from citeforge.schemas.tables import CORPUS

    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, rows, 8192)):
        block = rng.standard_normal((min(8192, rows - start), DIMENSION), np.float32)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        block.astype("<f4").tofile(folder / f"v-{number:05d}.vectors")
    queries = rng.standard_normal((QUERIES, DIMENSION), np.float32)
    np.save(folder / "q.npy", queries / np.linalg.norm(queries, axis=1, keepdims=True))
    ids = [f"p{i}" for i in range(rows)]
    empty = [""] * rows
    write_table(folder, "corpus", pa.table([ids, empty, empty, [None] * rows], schema=CORPUS))


def prepare_ours(folder: str, n: int = QUERIES) -> Any:
    import faiss  # noqa: F401
    import pandas  # noqa: F401  (pyarrow imports it at its first conversion)
    import torch  # noqa: F401

    from citeforge.builders.rage.exclusions import Exclusions
    from citeforge.builders.rage.mining import SeeminglyRelevant
    from citeforge.engines.models.vectors import VectorShard
    from citeforge.engines.retrieval.certain import CertainSearch
    from citeforge.engines.tables import shard_paths
    from citeforge.schemas.recipes.rage import Mining

    base = Path(folder)
    shards = [
        VectorShard(p, p.stat().st_size // (2 * DIMENSION), DIMENSION, p.name)
        for p in sorted(base.glob("v-*.vectors"))
    ]
    queries = np.load(base / "q.npy")[:n]
    corpus, none = shard_paths(base, "corpus"), [[] for _ in queries]
    nothing = Exclusions(corpus, Mining(), none, [set() for _ in queries], none)
    return SeeminglyRelevant(CertainSearch(shards).set_queries(queries), nothing)


def run_ours(miner: Any) -> list[list[int]]:
    return [[m.position for m in found] for found in miner.mine()]


def prepare_peer(folder: str, n: int = QUERIES) -> Any:
    import faiss

    base = Path(folder)
    parts = [np.fromfile(p, "<f4").reshape(-1, DIMENSION) for p in sorted(base.glob("v-*.vectors"))]
    vectors = np.concatenate(parts).astype(np.float32)
    return faiss, np.load(base / "q.npy")[:n], vectors


def run_peer(state: Any) -> list[list[int]]:
    faiss, queries, vectors = state
    _, found = faiss.knn(queries, vectors, 10, metric=faiss.METRIC_INNER_PRODUCT)
    rows: list[list[int]] = found.tolist()
    return rows


def compare(folder: str, n: int) -> None:
    """Print both sides' times over one corpus."""
    ours = best(prepare_ours, run_ours, folder, n, times=2)
    peer = best(prepare_peer, run_peer, folder, n, times=2)
    pairs = zip(ours.result, peer.result, strict=True)
    shared = sum(len(set(a) & set(b)) for a, b in pairs) / (10 * n)
    print(f"{n:,} queries over 268,000 × {DIMENSION}; same passages: {shared:.4%}")
    print(f"citeforge {ours.seconds:.2f} s from disk, with rescoring, peak {ours.peak_mb:,.0f} MB")
    print(f"faiss.knn {peer.seconds:.2f} s in memory, peak {peer.peak_mb:,.0f} MB")
    print(f"ratio     {ours.seconds / peer.seconds:.2f}× the time of faiss.knn")


def main() -> None:
    """Print the ratio at 268,000 vectors and the memory at 2,000,000."""
    print("##", machine("faiss-cpu", "numpy"))
    with TemporaryDirectory() as folder:
        make_vectors(Path(folder), 268_000)
        for n in (QUERIES, 64):
            compare(folder, n)
    with TemporaryDirectory() as folder:
        make_vectors(Path(folder), 2_000_000)
        large = measure(prepare_ours, run_ours, folder)
        print(f"2,000,000 × {DIMENSION}: {large.seconds:.1f} s, peak {large.peak_mb:,.0f} MB")


if __name__ == "__main__":
    main()
