"""What a RAGE build works on once its sources are read: records, and the corpus as Parquet."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.rage.exclusions import Exclusions, find_exclusions, short_answers
from citeforge.builders.rage.sources import RageSources
from citeforge.builders.stages.corpus import write_corpus
from citeforge.builders.stages.records import Records, read_records, require_relevant
from citeforge.builders.stages.shards import ShardFolder
from citeforge.builders.stages.workspace import Workspace
from citeforge.engines.io.corpus import find_rows
from citeforge.engines.io.tables import shard_paths
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.records import RageRecipe
from citeforge.schemas.version import __version__


@dataclass(frozen=True)
class Material:
    """Queries, judgements, gold, and the passages of all sources.

    Attributes:
        sources: where they come from.
        records: the small tables.
        infos: provenance, with what was counted while passages were read.
        corpus: Parquet files of the passages.
    """

    sources: RageSources
    records: Records
    infos: list[SourceInfo]
    corpus: list[Path]

    @property
    def recipe(self) -> RageRecipe:
        """Everything that the tables depend on."""
        return self.sources.recipe

    def locate(self, mapping: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Rows of a mapping whose passages exist; and the position of each row's passage, or −1."""
        ids = mapping["corpus-id"].unique()
        positions, indices = find_rows(self.corpus, "_id", ids)
        where = np.full(len(ids), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=ids).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    def relevant_positions(self) -> np.ndarray:
        """Where the relevant passages lie; judgements of others are refused, or go."""
        records = self.records
        relevant, rows = self.locate(records.relevant)
        missing = int((rows < 0).sum())
        if missing:
            self.refuse_dangling(records.relevant, rows)
            records.counts["judgements of unknown passages, skipped"] = missing
            records.relevant = relevant.combine_chunks()
            require_relevant(records.queries, records.relevant, records.counts, self.recipe)
        positions: np.ndarray = rows[rows >= 0]
        return positions

    def refuse_dangling(self, mapping: pa.Table, rows: np.ndarray) -> None:
        """Stop at a row of an unknown passage, unless those are to be skipped.

        Raises:
            InputError: names the first.
        """
        if self.recipe.skip_dangling:
            return
        first = int(np.flatnonzero(rows < 0)[0])
        query = mapping["query-id"][first].as_py()
        passage = mapping["corpus-id"][first].as_py()
        path, line = self.sources.source.where(query, passage)
        raise InputError(
            f"names the passage {passage!r}, which the corpus lacks",
            path=path,
            line=line,
            field="corpus-id",
            allowed="add the passage, or pass --skip-dangling",
        )

    def exclusions(self, positions: np.ndarray) -> Exclusions:
        """What is no negative of which query."""
        records, mining = self.records, self.recipe.mining
        answers: list[list[str]] = [[] for _ in records.ids]
        if mining.exclude_answers:
            answers = short_answers(records.queries, records.relevant, records.gold)
            if not any(answers):
                raise UsageError(
                    f"--exclude-answers: {self.recipe.source} has no gold short answers to look for"
                )
        return find_exclusions(
            self.corpus, records.queries, records.relevant, positions, answers, mining.keep_self
        )


def read_material(sources: RageSources, place: Workspace) -> Material:
    """Read queries and judgements, and write the corpus; or take one that was written before.

    Raises:
        InputError: a source is at fault.
    """
    records = read_records(sources.source, sources.recipe)
    with place.alone("corpus"):
        infos, folder = _corpus(sources, place)
    return Material(sources, records, infos, shard_paths(folder, "corpus"))


def _corpus(sources: RageSources, place: Workspace) -> tuple[list[SourceInfo], Path]:
    infos, recipe, shards = sources.infos(), sources.recipe, sources.run.from_shards
    key = {
        "sources": [[i.spec, i.files, i.revision] for i in infos],
        "skip_empty": recipe.skip_empty,
        "extra_fields": recipe.extra_fields,
        "extra_prefix": recipe.extra_prefix,
        "citeforge": __version__,
    }
    for folder in [place] if shards is None else [ShardFolder(shards), place]:
        record = folder.finished("corpus", key)
        if record is not None:
            for info, counts in zip(infos, record["counts"], strict=True):
                info.counts.update(counts)
            return infos, folder.stage("corpus")
    files = write_corpus(sources.source, sources.extra, place.start("corpus"), recipe.extra_prefix)
    infos = sources.infos()
    place.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
    return infos, place.stage("corpus")
