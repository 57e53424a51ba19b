"""Embedding passages on CPU, against `SentenceTransformer.encode(batch_size=32)` in float32.

`PASSAGES` in the environment is how many are embedded (default: all 2,789 of beir_hagrid). Seconds
are those of the wall; processor seconds stand beside them, because others may use the machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import machine, measure

QUERIES = 25


def read_texts(folder: str, limit: int) -> tuple[list[str], list[str]]:
    """Passages and queries of a BEIR folder."""
    rows = [json.loads(x) for x in (Path(folder) / "corpus.jsonl").read_text().splitlines()]
    asked = [json.loads(x) for x in (Path(folder) / "queries.jsonl").read_text().splitlines()]
    texts = [f"{r['title']} {r['text']}".strip() for r in rows[:limit]]
    return texts, [q["text"] for q in asked]


def timed(function: Any) -> tuple[Any, float]:
    """Its result, and the processor seconds that it took."""
    start = time.process_time()
    found = function()
    return found, time.process_time() - start


def prepare_ours(folder: str, limit: int, compute: str) -> Any:
    from citeforge.engines.embed import make_embedder

    wanted = {"float32": "int8", "int8": "int8"}.get(compute, compute)
    embedder: Any = make_embedder("offline", device="cpu", compute=wanted)  # type: ignore[arg-type]
    texts, queries = read_texts(folder, limit)
    if compute == "int8":
        embedder = embedder.rough(texts[:: max(1, len(texts) // 200)][:200])
    embedder.encode(texts[:2], "passage")  # loads the model, or converts it
    return embedder, texts, queries


def run_ours(state: Any) -> Any:
    embedder, texts, _ = state
    return timed(lambda: embedder.encode(texts, "passage"))


def run_queries(state: Any) -> Any:
    embedder, _, queries = state
    return embedder.encode(queries, "query")


def prepare_peer(folder: str, limit: int) -> Any:
    from sentence_transformers import SentenceTransformer

    from citeforge.engines.embed import make_embedder

    located = make_embedder("offline", device="cpu")._located  # type: ignore[attr-defined]
    model = SentenceTransformer(str(located.folder), device="cpu", local_files_only=True)
    texts, queries = read_texts(folder, limit)
    model.encode(texts[:2])
    return model, texts, queries


def run_peer(state: Any) -> Any:
    model, texts, queries = state
    found = timed(lambda: model.encode(texts, batch_size=32, normalize_embeddings=True))
    return (*found, model.encode(queries, normalize_embeddings=True))


def prepare_build(folder: str, compute: str, limit: int) -> Any:
    from citeforge.schemas.recipes import RageRecipe

    prepare_ours(folder, 200, "float32" if compute == "int8" else compute)  # converted before
    return RageRecipe(
        source=f"beir:{folder}", split="dev", embedder="offline", compute=compute,  # type: ignore[arg-type]
        limit=limit,
    )  # fmt: skip


def run_build(recipe: Any) -> Any:
    import pyarrow.parquet as pq

    from citeforge.builders.rage import build_rage
    from citeforge.schemas.recipes import RunOptions

    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        made, seconds = timed(lambda: build_rage(recipe, RunOptions(out=out, device="cpu")))
        (path,) = (out / "mapping").glob("seemingly_relevant-*.parquet")
        table = pq.read_table(path, partitioning=None)
    pairs = set(zip(table["query-id"].to_pylist(), table["corpus-id"].to_pylist(), strict=True))
    return pairs, seconds, made.counts


def main() -> None:
    """Print passages a second, cosines, overlaps of top-10 lists, and whole builds."""
    data = os.environ.get("CITEFORGE_REAL_DATA")
    if not data:
        sys.exit("set CITEFORGE_REAL_DATA to the folder that holds beir_hagrid")
    folder = str(Path(data) / "beir_hagrid")
    limit = int(os.environ.get("PASSAGES", 10**9))
    print("##", machine("torch", "sentence-transformers", "transformers", "openvino", "nncf"))
    print("load", os.getloadavg())
    peer = measure(prepare_peer, run_peer, folder, limit)
    exact, spent, queries = peer.result
    n = len(exact)
    print(f"{n:,} passages of beir_hagrid, all-MiniLM-L6-v2")
    print(f"encode, float32, batch 32: {n / peer.seconds:.1f} passages/s, "
          f"{n / spent:.1f} a processor second")  # fmt: skip
    wanted = np.argsort(-(queries @ exact.T), axis=1)[:, :10]
    for compute in ("fp32", "bf16", "float32", "int8"):
        ours = measure(prepare_ours, run_ours, folder, limit, compute)
        vectors, seconds = ours.result
        top = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
        shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(top, wanted, strict=True)])
        name = {"float32": "float32 by OpenVINO", "int8": "int8, nominating"}.get(compute, compute)
        print(
            f"{name}: {n / ours.seconds:.1f} passages/s ({peer.seconds / ours.seconds:.2f}×), "
            f"{n / seconds:.1f} a processor second ({spent / seconds:.2f}×), cosine "
            f"{(vectors * exact).sum(axis=1).mean():.6f}, overlap of top-10 lists {shared:.4f}",
            flush=True,
        )
    builds(folder)


def builds(folder: str) -> None:
    """Whole builds; those of float32 decide what the lists are."""
    for limit in (QUERIES, 10**6) if "PASSAGES" not in os.environ else (QUERIES,):
        lists: dict[str, Any] = {}
        for compute in ("fp32", "int8"):
            made = measure(prepare_build, run_build, folder, compute, limit)
            lists[compute], spent, counts = made.result
            same = len(lists[compute] & lists["fp32"]) / len(lists["fp32"])
            exact = counts.get("passages embedded in float32", "all")
            print(
                f"build rage, at most {limit:,} queries, {compute}: {made.seconds:.1f} s, "
                f"{spent:.1f} processor seconds, passages in float32: {exact}, lists of fp32 "
                f"{same:.4%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
