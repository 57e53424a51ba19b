"""What a RAGE build works on once its sources are read: small tables, and the corpus as Parquet."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.rage.exclusions import Exclusions, find_exclusions, short_answers
from citeforge.builders.rage.sources import RageSources
from citeforge.builders.stages.build import Workspace
from citeforge.builders.stages.corpus import write_corpus
from citeforge.engines.draws import sample_ids
from citeforge.engines.io.corpus import find_rows
from citeforge.engines.io.tables import rows_with, shard_paths
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.records import RageRecipe
from citeforge.schemas.version import __version__


@dataclass
class Material:
    """Queries, judgements, gold, and the passages of all sources.

    Attributes:
        sources: where they come from.
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
        """Rows of a mapping whose passages exist; and the position of each row's passage, or −1."""
        ids = mapping["corpus-id"].unique()
        positions, indices = find_rows(self.corpus, "_id", ids)
        where = np.full(len(ids), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=ids).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    def relevant_positions(self) -> np.ndarray:
        """Corpus positions of relevant passages; unknown passages are refused or skipped."""
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
        """Raise the error of a row with an unknown passage, unless the recipe skips those.

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
        """Find the passages that may not be negatives of each query."""
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
    """Read queries and judgements, sample the queries, and write the corpus; or take one that was
    written before.

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
    infos, folder = _corpus(sources, place)
    corpus = shard_paths(folder, "corpus")
    return Material(sources, queries.combine_chunks(), relevant, gold, counts, infos, corpus)


def _require_relevant(
    queries: pa.Table, relevant: pa.Table, counts: dict[str, int], recipe: RageRecipe
) -> None:
    """Count queries without a relevant passage.

    Raises:
        InputError: there are some, and nobody allowed them.
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


def _corpus(sources: RageSources, place: Workspace) -> tuple[list[SourceInfo], Path]:
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
    files = write_corpus(sources.source, sources.extra, place.start("corpus"), recipe.extra_prefix)
    infos = sources.infos()
    place.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
    return infos, place.stage("corpus")
