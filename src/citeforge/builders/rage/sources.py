"""The sources of a RAGE build and what makes its vectors: all that its manifest says before there
is a table."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from citeforge.builders.stages.build import Build, Workspace
from citeforge.builders.stages.shards import vector_facts
from citeforge.engines.embedding.embed import TransformerEmbedder
from citeforge.engines.embedding.embedder import Embedder, Prefixes
from citeforge.engines.embedding.precomputed import PrecomputedVectors, open_both
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.folders import beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.models.compute import choose_compute
from citeforge.engines.setup import judge_session, replay_store, run_embedder
from citeforge.ir_convert.registry import info_of, open_corpus, open_source, require_strict
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.schemas.benchmarks.manifest import GrammarInfo, Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Chosen, checked
from citeforge.schemas.recipes.records import RageRecipe, RunOptions
from citeforge.schemas.version import __version__

EmbedderMaker = Callable[[], Embedder]


def recipe_embedder(recipe: RageRecipe, run: RunOptions) -> Embedder:
    """The embedder that a recipe names."""
    prefixes = None
    if recipe.query_prefix is not None or recipe.passage_prefix is not None:
        prefixes = Prefixes(recipe.query_prefix or "", recipe.passage_prefix or "")
    return run_embedder(
        recipe.embedder,
        run,
        revision=recipe.embedder_revision,
        prefixes=prefixes,
        compute=recipe.compute,
    )


def settle_compute(
    recipe: RageRecipe,
    run: RunOptions,
    place: Workspace,
    make: EmbedderMaker | None,
    may_choose_int8: bool,
) -> tuple[RageRecipe, Embedder | None]:
    """The recipe with what is computed in (as it says, as begun, or as the processor can), and
    the embedder, as far as one was made for that.

    Raises:
        UsageError: this machine cannot, or the embedder does not compute here.
    """
    if run.from_shards is not None:  # the processor that made them may be another
        stored = vector_facts(run.from_shards).compute
        if recipe.compute == "auto":
            recipe = checked(RageRecipe, **{**recipe.model_dump(), "compute": stored})
        return recipe, None
    settled = recipe
    if recipe.compute == "auto" and run.resume:
        begun = place.begun()
        if isinstance(begun, RageRecipe):
            settled = recipe.model_copy(update={"compute": begun.compute})
    embedder = recipe_embedder(settled, run) if make is None else make()
    if (
        make is None
        and may_choose_int8
        and settled.compute == "auto"
        and isinstance(embedder, TransformerEmbedder)
        and choose_compute("auto", run.device) == "int8"
    ):
        settled = recipe.model_copy(update={"compute": "int8"})
        embedder = recipe_embedder(settled, run)
    # Of the workers' processors where a runner embeds; what is served has none.
    if (compute := getattr(embedder, "compute", None)) in get_args(Chosen):
        return recipe.model_copy(update={"compute": compute}), embedder
    if recipe.compute != "auto":
        raise UsageError(
            f"--compute {recipe.compute}: {recipe.embedder} does not compute here; leave it out",
            code="option-without-effect",
        )
    return recipe, embedder


@dataclass(frozen=True)
class RageSources:
    """What a build is made of.

    Attributes:
        recipe: of the build, with what is computed in.
        run: where and how.
        source: queries, judgements, gold and passages.
        extra: further passages to mine from.
        vectors: of passages and queries, where they were made elsewhere.
        embedder: gives what makes vectors; made at the first call.
        judge: what decided relevance in a source of claims, as manifests name it.
    """

    recipe: RageRecipe
    run: RunOptions
    source: Source
    extra: Source | None
    vectors: tuple[PrecomputedVectors, PrecomputedVectors] | None
    embedder: Callable[[], Embedder]
    judge: dict[str, Any] | None

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Models by their roles, as far as they are settled."""
        return {} if self.judge is None else {"relevance judge": self.judge}

    def infos(self) -> list[SourceInfo]:
        """Provenance of the sources so far."""
        first = info_of(self.source, self.recipe.licence)
        if self.extra is None:
            return [first]
        # Whoever licences the benchmark says nothing of a corpus that was made by others.
        other = info_of(self.extra, None)
        other.licence = self.recipe.extra_licence or other.licence
        return [first, other]

    def config(self) -> dict[str, Any]:
        """``config`` of the manifest."""
        recipe = self.recipe
        facts: dict[str, Any] = {}
        judge = None if self.judge is None else str(self.judge["name"])
        update: dict[str, Any] = {"judging": recipe.judging.model_copy(update={"judge": judge})}
        candidates = recipe.candidates or ""
        if candidates.startswith("run:"):
            facts["candidates_sha256"] = sha256_file(Path(candidates.removeprefix("run:")))
        if self.vectors is not None:
            facts["vectors_sha256"] = [v.sha256 for v in self.vectors]
        if recipe.decided is not None:
            facts["decided_sha256"] = sha256_file(recipe.decided)
            update["decided"] = Path(recipe.decided.name)
        return recipe.model_copy(update=update).recorded(**facts)

    def draft(self, build: Build) -> Manifest:
        """All of the manifest that is known before the tables are made."""
        infos, out = self.infos(), build.workspace.out
        draft = build.draft(
            self.config(), infos, self.recipe.licence or infos[0].licence,
            self.models, GrammarInfo(base=self.recipe.base),
        )  # fmt: skip
        # The embedder of a build that needed no vectors decided nothing.
        resumes = self.run.resume and (out / MANIFEST).is_file()
        if resumes and "embedder" in load_manifest(out).models:
            draft.models["embedder"] = self.fingerprint()
        return draft

    def fingerprint(self) -> dict[str, Any]:
        """What the vectors depend on besides the texts; of shards, what they were made by."""
        if self.vectors is not None:
            name, passages = self.recipe.vectors_model, self.vectors[0]
            return {"name": name, "vectors": "given", "dimension": passages.dimension}
        shards = self.run.from_shards
        return self.embedder().fingerprint() if shards is None else vector_facts(shards).embedder

    def shard_facts(self, without: Collection[str]) -> dict[str, Any]:
        """What shards depend on: sources, and the recipe without some of its fields."""
        config = json.loads(json.dumps(self.config()))
        return {
            "config": {name: value for name, value in config.items() if name not in without},
            "sources": [[i.spec, i.files, i.revision] for i in self.infos()],
            "citeforge": __version__,
        }


