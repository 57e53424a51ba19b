"""One machine, many passages: exact search, and a whole build with vectors given.

Not among what `make bench` runs: `python -m benchmarks.scale --vectors 21000000 --passages
500000,5000000 --folder /somewhere` needs 16 GB and 12 GB of disk and leaves nothing there.
"""

import argparse
import json
import os
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import machine, measure, vocabulary

DIMENSION = 384
QUERIES = 3452
SAMPLED = 8
_BLOCK = 1 << 15


def make_vectors(path: Path, rows: int, seed: int) -> None:
    """Write a float16 matrix in NumPy's format: each value one of 256, drawn uniformly.

    Sums of 384 such products are as good as normal, and random bytes are quickly made.
    """
    table = np.linspace(-1, 1, 256, dtype=np.float16)
    rng = np.random.default_rng(seed)
    with path.open("wb") as file:
        head = {"descr": "<f2", "fortran_order": False, "shape": (rows, DIMENSION)}
        np.lib.format.write_array_header_1_0(file, head)
        for start in range(0, rows, _BLOCK):
            size = min(_BLOCK, rows - start) * DIMENSION
            table[np.frombuffer(rng.bytes(size), np.uint8)].tofile(file)


def _blocks(path: Path, rows: int) -> Iterator[tuple[int, Any]]:
    with path.open("rb") as file:
        file.seek(path.stat().st_size - 2 * rows * DIMENSION)
        for start in range(0, rows, _BLOCK):
            flat = np.fromfile(file, "<f2", min(_BLOCK, rows - start) * DIMENSION)
            yield start, flat.reshape(-1, DIMENSION).astype(np.float64)


def brute_force(folder: str, rows: int, k: int) -> list[list[int]]:
    """The nearest by the definition, in float64, of a few queries; nothing of ours takes part."""
    queries = next(_blocks(Path(folder) / "queries.npy", QUERIES))[1][:SAMPLED]
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    scores, where = np.empty((SAMPLED, 0)), np.empty((SAMPLED, 0), int)
    for start, block in _blocks(Path(folder) / "vectors.npy", rows):
        new = queries @ (block / np.linalg.norm(block, axis=1, keepdims=True)).T
        scores = np.concatenate([scores, new], axis=1)
        places = np.tile(np.arange(start, start + len(block)), (SAMPLED, 1))
        where = np.concatenate([where, places], axis=1)
        order = np.argsort(-scores, axis=1)[:, :k]
        scores = np.take_along_axis(scores, order, axis=1)
        where = np.take_along_axis(where, order, axis=1)
    found: list[list[int]] = where.tolist()
    return found


def prepare_search(folder: str, rows: int) -> Any:
    import faiss  # noqa: F401
    import pyarrow as pa
    import torch  # noqa: F401

    from citeforge.engines.models.precomputed import open_vectors, passage_shards, query_rows

    def ids(n: int) -> Iterator[pa.Array]:
        for start in range(0, n, 8192):
            yield pa.array([str(i) for i in range(start, min(start + 8192, n))])

    base = Path(folder)
    names = [str(i) for i in range(QUERIES)]
    queries = query_rows(open_vectors(base / "queries.npy"), names, names)
    begun = time.perf_counter()
    given = open_vectors(base / "vectors.npy")
    shards = passage_shards(given, ids(rows), rows, base, lambda *_: None)
    return queries, shards, time.perf_counter() - begun


def run_search(state: Any) -> tuple[list[list[int]], float, float]:
    """(top 10 of each query by float64 score, seconds of checks, processor seconds of all)."""
    from citeforge.engines.retrieval.exact import CANDIDATE_ERROR, rescore, retrieve_candidates

    queries, shards, checked = state
    k, wanted = 16, 10
    floor, positions = retrieve_candidates(queries, shards, k, lambda *_: None)
    rows = np.repeat(np.arange(len(queries)), k)
    exact = rescore(queries, shards, rows, positions.ravel()).reshape(-1, k)
    order = np.lexsort((positions, -exact), axis=1)[:, :wanted]
    tenth = np.take_along_axis(exact, order, axis=1)[:, -1]
    # What is no candidate cannot be among the ten.
    assert (tenth > floor[:, -1] + CANDIDATE_ERROR).all()
    used = resource.getrusage(resource.RUSAGE_SELF)
    found: list[list[int]] = np.take_along_axis(positions, order, axis=1).tolist()
    return found, checked, used.ru_utime + used.ru_stime


