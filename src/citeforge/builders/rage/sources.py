"""Inputs of a RAGE build: sources, embedder, judge."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from citeforge.builders.build import Build, Workspace
from citeforge.builders.rage.pool_judges import PoolJudge, make_pool_judge
from citeforge.engines.files import sha256_file
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.models.embedder import Embedder, model_of
from citeforge.engines.models.precomputed import PrecomputedVectors, open_both
from citeforge.engines.models.prefixes import Prefixes
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.running.setup import build_judge, is_served, replay_store, run_embedder
from citeforge.ir_convert.registry import (
    SOURCES,
    check_extra_fields,
    info_of,
    open_corpus,
    open_source,
)
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.schemas.errors import UsageError, require
from citeforge.schemas.manifest import POOL_JUDGE, GrammarInfo, Manifest
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.sources import SourceInfo


def recipe_embedder(recipe: RageRecipe, run: RunOptions) -> Embedder:
    """Make the embedder that a recipe names, with its prefixes for queries and passages."""
    prefixes = None
    if recipe.query_prefix is not None or recipe.passage_prefix is not None:
        prefixes = Prefixes(recipe.query_prefix or "", recipe.passage_prefix or "", "given")
    return run_embedder(recipe.embedder, run, revision=recipe.embedder_revision, prefixes=prefixes)


@dataclass(frozen=True)
class RageSources:
    """Opened inputs of a RAGE build: sources, vectors, embedder, judge.

    Attributes:
        recipe: recipe of the build.
        run: options of the run.
        source: queries, judgements, gold and passages.
        extra: further passages to mine from.
        vectors: vectors of passages and queries that the user supplies; None if there are none.
        given_embedder: embedder to use; None for the recipe's.
        judge: identity of the judge that decided relevance in a source of claims.
        pool_judge: judge of the pool; None if people's judgements are taken.
    """

    recipe: RageRecipe
    run: RunOptions
    source: Source
    extra: Source | None
    vectors: tuple[PrecomputedVectors, PrecomputedVectors] | None
    given_embedder: Embedder | None
    judge: dict[str, Any] | None
    pool_judge: PoolJudge | None = None

    @cached_property
    def embedder(self) -> Embedder:
        """Embedding model of the build, loaded when it is first used."""
        return self.given_embedder or recipe_embedder(self.recipe, self.run)

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Identities of a build's judges (and of BM25, if it ranks passages to judge), by role."""
        models = {} if self.judge is None else {"relevance judge": self.judge}
        if self.pool_judge is not None:
            models |= {POOL_JUDGE: self.pool_judge.identity(), "pool ranking": Bm25.identity()}
        return models

    def infos(self) -> list[SourceInfo]:
        """Get the provenance of a build's sources, with the counts made so far."""
        first = info_of(self.source, self.recipe.licence)
        if self.extra is None:
            return [first]
        # The licence of the benchmark does not cover a corpus that was made by others.
        other = info_of(self.extra, None)
        other.licence = self.recipe.extra_licence or other.licence
        return [first, other]

    def config(self) -> dict[str, Any]:
        """Make the manifest's ``config``: the recipe, and digests of files that it names."""
        recipe = self.recipe
        facts: dict[str, Any] = {}
        judge = None if self.judge is None else str(self.judge["name"])
        update: dict[str, Any] = {"judging": recipe.judging.model_copy(update={"judge": judge})}
        if self.pool_judge is not None:
            name = str(self.pool_judge.identity()["name"])
            update["pool"] = recipe.pool.model_copy(update={"judge": name})
            if self.pool_judge.prompts:
                facts["prompts"] = dict(self.pool_judge.prompts)
        if recipe.labels:
            facts["labels_sha256"] = [sha256_file(path) for path in recipe.labels]
            update["labels"] = tuple(Path(path.name) for path in recipe.labels)
        candidates = recipe.candidates or ""
        if candidates.startswith("run:"):
            facts["candidates_sha256"] = sha256_file(Path(candidates.removeprefix("run:")))
        if self.vectors is not None:
            facts["vectors_sha256"] = [v.sha256 for v in self.vectors]
        if recipe.decided is not None:
            facts["decided_sha256"] = sha256_file(recipe.decided)
            update["decided"] = Path(recipe.decided.name)
        if recipe.keep_from is not None:
            facts["kept_from_hash"] = load_manifest(recipe.keep_from).benchmark_hash
            update["keep_from"] = Path(recipe.keep_from.name)
        return recipe.model_copy(update=update).recorded(**facts)

    def draft(self, build: Build) -> Manifest:
        """Draft the manifest: all fields that do not depend on the tables."""
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
        """Identify what made the vectors: the embedder, or the user's files of vectors."""
        if self.vectors is not None:
            name, passages = self.recipe.vectors_model, self.vectors[0]
            return {"name": name, "vectors": "given", "dimension": passages.dimension}
        return model_of(self.embedder.fingerprint())


