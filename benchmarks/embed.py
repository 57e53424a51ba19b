"""Embedding passages on CPU, against `SentenceTransformer.encode(batch_size=32)` in float32."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, measure


def read_texts(folder: str, limit: int) -> tuple[list[str], list[str]]:
    """Passages and queries of a BEIR folder."""
    rows = [json.loads(x) for x in (Path(folder) / "corpus.jsonl").read_text().splitlines()]
    asked = [json.loads(x) for x in (Path(folder) / "queries.jsonl").read_text().splitlines()]
    texts = [f"{r['title']} {r['text']}".strip() for r in rows[:limit]]
    return texts, [q["text"] for q in asked]


def prepare_ours(folder: str, limit: int) -> Any:
    from citeforge.engines.embed import make_embedder

    embedder = make_embedder("offline", device="cpu")
    texts, queries = read_texts(folder, limit)
    embedder.encode(texts[:2], "passage")  # loads the model
    return embedder, texts, queries


def run_ours(state: Any) -> Any:
    embedder, texts, _ = state
    return embedder.encode(texts, "passage")


def prepare_peer(folder: str, limit: int) -> Any:
    from sentence_transformers import SentenceTransformer

    from citeforge.engines.embed import make_embedder

    located = make_embedder("offline", device="cpu")._located  # type: ignore[attr-defined]
    model = SentenceTransformer(str(located.folder), device="cpu", local_files_only=True)
    texts, queries = read_texts(folder, limit)
    model.encode(texts[:2])
    return model, texts, queries


def run_peer(state: Any) -> Any:
    model, texts, _ = state
    return model.encode(texts, batch_size=32, normalize_embeddings=True)


def prepare_queries(folder: str, limit: int) -> Any:
    return prepare_ours(folder, limit), prepare_peer(folder, limit)


def run_queries(state: Any) -> Any:
    (ours, _, queries), (peer, _, _) = state
    return ours.encode(queries, "query"), peer.encode(queries, normalize_embeddings=True)


def main() -> None:
    """Print the ratio, the mean cosine, and the overlap of top-10 lists."""
    data = os.environ.get("CITEFORGE_REAL_DATA")
    if not data:
        sys.exit("set CITEFORGE_REAL_DATA to the folder that holds beir_hagrid")
    folder = str(Path(data) / "beir_hagrid")
    print("##", machine("torch", "sentence-transformers", "transformers"))
    ours = measure(prepare_ours, run_ours, folder, 10**9)
    peer = measure(prepare_peer, run_peer, folder, 10**9)
    n = len(ours.result)
    mine, theirs = measure(prepare_queries, run_queries, folder, 2).result
    cosine = (ours.result * peer.result).sum(axis=1)
    top = [
        np.argsort(-(q @ p.T), axis=1)[:, :10]
        for q, p in ((mine, ours.result), (theirs, peer.result))
    ]
    overlap = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*top, strict=True)])
    print(f"{n:,} passages of beir_hagrid, all-MiniLM-L6-v2")
    print(f"citeforge {ours.seconds:.1f} s, {n / ours.seconds:.1f} passages/s")
    print(f"encode    {peer.seconds:.1f} s, {n / peer.seconds:.1f} passages/s (float32, batch 32)")
    print(f"ratio     {peer.seconds / ours.seconds:.2f}× the passages per second of encode")
    print(f"cosine to float32: mean {cosine.mean():.6f}, least {cosine.min():.6f}")
    print(f"overlap of the top-10 lists of {len(mine)} queries: {overlap:.4f}")


if __name__ == "__main__":
    main()
