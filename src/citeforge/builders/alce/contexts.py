"""Context sets of retrieved passages, and the table of relevant passages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.alce.coverage import (
    JUDGED,
    Coverage,
    QueryPassages,
    Texts,
    choose_oracle,
    mean_recalls,
    share_kept,
)
from citeforge.builders.alce.writing import condensed_stats, usable_texts
from citeforge.builders.build import Stats
from citeforge.builders.package import PackageWriter
from citeforge.engines.tables import find_rows, rows_of
from citeforge.package.items import GoldRows
from citeforge.schemas.manifest import ContextSet
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.tables import MAPPING, RELEVANT, UNJUDGED


def relevant_table(
    judged: pa.Table,
    corpus: list[Path],
    coverages: Sequence[Coverage],
    gold: Mapping[str, GoldRows],
    texts: Texts,
) -> tuple[pa.Table, int]:
    """Make (table of judged or gold-containing passages, number of judged ones not in corpus).

    Args:
        judged: judgements of the source, schema MAPPING.
        corpus: Parquet files.
        coverages: gold units that retrieved passages contain; the first decides.
        gold: gold rows of each query.
        texts: (title, text) of the retrieved passages.

    Returns:
        (schema MAPPING, number of judged passages that the corpus lacks).
    """
    ids = pa.array(judged["corpus-id"].unique(), pa.string())
    there = {ids[i].as_py() for i in find_rows(corpus, "_id", ids)[1].tolist()} if ids else set()
    rows: dict[tuple[str, str], dict[str, Any]] = {
        (row["query-id"], row["corpus-id"]): row
        for row in judged.to_pylist()
        if row["corpus-id"] in there
    }
    n_unknown = judged.num_rows - len(rows)
    if coverages and coverages[0].unit != JUDGED:
        for query, covers in coverages[0].held.items():
            for name in (n for n, units in covers.items() if units):
                row = {"query-id": query, "corpus-id": name, "score": 1.0}
                if answers := _find_short_answers(texts[name][1], gold[query]):
                    row["short_answers"] = json.dumps(answers, ensure_ascii=False)
                rows.setdefault((query, name), row)
    return pa.Table.from_pylist(list(rows.values()), schema=MAPPING), n_unknown


def _find_short_answers(text: str, gold: GoldRows) -> list[str]:
    """List a query's gold short answers, in every accepted form, that a text contains."""
    forms = (a for g in (*gold.qa_pairs, *gold.answer_lists) for a in g.aliases)
    return list(filter(AnswerText(text).contains, dict.fromkeys(forms)))


class ContextWriter:
    """Writes the context sets of a package, and collects their statistics.

    Attributes:
        sets: descriptions of the sets, for the manifest.
        stats: statistics of the sets.
    """

    def __init__(self, writer: PackageWriter, relevant: pa.Table) -> None:
        """Set the package to write to, and the (query, passage) pairs labelled relevant.

        Args:
            writer: writer of the package.
            relevant: schema MAPPING; decides labels.
        """
        self.sets: dict[str, ContextSet] = {}
        self.stats: Stats = {}
        self._writer = writer
        self._relevant = set(rows_of(relevant, "query-id", "corpus-id"))

    def add(self, name: str, passages: QueryPassages, description: str) -> None:
        """Write a context set (each query's passages in order), labelled relevant or unjudged.

        Args:
            name: name of the set.
            passages: query to its passages, in order.
            description: description of the set, for the manifest.
        """
        labels = {True: RELEVANT, False: UNJUDGED}
        docs = {
            query: [{"corpus-id": i, "label": labels[(query, i) in self._relevant]} for i in row]
            for query, row in passages.items()
        }
        self.stats |= self._writer.add_contexts(name, docs)
        self.sets[name] = ContextSet(description=description)

    def add_oracle(
        self,
        coverage: Coverage,
        candidates: QueryPassages,
        queries_with_lists: frozenset[str],
        k: int,
    ) -> None:
        """Write the set ``oracle``: k candidates per query, chosen greedily to contain most gold.

        Args:
            coverage: gold units that each candidate contains.
            candidates: query to its candidates, best first.
            queries_with_lists: queries whose gold is a list of answers.
            k: passages per context.
        """
        best = {
            query: [row[i] for i in choose_oracle(coverage.get_units(query, row), k)]
            for query, row in candidates.items()
        }
        text = f"{k} candidates with most of the {coverage.unit}, chosen greedily"
        self.add("oracle", best, text)
        self.stats |= mean_recalls("oracle", best, coverage, queries_with_lists, k)
        self.stats |= share_kept(best, candidates, coverage, queries_with_lists)

    def add_condensed(
        self,
        text_type: str,
        table: pa.Table,
        candidates: QueryPassages,
        texts: Texts,
        k: int,
        candidates_text: str,
    ) -> None:
        """Write a table of summaries or snippets, and a context set of each query's first k.

        Args:
            text_type: ``summary`` or ``snippet``.
            table: schema CONDENSED.
            candidates: candidates that were condensed.
            texts: (title, text) of these candidates.
            k: passages per context.
            candidates_text: description of the candidates.
        """
        self._writer.add("condensed", text_type, table)
        self.stats |= condensed_stats(text_type, table, texts)
        there = usable_texts(table)
        rows = {q: [i for i in row if (q, i) in there][:k] for q, row in candidates.items()}
        self.add(text_type, rows, f"the first {k} with a {text_type} {candidates_text}")
