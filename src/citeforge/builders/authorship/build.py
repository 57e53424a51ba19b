"""``build authorship``: the same passages in every cell of the design, labelled otherwise."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.authorship import candidates
from citeforge.builders.authorship.candidates import Ranked
from citeforge.builders.authorship.labels import (
    built_in_label_sets,
    choose_label_sets,
    draw,
    passage_labels,
    require_enough,
)
from citeforge.builders.authorship.select import ChosenPassages
from citeforge.builders.authorship.select import choose_contexts as choose_passages
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.recipes.derive import Base, Docs
from citeforge.builders.stages.skeleton import Build, Stats
from citeforge.engines.embedding.embed import make_embedder
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.tables import shard_paths
from citeforge.engines.setup import client_options, cluster_options, replay_store
from citeforge.schemas.benchmarks.authorship import Cell, Design, make_cells
from citeforge.schemas.benchmarks.manifest import ContextSet, GrammarInfo, Manifest
from citeforge.schemas.benchmarks.tables import (
    AUTHORS,
    CONTEXTS,
    GOLD,
    MAPPING,
    QUERIES,
    RELEVANT,
    TWINS,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes import AuthorshipRecipe, RunOptions
from citeforge.schemas.recipes.authorship import ORIGINS

_TOLD = {None: "nothing is told", "informed": "the true author", "cf": "the counterfactual author"}


def build_authorship(
    recipe: AuthorshipRecipe, run: RunOptions, rank: Callable[[Base], Ranked] | None = None
) -> Manifest:
    """Freeze every cell of the design.

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        rank: finds the candidates of each query; None for what the recipe names.

    Raises:
        InputError: no query qualifies, a pool of names is too small, or a folder is at fault.
        UsageError: LLM origins without twins.
    """
    return _Authorship(recipe, run, rank or (lambda base: _ranked(base, recipe, run))).make()


def _ranked(base: Base, recipe: AuthorshipRecipe, run: RunOptions) -> Ranked:
    name = recipe.candidates
    # Deep enough that relevant, equal and twin passages can be left out.
    depth = 4 * recipe.selection.k + 20
    if name == "mapping":
        return candidates.from_mapping(base)
    if name == "bm25":
        return candidates.from_bm25(base, depth)
    if name.startswith("context:"):
        return candidates.from_context(base, name.removeprefix("context:"))
    if name == "dense":
        with tempfile.TemporaryDirectory() as folder:
            embedder = make_embedder(
                recipe.embedder, options=client_options(run),
                store=replay_store(run), cluster=cluster_options(run),
            )  # fmt: skip
            return candidates.from_embeddings(base, depth, embedder, Path(folder))
    return candidates.from_run(base, Path(name.removeprefix("run:")))


def _twins(base: Base) -> dict[str, str]:
    """Human passage to its twin in the package."""
    table = base.twins
    pairs = zip(table["_id"].to_pylist(), table["twin_id"].to_pylist(), strict=True)
    return {human: twin for human, twin in pairs if twin}


class _Authorship(Build[AuthorshipRecipe]):
    def __init__(
        self, recipe: AuthorshipRecipe, run: RunOptions, rank: Callable[[Base], Ranked]
    ) -> None:
        super().__init__(recipe, run)
        self.rank = rank
        self.base = Base(recipe.start)
        self.twins = _twins(self.base)
        self.label_sets = choose_label_sets(recipe.label_sets, recipe.labels)
        self.design = self._design()
        self.shown: set[str] = set()
        self.rewritten: set[tuple[str, str, str]] = set()

    def _design(self) -> Design:
        k = self.recipe.selection.k
        names = self.recipe.origins or (tuple(ORIGINS) if self.twins else ("hh",))
        if not self.twins and set(names) != {"hh"}:
            raise UsageError(
                f"--origins {','.join(names)}: {self.base.manifest.name} has no twins; run "
                "`citeforge build twins` first and give its folder as --twins, or leave the "
                "origins at hh"
            )
        for labels in self.label_sets:
            require_enough(labels, k)
        cells = make_cells(tuple(ORIGINS[n] for n in names), self.label_sets)
        return Design(k=k, label_sets=self.label_sets, cells=tuple(cells))

    def draft(self) -> Manifest:
        recipe, base = self.recipe, self.base.manifest
        known = built_in_label_sets()
        told = recipe.model_copy(
            update={
                "benchmark": recipe.benchmark and Path(base.name),
                "twins": recipe.twins and Path(base.name),
                "origins": tuple(dict.fromkeys(cell.origins for cell in self.design.cells)),
                "label_sets": tuple(
                    s.name if known.get(s.name) == s else s for s in self.label_sets
                ),
                "labels": (),
            }
        )
        facts: dict[str, Any] = {
            "benchmark_hash": base.benchmark_hash,
            "made_of": {"kind": base.kind, "config": base.config},
            "design": self.design.model_dump(mode="json"),
        }
        run = Path(recipe.candidates.removeprefix("run:"))
        if run.is_file():
            facts["candidates_sha256"] = sha256_file(run)
        grammar = GrammarInfo(base=recipe.base)
        config = told.recorded(**facts)
        return self.manifest(config, base.sources, base.licence, base.models, grammar)

    def stages(self) -> None:
        self.chosen = self._choose()
        self.queries = list(self.chosen.docs)

    def _choose(self) -> ChosenPassages:
        ranked = self.rank(self.base)
        chosen = choose_passages(self.base, ranked, self.recipe.selection, self.twins or None)
        if not chosen.docs:
            reasons = "; ".join(f"{n} {what}" for what, n in chosen.counts.items())
            raise InputError(
                f"no query qualifies ({reasons})",
                path=self.recipe.start,
                allowed="--relevant any, other --candidates, or a benchmark with relevant passages",
            )
        return chosen

    def tables(self, writer: PackageWriter) -> Stats:
        base, folder = self.base, writer.folder
        queries = base.only(base.queries, "_id", self.queries)
        writer.add("queries", "queries", queries.cast(QUERIES))
        contexts = {cell.context: self._cell(writer, cell) for cell in self.design.cells}
        mappings = self._mappings()
        named = {i for t in mappings.values() for i in t["corpus-id"].to_pylist()} | self.shown
        files, _ = base.write_corpus(folder / "corpus", named)
        writer.note("corpus", "corpus", files)
        for label, table in mappings.items():
            writer.add("mapping", label, table)
        writer.add("gold", "gold", base.only(base.gold, "query_id", self.queries).cast(GOLD))
        shown_twins = pa.array(sorted(self.shown & set(self.twins.values())), pa.string())
        kept = base.twins.filter(pa.compute.is_in(base.twins["twin_id"], value_set=shown_twins))
        if kept.num_rows:
            writer.add("twins", "twins", kept.cast(TWINS))
        first = self.design.cells[0].context
        shown = pa.Table.from_pylist(
            [{"query_id": q, "docs": d} for q, d in self.chosen.docs.items()], schema=CONTEXTS
        )
        counts = {"queries in the benchmark": len(base.query_ids), **self.chosen.counts}
        self.found = {"contexts": contexts, "counts": counts}
        return {
            "queries": len(self.queries),
            "cells": len(self.design.cells),
            **corpus_stats(shard_paths(folder / "corpus", "corpus")),
            **mapping_stats(RELEVANT, self._judged(mappings[RELEVANT]), len(self.queries)),
            **context_stats(first, shown),
            "queries with gold short answers": sum(bool(base.answers[q]) for q in self.queries),
        }

    def _cell(self, writer: PackageWriter, cell: Cell) -> ContextSet:
        rows, labels = [], []
        for query, docs in self.chosen.docs.items():
            relevant = [d["label"] == RELEVANT for d in docs]
            rows.append({"query_id": query, "docs": self._as_written(query, docs, cell)})
            if cell.labels is not None:
                drawn = draw(
                    self.design.label_set(cell.labels), query, len(docs),
                    self.recipe.selection.seed,
                )  # fmt: skip
                labels.append({"query_id": query, "labels": passage_labels(cell, relevant, drawn)})
        writer.add("contexts", cell.context, pa.Table.from_pylist(rows, schema=CONTEXTS))
        if labels:
            writer.add("authors", cell.context, pa.Table.from_pylist(labels, schema=AUTHORS))
        description = (
            f"relevant passages by {cell.relevant_origin}, others by {cell.other_origin}; told of "
            f"the relevant: {_TOLD[cell.relevant_told]}, of the others: {_TOLD[cell.other_told]}"
        )
        if cell.labels is not None:
            description += f" ({cell.labels})"
        sizes = {"passages": self.design.k}
        return ContextSet(description=description, sizes=sizes, short=self.chosen.short)

    def _as_written(self, query: str, docs: Docs, cell: Cell) -> Docs:
        """The same passages, in the version that the cell's origins ask for."""
        found = []
        for doc in docs:
            relevant = doc["label"] == RELEVANT
            origin = cell.relevant_origin if relevant else cell.other_origin
            shown = doc["corpus-id"] if origin == "human" else self.twins[doc["corpus-id"]]
            self.shown.add(shown)
            if shown != doc["corpus-id"]:
                self.rewritten.add((query, doc["corpus-id"], shown))
            found.append({"corpus-id": shown, "label": doc["label"]})
        return found

    def _judged(self, mapping: pa.Table) -> pa.Table:
        """Judgements of human passages; those of twins follow from them."""
        twins = pa.array(sorted(self.twins.values()), pa.string())
        return mapping.filter(pa.compute.invert(pa.compute.is_in(mapping["corpus-id"], twins)))

    def _mappings(self) -> dict[str, pa.Table]:
        """The benchmark's judgements, and the same for the twins that are shown."""
        twin_of: dict[tuple[str, str], str] = {(q, h): t for q, h, t in self.rewritten}
        found = {}
        for label, table in self.base.mappings.items():
            here = self.base.only(table, "query-id", self.queries).cast(MAPPING)
            known = set(self.base.twin_ids)
            rows = [r for r in here.to_pylist() if r["corpus-id"] not in known]
            extra = [
                {**row, "corpus-id": twin_of[row["query-id"], row["corpus-id"]], "rank": None}
                for row in rows
                if (row["query-id"], row["corpus-id"]) in twin_of
            ]
            found[label] = pa.Table.from_pylist([*rows, *extra], schema=MAPPING)
        return found
