"""Embedding passages on CPU, against `SentenceTransformer.encode(batch_size=32)` in float32.

`PASSAGES` in the environment is how many are embedded (default: all 2,789 of beir_hagrid).
`COMPUTES=fp32,bf16` times whole builds alone, for `QUERIES` queries (20). More than the 3,815
passages of the data are made of them: runs of one to three of their sentences, and behind some
45,000 three sentences drawn at random each. With `SAMPLE=300`
the peer embeds so many of the passages, and its seconds are multiplied. Seconds are those of the
wall; processor seconds stand beside them, because others may use the machine.
"""

import json
import os
import random
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import machine, measure

QUERIES = int(os.environ.get("QUERIES", 20))
DEPTH = 60
"""Passages that the peer finds for each query, so that ten are left of them."""


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
    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import make_embedder

    embedder: Any = make_embedder("offline", EmbedderSettings(device="cpu")).at(compute)  # type: ignore[attr-defined]
    texts, queries = read_texts(folder, limit)
    embedder.encode(texts[:2], "passage")  # loads the model
    return embedder, texts, queries


def run_ours(state: Any) -> Any:
    embedder, texts, _ = state
    return timed(lambda: embedder.encode(texts, "passage"))


def run_queries(state: Any) -> Any:
    embedder, _, queries = state
    return embedder.encode(queries, "query")


def prepare_peer(folder: str, limit: int) -> Any:
    from sentence_transformers import SentenceTransformer

    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import make_embedder

    located = make_embedder("offline", EmbedderSettings(device="cpu")).locate()  # type: ignore[attr-defined]
    model = SentenceTransformer(str(located.folder), device="cpu", local_files_only=True)
    texts, queries = read_texts(folder, limit)
    model.encode(texts[:2])
    return model, texts, queries


def run_peer(state: Any) -> Any:
    model, texts, queries = state
    found = timed(lambda: model.encode(texts, batch_size=32, normalize_embeddings=True))
    return (*found, model.encode(queries, normalize_embeddings=True))


