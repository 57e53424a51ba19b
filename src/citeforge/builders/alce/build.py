"""``build alce`` with retrieval, oracle passages, sub-claims, summaries and snippets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.alce.candidates import (
    DOCUMENTS,
    candidate_table,
    documents,
    retrieve_all,
    split_names,
)
from citeforge.builders.alce.chunks import passage_chunks, whole_id
from citeforge.builders.alce.condense import condense
from citeforge.builders.alce.contexts import ContextWriter, relevant_table
from citeforge.builders.alce.coverage import (
    Coverage,
    Texts,
    claims,
    covered_answers,
    judged,
    recalls,
)
from citeforge.builders.alce.questions import gold_rows, grouped, open_questions
from citeforge.builders.alce.subclaims import sub_claims
from citeforge.builders.alce.writing import prompt_sha256
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import corpus_stats, mapping_stats
from citeforge.builders.stages.build import Stats, building
from citeforge.builders.stages.corpus import copy_corpus, write_corpus
from citeforge.builders.stages.workspace import Workspace
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.folders import beside
from citeforge.engines.io.tables import rows_of, shard_paths
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.ir_convert.alce import AlceSource
from citeforge.ir_convert.registry import info_of, open_corpus, require_strict
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.items import GoldRows
from citeforge.package.package import texts_of
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.benchmarks.tables import GOLD, MAPPING, QUERIES, RELEVANT
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import model_name
from citeforge.schemas.recipes.records import AlceRecipe, RunOptions
from citeforge.schemas.version import __version__

Models = dict[str, dict[str, Any]]
"""Role in the build to what a model calls itself."""


def build_retrieved(
    recipe: AlceRecipe, run: RunOptions, llm: Llm | None = None, judge: JudgeSession | None = None
) -> Manifest:
    """Questions with gold and what is retrieved for them.

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        llm: the writer; None for the recipe's, if it names one.
        judge: decides entailment; None for the recipe's, if it names one.

    Raises:
        InputError: a source, a run, a store or the output folder is at fault; or there is no gold.
        UsageError: a source of questions without documents, and no corpus.
    """
    name = recipe.writing.llm
    store = replay_store(run, *([name] if name else []))
    if llm is None and name is not None:
        llm = make_llm(name, store=store, options=client_options(run))
    if judge is None:
        judge = judge_session(recipe.judging, run, beside(run.folder, ".verdicts.db"), store)
    job = _Job(recipe, run, llm, judge)
    models = job.models()
    with building(recipe, run) as build:
        place = build.workspace
        sources = job.open(place)
        infos = sources.infos(recipe)
        licence = recipe.licence or infos[-1].licence
        draft = build.draft(job.config(models), infos, licence, dict(models))
        if (finished := build.finished(draft)) is not None:
            return finished
        asked = job.read(sources)
        corpus = job.write_corpus(sources, place)
        rankings, retrievers = job.retrieve(sources, asked, corpus, place)
        candidates = job.compare(asked, job.gold_of(asked), rankings, corpus)
        writer = build.package()
        relevant = job.write_tables(writer, candidates)
        contexts = ContextWriter(writer, list(asked.texts), relevant)
        job.show(contexts, candidates)
        return build.finish(
            draft, writer, job.stats(writer, candidates, relevant) | contexts.stats,
            sources=sources.infos(recipe), models=models | retrievers, contexts=contexts.sets,
            counts=dict(job.counts),
        )  # fmt: skip


@dataclass(frozen=True)
class _Sources:
    """Where questions and passages come from.

    Attributes:
        questions: questions with gold.
        passages: the corpus; the same source where the recipe names no other.
    """

    questions: Source
    passages: Source

    def infos(self, recipe: AlceRecipe) -> list[SourceInfo]:
        """Provenance of both, or of the one, so far."""
        both = [self.questions, self.passages][: 1 + (self.passages is not self.questions)]
        return [info_of(source, recipe.licence) for source in both]


@dataclass(frozen=True)
class _Questions:
    """What is asked, and what answers it.

    Attributes:
        table: schema QUERIES.
        texts: query to its text.
        judged: judgements of the source, schema MAPPING.
        gold: schema GOLD.
    """

    table: pa.Table
    texts: dict[str, str]
    judged: pa.Table
    gold: pa.Table


@dataclass(frozen=True)
class _Candidates:
    """What was found for the questions.

    Attributes:
        asked: the questions.
        gold: their gold, with sub-claims, schema GOLD.
        rows: the same, by query.
        corpus: Parquet files of the passages.
        rankings: retriever to what it found.
        named: query to the passages that some retriever found.
        texts: of these passages.
        coverages: what candidates hold of each sort of gold that there is; the first decides.
    """

    asked: _Questions
    gold: pa.Table
    rows: dict[str, GoldRows]
    corpus: list[Path]
    rankings: dict[str, Rankings]
    named: dict[str, list[str]]
    texts: Texts
    coverages: list[Coverage]

    @property
    def lists(self) -> frozenset[str]:
        """Queries whose gold is a list of answers."""
        return frozenset(q for q, gold in self.rows.items() if gold.answer_lists)


class _Chunks:
    """The passages of a source in pieces, for :func:`write_corpus`."""

    def __init__(self, source: Source, size: int) -> None:
        self.source, self.size = source, size
        self.info = source.info

    def passages(self) -> Iterator[pa.RecordBatch]:
        return passage_chunks(self.source, self.size)


@dataclass(frozen=True)
class _Job:
    """What every step of a build is done by.

    Attributes:
        recipe: everything that the tables depend on.
        run: where and how.
        llm: the writer, if there is one.
        judge: decides entailment, if there is one.
        counts: numbers for the manifest; steps add to them.
    """

    recipe: AlceRecipe
    run: RunOptions
    llm: Llm | None
    judge: JudgeSession | None
    counts: Counter[str] = field(default_factory=Counter)

    def models(self) -> Models:
        """Writer and judge, as they call themselves."""
        models = {} if self.llm is None else {"writer": self.llm.identity()}
        if self.judge is not None:
            models["entailment judge"] = self.judge.judge.identity()
        return models

    def open(self, place: Workspace) -> _Sources:
        """Open them."""
        recipe = self.recipe
        require_strict(recipe.extra_fields, recipe.source, recipe.corpus)
        read = ReadOptions(
            recipe.skip_empty, recipe.skip_dangling, place.stage("archives"),
            extra_fields=recipe.extra_fields,
        )  # fmt: skip
        questions = open_questions(recipe, read)
        if recipe.corpus is None:
            return _Sources(questions, questions)
        return _Sources(
            questions, open_corpus(recipe.corpus, recipe.corpus_split, read, "--corpus")
        )

    def splits(self) -> dict[str, str]:
        """Split of ``candidates`` to the retriever whose it is."""
        recipe = self.recipe
        if recipe.corpus is None:
            return {DOCUMENTS: ""}
        return split_names(recipe.retrieving.retrievers)

    def config(self, models: Models) -> dict[str, Any]:
        """``config`` of the manifest."""
        recipe, writing, splits = self.recipe, self.recipe.writing, self.splits()
        facts: dict[str, Any] = {"candidates": list(splits)}
        tasks = [*(["subclaims"] if writing.sub_claims else []), *writing.condense]
        if tasks:
            facts["prompts"] = {task: prompt_sha256(task) for task in tasks}
        runs = [s.removeprefix("run:") for s in splits.values() if s.startswith("run:")]
        if runs:
            facts["runs_sha256"] = [sha256_file(Path(path)) for path in runs]
        # As models call themselves: answers of a store are those of the model that gave them.
        judge = model_name(models, "entailment judge")
        update = {
            "writing": writing.model_copy(update={"llm": model_name(models, "writer")}),
            "judging": recipe.judging.model_copy(update={"judge": judge}),
        }
        return recipe.model_copy(update=update).recorded(**facts)

    def read(self, sources: _Sources) -> _Questions:
        """Questions with gold.

        Raises:
            InputError: there are none.
        """
        recipe, source = self.recipe, sources.questions
        queries = source.queries()
        if queries.num_rows == 0:
            raise InputError("has no queries", path=recipe.source)
        # Documents of items say nothing of another corpus.
        of_items = isinstance(source, AlceSource) and recipe.corpus is not None
        judged_rows = MAPPING.empty_table() if of_items else source.relevant()
        gold = gold_rows(source, queries)
        if not gold.num_rows and not judged_rows.num_rows:
            raise InputError(
                "has no gold: neither answers nor judgements",
                path=recipe.source,
                allowed="a source with gold answers, queries with `answers` in their metadata, or "
                "judgements above zero",
            )
        return _Questions(queries, dict(rows_of(queries, "_id", "text")), judged_rows, gold)

    def write_corpus(self, sources: _Sources, place: Workspace) -> list[Path]:
        """The corpus stage."""
        recipe, source = self.recipe, sources.passages
        info = source.info()
        key = {
            "source": [info.spec, info.files, info.revision],
            "chunk": recipe.chunk,
            "skip_empty": recipe.skip_empty,
            "extra_fields": recipe.extra_fields,
            "citeforge": __version__,
        }
        record = place.finished("corpus", key)
        if record is not None:
            info.counts.update(record["counts"])
        else:
            passages: Any = source if recipe.chunk is None else _Chunks(source, recipe.chunk)
            files = write_corpus(passages, None, place.start("corpus"))
            place.finish("corpus", key, files, {"counts": source.info().counts})
        return shard_paths(place.stage("corpus"), "corpus")

    def retrieve(
        self, sources: _Sources, asked: _Questions, corpus: list[Path], place: Workspace
    ) -> tuple[dict[str, Rankings], Models]:
        """What each retriever finds, and the models among them by their roles."""
        if self.recipe.corpus is None:
            source = sources.questions
            items = source.items if isinstance(source, AlceSource) else []
            return {DOCUMENTS: documents(items)}, {}
        folder = place.stage("embeddings")
        retrieving = self.recipe.retrieving
        return retrieve_all(retrieving, self.run, asked.texts, corpus, folder, self.counts)

    def gold_of(self, asked: _Questions) -> pa.Table:
        """The gold, with sub-claims where a writer is to write some."""
        n = self.recipe.writing.sub_claims
        if not n or self.llm is None or self.judge is None:
            return asked.gold
        gold = grouped(asked.gold, list(asked.texts))
        rows = sub_claims(asked.texts, gold, n, self.llm, self.judge, self.counts)
        if not rows:
            return asked.gold
        return pa.concat_tables([asked.gold.cast(GOLD), pa.Table.from_pylist(rows, schema=GOLD)])

    def compare(
        self, asked: _Questions, gold: pa.Table, rankings: dict[str, Rankings], corpus: list[Path]
    ) -> _Candidates:
        """The candidates, and what they hold of the gold."""
        ids_of = {
            query: list(dict.fromkeys(r.docid for f in rankings.values() for r in f[query]))
            for query in asked.texts
        }
        texts = texts_of(corpus, {name for ids in ids_of.values() for name in ids})
        rows = grouped(gold, list(asked.texts))
        by_coverage = [covered_answers(rows, ids_of, texts)]
        if self.judge is not None:
            by_coverage.append(claims(rows, ids_of, texts, self.judge))
        relevant: dict[str, list[str]] = {query: [] for query in asked.texts}
        if self.recipe.corpus is not None:
            for query, passage in rows_of(asked.judged, "query-id", "corpus-id"):
                relevant[query].append(passage)
        whole = {name: name if self.recipe.chunk is None else whole_id(name) for name in texts}
        by_coverage.append(judged(relevant, ids_of, whole))
        if failed := sum(coverage.failures for coverage in by_coverage):
            self.counts["claims on which the judge failed"] = failed
        coverages = [c for c in by_coverage if c.sizes]
        return _Candidates(asked, gold, rows, corpus, rankings, ids_of, texts, coverages)

    def write_tables(self, writer: PackageWriter, candidates: _Candidates) -> pa.Table:
        """Write all tables but contexts; returns the judgements, schema MAPPING."""
        rows = candidates.asked.judged if self.recipe.chunk is None else MAPPING.empty_table()
        relevant, n_unknown = relevant_table(
            rows, candidates.corpus, candidates.coverages, candidates.rows, candidates.texts
        )
        if n_unknown:
            self.counts["judged passages that the corpus lacks"] = n_unknown
        corpus_ids = None
        if self.recipe.passages == "retrieved":
            corpus_ids = {name for ids in candidates.named.values() for name in ids}
            corpus_ids.update(relevant["corpus-id"].to_pylist())
        writer.note("corpus", "corpus", copy_corpus(writer.folder, candidates.corpus, corpus_ids))
        writer.add("queries", "queries", candidates.asked.table.cast(QUERIES))
        writer.add("mapping", RELEVANT, relevant)
        writer.add("gold", "gold", candidates.gold.cast(GOLD))
        for name, rankings in candidates.rankings.items():
            writer.add("candidates", name, candidate_table(rankings))
        return relevant

    def stats(self, writer: PackageWriter, candidates: _Candidates, relevant: pa.Table) -> Stats:
        """Descriptive statistics of the tables."""
        n = len(candidates.asked.texts)
        stats: Stats = {
            "queries": n,
            **corpus_stats(writer.folder),
            **mapping_stats(RELEVANT, relevant, n),
            "gold rows": candidates.gold.num_rows,
        }
        for name, rankings in candidates.rankings.items():
            longest = max(map(len, rankings.values()), default=0)
            depth = longest if self.recipe.corpus is None else self.recipe.retrieving.depth
            for coverage in candidates.coverages:
                stats |= recalls(name, _ids(rankings), coverage, candidates.lists, depth)
        return stats

    def show(self, contexts: ContextWriter, candidates: _Candidates) -> None:
        """Context sets, made of what the first retriever found."""
        recipe, (name, rankings) = self.recipe, next(iter(candidates.rankings.items()))
        ranked = _ids(rankings)
        ids = {query: ranked.get(query, []) for query in candidates.asked.texts}
        where = "documents of each item" if recipe.corpus is None else f"passages by {name}"
        first = {query: row[: recipe.k] for query, row in ids.items()}
        contexts.add(f"top{recipe.k}", first, f"the first {recipe.k} {where}, in their order")
        if recipe.corpus is not None or recipe.oracle:
            if not candidates.coverages:
                raise InputError(
                    "has no gold by which passages could be told apart: neither short answers, "
                    "nor claims and a judge, nor judged passages",
                    path=recipe.source,
                    allowed="--judge JUDGE for claims; --sub-claims 3 with --llm for long answers",
                )
            contexts.add_oracle(candidates.coverages[0], ids, candidates.lists, recipe.k)
        writing = recipe.writing
        top = {query: row[: writing.condense_top] for query, row in ids.items()}
        for form in writing.condense:
            if self.llm is None:
                break
            table = condense(
                form, candidates.asked.texts, top, candidates.texts, self.llm, self.counts
            )
            where = f"of the first {writing.condense_top} {where}"
            contexts.add_condensed(form, table, top, candidates.texts, writing.condense_k, where)


def _ids(rankings: Rankings) -> dict[str, list[str]]:
    """Query to the passages that were found for it, best first."""
    return {query: [r.docid for r in row] for query, row in rankings.items()}
