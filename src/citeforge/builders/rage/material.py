"""Queries, judgements, gold and passages of a RAGE build, read from its sources."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.build import Workspace
from citeforge.builders.package import write_corpus
from citeforge.builders.rage.joined_corpora import join_corpora
from citeforge.builders.rage.sources import RageSources
from citeforge.engines.draws import sample_ids
from citeforge.engines.tables import find_rows, rows_with, shard_paths
from citeforge.engines.textfiles import count_text
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.version import __version__


@dataclass(frozen=True)
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

    @cached_property
    def ids(self) -> list[str]:
        """Ids of the queries, in order."""
        return list(self.queries["_id"].to_pylist())

    def locate(self, mapping: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Get (rows whose passage is in the corpus, every row's corpus position or −1 if not)."""
        ids = mapping["corpus-id"].unique()
        positions, indices = find_rows(self.corpus, "_id", ids)
        where = np.full(len(ids), -1, np.int64)
        where[indices] = positions
        rows = where[pc.index_in(mapping["corpus-id"], value_set=ids).to_numpy()]
        return mapping.filter(pa.array(rows >= 0)), rows

    @cached_property
    def relevant_positions(self) -> np.ndarray:
        """Corpus position of each row of relevant passages; −1 if the passage is unknown."""
        return self.locate(self.relevant)[1]

    def refuse_dangling(self, mapping: pa.Table, rows: np.ndarray) -> None:
        """Raise an error for rows with unknown passages, unless the recipe skips them.

        Args:
            mapping: (query, passage) pairs, schema MAPPING.
            rows: corpus position of each pair's passage; −1 for an unknown one, of which there are.

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


def read_material(sources: RageSources, workspace: Workspace) -> Material:
    """Read and sample queries and judgements; write the corpus, or reuse a finished one.

    Raises:
        InputError: a source is at fault; no queries, or some without a relevant passage.
    """
    source, recipe = sources.source, sources.recipe
    relevant, queries = source.relevant(), source.queries()
    if queries.num_rows == 0:
        raise InputError("has no queries", path=recipe.source, code="no-queries")
    counts = {"queries_in_the_source": queries.num_rows}
    if recipe.pool.judge is None:  # else the judge finds some
        _require_relevant(queries, relevant, counts, recipe)
    if recipe.limit and recipe.limit < queries.num_rows:
        sample = sample_ids(queries["_id"].to_pylist(), recipe.limit, recipe.seed, "limit")
        queries = rows_with(queries, "_id", sample)
    relevant = rows_with(relevant, "query-id", queries["_id"]).combine_chunks()
    gold = rows_with(source.gold(), "query_id", queries["_id"]).combine_chunks()
    infos, corpus = _write_or_reuse_corpus(sources, workspace)
    queries = queries.combine_chunks()
    return drop_dangling(Material(sources, queries, relevant, gold, counts, infos, corpus))


def drop_dangling(material: Material) -> Material:
    """Drop and count judgements of passages not in the corpus; if not allowed, raise an error.

    Raises:
        InputError: it does not; or a query has no other relevant passage and must have one.
    """
    rows = material.relevant_positions
    missing = int((rows < 0).sum())
    if not missing:
        return material
    material.refuse_dangling(material.relevant, rows)
    material.counts["judgements_of_unknown_passages"] = missing
    relevant = material.relevant.filter(pa.array(rows >= 0)).combine_chunks()
    if material.recipe.pool.judge is None:
        _require_relevant(material.queries, relevant, material.counts, material.recipe)
    return replace(material, relevant=relevant)


def _require_relevant(
    queries: pa.Table, relevant: pa.Table, counts: dict[str, int], recipe: RageRecipe
) -> None:
    """Raise an error for queries without relevant passages; if allowed, add to ``counts``.

    Args:
        queries: schema QUERIES.
        relevant: pairs of query and relevant passage, schema MAPPING.
        counts: the number of such queries is added.
        recipe: recipe of the build.

    Raises:
        InputError: there are some, and the recipe does not allow them.
    """
    has = pc.is_in(queries["_id"], value_set=relevant["query-id"])
    without = queries.filter(pc.invert(has))["_id"]
    if len(without) == 0:
        return
    counts["queries_without_a_relevant_passage"] = len(without)
    if recipe.allow_no_relevant:
        return
    names = ", ".join(repr(n) for n in without.slice(0, 3).to_pylist())
    raise InputError(
        f"no relevant passage for {count_text(len(without), 'query')} (first: {names})",
        path=recipe.source,
        allowed="judge them, or pass --allow-no-relevant to keep them (they have no recall)",
        code="no-relevant",
    )


def _write_or_reuse_corpus(
    sources: RageSources, workspace: Workspace
) -> tuple[list[SourceInfo], list[Path]]:
    """Write or reuse the corpus; return the sources' provenance and the Parquet files."""
    infos, recipe, folder = sources.infos(), sources.recipe, workspace.stage("corpus")
    key = {
        "sources": [[i.spec, i.files, i.revision] for i in infos],
        "skip_empty": recipe.skip_empty,
        "extra_fields": recipe.extra_fields,
        "extra_prefix": recipe.extra_prefix,
        "citeforge": __version__,
    }
    if (record := workspace.read_finished("corpus", key)) is not None:
        for info, counts in zip(infos, record["counts"], strict=True):
            info.counts.update(counts)
        return infos, shard_paths(folder, "corpus")
    source, extra = sources.source, sources.extra
    workspace.start("corpus")
    if extra is None:
        files = write_corpus(folder, source.passages(), source)
    else:
        files = join_corpora(source, extra, folder, recipe.extra_prefix)
    infos = sources.infos()
    workspace.finish("corpus", key, files, {"counts": [i.counts for i in infos]})
    return infos, [folder / name for name in files]
