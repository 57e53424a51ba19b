"""``build rage``: from a source to a packaged RAGE benchmark (Penzkofer & Baumann 2024)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.audit.run import drop_decided, drop_suspects
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.rage.exclusions import Exclusions, find_exclusions, short_answers
from citeforge.builders.rage.mapping import drawn_table, seemingly_table, short_mappings
from citeforge.builders.rage.mining import Mined, SeeminglyRelevant
from citeforge.builders.rage.mixture import Pools, freeze
from citeforge.builders.rage.ranked import RankedCandidates
from citeforge.builders.rage.screening import note_above, note_screened
from citeforge.builders.rage.sources import RageSources
from citeforge.builders.shards.folder import (
    EMBEDDINGS,
    from_shards,
    merged,
    shard_rows,
)
from citeforge.builders.shards.int8 import EmbeddedByShares
from citeforge.builders.stages.embedding import CorpusEmbedding, Embedded, from_others
from citeforge.builders.stages.records import only, require_relevant
from citeforge.builders.stages.skeleton import Stats
from citeforge.engines.draws import keyed
from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.io.corpus import find_rows
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import (
    TableWriter,
    iter_batches,
    read_table,
    shard_paths,
    write_table,
)
from citeforge.engines.retrieval.records import Rankings, RetrieverSettings
from citeforge.engines.retrieval.registry import make_retriever
from citeforge.engines.search.two_stage import TwoStageSearch
from citeforge.engines.setup import first_stage
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.benchmarks.tables import (
    CORPUS,
    GOLD,
    IRRELEVANT,
    MAPPING,
    QUERIES,
    RELEVANT,
    SEEMINGLY_RELEVANT,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes import RageRecipe, RunOptions
from citeforge.schemas.version import __version__


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
    return RageBuild(recipe, run, embedder).make()


class RageBuild(RageSources):
    """One build; its stages are what shares of it are made of, too."""

    def stages(self) -> None:
        if self.run.from_shards is not None:
            self.check_shards(self.run.from_shards)
        self.read()
        self.mappings = self._mapping_stage()

    def _positions(self, mapping: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Rows of a mapping whose passages exist, with their positions."""
        wanted = mapping["corpus-id"].unique()
        positions, indices = find_rows(self.corpus, "_id", wanted)
        where = np.full(len(wanted), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=wanted).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    def _mapping_stage(self) -> dict[str, pa.Table]:
        given = {} if self.recipe.remine else self.source.mined()
        rows = self.relevant_positions()
        return self._given_mappings(given, rows) if given else self._mined_mappings(rows)

    def relevant_positions(self) -> np.ndarray:
        """Where the relevant passages lie; judgements of others are refused, or go."""
        records = self.records
        relevant, rows = self._positions(records.relevant)
        missing = int((rows < 0).sum())
        if missing:
            self._refuse_dangling(records.relevant, rows)
            records.counts["judgements of unknown passages, skipped"] = missing
            records.relevant = relevant.combine_chunks()
            require_relevant(records.queries, records.relevant, records.counts, self.recipe)
        found: np.ndarray = rows[rows >= 0]
        return found

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
            exclusions = self.exclusions(positions)
            tables[IRRELEVANT] = drawn_table(
                self.corpus, list(taken), exclusions, list(taken.values()), recipe.mining,
                self.draw_seed,
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
            embedded = self.embed()
        key = self.mining_key(embedded)
        if rankings is not None:
            key["candidates"] = self.models["candidates"]
        known = self.workspace.finished("mapping", self._with_draws(key))
        if known is None:
            known = self._mine(key, embedded, positions, rankings)
        records.counts.update(known["counts"])
        if embedded is not None and embedded.first_stage:
            self.models["nominator"] = {**embedded.first_stage, **known["measured"]}
        folder = self.workspace.stage("mapping")
        mined = {
            label: read_table(shard_paths(folder, label), MAPPING)
            for label in (IRRELEVANT, SEEMINGLY_RELEVANT)
        }
        return {RELEVANT: records.relevant, **mined}

    def mining_key(self, embedded: Embedded | None) -> dict[str, Any]:
        """Everything that mining depends on."""
        records = self.records
        return {
            "vectors": [] if embedded is None else embedded.key,
            "queries": records.ids,
            "relevant": records.relevant.to_pydict(),
            "gold": records.gold["aliases"].to_pylist(),
            "corpus": [i.files for i in self.infos],
            "mining": self.recipe.mining.model_dump(mode="json"),
            "seed": self.recipe.seed,
            "citeforge": __version__,
        }

    @property
    def draw_seed(self) -> int:
        """Seed of the draws that tell labels to whoever can make them again."""
        return keyed(self.recipe.seed, self.secret)

    def _with_draws(self, key: dict[str, Any]) -> dict[str, Any]:
        """The key of a stage that draws, too."""
        return key if self.secret is None else {**key, "draws": self.draw_seed}

    def _candidates(self, name: str) -> Rankings:
        """All that a run, or BM25, has for the queries."""
        retriever = make_retriever(name, RetrieverSettings(self.corpus))
        self.models["candidates"] = retriever.identity()
        texts = self.records.queries["text"].to_pylist()
        return retriever.rank(dict(zip(self.records.ids, texts, strict=True)), sys.maxsize)

    def embed(self) -> Embedded:
        """The vectors: of others, of shards, or made now."""
        self.models["embedder"] = self.fingerprint()
        rows, queries = self.run.shard_rows, self.records.queries
        shares = self.run.from_shards
        if shares is not None and self.recipe.compute != "int8":
            return from_shards(shares, self.corpus, queries["text"])
        folder = self.run.embeddings or self.workspace.stage(EMBEDDINGS)
        if self.vectors_given is not None:
            names = self.source.queries()["_id"].to_pylist()
            return from_others(
                self.vectors_given, self.corpus, names, self.records.ids, folder, rows
            )
        seed, found_by = self.recipe.seed, first_stage(self.run)
        place = self.embedder, self.corpus, folder
        work = (
            CorpusEmbedding(*place, rows, seed, found_by)
            if shares is None
            else EmbeddedByShares(*place, shares, shard_rows(shares), seed, found_by)
        )
        return work.of(queries["text"], self.recipe.mining)

    def _mine(
        self,
        key: dict[str, Any],
        embedded: Embedded | None,
        positions: np.ndarray,
        rankings: Rankings | None,
    ) -> dict[str, Any]:
        mining, ids = self.recipe.mining, self.records.ids
        exclusions = self.exclusions(positions)
        taken: list[list[Mined]] = [[] for _ in ids]
        measured: dict[str, Any] = {}
        miner: RankedCandidates | SeeminglyRelevant | None = None
        if rankings is not None:
            miner = RankedCandidates(self.corpus, rankings, exclusions, mining)
        elif embedded is not None:
            search = embedded.search()
            miner = SeeminglyRelevant(self.corpus, search, exclusions, mining)
        if miner is not None:
            taken = self._taken(miner, key)
            note_screened(exclusions.counts, "seemingly relevant", miner.dropped, mining)
            note_above(exclusions.counts, miner.above, mining)
        if isinstance(miner, SeeminglyRelevant) and isinstance(search, TwoStageSearch):
            exclusions.counts |= {
                "passages embedded in float32": search.embedded,
                "queries settled by a measured margin, not by proof": miner.n_measured,
                "queries not settled by nominations of any depth": miner.n_unsettled,
            }
            measured = {"margin": search.margin}
        irrelevant = drawn_table(self.corpus, ids, exclusions, taken, mining, self.draw_seed)
        folder = self.workspace.start("mapping")
        files = write_table(folder, SEEMINGLY_RELEVANT, seemingly_table(self.corpus, ids, taken))
        files |= write_table(folder, IRRELEVANT, irrelevant)
        # In the order in which a resumed build reads it back.
        record = {"counts": dict(sorted(exclusions.counts.items())), "measured": measured}
        self.workspace.finish("mapping", self._with_draws(key), files, record)
        return record

    def _taken(
        self, miner: RankedCandidates | SeeminglyRelevant, key: dict[str, Any]
    ) -> list[list[Mined]]:
        """Seemingly relevant passages of each query: of shares, or mined now."""
        shards = self.run.from_shards
        if shards is not None and isinstance(miner, SeeminglyRelevant):
            found = merged(shards, key, miner)
            if found is not None:
                return found
        return miner.mine()

    def exclusions(self, positions: np.ndarray) -> Exclusions:
        """What is no negative of which query."""
        records, keep_self = self.records, self.recipe.mining.keep_self
        return find_exclusions(
            self.corpus, records.queries, records.relevant, positions, self._answers(), keep_self
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
            table, contexts[mixture.name] = freeze(
                pools, mixture, self.draw_seed, full=recipe.hidden
            )
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
            "libraries": (
                _libraries() if "embedder" in self.models and not self.vectors_given else {}
            ),
        }
        return stats

    def _write_corpus(self, folder: Path, tables: dict[str, pa.Table]) -> dict[str, str]:
        batches = iter_batches(self.corpus)
        if self.recipe.corpus == "pool":
            named = pa.concat_arrays([c for t in tables.values() for c in t["corpus-id"].chunks])
            pool = named.unique()
            batches = (b.filter(pc.is_in(b["_id"], value_set=pool)) for b in batches)
        with (
            progress("writing the corpus", None, "passages") as advance,
            TableWriter(folder / "corpus", "corpus", CORPUS) as writer,
        ):
            for batch in batches:
                writer.write(batch.cast(CORPUS))
                advance(batch.num_rows)
        return writer.files


def _libraries() -> dict[str, str]:
    return {n: version(n) for n in ("torch", "sentence-transformers", "transformers")}
