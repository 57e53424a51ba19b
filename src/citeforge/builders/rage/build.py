"""``build rage``: from a source to a packaged RAGE benchmark (Penzkofer & Baumann 2024)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from citeforge.builders.build import Stats, Workspace, open_build
from citeforge.builders.package import (
    PackageWriter,
    copy_corpus,
    corpus_stats,
    link_corpus,
    mapping_stats,
)
from citeforge.builders.rage.form import Levelling
from citeforge.builders.rage.hidden_contexts import freeze_hidden
from citeforge.builders.rage.kept_queries import KeptQueries, find_kept, open_kept
from citeforge.builders.rage.material import Material, read_material
from citeforge.builders.rage.mixture import (
    Contexts,
    Mappings,
    OneSize,
    Pools,
    freeze,
    short_mappings,
)
from citeforge.builders.rage.negatives import MadeMappings, Models, make_mappings, read_unsure
from citeforge.builders.rage.pool import Pooled, judge_pool
from citeforge.builders.rage.sources import open_sources
from citeforge.builders.rage.suspects import drop_negatives
from citeforge.engines.draws import mix_secret
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.plugins import warn
from citeforge.engines.tables import rows_of, rows_with
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
        seed = mix_secret(recipe.seed, build.secret())
        old = open_kept(recipe, draft.config)
        whole = read_material(sources, build.workspace)
        kept = None
        if old is not None:
            kept = find_kept(whole, old, _with_unsure(whole, read_unsure(whole)).relevant)
        labelled = label_passages(whole, kept, build.workspace, seed)
        material, mappings = labelled.material, labelled.mappings
        # What may be relevant is no negative, nor is a copy of it.
        frozen = freeze_contexts(_with_unsure(material, labelled.unsure), mappings, seed)
        if kept is not None:
            kept.require_same_contexts(frozen.docs)
        if labelled.pooled is not None or labelled.unsure.num_rows:
            frozen = replace(frozen, mappings={**frozen.mappings, UNSURE: labelled.unsure})
        writer = build.package()
        stats, learnt = write_rage_tables(writer, material, frozen)
        made, models = labelled.made, sources.models | labelled.made.models
        if labelled.pooled is not None:
            stats |= labelled.pooled.stats
            models = labelled.pooled.models | models
        if old is not None:
            models = _with_earlier_models(models, old.manifest.models)
        if not recipe.hidden:  # that only mined passages have a cosine would tell them apart
            write_cosines(writer, made.cosines, mappings)
        return build.finish(
            draft, writer, stats, sources=material.infos, models=models,
            computed=made.computed and {**made.computed, "libraries": _libraries()}, **learnt,
        )  # fmt: skip


@dataclass(frozen=True)
class LabelledPassages:
    """Relevant passages and negatives of a build's queries.

    Attributes:
        material: material of the build, with the queries that are left.
        mappings: label to rows, schema MAPPING, without negatives that filters dropped.
        unsure: pairs that may be relevant, schema MAPPING.
        made: mined negatives with models and cosines; those of kept queries have theirs, too.
        pooled: what the judge of the pool found; None without one.
    """

    material: Material
    mappings: Mappings
    unsure: pa.Table
    made: MadeMappings
    pooled: Pooled | None = None


def label_passages(
    material: Material, kept_queries: KeptQueries | None, workspace: Workspace, seed: int
) -> LabelledPassages:
    """Label passages by judge and mining; queries of an earlier package keep their labels.

    Args:
        material: material of the build.
        kept_queries: queries of an earlier package; None for none.
        workspace: working folder of the build.
        seed: seed of the draws.
    """
    if kept_queries is None:
        return _judge_and_mine(material, None, workspace, seed)
    rest = kept_queries.leave_out(material)
    if rest.queries.num_rows:
        made_anew = _judge_and_mine(rest, kept_queries, workspace, seed)
    else:
        empty = MAPPING.empty_table()
        tables = dict.fromkeys(LABELS, empty)
        made_anew = LabelledPassages(rest, tables, empty, MadeMappings(tables))
    left = kept_queries.ids | set(made_anew.material.ids)
    queries = rows_with(material.queries, "_id", left).combine_chunks()
    joined = kept_queries.join_mappings(
        queries["_id"].to_pylist(), {**made_anew.mappings, UNSURE: made_anew.unsure}
    )
    unsure = joined.pop(UNSURE)
    gold = rows_with(material.gold, "query_id", left).combine_chunks()
    made = made_anew.made
    return replace(
        made_anew,
        material=replace(material, queries=queries, gold=gold, relevant=joined[RELEVANT]),
        mappings=joined,
        unsure=unsure,
        made=replace(made, cosines=pa.concat_tables([kept_queries.cosines, made.cosines])),
    )


def _judge_and_mine(
    material: Material, kept_queries: KeptQueries | None, workspace: Workspace, seed: int
) -> LabelledPassages:
    """Judge candidate passages, mine negatives, drop probably relevant ones, as the recipe says.

    Args:
        material: queries to judge and mine for.
        kept_queries: other queries of the build, which an earlier package has; None for none.
        workspace: working folder of the build.
        seed: seed of the draws.
    """
    unsure, pooled = read_unsure(material), None
    if (judge := material.sources.pool_judge) is not None:
        pooled = judge_pool(material, judge, workspace, kept_queries)
        material, unsure = pooled.material, pooled.unsure
    if pooled is not None and not material.queries.num_rows:
        tables = dict.fromkeys(LABELS, MAPPING.empty_table())
        return LabelledPassages(material, tables, unsure, MadeMappings(tables), pooled)
    made = make_mappings(_with_unsure(material, unsure), workspace, seed)
    mappings = drop_negatives(material, {**made.tables, RELEVANT: material.relevant})
    return LabelledPassages(material, mappings, unsure, made, pooled)


def _with_unsure(material: Material, unsure: pa.Table) -> Material:
    """Add the (query, passage) pairs of unsure relevance to a build's relevant ones."""
    both = pa.concat_tables([material.relevant, unsure]).combine_chunks()
    return replace(material, relevant=both)


def _with_earlier_models(models: Models, earlier: Models) -> Models:
    """Add an earlier package's models that decided about kept queries, if they differ."""
    others = {
        role if role not in models else f"{role} of kept queries": model
        for role, model in earlier.items()
        if models.get(role) != model and not role.endswith(" of kept queries")
    }
    older = {role: model for role, model in earlier.items() if role.endswith(" of kept queries")}
    return {**models, **older, **others}


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
    """Draw each query's context for every mixture (numbers of passages per label) of a build.

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
    """Write all tables of a RAGE package; return (statistics, fields for the manifest).

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
    """Write a corpus (all or ``pool``) without titles or breaks that reveal labels; count them.

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
    """Get the versions of the installed libraries that compute vectors, by name."""
    names = ("torch", "sentence-transformers", "transformers")
    return {n: version(n) for n in names if find_spec(n.replace("-", "_")) is not None}
