"""``build authorship``: the same passages in every cell of the design, labelled otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge import __version__
from citeforge.builders.authorship.candidates import Ranked
from citeforge.builders.authorship.labels import draw, labels_of, require_enough
from citeforge.builders.authorship.select import Chosen, Selection, choose
from citeforge.builders.derive import Base, Docs
from citeforge.builders.package import PackageWriter
from citeforge.builders.recipe import package_name
from citeforge.builders.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.workspace import IfExists, Workspace
from citeforge.engines.files import sha256_file
from citeforge.engines.tables import shard_paths
from citeforge.schemas.authorship import Cell, Design, LabelSet, Origin, make_cells
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import ContextSet, GrammarInfo, Manifest
from citeforge.schemas.tables import (
    AUTHORS,
    CONTEXTS,
    GOLD,
    MAPPING,
    QUERIES,
    RELEVANT,
    TWINS,
)

ORIGINS: dict[str, tuple[Origin, Origin]] = {
    "hh": ("human", "human"),
    "hl": ("human", "llm"),
    "lh": ("llm", "human"),
    "ll": ("llm", "llm"),
}
"""Origins of (relevant, non-relevant) passages by their initials."""

_TOLD = {None: "nothing is told", "informed": "the true author", "cf": "the counterfactual author"}


@dataclass(frozen=True)
class AuthorshipOptions:
    """How an authorship benchmark is made.

    Attributes:
        benchmark: package to start from; with twins when any origin is ``llm``.
        out: folder of the new package.
        origins: initials of the pairs of origins; empty for all that the package can give.
        label_sets: which labels the cells use.
        candidates: how candidates are found, for the manifest.
        embedder: what embeds for dense candidates; None for others.
        selection: which queries and passages.
        base: number of the first passage in prompts.
        if_exists: what to do when something is there.
        name: name of the benchmark; None for the folder's.
    """

    benchmark: Path
    out: Path
    label_sets: tuple[LabelSet, ...]
    origins: tuple[str, ...] = ()
    candidates: str = "mapping"
    embedder: str | None = None
    selection: Selection = field(default_factory=Selection)
    base: int = 0
    if_exists: IfExists = "refuse"
    name: str | None = None


def build_authorship(options: AuthorshipOptions, rank: Callable[[Base], Ranked]) -> Manifest:
    """Freeze every cell of the design.

    Args:
        options: choices.
        rank: finds the candidates of each query.

    Raises:
        InputError: no query qualifies, a pool of names is too small, or a folder is at fault.
        UsageError: LLM origins without twins.
    """
    base = Base(options.benchmark)
    twins = _twins(base)
    names = options.origins or (tuple(ORIGINS) if twins else ("hh",))
    if not twins and set(names) != {"hh"}:
        raise UsageError(
            f"--origins {','.join(names)}: {base.manifest.name} has no twins; run `citeforge build "
            "twins` first and give its folder as --twins, or leave the origins at hh"
        )
    for labels in options.label_sets:
        require_enough(labels, options.selection.k)
    cells = make_cells(tuple(ORIGINS[n] for n in names), options.label_sets)
    design = Design(
        k=options.selection.k, label_sets=options.label_sets, cells=tuple(cells)
    )  # fmt: skip
    with Workspace(options.out, options.if_exists).building() as workspace:
        draft = _draft(base, options, design)
        known = workspace.taken(draft)
        if known is not None:
            return known
        chosen = choose(base, rank(base), options.selection, twins or None)
        if not chosen.docs:
            reasons = "; ".join(f"{n} {what}" for what, n in chosen.counts.items())
            raise InputError(
                f"no query qualifies ({reasons})",
                path=options.benchmark,
                allowed="--relevant any, other --candidates, or a benchmark with relevant passages",
            )
        return _Writer(base, options, chosen, design, twins).write(workspace, draft)


def _draft(base: Base, options: AuthorshipOptions, design: Design) -> Manifest:
    """All of the manifest that is known before the tables are made."""
    config: dict[str, Any] = {
        "benchmark": base.manifest.name,
        "benchmark_hash": base.manifest.benchmark_hash,
        "base": {"kind": base.manifest.kind, "config": base.manifest.config},
        "candidates": options.candidates,
        "embedder": options.embedder,
        "selection": options.selection.__dict__,
        "design": design.model_dump(mode="json"),
    }
    run = Path(options.candidates)
    if run.is_file():
        config["candidates_sha256"] = sha256_file(run)
    return Manifest(
        kind="authorship",
        name=package_name(options.name, options.out),
        citeforge=__version__,
        licence=base.manifest.licence,
        sources=base.manifest.sources,
        config=config,
        models=base.manifest.models,
        grammar=GrammarInfo(base=options.base),
        contexts={},
    )


def _twins(base: Base) -> dict[str, str]:
    """Human passage to its twin in the package."""
    table = base.twins
    pairs = zip(table["_id"].to_pylist(), table["twin_id"].to_pylist(), strict=True)
    return {human: twin for human, twin in pairs if twin}


class _Writer:
    def __init__(
        self,
        base: Base,
        options: AuthorshipOptions,
        chosen: Chosen,
        design: Design,
        twins: dict[str, str],
    ) -> None:
        self.base, self.options, self.chosen = base, options, chosen
        self.design, self.twins = design, twins
        self.queries = list(chosen.docs)
        self.shown: set[str] = set()
        self.rewritten: set[tuple[str, str, str]] = set()

    def write(self, workspace: Workspace, draft: Manifest) -> Manifest:
        base = self.base
        folder = workspace.start("package")
        writer = PackageWriter(folder)
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
        stats: dict[str, object] = {
            "queries": len(self.queries),
            "cells": len(self.design.cells),
            **corpus_stats(shard_paths(folder / "corpus", "corpus")),
            **mapping_stats(RELEVANT, self._judged(mappings[RELEVANT]), len(self.queries)),
            **context_stats(first, shown),
            "queries with gold short answers": sum(bool(base.answers[q]) for q in self.queries),
        }
        counts = {"queries in the benchmark": len(base.query_ids), **self.chosen.counts}
        manifest = draft.model_copy(update={"contexts": contexts, "counts": counts})
        return writer.finish(manifest, stats)

    def _cell(self, writer: PackageWriter, cell: Cell) -> ContextSet:
        rows, labels = [], []
        for query, docs in self.chosen.docs.items():
            relevant = [d["label"] == RELEVANT for d in docs]
            rows.append({"query_id": query, "docs": self._as_written(query, docs, cell)})
            if cell.labels is not None:
                drawn = draw(
                    self.design.label_set(cell.labels), query, len(docs),
                    self.options.selection.seed,
                )  # fmt: skip
                labels.append({"query_id": query, "labels": labels_of(cell, relevant, drawn)})
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