def open_sources(
    recipe: RageRecipe,
    run: RunOptions,
    place: Workspace,
    make: EmbedderMaker | None = None,
    may_choose_int8: bool = True,
) -> RageSources:
    """Open the sources of a build, and settle what is computed in.

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        place: folder of the build.
        make: makes the embedder; None for the recipe's.
        may_choose_int8: whether int8 is chosen where the processor is quicker by it.

    Raises:
        InputError: a source or a file of vectors is at fault.
        UsageError: a judge of a source that has judgements, or numbers that cannot be computed in.
    """
    judge = _relevance_judge(recipe, run)
    identity = None if judge is None else judge.judge.identity()
    read = ReadOptions(
        recipe.skip_empty,
        recipe.skip_dangling,
        place.stage("archives"),
        recipe.skip_contradictions,
        judge,
        extra_fields=recipe.extra_fields,
    )
    require_strict(recipe.extra_fields, recipe.source, recipe.extra_corpus)
    source = open_source(recipe.source, recipe.split, read)
    extra = None
    if recipe.extra_corpus:
        extra = open_corpus(recipe.extra_corpus, None, read, "--extra-corpus")
    vectors = None
    if recipe.vectors is not None and recipe.query_vectors is not None:
        vectors = open_both(recipe.vectors, recipe.query_vectors)
    embeds = recipe.vectors is None and _mines_by_vectors(recipe, source)
    settled, embedder = (
        settle_compute(recipe, run, place, make, may_choose_int8) if embeds else (recipe, None)
    )

    @cache
    def embedder_when_needed() -> Embedder:
        if embedder is not None:
            return embedder
        return recipe_embedder(settled, run) if make is None else make()

    return RageSources(settled, run, source, extra, vectors, embedder_when_needed, identity)


def _mines_by_vectors(recipe: RageRecipe, source: Source) -> bool:
    """Whether negatives are found by vectors: no other ranking and no mapping is given."""
    if recipe.candidates is not None or not recipe.mining.seemingly_relevant:
        return False
    return recipe.remine or not source.mined()


def _relevance_judge(recipe: RageRecipe, run: RunOptions) -> JudgeSession | None:
    """What decides relevance in a source of claims.

    Raises:
        UsageError: the source has judgements.
    """
    judging = recipe.judging
    if judging.judge is None:
        return None
    if not recipe.source.startswith("alce:"):
        raise UsageError(
            f"--judge decides relevance in ALCE's ELI5 items alone; {recipe.source} has judgements",
            code="option-without-effect",
        )
    store = replay_store(run, judging.judge)
    return judge_session(judging, run, beside(run.folder, ".verdicts.db"), store)
