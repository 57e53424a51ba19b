"""``build rage``: from a source to a packaged RAGE benchmark (Penzkofer & Baumann 2024)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge import __version__
from citeforge.builders.audit.run import drop_decided, drop_suspects
from citeforge.builders.corpus import write_corpus
from citeforge.builders.embedding import Embedded, Embedding
from citeforge.builders.exclusions import Exclusions, find_exclusions, short_answers
from citeforge.builders.mapping import drawn_table, seemingly_table, short_mappings
from citeforge.builders.mining import Mined, SeeminglyRelevant
from citeforge.builders.mixture import Pools, freeze
from citeforge.builders.package import PackageWriter
from citeforge.builders.ranked import RankedCandidates
from citeforge.builders.records import only, read_records, require_relevant
from citeforge.builders.screening import note_above, note_screened
from citeforge.builders.skeleton import Build, Stats
from citeforge.builders.stats import context_stats, corpus_stats, mapping_stats
from citeforge.engines.cluster.embedding import ClusterEmbedder
from citeforge.engines.compute import choose
from citeforge.engines.corpus import find_rows
from citeforge.engines.embed import TransformerEmbedder, make_embedder
from citeforge.engines.embedder import Embedder, Prefixes
from citeforge.engines.files import sha256_file
from citeforge.engines.folders import beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.retrieval.registry import RetrieverSettings, make_retriever
from citeforge.engines.setup import (
    client_options,
    cluster_options,
    judge_session,
    nominator,
    replay_store,
)
from citeforge.engines.tables import (
    TableWriter,
    iter_batches,
    read_table,
    shard_paths,
    write_table,
)
from citeforge.engines.two_stage import TwoStageSearch
from citeforge.ir_convert.registry import licence_of, open_source
from citeforge.ir_convert.source import ReadOptions
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import GrammarInfo, Manifest
from citeforge.schemas.recipes import RageRecipe, RunOptions
from citeforge.schemas.recipes.base import name_of
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import (
    CORPUS,
    GOLD,
    IRRELEVANT,
    MAPPING,
    QUERIES,
    RELEVANT,
    SEEMINGLY_RELEVANT,
)


def build_rage(
    recipe: RageRecipe, run: RunOptions, embedder: Callable[[], Embedder] | None = None
) -> Manifest:
    """Build a package, or continue a build that was cut off.

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        embedder: makes the embedder when vectors are needed; None for the recipe's.

    Returns:
        The manifest of the finished package.

    Raises:
        InputError: the source, a file in it, or the output folder is at fault.
    """
    return _Rage(recipe, run, embedder).make()


def _embedder(recipe: RageRecipe, run: RunOptions) -> Embedder:
    given = (recipe.query_prefix, recipe.passage_prefix)
    prefixes = None if given == (None, None) else Prefixes(*(text or "" for text in given))
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


class _Rage(Build[RageRecipe]):
    def __init__(
        self, recipe: RageRecipe, run: RunOptions, embedder: Callable[[], Embedder] | None
    ) -> None:
        super().__init__(recipe, run)
        self._given = embedder
        self.models: dict[str, dict[str, Any]] = {}

    @cached_property
    def embedder(self) -> Embedder:
        """What makes vectors, once it is known what to compute in."""
        return _embedder(self.recipe, self.run) if self._given is None else self._given()

    def draft(self) -> Manifest:
        self.recipe = recipe = self._computing()
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
            self.extra = open_source(recipe.extra_corpus, None, read)
        infos = self._infos()
        draft = self.manifest(
            self._told(), infos, recipe.licence or infos[0].licence,
            dict(self.models), GrammarInfo(base=recipe.base),
        )  # fmt: skip
        resumes = self.run.resume and (self.workspace.out / MANIFEST).is_file()
        # The embedder of a build that needed no vectors decided nothing.
        if resumes and "embedder" in load_manifest(self.workspace.out).models:
            draft.models["embedder"] = self.embedder.fingerprint()
        return draft

    def _computing(self) -> RageRecipe:
        """The recipe with what is computed in: as told, as begun, or as the processor can.

        Raises:
            UsageError: this machine cannot, or the embedder does not compute here.
        """
        recipe = self.recipe
        if recipe.candidates is not None or not recipe.mining.seemingly_relevant:
            return recipe
        if recipe.compute == "auto" and self.run.resume:
            begun = self.workspace.begun()
            if isinstance(begun, RageRecipe):
                self.recipe = recipe = recipe.model_copy(update={"compute": begun.compute})
        if self._given is None and recipe.compute == "auto" and self._chooses_int8():
            self.recipe = recipe = recipe.model_copy(update={"compute": "int8"})
            del self.embedder
        if isinstance(self.embedder, TransformerEmbedder | ClusterEmbedder):
            return recipe.model_copy(update={"compute": self.embedder.compute})
        if recipe.compute != "auto":
            raise UsageError(
                f"--compute {recipe.compute}: {recipe.embedder} does not compute here; leave it out"
            )
        return recipe

    def _chooses_int8(self) -> bool:
        here = isinstance(self.embedder, TransformerEmbedder)
        return here and choose("auto", self.run.device) == "int8"

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
        judge = name_of(self.models, "relevance judge")
        judging = self.recipe.judging.model_copy(update={"judge": judge})
        facts: dict[str, Any] = {}
        candidates = self.recipe.candidates or ""
        if candidates.startswith("run:"):
            facts["candidates_sha256"] = sha256_file(Path(candidates.removeprefix("run:")))
        told: dict[str, Any] = {"judging": judging}
        if self.recipe.decided is not None:
            facts["decided_sha256"] = sha256_file(self.recipe.decided)
            told["decided"] = Path(self.recipe.decided.name)
        return self.recipe.model_copy(update=told).recorded(**facts)

    def _infos(self) -> list[SourceInfo]:
        """Provenance of the sources so far."""
        infos = [s.info() for s in (self.source, self.extra) if s is not None]
        for info in infos:
            info.licence = info.licence or licence_of(info.kind) or self.recipe.licence
        return infos

    def stages(self) -> None:
        self.records = read_records(self.source, self.recipe)
        self.infos = self._corpus_stage()
        self.corpus = shard_paths(self.workspace.stage("corpus"), "corpus")
        self.mappings = self._mapping_stage()

    def _corpus_stage(self) -> list[SourceInfo]:
        infos = self._infos()
        key = {
            "sources": [[i.spec, i.files, i.revision] for i in infos],
            "skip_empty": self.recipe.skip_empty,
            "citeforge": __version__,
        }
        known = self.workspace.finished("corpus", key)
        if known is not None:
            for info, counts in zip(infos, known["counts"], strict=True):
                info.counts.update(counts)
            return infos
        with progress("reading the corpus", None, "files") as advance:
            files = write_corpus(self.source, self.extra, self.workspace.start("corpus"))
            advance(len(files))
        infos = self._infos()
        self.workspace.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
        return infos

    def _positions(self, mapping: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Rows of a mapping whose passages exist, with their positions."""
        wanted = mapping["corpus-id"].unique()
        positions, indices = find_rows(self.corpus, "_id", wanted)
        where = np.full(len(wanted), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=wanted).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    def _mapping_stage(self) -> dict[str, pa.Table]:
        records = self.records
        relevant, rows = self._positions(records.relevant)
        missing = int((rows < 0).sum())
        if missing:
            self._refuse_dangling(records.relevant, rows)
            records.counts["judgements of unknown passages, skipped"] = missing
            records.relevant = relevant.combine_chunks()
            require_relevant(records.queries, records.relevant, records.counts, self.recipe)
        given = {} if self.recipe.remine else self.source.mined()
        if given:
            return self._given_mappings(given, rows[rows >= 0])
        return self._mined_mappings(rows[rows >= 0])

    def _refuse_dangling(self, relevant: pa.Table, rows: np.ndarray) -> None:
        if self.recipe.skip_dangling:
            return
        first = int(np.flatnonzero(rows < 0)[0])
        query = relevant["query-id"][first].as_py()
        passage = relevant["corpus-id"][first].as_py()
        path, line = self.source.where(query, passage)
        raise InputError(
            f"names the passage {passage!r}, which the corpus lacks",
            path=path,
            line=line,
            field="corpus-id",
            allowed="add the passage, or pass --skip-dangling",
        )

    def _given_mappings(
        self, given: dict[str, pa.Table], positions: np.ndarray
    ) -> dict[str, pa.Table]:
        records, recipe = self.records, self.recipe
        tables = {RELEVANT: records.relevant}
        taken: dict[str, list[Mined]] = {q: [] for q in records.ids}
        for label, table in given.items():
            kept, rows = self._positions(only(table, "query-id", records.queries["_id"]))
            if (rows < 0).any():
                self._refuse_dangling(table, rows)
                records.counts[f"{label} rows of unknown passages, skipped"] = int((rows < 0).sum())
            tables[label] = kept
            found = rows[rows >= 0].tolist()
            for query, position in zip(kept["query-id"].to_pylist(), found, strict=True):
                taken[query].append(Mined(position, 0.0, 0))
        if IRRELEVANT not in given and recipe.mining.irrelevant:
            exclusions = self._exclusions(positions)
            tables[IRRELEVANT] = drawn_table(
                self.corpus, list(taken), exclusions, list(taken.values()), recipe.mining,
                recipe.seed,
            )  # fmt: skip
            records.counts.update(exclusions.counts)
        return tables

    def _mined_mappings(self, positions: np.ndarray) -> dict[str, pa.Table]:
        records, mining = self.records, self.recipe.mining
        embedded: Embedded | None = None
        rankings: Rankings | None = None
        if mining.seemingly_relevant and self.recipe.candidates is not None:
            rankings = self._candidates(self.recipe.candidates)
        elif mining.seemingly_relevant:
            embedded = self._embed()
        key = {
            "vectors": [] if embedded is None else embedded.key,
            "queries": records.ids,
            "relevant": records.relevant.to_pydict(),
            "gold": records.gold["aliases"].to_pylist(),
            "corpus": [i.files for i in self.infos],
            "mining": mining.model_dump(mode="json"),
            "seed": self.recipe.seed,
            "citeforge": __version__,
        }
        if rankings is not None:
            key["candidates"] = self.models["candidates"]
        known = self.workspace.finished("mapping", key)
        if known is None:
            known = self._mine(key, embedded, positions, rankings)
        records.counts.update(known["counts"])
        if embedded is not None and embedded.nominator:
            self.models["nominator"] = {**embedded.nominator, **known["measured"]}
        folder = self.workspace.stage("mapping")
        mined = {
            label: read_table(shard_paths(folder, label), MAPPING)
            for label in (IRRELEVANT, SEEMINGLY_RELEVANT)
        }
        return {RELEVANT: records.relevant, **mined}

    def _candidates(self, name: str) -> Rankings:
        """All that a run, or BM25, has for the queries."""
        retriever = make_retriever(name, RetrieverSettings(self.corpus))
        self.models["candidates"] = retriever.identity()
        texts = self.records.queries["text"].to_pylist()
        return retriever.rank(dict(zip(self.records.ids, texts, strict=True)), sys.maxsize)

    def _embed(self) -> Embedded:
        self.models["embedder"] = self.embedder.fingerprint()
        folder = self.run.embeddings or self.workspace.stage("embeddings")
        rows, seed = self.run.shard_rows, self.recipe.seed
        work = Embedding(self.embedder, self.corpus, folder, rows, seed, nominator(self.run))
        return work.of(self.records.queries["text"], self.recipe.mining)

    def _mine(
        self,
        key: dict[str, Any],
        embedded: Embedded | None,
        positions: np.ndarray,
        rankings: Rankings | None,
    ) -> dict[str, Any]:
        mining, ids = self.recipe.mining, self.records.ids
        exclusions = self._exclusions(positions)
        taken: list[list[Mined]] = [[] for _ in ids]
        measured: dict[str, Any] = {}
        miner: RankedCandidates | SeeminglyRelevant | None = None
        if rankings is not None:
            miner = RankedCandidates(self.corpus, rankings, exclusions, mining)
        elif embedded is not None:
            search = embedded.search()
            miner = SeeminglyRelevant(self.corpus, search, exclusions, mining)
        if miner is not None:
            taken = miner.mine()
            note_screened(exclusions.counts, "seemingly relevant", miner.dropped, mining)
            note_above(exclusions.counts, miner.above, mining)
        if isinstance(miner, SeeminglyRelevant) and isinstance(search, TwoStageSearch):
            exclusions.counts |= {
                "passages embedded in float32": search.embedded,
                "queries settled by a measured margin, not by proof": miner.n_measured,
                "queries not settled by nominations of any depth": miner.n_unsettled,
            }
            measured = {"margin": search.margin}
        irrelevant = drawn_table(self.corpus, ids, exclusions, taken, mining, self.recipe.seed)
        folder = self.workspace.start("mapping")
        files = write_table(folder, SEEMINGLY_RELEVANT, seemingly_table(self.corpus, ids, taken))
        files |= write_table(folder, IRRELEVANT, irrelevant)
        record = {"counts": exclusions.counts, "measured": measured}
        self.workspace.finish("mapping", key, files, record)
        return record

    def _exclusions(self, positions: np.ndarray) -> Exclusions:
        records, drop_self = self.records, self.recipe.mining.drop_self
        return find_exclusions(
            self.corpus, records.queries, records.relevant, positions, self._answers(), drop_self
        )

    def _answers(self) -> list[list[str]]:
        records = self.records
        if not self.recipe.mining.exclude_answers:
            return [[] for _ in records.ids]
        answers = short_answers(records.queries, records.relevant, records.gold)
        if not any(answers):
            raise UsageError(
                f"--exclude-answers: {self.recipe.source} has no gold short answers to look for"
            )
        return answers

    def tables(self, writer: PackageWriter) -> Stats:
        records, recipe, tables = self.records, self.recipe, self.mappings
        if recipe.drop_suspects:
            tables = drop_suspects(
                records.queries, tables, records.gold, self.corpus, records.counts,
                recipe.mining.contained,
            )  # fmt: skip
        if recipe.decided is not None:
            tables = drop_decided(tables, recipe.decided, records.counts)
        writer.note("corpus", "corpus", self._write_corpus(writer.folder, tables))
        writer.add("queries", "queries", records.queries.cast(QUERIES))
        n = records.queries.num_rows
        stats: Stats = {
            "queries": n,
            **corpus_stats(shard_paths(writer.folder / "corpus", "corpus")),
        }
        pools = Pools(records.ids)
        for label in (RELEVANT, IRRELEVANT, SEEMINGLY_RELEVANT):
            table = tables.get(label, MAPPING.empty_table())
            writer.add("mapping", label, table.cast(MAPPING))
            pools.add(label, table)
            stats |= mapping_stats(label, table, n)
        contexts = {}
        for mixture in recipe.mixtures:
            table, contexts[mixture.name] = freeze(pools, mixture, recipe.seed)
            writer.add("contexts", mixture.name, table)
            stats |= context_stats(mixture.name, table)
        writer.add("gold", "gold", records.gold.cast(GOLD))
        stats["gold rows"] = records.gold.num_rows
        self.found = {
            "sources": self.infos,
            "models": self.models,
            "contexts": contexts,
            "counts": records.counts,
            "short_mappings": short_mappings(pools, recipe.mining),
            "libraries": _libraries() if "embedder" in self.models else {},
        }
        return stats

    def _write_corpus(self, folder: Path, tables: dict[str, pa.Table]) -> dict[str, str]:
        batches = iter_batches(self.corpus)
        if self.recipe.corpus == "pool":
            named = pa.concat_arrays([c for t in tables.values() for c in t["corpus-id"].chunks])
            pool = named.unique()
            batches = (b.filter(pc.is_in(b["_id"], value_set=pool)) for b in batches)
        with TableWriter(folder / "corpus", "corpus", CORPUS) as writer:
            for batch in batches:
                writer.write(batch.cast(CORPUS))
        return writer.files


def _libraries() -> dict[str, str]:
    return {n: version(n) for n in ("torch", "sentence-transformers", "transformers")}
