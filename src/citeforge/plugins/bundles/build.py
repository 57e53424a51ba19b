"""``build deflection|faithfulness|position``: build benchmarks of bundles."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import ne
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from citeforge.builders.build import Stats, open_build
from citeforge.builders.derive import Base, Docs
from citeforge.builders.package import PackageWriter, corpus_stats
from citeforge.builders.verify import Problems
from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.tables import rows_with
from citeforge.package.package import Package
from citeforge.plugins.bundles import design
from citeforge.schemas.counts import count_key, join_counts
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import ContextSet, GrammarInfo, Manifest
from citeforge.schemas.matching.answers import contains_answer
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.tables import CONTEXTS, CORPUS, MAPPING, QUERIES, RELEVANT, UNJUDGED

Cells = dict[str, Docs]
"""Name of a cell to the passages that a query is shown there."""
_DESCRIBED = {
    design.ANSWERABLE: "every relevant passage, and related ones",
    design.PARTIAL: "some of the relevant passages, related ones in place of the others",
    design.RELATED: "related passages in place of all relevant ones: there is no answer",
    design.ORIGINAL: "one relevant passage, and others",
    design.REMOVED: "another passage in place of the relevant one",
    design.DECOY: "as original, with a sentence of the relevant passage at the end of another one",
}


@dataclass(frozen=True)
class Arranger:
    """Selects and orders the passages of each query for the cells of a bundle.

    Attributes:
        recipe: seed, and passages per cell.
        base: the package that the passages come from.
        counts: reason why queries were left out to their number.
        decoys: generated passages, rows of schema CORPUS.
    """

    recipe: design.BundleRecipe
    base: Base
    counts: Counter[str] = field(default_factory=Counter)
    decoys: list[dict[str, Any]] = field(default_factory=list)

    def shuffle_relevant(self, query: str) -> Docs:
        """Return a query's relevant passages in random order; count queries without any."""
        docs = [{"corpus-id": i, "label": RELEVANT} for i in self.base.relevant[query]]
        generator(self.recipe.seed, "bundle, relevant", query).shuffle(docs)
        if not docs:
            self.counts["queries_without_a_relevant_passage"] += 1
        return docs

    def list_other_passages(self, query: str) -> Docs:
        """List passages not relevant to a query; empty if too few to fill a context.

        Queries with fewer than ``k`` cannot have a context without relevant passages; they are
        counted.
        """
        others = self.base.negatives[query]
        if len(others) >= self.recipe.k:
            return others
        self.counts[count_key("queries_with_few_other_passages", self.recipe.k)] += 1
        return []

    def shuffle(self, query: str, docs: Docs) -> Docs:
        """Shuffle passages by a seed that depends on the query and the recipe."""
        shuffled = list(docs)
        generator(self.recipe.seed, "bundle, order", query).shuffle(shuffled)
        return shuffled

    def make_decoy(self, query: str, target: str, host: str) -> str:
        """Make a decoy (text of ``host`` with a sentence of ``target`` added); return its id.

        Args:
            query: id of the query.
            target: id of the relevant passage that lends a sentence, if possible one with a gold
                answer.
            host: id of the passage that the sentence is added to.
        """
        from citeforge.engines.text.sentences import SentenceSegmenter

        texts = self.base.texts([target, host])
        text = texts[target][1]
        sentences = [text[s:e].strip() for s, e in SentenceSegmenter().split(text)] or [text]
        with_answer = [s for s in sentences if contains_answer(s, self.base.answers[query])]
        if not with_answer:
            self.counts["decoys_without_an_answer"] += 1
        sentence = (with_answer or sentences)[0]
        title, own = texts[host]
        name = f"decoy:{query}:{host}"
        row = {"_id": name, "title": title, "text": f"{own} {sentence}", "metadata": None}
        self.decoys.append(row)
        return name


