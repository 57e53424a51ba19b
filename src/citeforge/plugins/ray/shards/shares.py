"""Shares of a build, done by processes that know nothing of each other but a folder.

A share of the vectors is every N-th shard of them; a share of mining is every N-th query, against
all vectors. Each is what a plain build computes, so that the build that takes them together gives
the same bytes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.builders.rage.exclusions import Exclusions
from citeforge.builders.rage.material import read_material
from citeforge.builders.rage.mining import SeeminglyRelevant
from citeforge.builders.rage.negatives import make_vectors, mining_key
from citeforge.builders.rage.sources import EmbedderMaker, RageSources, open_sources
from citeforge.builders.stages.embedding import pieces_of
from citeforge.builders.stages.shards import (
    EMBED,
    EMBEDDINGS,
    MINE,
    MINED_WITHOUT,
    VECTORS_WITHOUT,
    ShardFolder,
    claim,
    keep,
    mined,
    require_facts,
)
from citeforge.engines.embedding.embedder import Kind
from citeforge.engines.embedding.vectors import PLURALS, ensure_shards
from citeforge.engines.io.corpus import embedding_texts
from citeforge.engines.io.files import remove_tree
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.search.two_stage import ExactSearch, Rows, Scores, TwoStageSearch
from citeforge.schemas.command_options import Shard
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.records import RageRecipe, RunOptions


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
    recipe: RageRecipe, run: RunOptions, shard: Shard, embedder: EmbedderMaker | None = None
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
    with _opened(recipe, run, shard, embedder) as (place, sources):
        model = sources.embedder()
        made_by = {"embedder": model.fingerprint(), "shard_rows": run.shard_rows}
        claim(place.root, EMBED, sources.shard_facts(VECTORS_WITHOUT) | made_by)
        material = read_material(sources, place)
        corpus, queries = material.corpus, material.queries

        def share(kind: Kind, texts: Iterator[pa.Array], total: int) -> int:
            plural = PLURALS[kind]
            with progress(f"embedding {plural}", -(-total // shard.of), plural) as advance:
                folder = place.stage(EMBEDDINGS)
                shards = ensure_shards(folder, plural, texts, model, kind, advance, shard.has)
            return sum(s.rows for s in shards)

        total = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))
        passages = share("passage", embedding_texts(corpus, run.shard_rows), total)
        texts = pieces_of(pa.concat_arrays(queries["text"].chunks), run.shard_rows)
        n_queries = share("query", texts, queries.num_rows)
        return ShareOutcome(place.root, shard, passages, n_queries)


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
    run = run.model_copy(update={"from_shards": run.folder})
    with _opened(recipe, run, shard, None) as (place, sources):
        require_facts(place.root, sources.shard_facts(VECTORS_WITHOUT))
        material = read_material(sources, place)
        positions = material.relevant_positions()
        embedded = make_vectors(material, place.stage(EMBEDDINGS))
        claim(place.root, MINE, sources.shard_facts(MINED_WITHOUT))
        key, name = mining_key(material, embedded), mined(shard)
        rows = range(shard.number - 1, material.queries.num_rows, shard.of)
        search = _Some(embedded.search(), rows)
        with place.alone(name):
            if place.finished(name, key) is None:
                whole = material.exclusions(positions)
                part = Exclusions(
                    whole.corpus,
                    whole.mining,
                    [whole.relevant[r] for r in rows],
                    [whole.forbidden[r] for r in rows],
                    [whole.answers[r] for r in rows],
                )
                miner = SeeminglyRelevant(search, part)
                keep(place, shard, key, rows, miner)
        return ShareOutcome(place.root, shard, search.size, len(rows))


@contextmanager
def _opened(
    recipe: RageRecipe, run: RunOptions, shard: Shard, embedder: EmbedderMaker | None
) -> Iterator[tuple[ShardFolder, RageSources]]:
    """The folder of all shares, and the sources; what the share unpacks goes when it ends.

    Raises:
        UsageError: the build needs no vectors.
    """
    place = ShardFolder(run.folder, shard)
    if recipe.candidates is not None:
        raise UsageError(
            "--shard: a build with --candidates needs no vectors; leave --shard out",
            code="option-without-effect",
        )
    if recipe.vectors is not None:
        raise UsageError(
            "--shard: a build with --vectors embeds nothing; leave --shard out",
            code="option-without-effect",
        )
    if recipe.compute == "int8":
        raise UsageError(
            "--compute int8 needs the candidates of all queries together; leave it out, or build "
            "without shares (--engine ray spreads such a build)",
            code="conflicting-options",
        )
    if not recipe.mining.seemingly_relevant:
        raise UsageError(
            "--shard: a build with --n-seemingly 0 needs no vectors; leave --shard out",
            code="option-without-effect",
        )
    # int8 only where it was asked for: another machine may choose otherwise.
    sources = open_sources(recipe, run, place, embedder, may_choose_int8=False)
    if not recipe.remine and sources.source.mined():
        raise UsageError(
            f"{recipe.source} has its own negatives, so there is nothing to embed or mine; "
            "give --remine to mine anew",
            code="option-without-effect",
        )
    try:
        yield place, sources
    finally:
        remove_tree(place.stage("archives"))


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
