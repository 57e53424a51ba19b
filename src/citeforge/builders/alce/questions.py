"""Questions with their gold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from citeforge.engines.io.tables import rows_of
from citeforge.ir_convert.alce import load_alce
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.items import Gold, GoldRows, by_query
from citeforge.schemas.benchmarks.tables import GOLD
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.records import AlceRecipe


def open_questions(recipe: AlceRecipe, read: ReadOptions) -> Source:
    """The source of the questions; without a corpus it must bring documents.

    Raises:
        InputError: it cannot be read.
        UsageError: another source than ALCE's items, and no corpus.
    """
    scheme, _, argument = recipe.source.partition(":")
    if scheme == "alce" and argument:
        return load_alce(argument, recipe.split, read)
    if recipe.corpus is None:
        raise UsageError(
            f"--source {recipe.source!r}: expected alce:PATH; another source of questions needs "
            "--corpus, in which their passages are looked for"
        )
    return open_source(recipe.source, recipe.split, read)


def gold_rows(source: Source, queries: pa.Table) -> pa.Table:
    """Gold of a source, and ``answers`` in the metadata of queries that have none (schema GOLD).

    ``answers`` is a list of accepted forms of one answer, or a list of such lists.

    Raises:
        InputError: ``answers`` is something else.
    """
    gold = source.gold()
    with_gold = set(gold["query_id"].to_pylist())
    rows = [
        row
        for query, text, metadata in rows_of(queries)
        if query not in with_gold and metadata
        for row in _answers(source, query, text, json.loads(metadata))
    ]
    more = pa.Table.from_pylist(rows, schema=GOLD)
    return pa.concat_tables([gold.cast(GOLD), more]) if rows else gold


def _answers(source: Source, query: str, text: str, metadata: Any) -> Iterator[dict[str, Any]]:
    answers = metadata.get("answers") if isinstance(metadata, dict) else None
    if not answers:
        return
    groups = answers if isinstance(answers, list) else [answers]
    if all(isinstance(a, str) for a in groups):
        yield {"query_id": query, "kind": "qa_pair", "position": 0, "text": text, "aliases": groups}
        return
    for position, group in enumerate(groups):
        if not isinstance(group, list) or not all(isinstance(a, str) for a in group):
            raise InputError(
                f"the answers of query {query!r} are no answers",
                path=source.info().spec,
                field="metadata.answers",
                allowed='["Paris", "Paris, France"], or one such list an answer',
            )
        yield {"query_id": query, "kind": "answer_list", "position": position, "aliases": group}


def grouped(gold: pa.Table, queries: list[str]) -> dict[str, GoldRows]:
    """Gold of every query, in their order."""
    rows = by_query(gold.to_pylist())
    return {query: GoldRows(map(Gold.of, rows.get(query, []))) for query in queries}
