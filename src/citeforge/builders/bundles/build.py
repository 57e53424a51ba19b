"""``build deflection|faithfulness|position``: the cells of an experiment, frozen."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import corpus_stats
from citeforge.builders.recipes.derive import Base, Docs
from citeforge.builders.stages.skeleton import Build, Stats
from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.io.tables import shard_paths
from citeforge.schemas.benchmarks.bundles import (
    ANSWERABLE,
    DECOY,
    ORIGINAL,
    PARTIAL,
    RELATED,
    REMOVED,
    Bundle,
    rotation_name,
)
from citeforge.schemas.benchmarks.manifest import ContextSet, GrammarInfo, Manifest
from citeforge.schemas.benchmarks.tables import (
    CONTEXTS,
    CORPUS,
    GOLD,
    MAPPING,
    QUERIES,
    RELEVANT,
    UNJUDGED,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.bundles import (
    BundleRecipe,
    DeflectionRecipe,
    FaithfulnessRecipe,
    PositionRecipe,
)
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.text import normalise_answer

R = TypeVar("R", bound=BundleRecipe)
Cells = dict[str, Docs]
"""Cell to the passages that a query is shown there."""
_DESCRIBED = {
    ANSWERABLE: "every relevant passage, and related ones",
    PARTIAL: "some of the relevant passages, related ones in place of the others",
    RELATED: "related passages in place of all relevant ones: there is no answer",
    ORIGINAL: "one relevant passage, and others",
    REMOVED: "another passage in place of the relevant one",
    DECOY: "as original, with a sentence of the relevant passage at the end of another one",
}


def build_bundle(recipe: BundleRecipe, run: RunOptions) -> Manifest:
    """Freeze the cells of a bundle.

    Raises:
        InputError: no query qualifies, or a folder is at fault.
    """
    return _BUILDS[recipe.kind](recipe, run).make()


class BundleBuild(Build[R]):
    """What all bundles share: queries that qualify, cells, tables."""

    def __init__(self, recipe: R, run: RunOptions) -> None:
        super().__init__(recipe, run)
        self.base = Base(recipe.benchmark)
        self.counts: Counter[str] = Counter()
        self.extra: list[dict[str, Any]] = []

    @property
    @abstractmethod
    def cells(self) -> tuple[str, ...]:
        """Names of the cells."""

    @abstractmethod
    def arranged(self, query: str) -> Cells | None:
        """What a query is shown in every cell; None where it does not qualify, which is counted."""

    @property
    def refusals(self) -> str | None:
        """How refusals are detected."""
        return None

    def draft(self) -> Manifest:
        base = self.base.manifest
        told = self.recipe.model_copy(update={"benchmark": Path(base.name)})
        bundle = Bundle(
            name=self.recipe.kind, k=self.recipe.k, cells=self.cells, refusals=self.refusals
        )
        facts = {
            "benchmark_hash": base.benchmark_hash,
            "made_of": {"kind": base.kind, "config": base.config},
            "bundle": bundle.model_dump(mode="json"),
        }
        grammar = GrammarInfo(base=self.recipe.base)
        config = told.recorded(**facts)
        return self.manifest(config, base.sources, base.licence, base.models, grammar)

    def stages(self) -> None:
        found = {q: cells for q in self.base.query_ids if (cells := self.arranged(q)) is not None}
        if not found:
            reasons = "; ".join(f"{n} {what}" for what, n in self.counts.items())
            raise InputError(
                f"no query qualifies ({reasons})",
                path=self.recipe.benchmark,
                allowed=f"queries with relevant passages and {self.recipe.k} others; a smaller --k",
            )
        if self.recipe.sample is not None and self.recipe.sample < len(found):
            kept = set(sample_ids(list(found), self.recipe.sample, self.recipe.seed, "bundle"))
            self.counts["left out by --sample"] = len(found) - len(kept)
            found = {q: cells for q, cells in found.items() if q in kept}
        self.shown = found

    def tables(self, writer: PackageWriter) -> Stats:
        base, queries = self.base, list(self.shown)
        writer.add("queries", "queries", base.only(base.queries, "_id", queries).cast(QUERIES))
        contexts = {cell: self._cell(writer, cell) for cell in self.cells}
        mappings = {
            label: base.only(table, "query-id", queries).cast(MAPPING)
            for label, table in base.mappings.items()
        }
        named = {i for t in mappings.values() for i in t["corpus-id"].to_pylist()}
        named |= {
            d["corpus-id"] for cells in self.shown.values() for r in cells.values() for d in r
        }
        made = {row["_id"] for row in self.extra}
        kept = [r for r in self.extra if r["_id"] in named]
        extra = pa.Table.from_pylist(kept, schema=CORPUS)
        files, _ = base.write_corpus(writer.folder / "corpus", named - made, extra)
        writer.note("corpus", "corpus", files)
        for label, table in mappings.items():
            writer.add("mapping", label, table)
        writer.add("gold", "gold", base.only(base.gold, "query_id", queries).cast(GOLD))
        counts = {"queries in the benchmark": len(base.query_ids), **self.counts}
        self.found = {"contexts": contexts, "counts": counts}
        return {
            "queries": len(queries),
            "cells": len(self.cells),
            **corpus_stats(shard_paths(writer.folder / "corpus", "corpus")),
        }

    def _cell(self, writer: PackageWriter, cell: str) -> ContextSet:
        rows = [{"query_id": q, "docs": cells[cell]} for q, cells in self.shown.items()]
        writer.add("contexts", cell, pa.Table.from_pylist(rows, schema=CONTEXTS))
        description = _DESCRIBED.get(cell, "the same passages, moved on")
        return ContextSet(description=description, sizes={"passages": self.recipe.k})

    def relevant(self, query: str) -> Docs:
        """Relevant passages of a query, in an order drawn for it."""
        found = [{"corpus-id": i, "label": RELEVANT} for i in self.base.relevant[query]]
        generator(self.recipe.seed, "bundle, relevant", query).shuffle(found)
        return found

    def has_relevant(self, relevant: Docs) -> bool:
        """Whether a query has a relevant passage; one that has none is counted."""
        if not relevant:
            self.counts["queries without a relevant passage"] += 1
        return bool(relevant)

    def has_others(self, others: Docs) -> bool:
        """Whether ``k`` passages are left when no relevant one is shown; else it is counted."""
        if len(others) < self.recipe.k:
            self.counts[f"queries with fewer than {self.recipe.k} other passages"] += 1
        return len(others) >= self.recipe.k

    def slots(self, query: str, docs: Docs) -> Docs:
        """The passages in an order drawn for the query."""
        shuffled = list(docs)
        generator(self.recipe.seed, "bundle, order", query).shuffle(shuffled)
        return shuffled


class Deflection(BundleBuild[DeflectionRecipe]):
    """Cells with all relevant passages, some, none: the places of the others stay as they are."""

    @property
    def cells(self) -> tuple[str, ...]:
        return ANSWERABLE, PARTIAL, RELATED

    @property
    def refusals(self) -> str | None:
        return self.recipe.refusals

    def arranged(self, query: str) -> Cells | None:
        k, relevant, others = self.recipe.k, self.relevant(query), self.base.negatives[query]
        if not (self.has_relevant(relevant) and self.has_others(others)):
            return None
        # All relevant passages must be there, and one related one at least beside them.
        if len(relevant) >= k:
            self.counts[f"queries with {k} relevant passages or more"] += 1
            return None
        shown, spare = others[: k - len(relevant)], others[k - len(relevant) :]
        slots = self.slots(query, [*relevant, *shown])
        half = len(relevant) // 2
        if not half:
            self.counts["queries with one relevant passage, whose partial cell counts nowhere"] += 1
        return {
            ANSWERABLE: slots,
            PARTIAL: _replaced(slots, relevant[half:], spare),
            RELATED: _replaced(slots, relevant, spare),
        }


class Faithfulness(BundleBuild[FaithfulnessRecipe]):
    """Cells with one relevant passage, without it, and with its words in another one, too."""

    @property
    def cells(self) -> tuple[str, ...]:
        return ORIGINAL, REMOVED, DECOY

    def arranged(self, query: str) -> Cells | None:
        k, relevant, others = self.recipe.k, self.relevant(query), self.base.negatives[query]
        if not (self.has_relevant(relevant) and self.has_others(others)):
            return None
        target, shown, spare = relevant[0], others[: k - 1], others[k - 1 :]
        slots = self.slots(query, [target, *shown])
        host = generator(self.recipe.seed, "bundle, decoy", query).choice(shown)
        decoy = self._decoy(query, target["corpus-id"], host["corpus-id"])
        swapped = [{"corpus-id": decoy, "label": UNJUDGED} if d == host else d for d in slots]
        return {ORIGINAL: slots, REMOVED: _replaced(slots, [target], spare), DECOY: swapped}

    def _decoy(self, query: str, target: str, host: str) -> str:
        """Make the host's text with a sentence of the target at its end; returns its id."""
        from citeforge.engines.text.sentences import SentenceSegmenter

        texts = self.base.texts([target, host])
        text = texts[target][1]
        found = [text[s:e].strip() for s, e in SentenceSegmenter().split(text)] or [text]
        gold = [normalise_answer(a) for a in self.base.answers[query] if normalise_answer(a)]
        with_answer = [s for s in found if any(a in normalise_answer(s) for a in gold)]
        if not with_answer:
            self.counts["decoys with the first sentence, for none holds a short answer"] += 1
        sentence = (with_answer or found)[0]
        title, own = texts[host]
        name = f"decoy:{query}:{host}"
        row = {"_id": name, "title": title, "text": f"{own} {sentence}", "metadata": None}
        self.extra.append(row)
        return name


class Position(BundleBuild[PositionRecipe]):
    """As many cells as passages: each passage stands once at every place."""

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(rotation_name(shift) for shift in range(self.recipe.k))

    def arranged(self, query: str) -> Cells | None:
        k, relevant, others = self.recipe.k, self.relevant(query), self.base.negatives[query]
        if not self.has_relevant(relevant):
            return None
        # Half of the places at most are for relevant ones, so that there is something to choose.
        docs = [*relevant[: max(1, k // 2)], *others]
        if len(docs) < k:
            self.counts[f"queries with fewer than {k} passages"] += 1
            return None
        slots = self.slots(query, docs[:k])
        return {rotation_name(s): slots[k - s :] + slots[: k - s] for s in range(k)}


_BUILDS: dict[str, type[BundleBuild[Any]]] = {
    "deflection": Deflection,
    "faithfulness": Faithfulness,
    "position": Position,
}


def _replaced(slots: Docs, gone: Docs, spare: Docs) -> Docs:
    """The slots with other passages in the places of some."""
    fillers: Iterator[dict[str, str]] = iter(spare)
    return [next(fillers) if doc in gone else doc for doc in slots]
