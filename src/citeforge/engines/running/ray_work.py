"""Work of Ray workers: embed texts, search shards of vectors, judge pairs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.judge.records import Decision, Keep, Pair
from citeforge.engines.models.embedder import Role, Vectors
from citeforge.engines.models.vectors import VectorShard, unit_rows
from citeforge.engines.progress import Advance
from citeforge.engines.retrieval.exact import Floats, TopScores, choose_block_search
from citeforge.engines.running.ray_cluster import LoadedModel, Pool
from citeforge.schemas.recipes.ray import RayOptions

_PAIRS = 128
"""Pairs per block: batches of 8 and of 32 are cut in it where they would be cut here."""


@dataclass
class ClusterEmbedder(Pool):
    """An embedder that runs in Ray workers."""

    def load(self) -> LoadedModel:
        """Load the embedder in a worker: (its fingerprint, its method ``encode``)."""
        embedder = self.make()
        return embedder.fingerprint(), embedder.encode

    def fingerprint(self) -> dict[str, Any]:
        """Describe the embedder for manifests, as a worker loads it."""
        return self.facts

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Embed queries or passages (``kind``) as one block in a worker."""
        vectors: Vectors
        ((_, vectors),) = self.run([(_block_name(texts), (texts, kind))])
        return vectors

    def encode_each(self, shards: Iterable[pa.Array], kind: Role) -> Iterator[tuple[int, Vectors]]:
        """Embed shards of queries or passages in workers; yield (shard number, vectors) as done."""
        lists = (shard.to_pylist() for shard in shards)  # a pickled slice holds the whole array
        return self.run((_block_name(texts), (texts, kind)) for texts in lists)


def _make_shard_search(queries: Floats, n_operations: float, device: str) -> Callable[..., Any]:
    """Make the function that finds, for every query, the nearest rows of a shard of vectors."""
    search = choose_block_search(
        queries.copy(), n_operations, device
    )  # torch warns of Ray's own memory
    return lambda rows, k: search(unit_rows(rows.astype(np.float32)), min(k, len(rows)))


def search_shards(
    options: RayOptions, device: str, queries: Floats, shards: Sequence[VectorShard], k: int,
    advance: Advance,
) -> tuple[Floats, npt.NDArray[np.int64]]:  # fmt: skip
    """Find each query's k nearest rows of all shards in the workers: (scores, row numbers).

    Args:
        options: cluster and number of workers.
        device: device of a worker.
        queries: unit vectors.
        shards: vectors of the corpus, in order.
        k: how many to find.
        advance: takes the number of vectors searched.
    """
    starts = np.cumsum([0, *(shard.rows for shard in shards)])
    work = 2.0 * queries.size * float(starts[-1]) / (options.workers or 1)
    pool = Pool(partial(_make_shard_search, queries, work, device), device, options)
    best = TopScores(len(queries), k)  # ties in any order: candidates are scored again
    for number, (scores, rows) in pool.run((str(s.path), (s.read(), k)) for s in shards):
        best.add(scores, rows + starts[number])
        advance(shards[number].rows)
    return best.scores, best.positions


@dataclass
class ClusterJudge(Pool):
    """A judge that runs in Ray workers; it batches pairs as a judge in one process does."""

    batch: int | None = None

    def __post_init__(self) -> None:
        """Load the judge in a first worker to learn its signature; set the block size."""
        self.signature, self.comparable = self.facts["signature"], self.facts["comparable"]
        self._size = _PAIRS if self.batch is None else self.batch * max(1, _PAIRS // self.batch)

    def load(self) -> LoadedModel:
        """Load the judge in a worker: (its description, the function that judges a block)."""
        judge = self.make()

        def judge_or_count(only_counts: bool, pairs: Sequence[Pair]) -> list[Any]:
            """Judge (premise, hypothesis) pairs; or only count each pair's tokens."""
            if only_counts:
                return [judge.count_tokens([pair]) for pair in pairs]
            decisions: dict[int, Decision] = {}
            judge.decide(pairs, decisions.update)
            return [decisions[i] for i in range(len(pairs))]

        facts = {name: getattr(judge, name) for name in ("signature", "comparable")}
        return {**facts, "judge": judge.identity()}, judge_or_count

    def identity(self) -> dict[str, Any]:
        """Describe the judge for manifests, as a worker loads it."""
        return dict(self.facts["judge"])

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Count the tokens of all pairs together; None if the judge counts none."""
        counts = self._count_each(pairs).values()
        return None if None in counts else sum(n or 0 for n in counts)

    def _count_each(self, pairs: Sequence[Pair]) -> dict[int, int | None]:
        """Count each pair's tokens in the workers: index of the pair to its count."""
        return dict(chain.from_iterable(self._run_pairs(True, pairs, range(len(pairs)))))

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Judge pairs in the workers, longest first; pass decisions to ``keep`` by pair index.

        Args:
            pairs: premises and hypotheses.
            keep: takes decisions as they come, each with the index of its pair.
        """
        order: Sequence[int] = range(len(pairs))
        if len(pairs) > self._size:  # a worker sorts the pairs of one block itself
            counts = self._count_each(pairs)
            order = sorted(order, key=lambda i: (-(counts[i] or 0), pairs[i]))
        for decisions in self._run_pairs(False, pairs, order):
            keep(decisions)

    def _run_pairs(
        self, only_counts: bool, pairs: Sequence[Pair], pair_order: Sequence[int]
    ) -> Iterator[list[tuple[int, Any]]]:
        """Judge or count pairs in blocks; yield per block (pair index, decision or count) pairs.

        Args:
            only_counts: whether tokens are counted in place of judging.
            pairs: premises and hypotheses.
            pair_order: indices of the pairs in the order in which blocks take them.
        """
        cuts = [pair_order[at : at + self._size] for at in range(0, len(pair_order), self._size)]
        blocks = ([pairs[i] for i in cut] for cut in cuts)
        for number, results in self.run((_block_name(b), (only_counts, b)) for b in blocks):
            yield list(zip(cuts[number], results, strict=True))


def _block_name(texts: Sequence[object]) -> str:
    """Name a block of texts in errors, by its size and the beginning of its first text."""
    return f"{len(texts):,} texts from {str(texts[0])[:60]!r} on" if texts else "no texts"
