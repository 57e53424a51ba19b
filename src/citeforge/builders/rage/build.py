"""``build rage``: from a source to a packaged RAGE benchmark (Penzkofer & Baumann 2024)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from citeforge.builders.build import Stats, open_build
from citeforge.builders.package import (
    PackageWriter,
    copy_corpus,
    corpus_stats,
    link_corpus,
    mapping_stats,
)
from citeforge.builders.rage.form import Levelling
from citeforge.builders.rage.hidden_contexts import freeze_hidden
from citeforge.builders.rage.material import Material, read_material
from citeforge.builders.rage.mixture import (
    Contexts,
    Mappings,
    OneSize,
    Pools,
    freeze,
    short_mappings,
)
from citeforge.builders.rage.negatives import make_mappings, read_unsure
from citeforge.builders.rage.pool import judge_pool
from citeforge.builders.rage.sources import open_sources
from citeforge.builders.rage.suspects import drop_negatives
from citeforge.engines.draws import mix_secret
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.plugins import warn
from citeforge.engines.tables import rows_of
from citeforge.engines.textfiles import count_text
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import require
from citeforge.schemas.manifest import ContextSet, Manifest
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import Mixture, RageRecipe
from citeforge.schemas.tables import (
    GOLD,
    LABELS,
    MAPPING,
    QUERIES,
    RELEVANT,
    SEEMINGLY_RELEVANT,
    UNSURE,
)


def build_rage(recipe: RageRecipe, run: RunOptions, embedder: Embedder | None = None) -> Manifest:
    """Build a RAGE package, or continue an interrupted build.

    Args:
        recipe: everything that the tables depend on.
        run: options of the run.
        embedder: embedder to use; None for the recipe's.

    Returns:
        The manifest of the finished package.

    Raises:
        InputError: the source, a file in it, or the output folder is at fault.
        MissingExtraError: a module that the recipe needs is not installed.
    """
    if recipe.drop_suspects:
        require("datasketch")
    with open_build(recipe, run) as build:
        sources = open_sources(recipe, run, build.workspace, embedder)
        draft = sources.draft(build)
        if (finished := build.finished(draft)) is not None:
            return finished
        material = read_material(sources, build.workspace)
        seed = mix_secret(recipe.seed, build.secret())
        pooled = None
        unsure = read_unsure(material)
        if sources.pool_judge is not None:
            pooled = judge_pool(material, sources.pool_judge, build.workspace)
            material, unsure = pooled.material, pooled.unsure
        # What may be relevant is no negative, nor is a copy of it.
        both = pa.concat_tables([material.relevant, unsure]).combine_chunks()
        mined_from = replace(material, relevant=both)
        made = make_mappings(mined_from, build.workspace, seed)
        mappings = drop_negatives(material, {**made.tables, RELEVANT: material.relevant})
        frozen = freeze_contexts(mined_from, mappings, seed)
        if pooled is not None or unsure.num_rows:
            frozen = replace(frozen, mappings={**frozen.mappings, UNSURE: unsure})
        writer = build.package()
        stats, learnt = write_rage_tables(writer, material, frozen)
        models = sources.models | made.models
        if pooled is not None:
            stats |= pooled.stats
            models = pooled.models | models
        if not recipe.hidden:  # that only mined passages have a cosine would tell them apart
            write_cosines(writer, made.cosines, mappings)
        return build.finish(
            draft, writer, stats, sources=material.infos, models=models,
            computed=made.computed and {**made.computed, "libraries": _libraries()}, **learnt,
        )  # fmt: skip


def write_cosines(writer: PackageWriter, cosines: pa.Table, mappings: Mappings) -> None:
    """Write the cosines of queries and mined passages, except passages that filters dropped.

    Args:
        writer: writer of the package.
        cosines: cosines of all mined passages, schema COSINES.
        mappings: label to the (query, passage) pairs that are left, schema MAPPING.
    """
    kept = set(rows_of(mappings[SEEMINGLY_RELEVANT], "query-id", "corpus-id"))
    pairs = rows_of(cosines, "query-id", "corpus-id")
    still = cosines.filter(pa.array([pair in kept for pair in pairs], pa.bool_()))
    if still.num_rows:
        writer.add("cosines", SEEMINGLY_RELEVANT, still)


@dataclass(frozen=True)
class FrozenContexts:
    """Mappings of a build, and the contexts that were drawn from them.

    Attributes:
        mappings: label to rows, schema MAPPING; perhaps also the undecided ones.
        docs: context set to the passages of each query.
        sets: context set to its description in the manifest.
        short_mappings: queries with fewer negatives than asked; empty for hidden labels, where the
            number of near ones would tell that of relevant ones.
        levelled: parts of the form that are removed from all passages, as they would tell labels.
    """

    mappings: Mappings
    docs: dict[str, Contexts]
    sets: dict[str, ContextSet]
    short_mappings: dict[str, dict[str, int]]
    levelled: Sequence[str] = ()


def freeze_contexts(
    material: Material,
    mappings: Mappings,
    seed: int,
    choose_size: Callable[[Pools, Mixture], OneSize | None] | None = None,
) -> FrozenContexts:
    """Draw the context of each query for every mixture that the recipe names.

    Args:
        material: material of the build.
        mappings: rows of each label.
        seed: seed of the draws.
        choose_size: chooses the common size of a mixture's contexts; None for as many passages as
            each query has. Contexts of hidden benchmarks have all that the mixture names.
    """
    recipe = material.recipe
    if recipe.hidden:
        mixture = recipe.mixtures[0]
        hidden = freeze_hidden(material, mappings, mixture, seed)
        docs, sets = {mixture.name: hidden.docs}, {mixture.name: hidden.info}
        return FrozenContexts(hidden.mappings, docs, sets, {}, hidden.levelled)
    pools = Pools.from_mappings(material.ids, mappings)
    docs, sets = {}, {}
    for mixture in recipe.mixtures:
        size = None if choose_size is None else choose_size(pools, mixture)
        docs[mixture.name], sets[mixture.name] = freeze(pools, mixture, seed, size)
    return FrozenContexts(mappings, docs, sets, short_mappings(pools, recipe.mining))


def write_rage_tables(
    writer: PackageWriter, material: Material, frozen: FrozenContexts
) -> tuple[Stats, dict[str, Any]]:
    """Write all tables of the package; return statistics and fields for the manifest.

    Args:
        writer: writer of the package.
        material: queries, gold, corpus and counts of the build.
        frozen: mappings and contexts to write.
    """
    n = material.queries.num_rows
    pool = None
    if material.recipe.corpus == "pool":
        pool = {i for t in frozen.mappings.values() for i in t["corpus-id"].to_pylist()}
    if frozen.levelled:
        files = write_levelled(writer, material, pool, frozen.levelled)
    elif pool is not None:
        files = copy_corpus(writer.folder, material.corpus, pool)
    else:
        files = link_corpus(writer.folder, material.corpus)
    writer.add_shards("corpus", "corpus", files)
    writer.add("queries", "queries", material.queries.cast(QUERIES))
    stats: Stats = {"queries": n, **corpus_stats(writer.folder)}
    for label in LABELS:
        table = frozen.mappings.get(label, MAPPING.empty_table())
        writer.add("mapping", label, table.cast(MAPPING))
        stats |= mapping_stats(label, table, n)
    if UNSURE in frozen.mappings:
        writer.add("mapping", UNSURE, frozen.mappings[UNSURE].cast(MAPPING))
    for name, docs in frozen.docs.items():
        stats |= writer.add_contexts(name, docs)
    writer.add("gold", "gold", material.gold.cast(GOLD))
    stats["gold_rows"] = material.gold.num_rows
    return stats, {
        "contexts": frozen.sets,
        "counts": material.counts,
        "short_mappings": frozen.short_mappings,
    }


def write_levelled(
    writer: PackageWriter, material: Material, pool: set[str] | None, features: Sequence[str]
) -> dict[str, str]:
    """Write the corpus without titles or line breaks that give away labels; count changes.

    Args:
        writer: writer of the package.
        material: material of the build; its counts are updated.
        pool: ids of the passages to write; None for all.
        features: what to remove.

    Returns:
        File names with sha256.
    """
    levelling = Levelling(features)
    files = copy_corpus(writer.folder, material.corpus, pool, change=levelling.level)
    for name, number in levelling.changed.items():
        material.counts[count_key("hidden_passages_levelled", name)] = number
        warn(
            f"{name} told relevant passages from the negatives that there are, so all {name} are "
            f"removed: from {count_text(number, 'passage')}"
        )
    return files


def _libraries() -> dict[str, str]:
    """Get the versions of the libraries that compute vectors."""
    names = ("torch", "sentence-transformers", "transformers")
    return {n: version(n) for n in names if find_spec(n.replace("-", "_")) is not None}
