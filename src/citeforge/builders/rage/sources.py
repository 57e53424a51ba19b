"""What a RAGE benchmark is made of: its sources read, its corpus written, its model known."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import Any

from citeforge.builders.shards.folder import (
    VECTORS_WITHOUT,
    ShardFolder,
    compute_of,
    embedder_of,
    require_facts,
)
from citeforge.builders.stages.corpus import write_corpus
from citeforge.builders.stages.records import read_records
from citeforge.builders.stages.skeleton import Build
from citeforge.engines.cluster.embedding import ClusterEmbedder
from citeforge.engines.embedding.embed import TransformerEmbedder, make_embedder
from citeforge.engines.embedding.embedder import Embedder, Prefixes
from citeforge.engines.embedding.precomputed import PrecomputedVectors, open_both
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.folders import beside
from citeforge.engines.io.tables import (
    shard_paths,
)
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.models.compute import choose_compute
from citeforge.engines.setup import client_options, cluster_options, judge_session, replay_store
from citeforge.ir_convert.registry import licence_of, open_corpus, open_source
from citeforge.ir_convert.source import ReadOptions
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.schemas.benchmarks.manifest import GrammarInfo, Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes import RageRecipe, RunOptions
from citeforge.schemas.recipes.base import checked, model_name
from citeforge.schemas.version import __version__


def recipe_embedder(recipe: RageRecipe, run: RunOptions) -> Embedder:
    """The embedder that a recipe names."""
    prefixes = None
    if recipe.query_prefix is not None or recipe.passage_prefix is not None:
        prefixes = Prefixes(recipe.query_prefix or "", recipe.passage_prefix or "")
    return make_embedder(
        recipe.embedder,
        revision=recipe.embedder_revision,
        device=run.device,
        prefixes=prefixes,
        options=client_options(run),
        store=replay_store(run),
        compute=recipe.compute,
        cluster=cluster_options(run),
        input_type=recipe.input_type,
    )


class RageSources(Build[RageRecipe]):
    """The part of a build that comes before its vectors."""

    def __init__(
        self, recipe: RageRecipe, run: RunOptions, embedder: Callable[[], Embedder] | None
    ) -> None:
        super().__init__(recipe, run)
        self._given = embedder
        self.models: dict[str, dict[str, Any]] = {}

    @cached_property
    def embedder(self) -> Embedder:
        """What makes vectors, once it is known what to compute in."""
        return recipe_embedder(self.recipe, self.run) if self._given is None else self._given()

    def draft(self) -> Manifest:
        recipe = self.recipe
        read = ReadOptions(
            recipe.skip_empty,
            recipe.skip_dangling,
            self.workspace.stage("archives"),
            recipe.skip_contradictions,
            self._judge(),
        )
        self.source = open_source(recipe.source, recipe.split, read)
        self.extra = None
        if recipe.extra_corpus:
            self.extra = open_corpus(recipe.extra_corpus, None, read, "--extra-corpus")
        self.recipe = recipe = self._computing()
        infos = self._infos()
        draft = self.manifest(
            self._told(), infos, recipe.licence or infos[0].licence,
            dict(self.models), GrammarInfo(base=recipe.base),
        )  # fmt: skip
        resumes = self.run.resume and (self.workspace.out / MANIFEST).is_file()
        # The embedder of a build that needed no vectors decided nothing.
        if resumes and "embedder" in load_manifest(self.workspace.out).models:
            draft.models["embedder"] = self.fingerprint()
        return draft

    def _computing(self) -> RageRecipe:
        """The recipe with what is computed in: as told, as begun, or as the processor can.

        Raises:
            UsageError: this machine cannot, or the embedder does not compute here.
        """
        recipe, told = self.recipe, self.recipe.compute
        if recipe.vectors is not None or not self._mines():
            return recipe
        if self.run.from_shards is not None:  # the processor that made them may be another
            made = compute_of(self.run.from_shards)
            return (
                recipe
                if recipe.compute != "auto"
                else checked(RageRecipe, **{**recipe.model_dump(), "compute": made})
            )
        if recipe.compute == "auto" and self.run.resume:
            begun = self.workspace.begun()
            if isinstance(begun, RageRecipe):
                self.recipe = recipe = recipe.model_copy(update={"compute": begun.compute})
        if self._given is None and recipe.compute == "auto" and self._chooses_int8():
            self.recipe = recipe = recipe.model_copy(update={"compute": "int8"})
            del self.embedder
        if isinstance(self.embedder, TransformerEmbedder | ClusterEmbedder):
            return recipe.model_copy(update={"compute": self.embedder.compute})
        if told != "auto":
            raise UsageError(
                f"--compute {told}: {recipe.embedder} does not compute here; leave it out"
            )
        return recipe.model_copy(update={"compute": told})

    def _mines(self) -> bool:
        """Whether negatives are found by vectors: no other ranking and no mapping is given."""
        recipe = self.recipe
        if recipe.candidates is not None or not recipe.mining.seemingly_relevant:
            return False
        return recipe.remine or not self.source.mined()

    def _chooses_int8(self) -> bool:
        here = isinstance(self.embedder, TransformerEmbedder)
        return here and choose_compute("auto", self.run.device) == "int8"

    def _judge(self) -> JudgeSession | None:
        """What decides relevance in a source of claims.

        Raises:
            UsageError: the source has judgements.
        """
        judging = self.recipe.judging
        if judging.judge is None:
            return None
        if not self.recipe.source.startswith("alce:"):
            raise UsageError(
                f"--judge: it decides relevance in ALCE's ELI5 items, and {self.recipe.source} "
                "brings judgements"
            )
        store = replay_store(self.run, judging.judge)
        verdicts = beside(self.run.folder, ".verdicts.db")
        judge = judge_session(judging, self.run, verdicts, store)
        if judge is not None:
            self.models["relevance judge"] = judge.judge.identity()
        return judge

    def _told(self) -> dict[str, Any]:
        """``config`` of the manifest."""
        judge = model_name(self.models, "relevance judge")
        judging = self.recipe.judging.model_copy(update={"judge": judge})
        facts: dict[str, Any] = {}
        candidates = self.recipe.candidates or ""
        if candidates.startswith("run:"):
            facts["candidates_sha256"] = sha256_file(Path(candidates.removeprefix("run:")))
        if self.vectors_given is not None:
            facts["vectors_sha256"] = [v.sha256 for v in self.vectors_given]
        told: dict[str, Any] = {"judging": judging}
        if self.recipe.decided is not None:
            facts["decided_sha256"] = sha256_file(self.recipe.decided)
            told["decided"] = Path(self.recipe.decided.name)
        return self.recipe.model_copy(update=told).recorded(**facts)

    def _infos(self) -> list[SourceInfo]:
        """Provenance of the sources so far."""
        first = self.source.info()
        first.licence = first.licence or licence_of(first.kind) or self.recipe.licence
        if self.extra is None:
            return [first]
        other = self.extra.info()
        # Whoever licences the benchmark says nothing of a corpus that was made by others.
        other.licence = self.recipe.extra_licence or other.licence or licence_of(other.kind)
        return [first, other]

    def read(self) -> None:
        """Queries, judgements and the corpus."""
        self.records = read_records(self.source, self.recipe)
        with self.workspace.alone("corpus"):
            self.infos = self._corpus_stage()
        self.corpus = shard_paths(self.corpus_folder, "corpus")

    def fingerprint(self) -> dict[str, Any]:
        """What the vectors depend on besides the texts; of shards, what they were made by."""
        if self.vectors_given is not None:
            name, passages = self.recipe.vectors_model, self.vectors_given[0]
            return {"name": name, "vectors": "given", "dimension": passages.dimension}
        shards = self.run.from_shards
        return self.embedder.fingerprint() if shards is None else embedder_of(shards)

    @cached_property
    def vectors_given(self) -> tuple[PrecomputedVectors, PrecomputedVectors] | None:
        """Vectors of passages and queries that the recipe names.

        Raises:
            InputError: they are no vectors, or not of one dimension.
        """
        if self.recipe.vectors is None or self.recipe.query_vectors is None:
            return None
        return open_both(self.recipe.vectors, self.recipe.query_vectors)

    def check_shards(self, folder: Path) -> None:
        """Refuse shards of another build.

        Raises:
            InputError: names what differs.
        """
        require_facts(folder, self.shard_facts(self.vectors_without()))

    def vectors_without(self) -> frozenset[str]:
        """Fields of the recipe that vectors do not depend on.

        In int8, how many passages a query needs tells whether there are two stages at all.
        """
        return VECTORS_WITHOUT - ({"mining"} if self.recipe.compute == "int8" else set())

    def shard_facts(self, without: Collection[str]) -> dict[str, Any]:
        """What shards depend on: sources, and the recipe without some of its fields."""
        told = json.loads(json.dumps(self._told()))
        return {
            "config": {name: value for name, value in told.items() if name not in without},
            "sources": [[i.spec, i.files, i.revision] for i in self._infos()],
            "citeforge": __version__,
        }

    def _corpus_stage(self) -> list[SourceInfo]:
        infos = self._infos()
        key = {
            "sources": [[i.spec, i.files, i.revision] for i in infos],
            "skip_empty": self.recipe.skip_empty,
            "extra_prefix": self.recipe.extra_prefix,
            "citeforge": __version__,
        }
        known, place = None, self.workspace
        if self.run.from_shards is not None:
            place = ShardFolder(self.run.from_shards)
            known = place.finished("corpus", key)
        if known is None:
            place = self.workspace
            known = place.finished("corpus", key)
        self.corpus_folder = place.stage("corpus")
        if known is not None:
            for info, counts in zip(infos, known["counts"], strict=True):
                info.counts.update(counts)
            return infos
        files = write_corpus(
            self.source, self.extra, self.workspace.start("corpus"), self.recipe.extra_prefix
        )
        infos = self._infos()
        self.workspace.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
        return infos