def search(folder: str, rows: int) -> None:
    """Print time and memory of the exact top 10."""
    make_vectors(Path(folder) / "vectors.npy", rows, 1)
    make_vectors(Path(folder) / "queries.npy", QUERIES, 2)
    before = os.getloadavg()[0]
    done = measure(prepare_search, run_search, folder, rows)
    found, checked, used = done.result
    right = brute_force(folder, rows, 10)
    same = sum(set(a) == set(b) for a, b in zip(found, right, strict=False))
    print(
        f"{QUERIES:,} queries over {rows:,} × {DIMENSION} on disk: {done.seconds:,.0f} s (and "
        f"{checked:,.0f} s of hashing and checking every value), {used:,.0f} s of processor time "
        f"in all, peak {done.peak_mb:,.0f} MB; {same} of {SAMPLED} lists are those of float64 by "
        f"brute force; load {before:.1f} → {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def make_source(folder: Path, passages: int) -> None:
    """Write a BEIR folder with passages of real length (some 600 characters), and vectors."""
    rng = random.Random(0)
    words = vocabulary(0)
    sentences = [" ".join(rng.choices(words, k=rng.randint(8, 24))) + "." for _ in range(1 << 15)]
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as file:
        for i in range(passages):
            text = " ".join(rng.choices(sentences, k=rng.randint(3, 9)))
            row = {"_id": f"doc{i}", "title": sentences[i % 1000][:40], "text": text}
            file.write(json.dumps(row) + "\n")
    with (folder / "queries.jsonl").open("w") as file:
        for i in range(QUERIES):
            file.write(json.dumps({"_id": f"q{i}", "text": f"what is {sentences[i]}"}) + "\n")
    lines = [f"q{i}\tdoc{rng.randrange(passages)}\t1" for i in range(QUERIES)]
    header = "query-id\tcorpus-id\tscore"
    (folder / "qrels" / "test.tsv").write_text("\n".join([header, *lines]) + "\n")
    make_vectors(folder / "vectors.npy", passages, 1)
    make_vectors(folder / "queries.npy", QUERIES, 2)


def prepare_build(folder: str) -> Any:
    import faiss  # noqa: F401
    import pandas  # noqa: F401
    import torch  # noqa: F401

    from citeforge.builders.rage.build import build_rage
    from citeforge.schemas.recipes.base import RunOptions
    from citeforge.schemas.recipes.rage import RageRecipe

    recipe = RageRecipe(
        source=f"beir:{folder}",
        vectors=Path(folder) / "vectors.npy",
        query_vectors=Path(folder) / "queries.npy",
        vectors_model="random",
        licence="cc0-1.0",
    )
    return build_rage, recipe, RunOptions(out=Path(folder) / "out")


def run_build(state: Any) -> float:
    build, recipe, run = state
    build(recipe, run)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def whole_build(passages: int, place: str | None) -> None:
    """Print time and memory of `build rage --vectors`."""
    with TemporaryDirectory(dir=place) as folder:
        make_source(Path(folder), passages)
        before = os.getloadavg()[0]
        done = measure(prepare_build, run_build, folder)
        size = (Path(folder) / "corpus.jsonl").stat().st_size
        print(
            f"build rage over {passages:,} passages ({size / 1e6:,.0f} MB of JSON Lines): "
            f"{done.seconds:,.0f} s, {done.result:,.0f} s of processor time "
            f"({1e6 * done.result / passages:,.0f} µs a passage), peak {done.peak_mb:,.0f} MB; "
            f"load {before:.1f} → {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", default="", help="sizes for the search, with commas between")
    parser.add_argument("--passages", default="", help="sizes for the build, likewise")
    parser.add_argument("--folder", help="where there is room (default: the system's)")
    asked = parser.parse_args(arguments)
    print("##", machine("faiss-cpu", "torch", "numpy", "pyarrow"), flush=True)
    for rows in filter(None, asked.vectors.split(",")):
        with TemporaryDirectory(dir=asked.folder) as folder:
            search(folder, int(rows))
    for passages in filter(None, asked.passages.split(",")):
        whole_build(int(passages), asked.folder)


if __name__ == "__main__":
    main()
