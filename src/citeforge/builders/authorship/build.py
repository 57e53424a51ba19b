"""``build authorship``: the same contexts in each cell of a design of origins and labels."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.authorship.labels import (
    built_in_label_sets,
    cell_labels,
    choose_label_sets,
    require_enough_labels,
)
from citeforge.builders.authorship.select import choose_contexts, find_candidates
from citeforge.builders.build import Stats, open_build
from citeforge.builders.derive import Base, Docs
from citeforge.builders.package import PackageWriter, corpus_stats, mapping_stats
from citeforge.engines.files import sha256_file
from citeforge.engines.tables import rows_of, rows_with
from citeforge.schemas.authorship import Cell, Design, make_cells
from citeforge.schemas.counts import join_counts
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import ContextSet, GrammarInfo, Manifest
from citeforge.schemas.recipes.authorship import ORIGINS, AuthorshipRecipe
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.tables import AUTHORS, MAPPING, QUERIES, RELEVANT, TWINS

Twins = dict[str, str]
"""Id of a human passage to id of its twin."""
_STATED = {None: "no author", "informed": "the true author", "cf": "the counterfactual author"}


def build_authorship(recipe: AuthorshipRecipe, run: RunOptions) -> Manifest:
    """Build an authorship benchmark: one context set per experimental condition (cell).

    Args:
        recipe: everything that the tables depend on.
        run: where and how.

    Raises:
        InputError: no query qualifies, a pool of names is too small, or a folder is at fault.
        UsageError: LLM origins without twins.
    """
    base = Base(recipe.start)
    twins = {human: twin for human, twin in rows_of(base.twins, "_id", "twin_id") if twin}
    design = _make_design(recipe, base, twins)
    with open_build(recipe, run) as build:
        own = base.manifest
        draft = build.draft(
            _config(recipe, base, design), own.sources, own.licence, own.models,
            GrammarInfo(base=recipe.base),
        )  # fmt: skip
        if (finished := build.finished(draft)) is not None:
            return finished
        ranked = find_candidates(base, recipe, run)
        chosen, left_out = choose_contexts(base, ranked, recipe.selection, twins or None)
        if not chosen:
            raise InputError(
                f"no query qualifies ({join_counts(left_out.items())})",
                path=recipe.start,
                allowed="--relevant any, other --candidates, or a benchmark with relevant passages",
                code="no-queries",
            )
        writer = build.package()
        contexts, stats = _write_tables(writer, base, twins, design, chosen, recipe.selection.seed)
        counts = {"queries_in_the_benchmark": len(base.query_ids), **left_out}
        return build.finish(draft, writer, stats, contexts=contexts, counts=counts)


def _make_design(recipe: AuthorshipRecipe, base: Base, twins: Twins) -> Design:
    """Make the experimental design: a condition (cell) per choice of passage authors and labels.

    Raises:
        UsageError: LLM origins without twins.
        InputError: a pool of names is too small.
    """
    k, label_sets = recipe.selection.k, choose_label_sets(recipe.label_sets, recipe.labels)
    names = recipe.origins or (tuple(ORIGINS) if twins else ("hh",))
    if not twins and set(names) != {"hh"}:
        raise UsageError(
            f"--origins {','.join(names)}: {base.manifest.name} has no twins; run "
            "`citeforge build twins` first and give its folder as --twins, or leave the "
            "origins at hh",
            code="missing-option",
        )
    for labels in label_sets:
        require_enough_labels(labels, k)
    cells = make_cells(tuple(ORIGINS[n] for n in names), label_sets)
    return Design(k=k, label_sets=label_sets, cells=tuple(cells))


def _config(recipe: AuthorshipRecipe, base: Base, design: Design) -> dict[str, Any]:
    """Make the manifest's ``config``: recipe, facts on the base package, experimental design."""
    name, built_in = Path(base.manifest.name), built_in_label_sets()
    update = {
        "benchmark": recipe.benchmark and name,
        "twins": recipe.twins and name,
        "origins": tuple(dict.fromkeys(cell.origins for cell in design.cells)),
        "label_sets": tuple(s.name if built_in.get(s.name) == s else s for s in design.label_sets),
        "labels": (),
    }
    facts: dict[str, Any] = {**base.facts(), "design": design.model_dump(mode="json")}
    run = Path(recipe.candidates.removeprefix("run:"))
    if run.is_file():
        facts["candidates_sha256"] = sha256_file(run)
    return recipe.model_copy(update=update).recorded(**facts)


