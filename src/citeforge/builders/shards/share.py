"""Shares of a build, done by processes that know nothing of each other but a folder.

A share of the vectors is every N-th shard of them; a share of mining is every N-th query, against
all vectors. Each is what a plain build computes, so that the build that takes them together gives
the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.builders.rage.build import RageBuild
from citeforge.builders.rage.exclusions import Exclusions
from citeforge.builders.rage.mining import SeeminglyRelevant
from citeforge.builders.shards.folder import (
    EMBED,
    EMBEDDINGS,
    MINE,
    MINED_WITHOUT,
    ShardFolder,
    claim,
    keep,
    mined,
    query_texts,
)
from citeforge.builders.shards.int8 import share_embedder
from citeforge.builders.stages.embedding import CorpusEmbedding
from citeforge.engines.embedding.embedder import Embedder, Kind
from citeforge.engines.embedding.vectors import PLURALS, ensure_shards
from citeforge.engines.io.corpus import embedding_texts
from citeforge.engines.io.files import remove_tree
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.search.two_stage import ExactSearch, Rows, Scores, TwoStageSearch
from citeforge.schemas.commands.shard import Shard
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes import RageRecipe, RunOptions


@dataclass(frozen=True)
class ShareOutcome:
    """What one share came to.

    Attributes:
        folder: where it lies.
        shard: which it was.
        passages: number of passages embedded, or that were there already.
        queries: number of queries embedded or mined, likewise.
    """

    folder: Path
    shard: Shard
    passages: int
    queries: int


def embed_shard(
    recipe: RageRecipe,
    run: RunOptions,
    shard: Shard,
    embedder: Callable[[], Embedder] | None = None,
) -> ShareOutcome:
    """Embed one share of the passages and queries of a build.

    Args:
        recipe: of the build; mixtures and mining may be said later.
        run: ``out`` is the folder that all shares have in common.
        shard: which share.
        embedder: makes the embedder; None for the recipe's.

    Raises:
        InputError: a source or the folder is at fault, or the folder holds shards of another
            build, model or kind of processor.
        UsageError: the build needs no vectors.
    """
    worker = _Worker(recipe, run, shard, embedder)
    with worker:
        return worker.embed_share()


def mine_shard(recipe: RageRecipe, run: RunOptions, shard: Shard) -> ShareOutcome:
    """Mine for one share of the queries of a build, in the vectors of all shares.

    Args:
        recipe: of the build.
        run: ``out`` is the folder that all shares have in common.
        shard: which share.

    Raises:
        InputError: as for :func:`embed_shard`; or a shard of the vectors is missing.
        UsageError: nothing is mined in such a build.
    """
    worker = _Worker(recipe, run.model_copy(update={"from_shards": run.folder}), shard, None)
    with worker:
        return worker.mine_share()


class _Some(ExactSearch):
    """Search for some of the queries alone."""

    def __init__(self, whole: ExactSearch | TwoStageSearch, rows: range) -> None:
        self._whole, self._of = whole, np.array(rows, np.int64)
        self.size = whole.size

    def retrieve_candidates(
        self, rows: Rows, k: int, floors: Scores | None = None
    ) -> tuple[Scores, Rows]:
        return self._whole.retrieve_candidates(self._of[rows], k, floors)

    def rescore(self, rows: Rows, positions: Rows) -> npt.NDArray[np.float64]:
        return self._whole.rescore(self._of[rows], positions)


class _Worker(RageBuild):
    def __init__(
        self,
        recipe: RageRecipe,
        run: RunOptions,
        shard: Shard,
        embedder: Callable[[], Embedder] | None,
    ) -> None:
        self.shard = shard
        super().__init__(recipe, run, embedder)

    def make_workspace(self) -> ShardFolder:
        self.place = ShardFolder(self.run.folder, self.shard)
        return self.place

    def _chooses_int8(self) -> bool:
        return False  # only where it was asked for: another machine may choose otherwise

    def __enter__(self) -> None:
        if self.recipe.candidates is not None:
            raise UsageError("--candidates: such a build needs no vectors, so there are no shares")
        if self.recipe.vectors is not None:
            raise UsageError("--vectors: such a build embeds nothing, so there are no shares")
        if not self.recipe.mining.seemingly_relevant:
            raise UsageError("--n-seemingly 0: such a build needs no vectors")
        self.draft()
        if not self.recipe.remine and self.source.mined():
            raise UsageError(
                f"{self.recipe.source} brings its negatives, so there is nothing to embed or mine; "
                "give --remine to mine anew"
            )

    def __exit__(self, *error: object) -> None:
        remove_tree(self.place.stage("archives"))

    def embed_share(self) -> ShareOutcome:
        """See :func:`embed_shard`."""
        facts = self.shard_facts(self.vectors_without())
        made_by = {"embedder": self.embedder.fingerprint(), "shard_rows": self.run.shard_rows}
        claim(self.place.root, EMBED, facts | made_by)
        self.read()
        total = sum(b.num_rows for b in iter_batches(self.corpus, ["_id"]))
        texts = embedding_texts(self.corpus, self.run.shard_rows)
        name, embedder = self._passages_by()
        passages = self._share("passage", texts, total, name, embedder)
        queries = self._share(
            "query", query_texts(self.records.queries["text"], self.run.shard_rows),
            self.records.queries.num_rows, PLURALS["query"], self.embedder,
        )  # fmt: skip
        return ShareOutcome(self.place.root, self.shard, passages, queries)

    def _passages_by(self) -> tuple[str, Embedder]:
        """First part of the names of shards of passages, and what embeds them."""
        if self.recipe.compute == "int8":
            found = share_embedder(
                self.place,
                CorpusEmbedding(
                    self.embedder, self.corpus, self.place.stage(EMBEDDINGS),
                    self.run.shard_rows, self.recipe.seed,
                ),
                self.records.queries.num_rows, self.recipe.mining,
            )  # fmt: skip
            if found is not None:
                return found
        return PLURALS["passage"], self.embedder

    def _share(
        self, kind: Kind, texts: Iterator[pa.Array], total: int, name: str, embedder: Embedder
    ) -> int:
        plural = PLURALS[kind]
        with progress(f"embedding {plural}", -(-total // self.shard.of), plural) as advance:
            shards = ensure_shards(
                self.place.stage(EMBEDDINGS), name, texts, embedder, kind, advance, self.shard.has
            )
        return sum(s.rows for s in shards)

    def mine_share(self) -> ShareOutcome:
        """See :func:`mine_shard`."""
        self.check_shards(self.place.root)
        if self.recipe.compute == "int8":
            raise UsageError(
                "--compute int8: what decides depends on what all queries nominate together; "
                f"leave mining to `build rage … --from-shards {self.place.root}`"
            )
        self.read()
        positions = self.relevant_positions()
        embedded = self.embed()
        claim(self.place.root, MINE, self.shard_facts(MINED_WITHOUT))
        key, name = self.mining_key(embedded), mined(self.shard)
        rows = range(self.shard.number - 1, self.records.queries.num_rows, self.shard.of)
        search = _Some(embedded.search(), rows)
        with self.place.alone(name):
            if self.place.finished(name, key) is None:
                whole = self.exclusions(positions)
                part = Exclusions(
                    [whole.relevant[r] for r in rows],
                    [whole.forbidden[r] for r in rows],
                    [whole.answers[r] for r in rows],
                )
                miner = SeeminglyRelevant(self.corpus, search, part, self.recipe.mining)
                keep(self.place, self.shard, key, rows, miner)
        return ShareOutcome(self.place.root, self.shard, search.size, len(rows))
