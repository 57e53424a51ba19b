"""``build hagrid`` and ``build alce``: contexts are the data set's own passages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from citeforge.builders.alce.build import build_retrieved
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.stages.build import Stats, building
from citeforge.engines.io.tables import TableWriter, rows_of
from citeforge.ir_convert.alce import load_alce, passage_id
from citeforge.ir_convert.registry import info_of, open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.benchmarks.manifest import ContextSet, Manifest
from citeforge.schemas.benchmarks.tables import (
    CONTEXTS,
    CORPUS,
    GOLD,
    MAPPING,
    QUERIES,
    RELEVANT,
    UNJUDGED,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.records import AlceRecipe, HagridRecipe, RunOptions

R = TypeVar("R", HagridRecipe, AlceRecipe)


@dataclass(frozen=True)
class OwnContexts:
    """The contexts that a data set brings.

    Attributes:
        source: the data set.
        name: of the set of contexts.
        about: what the manifest says of it.
        docs: query to its ordered passages: ``corpus-id`` and ``label``.
    """

    source: Source
    name: str
    about: ContextSet
    docs: dict[str, list[dict[str, str]]]


def build_hagrid(recipe: HagridRecipe, run: RunOptions) -> Manifest:
    """Contexts ``gold``: the quotes of each question in their order.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    return _build(recipe, run, _hagrid_contexts)


def build_alce(recipe: AlceRecipe, run: RunOptions) -> Manifest:
    """Contexts ``topK``: the first K documents of each item in their order; with a corpus, an
    oracle or a writer what :func:`citeforge.builders.alce.build.build_retrieved` gives.

    Documents that carry a short answer are labelled relevant; the others, and all of ELI5's,
    ``unjudged``.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    if not recipe.is_plain:
        return build_retrieved(recipe, run)
    return _build(recipe, run, _alce_contexts)


def _build(recipe: R, run: RunOptions, contexts_of: Callable[[R], OwnContexts]) -> Manifest:
    with building(recipe, run) as build:
        contexts = contexts_of(recipe)
        info = info_of(contexts.source, recipe.licence)
        draft = build.draft(recipe.recorded(), [info], recipe.licence or info.licence, {})
        if (finished := build.finished(draft)) is not None:
            return finished
        writer = build.package()
        stats = _write_tables(writer, recipe, contexts)
        # Asked again: what was skipped or merged is known only now.
        info = info_of(contexts.source, recipe.licence)
        sets = {contexts.name: contexts.about}
        return build.finish(draft, writer, stats, sources=[info], contexts=sets)


def _write_tables(
    writer: PackageWriter, recipe: HagridRecipe | AlceRecipe, contexts: OwnContexts
) -> Stats:
    source = contexts.source
    with TableWriter(writer.folder / "corpus", "corpus", CORPUS) as corpus:
        for batch in source.passages():
            corpus.write(batch)
    if corpus.rows == 0:
        raise InputError("the corpus is empty", path=recipe.source)
    writer.note("corpus", "corpus", corpus.files)
    queries, relevant, gold = source.queries(), source.relevant(), source.gold()
    rows = [{"query_id": q, "docs": contexts.docs.get(q, [])} for q in queries["_id"].to_pylist()]
    table = pa.Table.from_pylist(rows, schema=CONTEXTS)
    writer.add("queries", "queries", queries.cast(QUERIES))
    writer.add("mapping", RELEVANT, relevant.cast(MAPPING))
    writer.add("contexts", contexts.name, table)
    writer.add("gold", "gold", gold.cast(GOLD))
    return {
        "queries": queries.num_rows,
        **corpus_stats(writer.folder),
        **mapping_stats(RELEVANT, relevant, queries.num_rows),
        **context_stats(contexts.name, table),
        "gold rows": gold.num_rows,
    }


def _hagrid_contexts(recipe: HagridRecipe) -> OwnContexts:
    spec = recipe.source
    if not spec.startswith(("hagrid:", "hagrid-hub:")):
        raise UsageError(f"--source {spec!r}: expected hagrid:PATH or hagrid-hub:SPLIT")
    read = ReadOptions(recipe.skip_empty, extra_fields=recipe.extra_fields)
    source = open_source(spec, None, read)
    docs: dict[str, list[dict[str, str]]] = {}
    relevant = source.relevant()
    for query, passage in rows_of(relevant, "query-id", "corpus-id"):
        docs.setdefault(query, []).append({"corpus-id": passage, "label": RELEVANT})
    about = ContextSet(description="the quotes of each question, in their order")
    return OwnContexts(source, "gold", about, docs)


def _alce_contexts(recipe: AlceRecipe) -> OwnContexts:
    spec, k = recipe.source, recipe.k
    scheme, _, argument = spec.partition(":")
    if scheme != "alce" or not argument:
        raise UsageError(f"--source {spec!r}: expected alce:PATH")
    source = load_alce(argument, None, ReadOptions(recipe.skip_empty))
    relevant = source.relevant()
    carriers = set(rows_of(relevant, "query-id", "corpus-id"))
    docs = {}
    for item in source.items:
        ids = list(dict.fromkeys(passage_id(d) for d in item.docs[:k]))
        docs[item.query_id] = [
            {"corpus-id": i, "label": RELEVANT if (item.query_id, i) in carriers else UNJUDGED}
            for i in ids
        ]
    about = ContextSet(description=f"the first {k} documents of each item, in their order")
    return OwnContexts(source, f"top{k}", about, docs)