def _write_tables(
    writer: PackageWriter,
    base: Base,
    twins: Twins,
    design: Design,
    chosen: dict[str, Docs],
    seed: int,
) -> tuple[dict[str, ContextSet], Stats]:
    """Write the tables for each query's ``chosen`` passages; return (context sets, statistics)."""
    queries = list(chosen)
    short = {q: {"passages": len(docs)} for q, docs in chosen.items() if len(docs) < design.k}
    writer.add("queries", "queries", rows_with(base.queries, "_id", queries).cast(QUERIES))
    contexts: dict[str, ContextSet] = {}
    pairs: set[tuple[str, str]] = set()
    context_stats: Stats = {}
    for cell in design.cells:
        rows = {q: _swap_in_twins(docs, cell, twins) for q, docs in chosen.items()}
        pairs |= {(query, doc["corpus-id"]) for query, docs in rows.items() for doc in docs}
        stats = writer.add_contexts(cell.context, rows)
        context_stats = context_stats or stats  # all cells have the same labels in the same places
        if cell.labels is not None:
            labels = cell_labels(design.label_set(cell.labels), cell, chosen, seed)
            writer.add("authors", cell.context, pa.Table.from_pylist(labels, schema=AUTHORS))
        contexts[cell.context] = ContextSet(
            description=_describe_cell(cell), sizes={"passages": design.k}, short=short
        )
    judged, tables = {}, {}
    for label, table in base.mappings.items():
        kept = rows_with(table, "query-id", queries).to_pylist()
        human = [row for row in kept if row["corpus-id"] not in base.twin_ids]
        # Judgements of human passages hold for the twins that are shown.
        of_twins = [
            {**row, "corpus-id": twins[row["corpus-id"]], "rank": None}
            for row in human
            if (row["query-id"], twins.get(row["corpus-id"])) in pairs
        ]
        judged[label] = pa.Table.from_pylist(human, schema=MAPPING)
        tables[label] = pa.Table.from_pylist([*human, *of_twins], schema=MAPPING)
    passages = {passage for _, passage in pairs}
    base.add_judged(writer, queries, tables, passages)
    twin_rows = rows_with(base.twins, "twin_id", passages & set(twins.values()))
    if twin_rows.num_rows:
        writer.add("twins", "twins", twin_rows.cast(TWINS))
    return contexts, {
        "queries": len(queries),
        "cells": len(design.cells),
        **corpus_stats(writer.folder),
        **mapping_stats(RELEVANT, judged[RELEVANT], len(queries)),
        **context_stats,
        "queries_with_gold_short_answers": sum(bool(base.answers[q]) for q in queries),
    }


def _swap_in_twins(docs: Docs, cell: Cell, twins: Twins) -> Docs:
    """Replace human passages by LLM rewrites where an experimental condition (cell) says so."""
    rows = []
    for doc in docs:
        origin = cell.relevant_origin if doc["label"] == RELEVANT else cell.other_origin
        name = doc["corpus-id"] if origin == "human" else twins[doc["corpus-id"]]
        rows.append({"corpus-id": name, "label": doc["label"]})
    return rows


def _describe_cell(cell: Cell) -> str:
    """Describe an experimental condition (cell): real authors, stated authors, label set."""
    description = (
        f"relevant passages by {cell.relevant_origin}, others by {cell.other_origin}; authors "
        f"stated: {_STATED[cell.relevant_told]} (relevant), {_STATED[cell.other_told]} (others)"
    )
    return description if cell.labels is None else f"{description} ({cell.labels})"
