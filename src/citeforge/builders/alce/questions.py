"""Questions with their gold."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from citeforge.engines.io.tables import rows_of
from citeforge.ir_convert.alce import AlceSource, load_alce
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.items import Gold, GoldRows, by_query
from citeforge.schemas.benchmarks.tables import GOLD, MAPPING
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.records import AlceRecipe


@dataclass(frozen=True)
class QuestionSet:
    """What is asked, and what answers it.

    Attributes:
        table: schema QUERIES.
        texts: query to its text.
        judged: judgements of the source, schema MAPPING.
        gold: schema GOLD.
    """

    table: pa.Table
    texts: dict[str, str]
    judged: pa.Table
    gold: pa.Table

    def grouped(self, gold: pa.Table) -> dict[str, GoldRows]:
        """Gold of every question, in their order."""
        rows = by_query(gold.to_pylist())
        return {query: GoldRows(map(Gold.of, rows.get(query, []))) for query in self.texts}


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


def read_question_set(source: Source, recipe: AlceRecipe) -> QuestionSet:
    """Questions with gold: the source's, or ``answers`` in the metadata of queries without any.

    ``answers`` is a list of accepted forms of one answer, or a list of such lists.

    Raises:
        InputError: there are none, or ``answers`` is something else.
    """
    queries = source.queries()
    if queries.num_rows == 0:
        raise InputError("has no queries", path=recipe.source)
    # Documents of items say nothing of another corpus.
    of_items = isinstance(source, AlceSource) and recipe.corpus is not None
    judged = MAPPING.empty_table() if of_items else source.relevant()
    gold = source.gold()
    with_gold = set(gold["query_id"].to_pylist())
    rows = [
        row
        for query, text, metadata in rows_of(queries)
        if query not in with_gold and metadata
        for row in _answers(source, query, text, json.loads(metadata))
    ]
    if rows:
        gold = with_rows(gold, rows)
    if not gold.num_rows and not judged.num_rows:
        raise InputError(
            "has no gold: neither answers nor judgements",
            path=recipe.source,
            allowed="a source with gold answers, queries with `answers` in their metadata, or "
            "judgements above zero",
        )
    return QuestionSet(queries, dict(rows_of(queries, "_id", "text")), judged, gold)


def with_rows(gold: pa.Table, rows: list[dict[str, Any]]) -> pa.Table:
    """Gold with further rows (schema GOLD)."""
    return pa.concat_tables([gold.cast(GOLD), pa.Table.from_pylist(rows, schema=GOLD)])


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
