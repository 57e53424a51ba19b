"""``build rage``: from a source to a packaged RAGE benchmark (Penzkofer & Baumann 2024)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge import __version__
from citeforge.builders.audit.run import drop_suspects
from citeforge.builders.corpus import embedding_texts, find_rows, write_corpus
from citeforge.builders.exclusions import Exclusions, find_exclusions, short_answers
from citeforge.builders.mapping import drawn_table, seemingly_table, short_mappings
from citeforge.builders.mining import Mined, SeeminglyRelevant
from citeforge.builders.mixture import Pools, freeze
from citeforge.builders.package import PackageWriter
from citeforge.builders.recipe import package_name
from citeforge.builders.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.workspace import IfExists, Workspace
from citeforge.engines.draws import sample_ids
from citeforge.engines.embedder import Embedder
from citeforge.engines.progress import progress
from citeforge.engines.tables import (
    TableWriter,
    iter_batches,
    read_table,
    shard_paths,
    write_table,
)
from citeforge.engines.vectors import SHARD_ROWS, VectorShard, ensure_shards, iter_blocks
from citeforge.ir_convert.registry import licence_of, open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.schemas.config import RageConfig
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import GrammarInfo, Manifest
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


@dataclass(frozen=True)
class BuildOptions:
    """What a build needs to know and its tables do not depend on.

    Attributes:
        out: folder of the package.
        if_exists: what to do when something is there.
        name: name of the benchmark; None for the folder's.
        licence: licence of the data, when the source does not say.
        embeddings: folder to keep embedding shards in; None for the build's own.
        shard_rows: passages an embedding shard.
    """

    out: Path
    if_exists: IfExists = "refuse"
    name: str | None = None
    licence: str | None = None
    embeddings: Path | None = None
    shard_rows: int = SHARD_ROWS


def build_rage(
    config: RageConfig, options: BuildOptions, make_embedder: Callable[[], Embedder]
) -> Manifest:
    """Build a package, or continue a build that was cut off.

    Args:
        config: everything that the tables depend on.
        options: where and how.
        make_embedder: called when vectors are needed.

    Returns:
        The manifest of the finished package.

    Raises:
        InputError: the source, a file in it, or the output folder is at fault.
    """
    with Workspace(options.out, options.if_exists).building() as workspace:
        return _Build(config, options, make_embedder, workspace).run()


@dataclass
class _Records:
    """Small tables of the source, cut to the queries of this build."""

    queries: pa.Table
    relevant: pa.Table
    gold: pa.Table
    counts: dict[str, int]


class _Build:
    def __init__(
        self,
        config: RageConfig,
        options: BuildOptions,
        make_embedder: Callable[[], Embedder],
        workspace: Workspace,
    ) -> None:
        self.config = config
        self.options = options
        self.make_embedder = make_embedder
        self.workspace = workspace
        self.models: dict[str, dict[str, Any]] = {}

    def run(self) -> Manifest:
        read = ReadOptions(
            self.config.skip_empty,
            self.config.skip_dangling,
            self.workspace.stage("archives"),
            self.config.skip_contradictions,
        )
        source = open_source(self.config.source, self.config.split, read)
        extra = None
        if self.config.extra_corpus:
            extra = open_source(self.config.extra_corpus, None, read)
        known = self._finished([s.info() for s in (source, extra) if s is not None])
        if known is not None:
            return known
        records = self._records(source)
        infos = self._corpus_stage(source, extra)
        corpus = shard_paths(self.workspace.stage("corpus"), "corpus")
        tables = self._mapping_stage(source, infos, corpus, records)
        return self._write_package(infos, corpus, records, tables)

    def _finished(self, infos: list[SourceInfo]) -> Manifest | None:
        """The package at ``out``, if it is the result of this very build (after a late kill)."""
        draft = self._draft(infos)
        resumes = self.options.if_exists == "resume" and (self.options.out / MANIFEST).is_file()
        # The embedder of a build that needed no vectors decided nothing.
        if resumes and "embedder" in load_manifest(self.options.out).models:
            draft.models["embedder"] = self.make_embedder().fingerprint()
        return self.workspace.taken(draft)

    def _draft(self, infos: list[SourceInfo]) -> Manifest:
        """All of the manifest that is known before the tables are made."""
        for info in infos:
            info.licence = info.licence or licence_of(info.kind) or self.options.licence
        return Manifest(
            kind="rage",
            name=package_name(self.options.name, self.options.out),
            citeforge=__version__,
            licence=self.options.licence or infos[0].licence,
            sources=infos,
            config=self.config.model_dump(mode="json"),
            models=dict(self.models),
            grammar=GrammarInfo(base=self.config.base),
            contexts={},
        )

    def _records(self, source: Source) -> _Records:
        relevant = source.relevant()
        queries = source.queries()
        if queries.num_rows == 0:
            raise InputError("has no queries", path=self.config.source)
        counts = {"queries in the source": queries.num_rows}
        queries = self._with_relevant(source, queries, relevant, counts)
        if self.config.limit and self.config.limit < queries.num_rows:
            kept = sample_ids(
                queries["_id"].to_pylist(), self.config.limit, self.config.seed, "limit"
            )
            queries = _only(queries, "_id", pa.array(kept))
        ids = queries["_id"]
        gold = source.gold()
        return _Records(
            queries.combine_chunks(),
            _only(relevant, "query-id", ids).combine_chunks(),
            _only(gold, "query_id", ids).combine_chunks(),
            counts,
        )

    def _with_relevant(
        self, source: Source, queries: pa.Table, relevant: pa.Table, counts: dict[str, int]
    ) -> pa.Table:
        has = pc.is_in(queries["_id"], value_set=relevant["query-id"])
        without = queries.filter(pc.invert(has))["_id"]
        if len(without) == 0:
            return queries
        counts["queries without a relevant passage"] = len(without)
        if self.config.allow_no_relevant:
            return queries
        names = ", ".join(repr(n) for n in without.slice(0, 3).to_pylist())
        raise InputError(
            f"{len(without)} queries have no relevant passage (first: {names})",
            path=self.config.source,
            allowed="judge them, or pass --allow-no-relevant to keep them (they have no recall)",
        )

    def _corpus_stage(self, source: Source, extra: Source | None) -> list[SourceInfo]:
        infos = [s.info() for s in (source, extra) if s is not None]
        key = {
            "sources": [[i.spec, i.files, i.revision] for i in infos],
            "skip_empty": self.config.skip_empty,
            "citeforge": __version__,
        }
        known = self.workspace.finished("corpus", key)
        if known is not None:
            for info, counts in zip(infos, known["counts"], strict=True):
                info.counts.update(counts)
            return infos
        with progress("reading the corpus", None, "files") as advance:
            files = write_corpus(source, extra, self.workspace.start("corpus"))
            advance(len(files))
        infos = [s.info() for s in (source, extra) if s is not None]
        self.workspace.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
        return infos

    def _positions(self, corpus: list[Path], mapping: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Rows of a mapping whose passages exist, with their positions."""
        wanted = mapping["corpus-id"].unique()
        positions, indices = find_rows(corpus, "_id", wanted)
        where = np.full(len(wanted), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=wanted).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    def _mapping_stage(
        self, source: Source, infos: list[SourceInfo], corpus: list[Path], records: _Records
    ) -> dict[str, pa.Table]:
        relevant, rows = self._positions(corpus, records.relevant)
        missing = int((rows < 0).sum())
        if missing:
            self._refuse_dangling(source, records.relevant, rows)
            records.counts["judgements of unknown passages, skipped"] = missing
            records.relevant = relevant.combine_chunks()
            self._with_relevant(source, records.queries, records.relevant, records.counts)
        given = {} if self.config.remine else source.mined()
        if given:
            return self._given_mappings(source, corpus, records, given, rows[rows >= 0])
        return self._mined_mappings(infos, corpus, records, rows[rows >= 0])

    def _refuse_dangling(self, source: Source, relevant: pa.Table, rows: np.ndarray) -> None:
        if self.config.skip_dangling:
            return
        first = int(np.flatnonzero(rows < 0)[0])
        query = relevant["query-id"][first].as_py()
        passage = relevant["corpus-id"][first].as_py()
        path, line = source.where(query, passage)
        raise InputError(
            f"names the passage {passage!r}, which the corpus lacks",
            path=path,
            line=line,
            field="corpus-id",
            allowed="add the passage, or pass --skip-dangling",
        )

    def _given_mappings(
        self,
        source: Source,
        corpus: list[Path],
        records: _Records,
        given: dict[str, pa.Table],
        positions: np.ndarray,
    ) -> dict[str, pa.Table]:
        tables = {RELEVANT: records.relevant}
        taken: dict[str, list[Mined]] = {q: [] for q in records.queries["_id"].to_pylist()}
        for label, table in given.items():
            kept, rows = self._positions(corpus, _only(table, "query-id", records.queries["_id"]))
            if (rows < 0).any():
                self._refuse_dangling(source, table, rows)
                records.counts[f"{label} rows of unknown passages, skipped"] = int((rows < 0).sum())
            tables[label] = kept
            found = rows[rows >= 0].tolist()
            for query, position in zip(kept["query-id"].to_pylist(), found, strict=True):
                taken[query].append(Mined(position, 0.0, 0))
        if IRRELEVANT not in given and self.config.mining.irrelevant:
            exclusions = self._exclusions(corpus, records, positions)
            places, mining, seed = list(taken.values()), self.config.mining, self.config.seed
            tables[IRRELEVANT] = drawn_table(corpus, list(taken), exclusions, places, mining, seed)
            records.counts.update(exclusions.counts)
        return tables

    def _mined_mappings(
        self,
        infos: list[SourceInfo],
        corpus: list[Path],
        records: _Records,
        positions: np.ndarray,
    ) -> dict[str, pa.Table]:
        mining = self.config.mining
        shards: list[VectorShard] = []
        vectors = np.empty((records.queries.num_rows, 0), np.float32)
        if mining.seemingly_relevant:
            shards, vectors = self._embed(corpus, records.queries)
        key = {
            "vectors": [s.key for s in shards],
            "queries": records.queries["_id"].to_pylist(),
            "relevant": records.relevant.to_pydict(),
            "gold": records.gold["aliases"].to_pylist(),
            "corpus": [i.files for i in infos],
            "mining": mining.model_dump(mode="json"),
            "seed": self.config.seed,
            "citeforge": __version__,
        }
        known = self.workspace.finished("mapping", key)
        if known is None:
            known = self._mine(key, shards, vectors, corpus, records, positions)
        records.counts.update(known["counts"])
        folder = self.workspace.stage("mapping")
        mined = {
            label: read_table(shard_paths(folder, label), MAPPING)
            for label in (IRRELEVANT, SEEMINGLY_RELEVANT)
        }
        return {RELEVANT: records.relevant, **mined}

    def _embed(self, corpus: list[Path], queries: pa.Table) -> tuple[list[VectorShard], np.ndarray]:
        embedder = self.make_embedder()
        self.models["embedder"] = embedder.fingerprint()
        folder = self.options.embeddings or self.workspace.stage("embeddings")
        total = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))
        rows = self.options.shard_rows
        with progress("embedding passages", total, "passages") as advance:
            shards = ensure_shards(
                folder, "passages", embedding_texts(corpus, rows), embedder, "passage", advance
            )
        texts = pa.concat_arrays(queries["text"].chunks)
        pieces = (texts.slice(i, rows) for i in range(0, len(texts), rows))
        with progress("embedding queries", len(texts), "queries") as advance:
            asked = ensure_shards(folder, "queries", pieces, embedder, "query", advance)
        blocks = [block.copy() for _, block in iter_blocks(asked, len(texts))]
        return shards, np.concatenate(blocks)

    def _mine(
        self,
        key: dict[str, Any],
        shards: list[VectorShard],
        vectors: np.ndarray,
        corpus: list[Path],
        records: _Records,
        positions: np.ndarray,
    ) -> dict[str, Any]:
        mining = self.config.mining
        ids = records.queries["_id"].to_pylist()
        exclusions = self._exclusions(corpus, records, positions)
        taken: list[list[Mined]] = [[] for _ in ids]
        if mining.seemingly_relevant:
            miner = SeeminglyRelevant(corpus, shards, vectors, exclusions, mining)
            taken = miner.mine()
            if mining.exclude_answers:
                exclusions.counts["seemingly relevant candidates dropped: contain an answer"] = (
                    miner.n_answer_carriers
                )
        irrelevant = drawn_table(corpus, ids, exclusions, taken, mining, self.config.seed)
        folder = self.workspace.start("mapping")
        files = write_table(folder, SEEMINGLY_RELEVANT, seemingly_table(corpus, ids, taken))
        files |= write_table(folder, IRRELEVANT, irrelevant)
        record = {"counts": exclusions.counts}
        self.workspace.finish("mapping", key, files, record)
        return record

    def _exclusions(
        self, corpus: list[Path], records: _Records, positions: np.ndarray
    ) -> Exclusions:
        answers, drop_self = self._answers(records), self.config.mining.drop_self
        return find_exclusions(
            corpus, records.queries, records.relevant, positions, answers, drop_self
        )

    def _answers(self, records: _Records) -> list[list[str]]:
        if not self.config.mining.exclude_answers:
            return [[] for _ in range(records.queries.num_rows)]
        answers = short_answers(records.queries, records.relevant, records.gold)
        if not any(answers):
            raise UsageError(
                f"--exclude-answers: {self.config.source} has no gold short answers to look for"
            )
        return answers

    def _write_package(
        self,
        infos: list[SourceInfo],
        corpus: list[Path],
        records: _Records,
        tables: dict[str, pa.Table],
    ) -> Manifest:
        if self.config.drop_suspects:
            rows, gold = records.queries, records.gold
            tables = drop_suspects(rows, tables, gold, corpus, records.counts)
        folder = self.workspace.start("package")
        writer = PackageWriter(folder)
        writer.note("corpus", "corpus", self._write_corpus(folder, corpus, tables))
        writer.add("queries", "queries", records.queries.cast(QUERIES))
        n = records.queries.num_rows
        stats: dict[str, object] = {
            "queries": n,
            **corpus_stats(shard_paths(folder / "corpus", "corpus")),
        }
        pools = Pools(records.queries["_id"].to_pylist())
        for label in (RELEVANT, IRRELEVANT, SEEMINGLY_RELEVANT):
            table = tables.get(label, MAPPING.empty_table())
            writer.add("mapping", label, table.cast(MAPPING))
            pools.add(label, table)
            stats |= mapping_stats(label, table, n)
        contexts = {}
        for mixture in self.config.mixtures:
            table, contexts[mixture.name] = freeze(pools, mixture, self.config.seed)
            writer.add("contexts", mixture.name, table)
            stats |= context_stats(mixture.name, table)
        writer.add("gold", "gold", records.gold.cast(GOLD))
        stats["gold rows"] = records.gold.num_rows
        manifest = self._draft(infos).model_copy(
            update={
                "contexts": contexts,
                "counts": records.counts,
                "short_mappings": short_mappings(pools, self.config.mining),
                "libraries": _libraries() if self.models else {},
            }
        )
        return writer.finish(manifest, stats)

    def _write_corpus(
        self, folder: Path, corpus: list[Path], tables: dict[str, pa.Table]
    ) -> dict[str, str]:
        batches = iter_batches(corpus)
        if self.config.corpus == "pool":
            named = pa.concat_arrays([c for t in tables.values() for c in t["corpus-id"].chunks])
            pool = named.unique()
            batches = (b.filter(pc.is_in(b["_id"], value_set=pool)) for b in batches)
        with TableWriter(folder / "corpus", "corpus", CORPUS) as writer:
            for batch in batches:
                writer.write(batch.cast(CORPUS))
        return writer.files


def _only(table: pa.Table, column: str, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.filter(pc.is_in(table[column], value_set=ids))


def _libraries() -> dict[str, str]:
    return {n: version(n) for n in ("torch", "sentence-transformers", "transformers")}
