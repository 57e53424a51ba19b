"""Questions with their gold, the passages to search, and the candidates of each question."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.engines.retrieval.records import Rankings, ranked
from citeforge.engines.retrieval.settings import RetrieverSettings
from citeforge.engines.running.names import make_retriever
from citeforge.engines.running.setup import make_runner, run_embedder
from citeforge.engines.tables import batch_of, rows_of
from citeforge.ir_convert.alce import AlceItem, AlceSource, load_alce, passage_id
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.items import Gold, GoldRows, by_query
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.answers import AlceRecipe, Retrieving
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.tables import CORPUS, GOLD, MAPPING

DOCUMENTS = "documents"
"""Split of the candidates that come with ALCE's items."""
_SIGN = "#"


@dataclass(frozen=True)
class QuestionSet:
    """Questions of a source, with their gold and judgements.

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
        """Group rows of a gold table (schema GOLD) by question, in the order of the questions."""
        rows = by_query(gold.to_pylist())
        return {query: GoldRows(map(Gold.from_row, rows.get(query, []))) for query in self.texts}


def open_questions(recipe: AlceRecipe, read_options: ReadOptions) -> Source:
    """Open the source of the questions; if it is not ``alce:PATH``, a corpus is required.

    Raises:
        InputError: it cannot be read.
        UsageError: another source than ALCE's items, and no corpus.
    """
    scheme, _, argument = recipe.source.partition(":")
    if scheme == "alce" and argument:
        return load_alce(argument, recipe.split, read_options)
    if recipe.corpus is None:
        raise UsageError(
            f"--source {recipe.source!r}: expected alce:PATH; another source of questions needs "
            "--corpus, which contains their passages",
            code="missing-option",
        )
    return open_source(recipe.source, recipe.split, read_options)


def read_question_set(source: Source, recipe: AlceRecipe) -> QuestionSet:
    """Read a source's questions and gold; gold may be ``answers`` in the queries' metadata.

    ``answers`` is a list of accepted forms of one answer, or a list of such lists.

    Raises:
        InputError: there are none, or ``answers`` is something else.
    """
    queries = source.queries()
    if queries.num_rows == 0:
        raise InputError("has no queries", path=recipe.source, code="no-queries")
    # Documents of items say nothing of another corpus.
    of_items = isinstance(source, AlceSource) and recipe.corpus is not None
    judged = MAPPING.empty_table() if of_items else source.relevant()
    gold = source.gold()
    with_gold = set(gold["query_id"].to_pylist())
    rows = [
        row
        for query, text, metadata in rows_of(queries)
        if query not in with_gold and metadata
        for row in _gold_rows(source, query, text, json.loads(metadata))
    ]
    if rows:
        gold = add_gold_rows(gold, rows)
    if not gold.num_rows and not judged.num_rows:
        raise InputError(
            "has no gold: neither answers nor judgements",
            path=recipe.source,
            allowed="a source with gold answers, queries with `answers` in their metadata, or "
            "judgements above zero",
            code="no-relevant",
        )
    return QuestionSet(queries, dict(rows_of(queries, "_id", "text")), judged, gold)


def add_gold_rows(gold: pa.Table, rows: list[dict[str, Any]]) -> pa.Table:
    """Append rows, field to value, to a table of gold (schema GOLD)."""
    return pa.concat_tables([gold.cast(GOLD), pa.Table.from_pylist(rows, schema=GOLD)])


def _gold_rows(source: Source, query: str, text: str, metadata: Any) -> Iterator[dict[str, Any]]:
    """Make gold rows from ``answers`` in the metadata of a query; none without answers.

    Args:
        source: source of the query, for messages.
        query: id of the query.
        text: text of the query.
        metadata: decoded JSON.

    Raises:
        InputError: ``answers`` is neither a list of texts nor a list of such lists.
    """
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
                f"query {query!r} has wrong answers",
                path=source.info().spec,
                field="metadata.answers",
                allowed='["Paris", "Paris, France"], or one such list per answer',
                code="wrong-value",
            )
        yield {"query_id": query, "kind": "answer_list", "position": position, "aliases": group}


def name_retrievers(specs: Sequence[str]) -> dict[str, str]:
    """Name each retriever for its table: name (``bm25``, ``run_STEM``) to specification.

    Args:
        specs: specifications such as ``bm25`` or ``run:PATH``; repeated ones count once.
    """
    spec_of: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        name, _, argument = spec.partition(":")
        if argument:
            name = f"{name}_{Path(argument).name.split('.')[0]}"
        name = re.sub(r"\W+", "_", name, flags=re.ASCII)
        while name in spec_of:
            name += "_"
        spec_of[name] = spec
    return spec_of


def retrieve_all(
    retrieval_options: Retrieving,
    run: RunOptions,
    questions: Mapping[str, str],
    corpus: list[Path],
    folder: Path,
    counts: Counter[str],
) -> tuple[dict[str, Rankings], dict[str, dict[str, Any]]]:
    """Rank passages with each retriever: (name to rankings, role to model); count misses.

    Args:
        retrieval_options: which, and how deep.
        run: options of the run.
        questions: query to its text.
        corpus: Parquet shards.
        folder: folder for vectors.
        counts: counts of questions for which nothing is found; updated.

    Returns:
        (split to rankings, role to identity of what made them).

    Raises:
        InputError: a retriever finds nothing for any question, or a run is at fault.
    """
    settings = RetrieverSettings(
        corpus,
        lambda: run_embedder(
            retrieval_options.embedder, run, revision=retrieval_options.embedder_revision
        ),
        folder,
        "fp32" if run.compute == "auto" else run.compute,
        run.shard_rows,
        make_runner(run).first_stage(run.device),
    )
    rankings, models = {}, {}
    for name, spec in name_retrievers(retrieval_options.retrievers).items():
        retriever = make_retriever(spec, settings)
        rankings[name] = retriever.rank(questions, retrieval_options.depth)
        empty = sum(not row for row in rankings[name].values())
        if empty == len(questions):
            raise InputError(
                f"finds nothing for any of {len(questions)} questions",
                path=spec,
                allowed="another --retriever, or a --corpus about these questions",
                code="too-few",
            )
        if empty:
            counts[count_key("queries_asked_about_nothing_found", name)] = empty
        models[f"retriever {name}"] = retriever.identity()
    return rankings, models


def rank_documents(items: Sequence[AlceItem]) -> Rankings:
    """Rank the documents of each ALCE item in the order of the file, scored 1 / rank."""
    rankings: Rankings = {}
    for item in items:
        ids = dict.fromkeys(passage_id(doc) for doc in item.docs)
        rankings[item.query_id] = ranked(
            item.query_id, ((name, round(1 / rank, 6)) for rank, name in enumerate(ids, 1))
        )
    return rankings


def cut_into_pieces(text: str, size: int) -> list[str]:
    """Cut a text into consecutive pieces of ``size`` words; the last one may be shorter."""
    words = text.split()
    return [" ".join(words[at : at + size]) for at in range(0, len(words), size)]


def piece_id(passage: str, number: int) -> str:
    """Make the id of a piece of a passage from the passage's id and the piece's number."""
    return f"{passage}{_SIGN}{number}"


def whole_id(piece: str) -> str:
    """Get the id of the passage that a piece was cut from."""
    return piece.rpartition(_SIGN)[0]


def passage_chunks(source: Source, size: int) -> Iterator[pa.RecordBatch]:
    """Yield a source's passages, cut into titled pieces of ``size`` words (schema CORPUS).

    Raises:
        InputError: no passage has a word.
    """
    counts: Counter[str] = Counter()
    for batch in source.passages():
        rows = []
        for name, title, text, metadata in rows_of(batch):
            chunks = cut_into_pieces(text, size)
            counts["passages_before_cutting"] += 1
            counts["passages_without_a_word"] += not chunks
            rows += [(piece_id(name, i), title, t, metadata) for i, t in enumerate(chunks)]
        counts["passages_after_cutting"] += len(rows)
        if rows:
            yield batch_of(rows, CORPUS)
    if not counts["passages_after_cutting"]:
        raise InputError("has no passage with a word", path=source.info().spec, code="empty-text")
    source.info().counts.update({what: n for what, n in counts.items() if n})