def open_sources(
    recipe: RageRecipe,
    run: RunOptions,
    workspace: Workspace,
    embedder: Embedder | None = None,
) -> RageSources:
    """Open the sources, vectors and judge of a build; the embedder only if it is needed.

    Args:
        recipe: everything that the tables depend on.
        run: options of the run.
        workspace: folder of the build.
        embedder: embedder to use; None for the recipe's.

    Raises:
        InputError: a source or a file of vectors is at fault.
        UsageError: a judge of a source that has judgements.
    """
    judge, pool_judge = _open_relevance_judge(recipe, run), _open_pool_judge(recipe, run)
    identity = None if judge is None else judge.judge.identity()
    read = ReadOptions(
        skip_empty=recipe.skip_empty,
        skip_dangling=recipe.skip_dangling,
        workdir=workspace.stage("archives"),
        skip_contradictions=recipe.skip_contradictions,
        judge=judge,
        keeps_unjudged=pool_judge is not None,
        extra_fields=recipe.extra_fields,
    )
    check_extra_fields(recipe.extra_fields, recipe.source, recipe.extra_corpus)
    source = open_source(recipe.source, recipe.split, read)
    extra = None
    if recipe.extra_corpus:
        extra = open_corpus(recipe.extra_corpus, None, read, "--extra-corpus")
    vectors = None
    if recipe.vectors is not None and recipe.query_vectors is not None:
        vectors = open_both(recipe.vectors, recipe.query_vectors)
    if recipe.vectors is None and _mines_by_vectors(recipe, source) and embedder is None:
        embedder = recipe_embedder(recipe, run)  # missing libraries are reported before any work
    return RageSources(recipe, run, source, extra, vectors, embedder, identity, pool_judge)


def _mines_by_vectors(recipe: RageRecipe, source: Source) -> bool:
    """Whether negatives are mined by embeddings: not by rankings or the source's own."""
    if recipe.candidates is not None or not recipe.mining.seemingly_relevant:
        return False
    return recipe.remine or not source.mined()


def _open_pool_judge(recipe: RageRecipe, run: RunOptions) -> PoolJudge | None:
    """Open the judge that grades candidate passages per query; None if the recipe names none.

    Raises:
        UsageError: the source must have judgements, or an option that the judge does not read.
    """
    pool = recipe.pool
    if pool.judge is None:
        return None
    declared = SOURCES.find(recipe.source.partition(":")[0])
    if declared is None or not declared.may_lack_judgements:
        readable = ", ".join(f"{d.name}:" for d in SOURCES.all().values() if d.may_lack_judgements)
        raise UsageError(
            f"--judge-pool makes judgements for {readable} sources; {recipe.source} brings its own",
            code="option-without-effect",
        )
    require("bm25s")
    judging = recipe.judging.model_copy(update={"judge": pool.judge})
    session = build_judge(judging, run, replay_store(run, pool.judge), "--judge-pool")
    assert session is not None
    judge = make_pool_judge(session, recipe)
    if run.dry_run and judge.llm is None and not is_served(recipe.embedder):
        raise UsageError(
            f"--dry-run: {pool.judge} costs nothing; the option is for openai: models",
            code="option-without-effect",
        )
    return judge


def _open_relevance_judge(recipe: RageRecipe, run: RunOptions) -> JudgeSession | None:
    """Open the judge that derives relevance from gold claims (ALCE's ELI5); None if none named.

    Raises:
        UsageError: the source has judgements.
    """
    judging = recipe.judging
    if judging.judge is None:  # that of the pool has an option of its own
        return None
    declared = SOURCES.find(recipe.source.partition(":")[0])
    if declared is None or not declared.has_claims:
        raise UsageError(
            f"--judge decides relevance where a source has claims in place of judgements (alce: "
            f"with ELI5); {recipe.source} has judgements",
            code="option-without-effect",
        )
    store = replay_store(run, judging.judge)
    return build_judge(judging, run, store)
