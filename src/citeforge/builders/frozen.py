"""``build hagrid`` and ``build alce``: contexts are the data set's own passages."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import pyarrow as pa

from citeforge.builders.alce.build import build_retrieved
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.stages.skeleton import Build, Stats
from citeforge.engines.io.tables import TableWriter, shard_paths
from citeforge.ir_convert.alce import load_alce, passage_id
from citeforge.ir_convert.registry import licence_of, open_source
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
from citeforge.schemas.recipes import AlceRecipe, HagridRecipe, RunOptions

R = TypeVar("R", HagridRecipe, AlceRecipe)
Docs = dict[str, list[dict[str, str]]]
"""Query to its ordered passages: ``corpus-id`` and ``label``."""


def build_hagrid(recipe: HagridRecipe, run: RunOptions) -> Manifest:
    """Contexts ``gold``: the quotes of each question in their order.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    return _Hagrid(recipe, run).make()


def build_alce(recipe: AlceRecipe, run: RunOptions) -> Manifest:
    """Contexts ``topK``: the first K documents of each item in their order; with a corpus, an
    oracle or a writer what :func:`citeforge.builders.alce.build.build_retrieved` gives.

    Documents that carry a short answer are labelled relevant; the others, and all of ELI5's,
    ``unjudged``.

    Raises:
        InputError: the source or the output folder is at fault.
        UsageError: another kind of source.
    """
    return _Alce(recipe, run).make() if recipe.is_plain else build_retrieved(recipe, run)


class _Frozen(Build[R]):
    """A benchmark with the contexts that a data set brings.

    Attributes:
        source: the data set.
        docs: its contexts.
        context: name of their set.
        info: what the manifest says of it.
    """

    source: Source
    docs: Docs
    context: str
    info: ContextSet

    @abstractmethod
    def read(self) -> None:
        """Open the data set and take its contexts."""

    def draft(self) -> Manifest:
        self.read()
        licence = self.recipe.licence
        found = self.source.info()
        found.licence = found.licence or licence_of(found.kind) or licence
        return self.manifest(self.recipe.recorded(), [found], licence or found.licence, {})

    def tables(self, writer: PackageWriter) -> Stats:
        source = self.source
        with TableWriter(writer.folder / "corpus", "corpus", CORPUS) as corpus:
            for batch in source.passages():
                corpus.write(batch)
        if corpus.rows == 0:
            raise InputError("the corpus is empty", path=self.recipe.source)
        writer.note("corpus", "corpus", corpus.files)
        queries, relevant, gold = source.queries(), source.relevant(), source.gold()
        rows = [{"query_id": q, "docs": self.docs.get(q, [])} for q in queries["_id"].to_pylist()]
        contexts = pa.Table.from_pylist(rows, schema=CONTEXTS)
        writer.add("queries", "queries", queries.cast(QUERIES))
        writer.add("mapping", RELEVANT, relevant.cast(MAPPING))
        writer.add("contexts", self.context, contexts)
        writer.add("gold", "gold", gold.cast(GOLD))
        # Told again: what was skipped or merged is known only now.
        found = source.info()
        found.licence = found.licence or licence_of(found.kind) or self.recipe.licence
        self.found = {"sources": [found], "contexts": {self.context: self.info}}
        return {
            "queries": queries.num_rows,
            **corpus_stats(shard_paths(writer.folder / "corpus", "corpus")),
            **mapping_stats(RELEVANT, relevant, queries.num_rows),
            **context_stats(self.context, contexts),
            "gold rows": gold.num_rows,
        }


class _Hagrid(_Frozen[HagridRecipe]):
    context = "gold"
    info = ContextSet(description="the quotes of each question, in their order")

    def read(self) -> None:
        spec = self.recipe.source
        if not spec.startswith(("hagrid:", "hagrid-hub:")):
            raise UsageError(f"--source {spec!r}: expected hagrid:PATH or hagrid-hub:SPLIT")
        self.source = open_source(spec, None, ReadOptions(self.recipe.skip_empty))
        self.docs = {}
        relevant = self.source.relevant()
        for query, passage in zip(
            relevant["query-id"].to_pylist(), relevant["corpus-id"].to_pylist(), strict=True
        ):
            self.docs.setdefault(query, []).append({"corpus-id": passage, "label": RELEVANT})


class _Alce(_Frozen[AlceRecipe]):
    def read(self) -> None:
        spec, k = self.recipe.source, self.recipe.k
        scheme, _, argument = spec.partition(":")
        if scheme != "alce" or not argument:
            raise UsageError(f"--source {spec!r}: expected alce:PATH")
        source = load_alce(argument, None, ReadOptions(self.recipe.skip_empty))
        relevant = source.relevant()
        carriers = set(
            zip(relevant["query-id"].to_pylist(), relevant["corpus-id"].to_pylist(), strict=True)
        )
        self.docs = {}
        for item in source.items:
            ids = list(dict.fromkeys(passage_id(d) for d in item.docs[:k]))
            self.docs[item.query_id] = [
                {
                    "corpus-id": i,
                    "label": RELEVANT if (item.query_id, i) in carriers else UNJUDGED,
                }
                for i in ids
            ]
        self.source, self.context = source, f"top{k}"
        self.info = ContextSet(description=f"the first {k} documents of each item, in their order")
