"""``build hagrid`` and ``build alce``: contexts are the data set's own passages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from citeforge import __version__
from citeforge.builders.package import PackageWriter
from citeforge.builders.recipe import package_name
from citeforge.builders.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.workspace import IfExists, Workspace
from citeforge.engines.tables import TableWriter, shard_paths
from citeforge.ir_convert.alce import load_alce, passage_id
from citeforge.ir_convert.registry import licence_of, open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import ContextSet, Manifest
from citeforge.schemas.tables import CONTEXTS, CORPUS, GOLD, MAPPING, QUERIES, RELEVANT, UNJUDGED


@dataclass(frozen=True)
class FrozenOptions:
    """How a benchmark with the data set's own contexts is built.

    Attributes:
        source: ``hagrid:PATH``, ``hagrid-hub:SPLIT`` or ``alce:PATH``.
        out: folder of the package.
        if_exists: what to do when something is there.
        name: name of the benchmark; None for the folder's.
        licence: licence, when the source does not say.
        k: ALCE: passages a context.
        skip_empty: passages without text are skipped and counted.
    """

    source: str
    out: Path
    if_exists: IfExists = "refuse"
    name: str | None = None
    licence: str | None = None
    k: int = 5
    skip_empty: bool = False


def build_hagrid(options: FrozenOptions) -> Manifest:
    """Contexts ``gold``: the quotes of each question in their order.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    if not options.source.startswith(("hagrid:", "hagrid-hub:")):
        raise UsageError(f"--source {options.source!r}: expected hagrid:PATH or hagrid-hub:SPLIT")
    source = open_source(options.source, None, ReadOptions(options.skip_empty))
    docs: dict[str, list[dict[str, str]]] = {}
    relevant = source.relevant()
    for query, passage in zip(
        relevant["query-id"].to_pylist(), relevant["corpus-id"].to_pylist(), strict=True
    ):
        docs.setdefault(query, []).append({"corpus-id": passage, "label": RELEVANT})
    info = ContextSet(description="the quotes of each question, in their order")
    return _build(options, source, "hagrid", "gold", docs, info)


def build_alce(options: FrozenOptions) -> Manifest:
    """Contexts ``topK``: the first K documents of each item in their order.

    Documents that carry a short answer are labelled relevant; the others, and all of ELI5's,
    ``unjudged``.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    kind, _, argument = options.source.partition(":")
    if kind != "alce" or not argument:
        raise UsageError(f"--source {options.source!r}: expected alce:PATH")
    source = load_alce(argument, None, ReadOptions(options.skip_empty))
    relevant = source.relevant()
    carriers = set(
        zip(relevant["query-id"].to_pylist(), relevant["corpus-id"].to_pylist(), strict=True)
    )
    docs = {}
    for item in source.items:
        ids = list(dict.fromkeys(passage_id(d) for d in item.docs[: options.k]))
        docs[item.query_id] = [
            {
                "corpus-id": i,
                "label": RELEVANT if (item.query_id, i) in carriers else UNJUDGED,
            }
            for i in ids
        ]
    info = ContextSet(description=f"the first {options.k} documents of each item, in their order")
    return _build(options, source, "alce", f"top{options.k}", docs, info)


def _build(
    options: FrozenOptions,
    source: Source,
    kind: str,
    context: str,
    docs: dict[str, list[dict[str, str]]],
    info: ContextSet,
) -> Manifest:
    with Workspace(options.out, options.if_exists).building() as workspace:
        draft = _draft(options, source, kind)
        known = workspace.taken(draft)
        if known is not None:
            return known
        folder = workspace.start("package")
        return _write(draft, source, context, docs, info, folder)


def _draft(options: FrozenOptions, source: Source, kind: str) -> Manifest:
    """All of the manifest that is known before the tables are made."""
    found = source.info()
    found.licence = found.licence or licence_of(found.kind) or options.licence
    return Manifest(
        kind=kind,
        name=package_name(options.name, options.out),
        citeforge=__version__,
        licence=options.licence or found.licence,
        sources=[found],
        config={"source": options.source, "k": options.k, "skip_empty": options.skip_empty},
        contexts={},
    )


def _write(
    draft: Manifest,
    source: Source,
    context: str,
    docs: dict[str, list[dict[str, str]]],
    info: ContextSet,
    folder: Path,
) -> Manifest:
    writer = PackageWriter(folder)
    with TableWriter(folder / "corpus", "corpus", CORPUS) as corpus:
        for batch in source.passages():
            corpus.write(batch)
    if corpus.rows == 0:
        raise InputError("the corpus is empty", path=draft.sources[0].spec)
    writer.note("corpus", "corpus", corpus.files)
    queries, relevant, gold = source.queries(), source.relevant(), source.gold()
    rows = [{"query_id": q, "docs": docs.get(q, [])} for q in queries["_id"].to_pylist()]
    contexts = pa.Table.from_pylist(rows, schema=CONTEXTS)
    writer.add("queries", "queries", queries.cast(QUERIES))
    writer.add("mapping", RELEVANT, relevant.cast(MAPPING))
    writer.add("contexts", context, contexts)
    writer.add("gold", "gold", gold.cast(GOLD))
    stats: dict[str, object] = {
        "queries": queries.num_rows,
        **corpus_stats(shard_paths(folder / "corpus", "corpus")),
        **mapping_stats(RELEVANT, relevant, queries.num_rows),
        **context_stats(context, contexts),
        "gold rows": gold.num_rows,
    }
    # Told again: what was skipped or merged is known only now.
    found = source.info()
    found.licence = draft.sources[0].licence
    manifest = draft.model_copy(update={"sources": [found], "contexts": {context: info}})
    return writer.finish(manifest, stats)
