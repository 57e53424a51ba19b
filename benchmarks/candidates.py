"""Matrix products against FAISS on a CPU: figures behind :func:`choose_block_search`.

Processor seconds of one thread each, the ways in turn, the best of three rounds after a first one:
other work on the machine changes them little. Run it again with what cuts a processor's
instructions: ``ATEN_CPU_CAPABILITY=avx2 DNNL_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2`` cuts
torch's, ``OPENBLAS_CORETYPE=Haswell FAISS_OPT_LEVEL=AVX2`` FAISS's.
"""

import os
import time
from typing import Any

import numpy as np

from benchmarks.measure import machine

ROWS, DIMENSION, CANDIDATES, BLOCK = 32_768, 384, 22, 1 << 14
QUERIES = (1, 4, 16, 64, 256, 400, 512, 1500)
ROUNDS = 4


def unit(vectors: Any) -> Any:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def seconds(way: Any, queries: Any, corpus: Any) -> float:
    """Processor time of a whole search."""
    from citeforge.engines.retrieval.exact import TopScores

    best, begun = TopScores(len(queries), CANDIDATES), time.process_time()
    for start in range(0, len(corpus), BLOCK):
        scores, rows = way(corpus[start : start + BLOCK], CANDIDATES)
        best.add(scores, rows + start)
    return time.process_time() - begun


def main() -> None:
    """Print the times, and how much longer the choice takes than the better way."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import faiss
    import torch

    from citeforge.engines.retrieval.exact import Faiss, TorchSearch, choose_block_search

    faiss.omp_set_num_threads(1)
    torch.set_num_threads(1)
    print("##", machine("faiss-cpu", "torch"), flush=True)
    rng = np.random.default_rng(0)
    themes = rng.normal(size=(500, DIMENSION)) + 1.0
    corpus = unit(themes[rng.integers(0, 500, ROWS)] + rng.normal(size=(ROWS, DIMENSION)))
    for n in QUERIES:
        queries = unit(themes[rng.integers(0, 500, n)] + rng.normal(size=(n, DIMENSION)))
        times: dict[type, list[float]] = {Faiss: [], TorchSearch: []}
        for _ in range(ROUNDS):
            for way in (Faiss(queries), TorchSearch(queries, "cpu")):
                times[type(way)].append(seconds(way, queries, corpus))
        least = {way: min(taken[1:]) for way, taken in times.items()}
        choice = type(choose_block_search(queries, 1e13, "cpu"))
        ratio, loss = least[TorchSearch] / least[Faiss], least[choice] / min(least.values())
        print(
            f"{n:5} queries: faiss.knn {least[Faiss]:.3f} s, products {least[TorchSearch]:.3f} s "
            f"({ratio:.2f}×); {choice.__name__} is chosen, {loss:.2f}× the better",
            flush=True,
        )


if __name__ == "__main__":
    main()