def build_bundle(recipe: design.BundleRecipe, run: RunOptions) -> Manifest:
    """Build the package of a bundle (experiment), with one context set per condition.

    Raises:
        InputError: no query qualifies, or a folder is at fault.
    """
    base, cells = Base(recipe.benchmark), design.cell_names(recipe.kind, recipe.k)
    refusals = recipe.refusals if isinstance(recipe, design.DeflectionRecipe) else None
    bundle = design.Bundle(name=recipe.kind, k=recipe.k, cells=cells, refusals=refusals)
    with open_build(recipe, run) as build:
        own = base.manifest
        config = recipe.model_copy(update={"benchmark": Path(own.name)}).recorded(
            **base.facts(), bundle=bundle.model_dump(mode="json")
        )
        draft = build.draft(
            config, own.sources, own.licence, own.models, GrammarInfo(base=recipe.base)
        )
        if (finished := build.finished(draft)) is not None:
            return finished
        arranger = Arranger(recipe, base)
        arrange = _ARRANGEMENTS[recipe.kind]
        by_query = _sample_queries(arranger, {q: arrange(arranger, q) for q in base.query_ids})
        writer = build.package()
        contexts, stats = _write_tables(writer, arranger, cells, by_query)
        counts = {"queries_in_the_benchmark": len(base.query_ids), **arranger.counts}
        return build.finish(draft, writer, stats, contexts=contexts, counts=counts)


def _sample_queries(
    arranger: Arranger, cells_by_query: dict[str, Cells | None]
) -> dict[str, Cells]:
    """Select the queries that have passages for every condition (cell), or a sample of them.

    Args:
        arranger: recipe and counts of the build.
        cells_by_query: passages of every cell, by query; None for a query that has too few.

    Raises:
        InputError: there is none.
    """
    recipe, counts = arranger.recipe, arranger.counts
    complete = {query: cells for query, cells in cells_by_query.items() if cells is not None}
    if not complete:
        raise InputError(
            f"no query qualifies ({join_counts(counts.items())})",
            path=recipe.benchmark,
            allowed=f"queries with relevant passages and {recipe.k} others; a smaller --k",
            code="no-queries",
        )
    if recipe.sample is None or recipe.sample >= len(complete):
        return complete
    sample = set(sample_ids(list(complete), recipe.sample, recipe.seed, "bundle"))
    counts["queries_not_sampled"] = len(complete) - len(sample)
    return {query: cells for query, cells in complete.items() if query in sample}


def _write_tables(
    writer: PackageWriter,
    arranger: Arranger,
    cells: tuple[str, ...],
    cells_by_query: dict[str, Cells],
) -> tuple[dict[str, ContextSet], Stats]:
    """Write a bundle's tables from each query's passages: (context sets by name, statistics).

    Args:
        cells_by_query: passages of every cell, by query.
    """
    base, k = arranger.base, arranger.recipe.k
    writer.add("queries", "queries", rows_with(base.queries, "_id", cells_by_query).cast(QUERIES))
    contexts = {}
    for cell in cells:
        rows = [{"query_id": q, "docs": docs[cell]} for q, docs in cells_by_query.items()]
        writer.add("contexts", cell, pa.Table.from_pylist(rows, schema=CONTEXTS))
        description = _DESCRIBED.get(cell, "the same passages, moved on")
        contexts[cell] = ContextSet(description=description, sizes={"passages": k})
    mappings = {
        label: rows_with(table, "query-id", cells_by_query).cast(MAPPING)
        for label, table in base.mappings.items()
    }
    ids = {d["corpus-id"] for docs in cells_by_query.values() for row in docs.values() for d in row}
    extra = pa.Table.from_pylist([r for r in arranger.decoys if r["_id"] in ids], schema=CORPUS)
    base.add_judged(writer, cells_by_query, mappings, ids, extra)
    return contexts, {
        "queries": len(cells_by_query),
        "cells": len(cells),
        **corpus_stats(writer.folder),
    }


def _arrange_deflection(arranger: Arranger, query: str) -> Cells | None:
    """Arrange passages with all, half or none of the relevant ones; None if too few.

    Returns:
        Passages of each cell; None if the query does not qualify, which is counted.
    """
    k = arranger.recipe.k
    if not (
        (relevant := arranger.shuffle_relevant(query))
        and (others := arranger.list_other_passages(query))
    ):
        return None
    # The first cell shows all relevant passages and at least one related one.
    if len(relevant) >= k:
        arranger.counts[count_key("queries_with_many_relevant_passages", k)] += 1
        return None
    fillers, spare = others[: k - len(relevant)], others[k - len(relevant) :]
    slots = arranger.shuffle(query, [*relevant, *fillers])
    half = len(relevant) // 2
    if not half:
        arranger.counts["queries_with_one_relevant_passage"] += 1
    return {
        design.ANSWERABLE: slots,
        design.PARTIAL: _replace_passages(slots, relevant[half:], spare),
        design.RELATED: _replace_passages(slots, relevant, spare),
    }


