"""Items of a context set, read as its kind reads them."""

from collections.abc import Iterator

import pyarrow as pa

from citeforge.engines.io.tables import rows_of
from citeforge.package.items import Gold, GoldRows, Item, Passage, by_query
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.kg import from_row, graphs_of


def passage_items(package: Package, context: str, query_id: str | None) -> Iterator[Item]:
    """Queries with passages of the corpus (schema CONTEXTS).

    Args:
        package: a benchmark.
        context: context set.
        query_id: only this query.

    Raises:
        UnknownValueError: no such context set.
        InputError: the corpus lacks a passage.
    """
    table, questions = package.context_table(context), package.questions(context)
    gold = by_query(package.gold.to_pylist())
    if query_id is not None:
        row = package.row_of[query_id]
        table, questions = table.slice(row, 1), questions[row : row + 1]
    ids = pa.concat_arrays([c.flatten() for c in table["docs"].chunks]).field("corpus-id")
    texts = package.shown_texts(ids.unique().to_pylist(), context)
    for query, docs, question in zip(
        table["query_id"].to_pylist(), table["docs"].to_pylist(), questions, strict=True
    ):
        passages = (Passage(d["corpus-id"], *texts[d["corpus-id"]], d["label"]) for d in docs)
        right = GoldRows(map(Gold.of, gold.get(query, [])))
        yield Item(query, question, context, tuple(passages), gold=right)


def graph_items(package: Package, context: str, query_id: str | None) -> Iterator[Item]:
    """Yield queries with sub-graphs (schema KG_CONTEXTS)."""
    table, questions = package.context_table(context), package.questions(context)
    gold = by_query(package.gold.to_pylist())
    for row, (query, triples) in enumerate(rows_of(table, "query_id", "triples")):
        if query_id in (None, query):
            graphs = tuple(graphs_of([from_row(t) for t in triples]))
            # A triple that counts in several rounds is one piece of knowledge.
            knowledge = tuple(dict.fromkeys(from_row(g) for g in gold.get(query, [])))
            same = {from_row(t): from_row(g) for g in gold.get(query, []) for t in g["equivalents"]}
            yield Item(
                query, questions[row], context, graphs=graphs, knowledge=knowledge, equivalents=same
            )
