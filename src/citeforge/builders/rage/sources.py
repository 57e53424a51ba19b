"""Inputs of a RAGE build: sources, embedder, judge, and the material read from the sources."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.build import Build, Workspace
from citeforge.builders.package import write_corpus
from citeforge.builders.rage.mining import Exclusions, find_exclusions
from citeforge.engines.draws import sample_ids
from citeforge.engines.files import sha256_file
from citeforge.engines.folders import path_beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.models.embedder import Embedder, model_of
from citeforge.engines.models.precomputed import PrecomputedVectors, open_both
from citeforge.engines.models.prefixes import Prefixes
from citeforge.engines.progress import Advance, progress
from citeforge.engines.running.setup import judge_session, replay_store, run_embedder
from citeforge.engines.tables import find_rows, iter_batches, rows_with, shard_paths
from citeforge.ir_convert.registry import info_of, open_corpus, open_source, require_strict
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.package.package import short_answers
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import GrammarInfo, Manifest
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS
from citeforge.schemas.text import normalise_passages
from citeforge.schemas.version import __version__

EmbedderMaker = Callable[[], Embedder]


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
        embedder: gives what makes vectors; made at the first call.
        judge: identity of the judge that decided relevance in a source of claims.
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
        """Models known so far, by role in the build."""
        return {} if self.judge is None else {"relevance judge": self.judge}

    def infos(self) -> list[SourceInfo]:
        """Get the provenance of the sources, as known so far."""
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
        """Draft the manifest with all that is known before the tables are made."""
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
        """Identify what made the vectors: the embedder, or the user's files."""
        if self.vectors is not None:
            name, passages = self.recipe.vectors_model, self.vectors[0]
            return {"name": name, "vectors": "given", "dimension": passages.dimension}
        return model_of(self.embedder().fingerprint())


def open_sources(
    recipe: RageRecipe,
    run: RunOptions,
    place: Workspace,
    make: EmbedderMaker | None = None,
) -> RageSources:
    """Open the sources, vectors and judge of a build; the embedder only if it is needed.

    Args:
        recipe: everything that the tables depend on.
        run: options of the run.
        place: folder of the build.
        make: makes the embedder; None for the recipe's.

    Raises:
        InputError: a source or a file of vectors is at fault.
        UsageError: a judge of a source that has judgements.
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
    embedder = cache(make or partial(recipe_embedder, recipe, run))
    if recipe.vectors is None and _mines_by_vectors(recipe, source):
        embedder()  # missing libraries or models are reported before any work
    return RageSources(recipe, run, source, extra, vectors, embedder, identity)


def _mines_by_vectors(recipe: RageRecipe, source: Source) -> bool:
    """Whether negatives are mined by vectors: no ranking and no mapping is given."""
    if recipe.candidates is not None or not recipe.mining.seemingly_relevant:
        return False
    return recipe.remine or not source.mined()


def _relevance_judge(recipe: RageRecipe, run: RunOptions) -> JudgeSession | None:
    """Open the judge that decides relevance in ALCE's claims; None if the recipe names none.

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
    return judge_session(judging, run, path_beside(run.folder, ".verdicts.db"), store)