def _arrange_faithfulness(arranger: Arranger, query: str) -> Cells | None:
    """Arrange passages with the evidence, without, and with a decoy; None if too few.

    Returns:
        Passages of each cell; None if the query does not qualify, which is counted.
    """
    k = arranger.recipe.k
    if not (
        (relevant := arranger.shuffle_relevant(query))
        and (others := arranger.list_other_passages(query))
    ):
        return None
    target, fillers, spare = relevant[0], others[: k - 1], others[k - 1 :]
    slots = arranger.shuffle(query, [target, *fillers])
    host = generator(arranger.recipe.seed, "bundle, decoy", query).choice(fillers)
    decoy = arranger.make_decoy(query, target["corpus-id"], host["corpus-id"])
    swapped = [{"corpus-id": decoy, "label": UNJUDGED} if d == host else d for d in slots]
    return {
        design.ORIGINAL: slots,
        design.REMOVED: _replace_passages(slots, [target], spare),
        design.DECOY: swapped,
    }


def _arrange_position(arranger: Arranger, query: str) -> Cells | None:
    """Rotate a query's passages, each once at every of k positions; None if too few.

    Returns:
        Passages of each cell; None if the query does not qualify, which is counted.
    """
    k = arranger.recipe.k
    if not (relevant := arranger.shuffle_relevant(query)):
        return None
    # Half of the slots at most are for relevant ones, so that there is something to choose.
    docs = [*relevant[: max(1, k // 2)], *arranger.base.negatives[query]]
    if len(docs) < k:
        arranger.counts[count_key("queries_with_few_passages", k)] += 1
        return None
    slots = arranger.shuffle(query, docs[:k])
    return {design.rotation_name(s): slots[k - s :] + slots[: k - s] for s in range(k)}


_ARRANGEMENTS: dict[str, Callable[[Arranger, str], Cells | None]] = {
    "deflection": _arrange_deflection,
    "faithfulness": _arrange_faithfulness,
    "position": _arrange_position,
}
"""Kind to the function that makes a query's cells; None for a query that does not qualify."""


def _replace_passages(passages: Docs, to_remove: Docs, spare_passages: Docs) -> Docs:
    """Replace some passages of a context by spare ones, at the same positions."""
    fillers: Iterator[dict[str, str]] = iter(spare_passages)
    return [next(fillers) if doc in to_remove else doc for doc in passages]


def find_problems(package: Package) -> Problems:
    """Yield (file, problem) for a bundle's context sets that are missing or show wrong passages."""
    try:
        bundle = design.parse_bundle(package.manifest)
    except (KeyError, ValidationError) as error:
        yield "manifest.json", f"config.bundle cannot be read ({str(error).splitlines()[0]})"
        return
    if list(bundle.cells) != package.contexts:
        yield "manifest.json", "the cells of config.bundle are not the context sets"
        return
    cells = {c: package.context_table(c)["docs"].to_pylist() for c in bundle.cells}
    if len({len(rows) for rows in cells.values()}) != 1:
        yield "contexts", "its cells are of different queries"
        return
    for row in range(len(package.query_ids)):
        docs = {c: rows[row] for c, rows in cells.items()}
        if wrong := _find_wrong_context(docs):
            yield f"contexts/{wrong[0]}", f"query {package.query_ids[row]!r}: {wrong[1]}"


def _find_wrong_context(docs: dict[str, list[dict[str, str]]]) -> tuple[str, str] | None:
    """Find a context set with wrong passages for one query: (its name, the problem), or None.

    Args:
        docs: passages shown for one query, with their labels, by context set; the first is the cell
            that others are compared with.
    """
    (first_cell, first), *others = docs.items()
    if any(d["label"] == RELEVANT for d in docs.get(design.RELATED, ())):
        return design.RELATED, "shows a relevant passage"
    for shift, (cell, shown) in enumerate(others, start=1):
        is_as_long = len(shown) == len(first)
        if cell in (design.REMOVED, design.DECOY):
            if not is_as_long or sum(map(ne, first, shown)) != 1:
                return cell, "differs from original in other than one place"
        elif design.rotation_name(0) in docs:
            at = len(first) - shift
            if shown != first[at:] + first[:at]:
                return cell, "is no rotation of the first cell"
        elif not is_as_long:
            return first_cell, "shows another number of passages than the other cells"
    return None
