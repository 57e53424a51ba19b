"""``build alce`` with retrieval, oracle passages, sub-claims, summaries and snippets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
from citeforge.builders.alce.coverage import Coverage, claims, covered_answers, judged, recalls
from citeforge.builders.alce.questions import gold_rows, grouped, open_questions
from citeforge.builders.alce.subclaims import sub_claims
from citeforge.builders.alce.writing import prompt_sha256
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import corpus_stats, mapping_stats
from citeforge.builders.stages.corpus import write_corpus
from citeforge.builders.stages.skeleton import Build, Stats
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.folders import beside
from citeforge.engines.io.tables import TableWriter, iter_batches, shard_paths
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.ir_convert.alce import AlceSource
from citeforge.ir_convert.registry import licence_of, open_corpus
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.items import pairs
from citeforge.package.package import texts_of
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.benchmarks.tables import (
    CORPUS,
    GOLD,
    MAPPING,
    QUERIES,
    RELEVANT,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes import AlceRecipe, RunOptions
from citeforge.schemas.recipes.base import model_name
from citeforge.schemas.version import __version__


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
    return _Retrieved(recipe, run, llm, judge).make()


class _Chunks:
    """The passages of a source in pieces, for :func:`write_corpus`."""

    def __init__(self, source: Source, size: int) -> None:
        self.source, self.size = source, size
        self.info = source.info

    def passages(self) -> Iterator[pa.RecordBatch]:
        return passage_chunks(self.source, self.size)


class _Retrieved(Build[AlceRecipe]):
    def __init__(
        self, recipe: AlceRecipe, run: RunOptions, llm: Llm | None, judge: JudgeSession | None
    ) -> None:
        super().__init__(recipe, run)
        self.llm, self.judge = llm, judge
        self.counts: Counter[str] = Counter()
        self.models: dict[str, dict[str, Any]] = {}
        if llm is not None:
            self.models["writer"] = llm.identity()
        if judge is not None:
            self.models["entailment judge"] = judge.judge.identity()

    def draft(self) -> Manifest:
        recipe = self.recipe
        read = ReadOptions(
            recipe.skip_empty, recipe.skip_dangling, self.workspace.stage("archives")
        )
        self.source = open_questions(recipe, read)
        self.library = self.source
        if recipe.corpus is not None:
            self.library = open_corpus(recipe.corpus, recipe.corpus_split, read, "--corpus")
        writing = recipe.writing
        facts: dict[str, Any] = {"candidates": list(self._splits())}
        tasks = [*(["subclaims"] if writing.sub_claims else []), *writing.condense]
        if tasks:
            facts["prompts"] = {task: prompt_sha256(task) for task in tasks}
        runs = [s.removeprefix("run:") for s in self._splits().values() if s.startswith("run:")]
        if runs:
            facts["runs_sha256"] = [sha256_file(Path(path)) for path in runs]
        # As models call themselves: answers of a store are those of the model that gave them.
        judge = model_name(self.models, "entailment judge")
        told = recipe.model_copy(
            update={
                "writing": writing.model_copy(update={"llm": model_name(self.models, "writer")}),
                "judging": recipe.judging.model_copy(update={"judge": judge}),
            }
        )
        infos = self._infos()
        licence = recipe.licence or infos[-1].licence
        return self.manifest(told.recorded(**facts), infos, licence, dict(self.models))

    def _splits(self) -> dict[str, str]:
        if self.recipe.corpus is None:
            return {DOCUMENTS: ""}
        return split_names(self.recipe.retrieving.retrievers)

    def _infos(self) -> list[SourceInfo]:
        sources = [self.source] if self.library is self.source else [self.source, self.library]
        infos = [source.info() for source in sources]
        for info in infos:
            info.licence = info.licence or licence_of(info.kind) or self.recipe.licence
        return infos

    def stages(self) -> None:
        self.queries = self.source.queries()
        if self.queries.num_rows == 0:
            raise InputError("has no queries", path=self.recipe.source)
        # Documents of items say nothing of another corpus.
        of_items = isinstance(self.source, AlceSource) and self.recipe.corpus is not None
        self.judged_rows = MAPPING.empty_table() if of_items else self.source.relevant()
        self.gold = gold_rows(self.source, self.queries)
        if not self.gold.num_rows and not self.judged_rows.num_rows:
            raise InputError(
                "has no gold: neither answers nor judgements",
                path=self.recipe.source,
                allowed="a source with gold answers, queries with `answers` in their metadata, or "
                "judgements above zero",
            )
        self.questions: dict[str, str] = dict(
            zip(self.queries["_id"].to_pylist(), self.queries["text"].to_pylist(), strict=True)
        )
        self._corpus_stage()
        self.corpus = shard_paths(self.workspace.stage("corpus"), "corpus")
        self.rankings = self._candidates()
        named = {
            query: list(dict.fromkeys(r.docid for f in self.rankings.values() for r in f[query]))
            for query in self.questions
        }
        self.named = named
        self.texts = texts_of(self.corpus, {name for ids in named.values() for name in ids})
        self._write_claims()
        self.rows = grouped(self.gold, list(self.questions))
        self.coverages = self._coverages()

    def _corpus_stage(self) -> None:
        recipe, info = self.recipe, self.library.info()
        key = {
            "source": [info.spec, info.files, info.revision],
            "chunk": recipe.chunk,
            "skip_empty": recipe.skip_empty,
            "citeforge": __version__,
        }
        known = self.workspace.finished("corpus", key)
        if known is not None:
            info.counts.update(known["counts"])
            return
        passages: Any = (
            self.library if recipe.chunk is None else _Chunks(self.library, recipe.chunk)
        )
        files = write_corpus(passages, None, self.workspace.start("corpus"))
        self.workspace.finish("corpus", key, files, {"counts": self.library.info().counts})

    def _candidates(self) -> dict[str, Rankings]:
        if self.recipe.corpus is None:
            items = self.source.items if isinstance(self.source, AlceSource) else []
            return {DOCUMENTS: documents(items)}
        found, models = retrieve_all(
            self.recipe.retrieving, self.run, self.questions, self.corpus,
            self.workspace.stage("embeddings"), self.counts,
        )  # fmt: skip
        self.models |= models
        return found

    def _write_claims(self) -> None:
        n = self.recipe.writing.sub_claims
        if not n or self.llm is None or self.judge is None:
            return
        gold = grouped(self.gold, list(self.questions))
        rows = sub_claims(self.questions, gold, n, self.llm, self.judge, self.counts)
        if rows:
            more = pa.Table.from_pylist(rows, schema=GOLD)
            self.gold = pa.concat_tables([self.gold.cast(GOLD), more])

    def _coverages(self) -> list[Coverage]:
        """What candidates hold of each sort of gold that there is; the first decides."""
        found = [covered_answers(self.rows, self.named, self.texts)]
        if self.judge is not None:
            found.append(claims(self.rows, self.named, self.texts, self.judge))
        relevant: dict[str, list[str]] = {query: [] for query in self.questions}
        if self.recipe.corpus is not None:
            columns = self.judged_rows.select(["query-id", "corpus-id"]).columns
            for query, passage in pairs(*columns):
                relevant[query].append(passage)
        cut = self.recipe.chunk is not None
        whole = {name: whole_id(name) if cut else name for name in self.texts}
        found.append(judged(relevant, self.named, whole))
        if failed := sum(coverage.failures for coverage in found):
            self.counts["claims on which the judge failed"] = failed
        return [c for c in found if c.sizes]

    def tables(self, writer: PackageWriter) -> Stats:
        rows = self.judged_rows if self.recipe.chunk is None else MAPPING.empty_table()
        relevant, strangers = relevant_table(
            rows, self.corpus, self.coverages, self.rows, self.texts
        )
        if strangers:
            self.counts["judged passages that the corpus lacks"] = strangers
        kept = {name for ids in self.named.values() for name in ids}
        kept |= set(relevant["corpus-id"].to_pylist())
        writer.note("corpus", "corpus", self._write_corpus(writer, kept))
        writer.add("queries", "queries", self.queries.cast(QUERIES))
        writer.add("mapping", RELEVANT, relevant)
        writer.add("gold", "gold", self.gold.cast(GOLD))
        for name, rankings in self.rankings.items():
            writer.add("candidates", name, candidate_table(rankings))
        stats: Stats = {
            "queries": len(self.questions),
            **corpus_stats(shard_paths(writer.folder / "corpus", "corpus")),
            **mapping_stats(RELEVANT, relevant, len(self.questions)),
            "gold rows": self.gold.num_rows,
        }
        for name, rankings in self.rankings.items():
            longest = max(map(len, rankings.values()), default=0)
            depth = longest if self.recipe.corpus is None else self.recipe.retrieving.depth
            for coverage in self.coverages:
                stats |= recalls(name, _ids(rankings), coverage, self._lists, depth)
        contexts = ContextWriter(writer, list(self.questions), relevant)
        self._show(contexts)
        self.found = {
            "sources": self._infos(),
            "models": self.models,
            "contexts": contexts.sets,
            "counts": dict(self.counts),
        }
        return stats | contexts.stats

    @property
    def _lists(self) -> frozenset[str]:
        """Queries whose gold is a list of answers."""
        return frozenset(q for q, found in self.rows.items() if found.answer_lists)

    def _show(self, contexts: ContextWriter) -> None:
        """Context sets, made of what the first retriever found."""
        recipe, (name, rankings) = self.recipe, next(iter(self.rankings.items()))
        found = _ids(rankings)
        ids = {query: found.get(query, []) for query in self.questions}
        where = "documents of each item" if recipe.corpus is None else f"passages by {name}"
        first = {query: row[: recipe.k] for query, row in ids.items()}
        contexts.add(f"top{recipe.k}", first, f"the first {recipe.k} {where}, in their order")
        if recipe.corpus is not None or recipe.oracle:
            if not self.coverages:
                raise InputError(
                    "has no gold by which passages could be told apart: neither short answers, "
                    "nor claims and a judge, nor judged passages",
                    path=recipe.source,
                    allowed="--judge JUDGE for claims; --sub-claims 3 with --llm for long answers",
                )
            contexts.add_oracle(self.coverages[0], ids, self._lists, recipe.k)
        writing = recipe.writing
        asked = {query: row[: writing.condense_top] for query, row in ids.items()}
        for form in writing.condense:
            if self.llm is None:
                break
            table = condense(form, self.questions, asked, self.texts, self.llm, self.counts)
            where = f"of the first {writing.condense_top} {where}"
            contexts.add_condensed(form, table, asked, self.texts, writing.condense_k, where)

    def _write_corpus(self, writer: PackageWriter, kept: set[str]) -> dict[str, str]:
        batches = iter_batches(self.corpus)
        if self.recipe.passages == "retrieved":
            ids = pa.array(sorted(kept), pa.string())
            batches = (b.filter(pc.is_in(b["_id"], value_set=ids)) for b in batches)
        with TableWriter(writer.folder / "corpus", "corpus", CORPUS) as corpus:
            for batch in batches:
                corpus.write(batch.cast(CORPUS))
        return corpus.files


def _ids(rankings: Rankings) -> dict[str, list[str]]:
    """Query to the passages that were found for it, best first."""
    return {query: [r.docid for r in row] for query, row in rankings.items()}
