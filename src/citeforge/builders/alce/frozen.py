"""``build hagrid`` and ``build alce``: the contexts are the data set's own passages."""

from citeforge.builders.alce.build import build_retrieved
from citeforge.builders.build import Stats, open_build
from citeforge.builders.package import corpus_stats, mapping_stats, write_corpus
from citeforge.engines.tables import rows_of
from citeforge.ir_convert.alce import load_alce, passage_id
from citeforge.ir_convert.registry import info_of, open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.errors import UsageError
from citeforge.schemas.manifest import ContextSet, Manifest
from citeforge.schemas.recipes.answers import AlceRecipe, HagridRecipe
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.tables import GOLD, MAPPING, QUERIES, RELEVANT, UNJUDGED

Docs = dict[str, list[dict[str, str]]]
"""Query to its ordered passages: ``corpus-id`` and ``label``."""


def build_hagrid(recipe: HagridRecipe, run: RunOptions) -> Manifest:
    """Build a HAGRID package; its context set ``gold`` has the quotes of each question in order.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    spec = recipe.source
    if not spec.startswith(("hagrid:", "hagrid-hub:")):
        raise UsageError(
            f"--source {spec!r}: expected hagrid:PATH or hagrid-hub:SPLIT", code="bad-option"
        )
    source = open_source(
        spec, None, ReadOptions(recipe.skip_empty, extra_fields=recipe.extra_fields)
    )
    docs: Docs = {}
    for query, passage in rows_of(source.relevant(), "query-id", "corpus-id"):
        docs.setdefault(query, []).append({"corpus-id": passage, "label": RELEVANT})
    return _build(recipe, run, source, docs, "gold", "the quotes of each question, in their order")


def build_alce(recipe: AlceRecipe, run: RunOptions) -> Manifest:
    """Build an ALCE package: the first K documents of each item, or retrieved passages.

    Documents that carry a short answer are labelled relevant; the others, and all of ELI5's,
    ``unjudged``.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    if not recipe.is_plain:
        return build_retrieved(recipe, run)
    k = recipe.k
    scheme, _, argument = recipe.source.partition(":")
    if scheme != "alce" or not argument:
        raise UsageError(f"--source {recipe.source!r}: expected alce:PATH", code="bad-option")
    source = load_alce(argument, None, ReadOptions(recipe.skip_empty))
    carriers = set(rows_of(source.relevant(), "query-id", "corpus-id"))
    labels = {True: RELEVANT, False: UNJUDGED}
    docs = {
        item.query_id: [
            {"corpus-id": i, "label": labels[(item.query_id, i) in carriers]}
            for i in dict.fromkeys(passage_id(d) for d in item.docs[:k])
        ]
        for item in source.items
    }
    description = f"the first {k} documents of each item, in their order"
    return _build(recipe, run, source, docs, f"top{k}", description)


def _build(
    recipe: HagridRecipe | AlceRecipe,
    run: RunOptions,
    source: Source,
    docs: Docs,
    name: str,
    description: str,
) -> Manifest:
    """Build a package of a source's queries, passages and gold, with one context set (``docs``).

    Args:
        recipe: everything that the tables depend on.
        run: options of the run.
        source: opened source.
        docs: passages that the context set shows to each query.
        name: name of the context set.
        description: description of the context set, for the manifest.
    """
    with open_build(recipe, run) as build:
        info = info_of(source, recipe.licence)
        draft = build.draft(recipe.recorded(), [info], recipe.licence or info.licence, {})
        if (finished := build.finished(draft)) is not None:
            return finished
        writer = build.package()
        files = write_corpus(writer.folder / "corpus", source.passages(), source)
        writer.add_shards("corpus", "corpus", files)
        queries, relevant, gold = source.queries(), source.relevant(), source.gold()
        writer.add("queries", "queries", queries.cast(QUERIES))
        writer.add("mapping", RELEVANT, relevant.cast(MAPPING))
        passages = {query: docs.get(query, []) for query in queries["_id"].to_pylist()}
        contexts = writer.add_contexts(name, passages)
        writer.add("gold", "gold", gold.cast(GOLD))
        stats: Stats = {
            "queries": queries.num_rows,
            **corpus_stats(writer.folder),
            **mapping_stats(RELEVANT, relevant, queries.num_rows),
            **contexts,
            "gold_rows": gold.num_rows,
        }
        # Asked again: what was skipped or merged is known only now.
        info = info_of(source, recipe.licence)
        sets = {name: ContextSet(description=description)}
        return build.finish(draft, writer, stats, sources=[info], contexts=sets)