def larger(data: Path, folder: Path, limit: int) -> None:
    """A BEIR folder of all passages of beir_hagrid and all evidence of ExpertQA, with some of the
    queries: as few to a passage as collections of millions have."""
    hagrid = data / "beir_hagrid"
    lines = (hagrid / "corpus.jsonl").read_text().splitlines()
    rows = map(json.loads, (data / "expertqa" / "val.jsonl").read_text().splitlines())
    claims = [claim for row in rows for claim in row["claims"]]
    texts = dict.fromkeys(
        e["text"] if isinstance(e, dict) else e for claim in claims for e in claim["evidence"]
    )
    more = [{"_id": f"e{i}", "title": "", "text": t} for i, t in enumerate(texts) if t.strip()]
    lines = [*lines, *map(json.dumps, more)]
    if len(lines) < limit < 10**9:
        lines += runs_of_sentences([json.loads(line)["text"] for line in lines], limit - len(lines))
    lines = lines[:limit]
    known = {json.loads(line)["_id"] for line in lines}
    header, *judged = (hagrid / "qrels" / "dev.tsv").read_text().splitlines()
    judged = [x for x in judged if x.split("\t")[1] in known]
    asked = list(dict.fromkeys(x.split("\t")[0] for x in judged))
    asked = asked[:: len(asked) // QUERIES][:QUERIES]
    wanted = [json.loads(x) for x in (hagrid / "queries.jsonl").read_text().splitlines()]
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    queries = [json.dumps(q) for q in wanted if q["_id"] in asked]
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n")
    kept = [x for x in judged if x.split("\t")[0] in asked]
    (folder / "qrels" / "dev.tsv").write_text("\n".join([header, *kept]) + "\n")


def runs_of_sentences(texts: list[str], number: int) -> list[str]:
    """Further passages, as lines of a corpus: three, two or one consecutive sentences of texts;
    where these are too few, three of any texts."""
    sentences = [re.split(r"(?<=[.!?]) ", text) for text in texts]
    runs = dict.fromkeys(
        " ".join(of[i : i + size])
        for size in (3, 2, 1) for of in sentences for i in range(len(of) - size + 1)
    )  # fmt: skip
    chosen = [run for run in runs if run.strip()][:number]
    draw, every = random.Random(0), [sentence for of in sentences for sentence in of]
    chosen += [" ".join(draw.sample(every, 3)) for _ in range(number - len(chosen))]
    return [json.dumps({"_id": f"s{i}", "title": "", "text": t}) for i, t in enumerate(chosen)]


def run_peer_build(state: Any) -> Any:
    """Embed and search, and nothing else of a build."""
    import faiss

    model, texts, queries = state

    if (share := int(os.environ.get("SAMPLE", 0))) > 0:
        _, seconds = timed(lambda: model.encode(texts[:: len(texts) // share], batch_size=32))
        return None, seconds * len(texts) / len(texts[:: len(texts) // share])

    def embed() -> Any:
        vectors = model.encode(texts, batch_size=32, normalize_embeddings=True)
        asked = model.encode(queries, batch_size=32, normalize_embeddings=True)
        return faiss.knn(asked, vectors, DEPTH, metric=faiss.METRIC_INNER_PRODUCT)[1].tolist()

    return timed(embed)


def peer_lists(folder: Path, found: list[list[int]]) -> set[tuple[str, str]]:
    """The ten nearest passages of each query that are not relevant, nor say the same as one."""
    rows = [json.loads(x) for x in (folder / "corpus.jsonl").read_text().splitlines()]
    asked = [json.loads(x) for x in (folder / "queries.jsonl").read_text().splitlines()]
    judged = [x.split("\t") for x in (folder / "qrels" / "dev.tsv").read_text().splitlines()[1:]]
    texts = {r["_id"]: " ".join(r["text"].split()) for r in rows}
    lists = set()
    for query, places in zip((q["_id"] for q in asked), found, strict=True):
        barred = {texts[p] for q, p, _ in judged if q == query}
        names = [rows[p]["_id"] for p in places if texts[rows[p]["_id"]] not in barred]
        lists |= {(query, name) for name in names[:10]}
    return lists


def prepare_build(folder: str, compute: str) -> Any:
    from sentence_transformers import SentenceTransformer  # noqa: F401

    from citeforge.schemas.recipes.rage import RageRecipe

    return RageRecipe(source=f"beir:{folder}", split="dev", embedder="offline"), compute


def run_build(state: Any) -> Any:
    import pyarrow.parquet as pq

    from citeforge.builders.rage.build import build_rage
    from citeforge.schemas.recipes.base import RunOptions

    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        recipe, compute = state
        run = RunOptions(out=out, device="cpu", compute=compute)
        made, seconds = timed(lambda: build_rage(recipe, run))
        (path,) = (out / "mapping").glob("seemingly_relevant-*.parquet")
        table = pq.read_table(path, partitioning=None)
    pairs = set(zip(table["query-id"].to_pylist(), table["corpus-id"].to_pylist(), strict=True))
    return pairs, seconds, made


def builds() -> None:
    """Print whole builds beside the peer's embedding and search."""
    data = Path(os.environ["CITEFORGE_REAL_DATA"])
    with TemporaryDirectory() as place:
        folder = Path(place) / "beir"
        folder.mkdir()
        larger(data, folder, int(os.environ.get("PASSAGES", 10**9)))
        print("load", os.getloadavg(), flush=True)
        peer = measure(prepare_peer, run_peer_build, str(folder), 10**9)
        found, spent = peer.result
        wanted = peer_lists(folder, found) if found else set()
        n = len(read_texts(str(folder), 10**9)[0])
        print(f"{n:,} passages, {QUERIES} queries; encode and faiss.knn: {peer.seconds:.1f} s, "
              f"{spent:.1f} processor seconds", flush=True)  # fmt: skip
        for compute in os.environ.get("COMPUTES", "fp32,bf16,auto").split(","):
            made = measure(prepare_build, run_build, str(folder), compute)
            lists, seconds, manifest = made.result
            facts = manifest.computed
            words = sorted(k for k in facts if k.startswith("passages"))
            decided = ", ".join(f"{word} {facts[word]}" for word in words)
            print(
                f"build rage --compute {compute} ({facts['dtype']}): {made.seconds:.1f} s "
                f"({peer.seconds / made.seconds:.2f}×), {seconds:.1f} processor seconds "
                f"({spent / seconds:.2f}×); bounds {facts['bounds']}, {decided}; hash "
                f"{manifest.benchmark_hash[:8]}; in lists of encode: {len(lists & wanted)} of "
                f"{len(wanted)}",
                flush=True,
            )
        print("load", os.getloadavg())


def main() -> None:
    """Print passages a second, cosines, overlaps of top-10 lists, and whole builds."""
    if os.environ.get("COMPUTES"):
        builds()
        return
    data = os.environ.get("CITEFORGE_REAL_DATA")
    if not data:
        sys.exit("set CITEFORGE_REAL_DATA to the folder that holds beir_hagrid")
    folder = str(Path(data) / "beir_hagrid")
    limit = int(os.environ.get("PASSAGES", 10**9))
    print("##", machine("torch", "sentence-transformers", "transformers"))
    print("load", os.getloadavg())
    peer = measure(prepare_peer, run_peer, folder, limit)
    exact, spent, queries = peer.result
    n = len(exact)
    print(f"{n:,} passages of beir_hagrid, all-MiniLM-L6-v2")
    print(f"encode, float32, batch 32: {n / peer.seconds:.1f} passages/s, "
          f"{n / spent:.1f} a processor second")  # fmt: skip
    wanted = np.argsort(-(queries @ exact.T), axis=1)[:, :10]
    for compute in ("fp32", "bf16"):
        ours = measure(prepare_ours, run_ours, folder, limit, compute)
        vectors, seconds = ours.result
        top = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
        shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(top, wanted, strict=True)])
        print(
            f"{compute}: {n / ours.seconds:.1f} passages/s ({peer.seconds / ours.seconds:.2f}×), "
            f"{n / seconds:.1f} a processor second ({spent / seconds:.2f}×), cosine "
            f"{(vectors * exact).sum(axis=1).mean():.6f}, overlap of top-10 lists {shared:.4f}",
            flush=True,
        )
    builds()


if __name__ == "__main__":
    main()