@dataclass
class Material:
    """Queries, judgements, gold and passages of a build, read from the sources.

    Attributes:
        sources: opened inputs that they were read from.
        queries: schema QUERIES.
        relevant: judgements above zero, schema MAPPING.
        gold: schema GOLD.
        counts: numbers of what was kept, skipped or excluded.
        infos: provenance, with what was counted while passages were read.
        corpus: Parquet files of the passages.
    """

    sources: RageSources
    queries: pa.Table
    relevant: pa.Table
    gold: pa.Table
    counts: dict[str, int]
    infos: list[SourceInfo]
    corpus: list[Path]

    @property
    def recipe(self) -> RageRecipe:
        """The recipe of the build."""
        return self.sources.recipe

    @property
    def ids(self) -> list[str]:
        """Ids of the queries, in order."""
        ids: list[str] = self.queries["_id"].to_pylist()
        return ids

    def locate(self, mapping: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Find a mapping's passages in the corpus: (rows that have one, position per row or −1)."""
        ids = mapping["corpus-id"].unique()
        positions, indices = find_rows(self.corpus, "_id", ids)
        where = np.full(len(ids), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=ids).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    def relevant_positions(self) -> np.ndarray:
        """Find corpus positions of relevant passages; unknown ones are refused or skipped."""
        relevant, rows = self.locate(self.relevant)
        missing = int((rows < 0).sum())
        if missing:
            self.refuse_dangling(self.relevant, rows)
            self.counts["judgements of unknown passages, skipped"] = missing
            self.relevant = relevant.combine_chunks()
            _require_relevant(self.queries, self.relevant, self.counts, self.recipe)
        positions: np.ndarray = rows[rows >= 0]
        return positions

    def refuse_dangling(self, mapping: pa.Table, rows: np.ndarray) -> None:
        """Raise the error of a row with an unknown passage, unless the recipe skips such rows.

        Raises:
            InputError: names the first.
        """
        if self.recipe.skip_dangling:
            return
        first = int(np.flatnonzero(rows < 0)[0])
        query = mapping["query-id"][first].as_py()
        passage = mapping["corpus-id"][first].as_py()
        path, line = self.sources.source.locate_judgement(query, passage)
        raise InputError(
            f"names the passage {passage!r}, which is not in the corpus",
            path=path,
            line=line,
            field="corpus-id",
            allowed="add the passage, or pass --skip-dangling",
            code="unknown-id",
        )

    def exclusions(self, positions: np.ndarray) -> Exclusions:
        """Find the passages that must not be negatives of each query."""
        mining = self.recipe.mining
        answers: list[list[str]] = [[] for _ in self.ids]
        if mining.exclude_answers:
            answers = short_answers(self.queries, self.relevant, self.gold)
            if not any(answers):
                raise UsageError(
                    f"--exclude-answers: {self.recipe.source} has no gold short answers",
                    code="option-without-effect",
                )
        return find_exclusions(self.corpus, mining, self.queries, self.relevant, positions, answers)


def read_material(sources: RageSources, place: Workspace) -> Material:
    """Read and sample queries and judgements, and write the corpus or reuse a written one.

    Raises:
        InputError: a source is at fault; no queries, or some without a relevant passage.
    """
    source, recipe = sources.source, sources.recipe
    relevant, queries = source.relevant(), source.queries()
    if queries.num_rows == 0:
        raise InputError("has no queries", path=recipe.source, code="no-queries")
    counts = {"queries in the source": queries.num_rows}
    _require_relevant(queries, relevant, counts, recipe)
    if recipe.limit and recipe.limit < queries.num_rows:
        sample = sample_ids(queries["_id"].to_pylist(), recipe.limit, recipe.seed, "limit")
        queries = rows_with(queries, "_id", sample)
    relevant = rows_with(relevant, "query-id", queries["_id"]).combine_chunks()
    gold = rows_with(source.gold(), "query_id", queries["_id"]).combine_chunks()
    infos, folder = _write_or_reuse_corpus(sources, place)
    corpus = shard_paths(folder, "corpus")
    return Material(sources, queries.combine_chunks(), relevant, gold, counts, infos, corpus)


def _require_relevant(
    queries: pa.Table, relevant: pa.Table, counts: dict[str, int], recipe: RageRecipe
) -> None:
    """Refuse queries without a relevant passage, or count them if the recipe allows them.

    Raises:
        InputError: there are some, and the recipe does not allow them.
    """
    has = pc.is_in(queries["_id"], value_set=relevant["query-id"])
    without = queries.filter(pc.invert(has))["_id"]
    if len(without) == 0:
        return
    counts["queries without a relevant passage"] = len(without)
    if recipe.allow_no_relevant:
        return
    names = ", ".join(repr(n) for n in without.slice(0, 3).to_pylist())
    raise InputError(
        f"{len(without)} queries have no relevant passage (first: {names})",
        path=recipe.source,
        allowed="judge them, or pass --allow-no-relevant to keep them (they have no recall)",
        code="no-relevant",
    )


def _write_or_reuse_corpus(sources: RageSources, place: Workspace) -> tuple[list[SourceInfo], Path]:
    """Write the corpus, or reuse an interrupted build's; return (provenance, its folder)."""
    infos, recipe = sources.infos(), sources.recipe
    key = {
        "sources": [[i.spec, i.files, i.revision] for i in infos],
        "skip_empty": recipe.skip_empty,
        "extra_fields": recipe.extra_fields,
        "extra_prefix": recipe.extra_prefix,
        "citeforge": __version__,
    }
    if (record := place.finished("corpus", key)) is not None:
        for info, counts in zip(infos, record["counts"], strict=True):
            info.counts.update(counts)
        return infos, place.stage("corpus")
    source, extra, folder = sources.source, sources.extra, place.start("corpus")
    if extra is None:
        files = write_corpus(folder, source.passages(), source)
    else:
        files = _join_corpora(source, extra, folder, recipe.extra_prefix)
    infos = sources.infos()
    place.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
    return infos, place.stage("corpus")


def _join_corpora(source: Source, extra: Source, folder: Path, prefix: str) -> dict[str, str]:
    """Write the passages of two sources as one corpus, each passage once.

    A passage that both have (same id, equal normalised text) is written once, with whichever title
    is not empty; the first source's text and order stand.

    Args:
        source: first source.
        extra: further source.
        folder: folder for the tables.
        prefix: prefix for the ids of ``extra``.

    Returns:
        File names with sha256.

    Raises:
        InputError: no passages at all, or one id with two texts.
    """
    scratch = folder / "first"
    write_corpus(scratch, source.passages(), source)
    first = shard_paths(scratch, "corpus")
    with progress("reading the other corpus", None, "passages") as advance:
        both = _find_overlap(first, _prefix_ids(extra, prefix), advance)
    joined = _merge_corpora(first, _prefix_ids(extra, prefix), both, extra)
    files = write_corpus(folder, joined, source, "joining both corpora")
    if both:
        extra.info().counts["passages already in the first source, merged"] = len(both)
    for path in first:
        path.unlink()
    scratch.rmdir()
    return files


def _prefix_ids(source: Source, prefix: str) -> Iterator[pa.RecordBatch]:
    """Stream the passages of a source (schema CORPUS) with a prefix before their ids."""
    for batch in source.passages():
        if prefix:
            ids = pc.binary_join_element_wise(pa.scalar(prefix), batch["_id"], "")
            batch = pa.RecordBatch.from_arrays([ids, *batch.columns[1:]], schema=CORPUS)
        yield batch


def _find_overlap(
    first: list[Path], extra: Iterator[pa.RecordBatch], advance: Advance
) -> dict[str, tuple[str, str]]:
    """Find passages of ``extra`` with an id of the first source: id to (title, normalised text).

    Ids are compared by 64-bit hashes, 8 bytes each, and those that agree by their letters.
    """
    digests = np.sort(
        np.concatenate([_hash_ids(b["_id"].to_pylist()) for b in iter_batches(first, ["_id"])])
    )
    texts_of: dict[str, tuple[str, str]] = {}
    for batch in extra:
        hashes = _hash_ids(batch["_id"].to_pylist())
        at = np.minimum(np.searchsorted(digests, hashes), len(digests) - 1)
        shared = batch.filter(pa.array(digests[at] == hashes))
        texts = normalise_passages(shared["text"])
        for name, title, text in zip(
            shared["_id"].to_pylist(), shared["title"].to_pylist(), texts.to_pylist(), strict=True
        ):
            texts_of[name] = (title, text)
        advance(batch.num_rows)
    if not texts_of:
        return {}
    names = pa.array(list(texts_of), pa.string())
    _, indices = find_rows(first, "_id", names)
    return {name: texts_of[name] for name in names.take(pa.array(np.sort(indices))).to_pylist()}


def _hash_ids(ids: list[str]) -> npt.NDArray[np.int64]:
    """Compute a 64-bit hash of each id."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


def _merge_corpora(
    first: list[Path],
    extra: Iterator[pa.RecordBatch],
    both: dict[str, tuple[str, str]],
    source: Source,
) -> Iterator[pa.RecordBatch]:
    """Stream the passages of two corpora; those in both once, with a title if either has one."""
    names = pa.array(list(both), pa.string())
    for batch in iter_batches(first):
        shared = np.flatnonzero(pc.is_in(batch["_id"], value_set=names).to_numpy(False))
        yield _fill_titles(batch, shared, both, source) if len(shared) else batch
    for batch in extra:
        yield batch.filter(pc.invert(pc.is_in(batch["_id"], value_set=names)))


def _fill_titles(
    batch: pa.RecordBatch,
    rows: npt.NDArray[np.intp],
    both: dict[str, tuple[str, str]],
    extra: Source,
) -> pa.RecordBatch:
    """Fill empty titles of passages in both corpora; raise an error if an id has two texts."""
    texts = normalise_passages(batch["text"])
    titles = batch["title"].to_pylist()
    for row in rows.tolist():
        name = batch["_id"][row].as_py()
        title, text = both[name]
        if texts[row].as_py() != text:
            raise InputError(
                f"passage {name!r} has a different text in the first source",
                path=extra.info().spec,
                allowed="one text for each id, or --extra-prefix for ids of other passages",
                code="duplicate-id",
            )
        titles[row] = titles[row] or title
    columns = [batch["_id"], pa.array(titles, pa.string()), batch["text"], batch["metadata"]]
    return pa.RecordBatch.from_arrays(columns, schema=CORPUS)
