"""Reading a package back: queries with the passages they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import iter_batches, read_table, shard_paths
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.kg import KG_CONTEXTS, Graph, from_row, graphs_of, question_form
from citeforge.schemas.tables import CONTEXTS, CORPUS, QUERIES


@dataclass(frozen=True)
class Passage:
    """A passage in a context.

    Attributes:
        id: its id in the corpus.
        title: its title, or an empty string.
        text: its text.
        label: relevant, irrelevant or seemingly_relevant.
    """

    id: str
    title: str
    text: str
    label: str


@dataclass(frozen=True)
class Shown:
    """A query with its ordered passages."""

    query_id: str
    query: str
    passages: list[Passage]


def iter_shown(folder: Path, context: str, query_id: str | None = None) -> Iterator[Shown]:
    """Queries of a context set with their passages, in the order of the benchmark.

    Holds the passages that the set names, not the corpus.

    Args:
        folder: package.
        context: name of a context set.
        query_id: only this query.

    Raises:
        UnknownValueError: no such context set or query.
    """
    paths = shard_paths(folder / "contexts", context)
    if not paths:
        known = {p.name[: -len("-00000-of-00001.parquet")] for p in (folder / "contexts").glob("*")}
        raise UnknownValueError("context", context, known)
    contexts = read_table(paths, CONTEXTS)
    queries = read_table(shard_paths(folder / "queries", "queries"), QUERIES)
    if query_id is not None:
        known_ids = queries["_id"]
        if not pc.is_in(pa.scalar(query_id), value_set=known_ids).as_py():
            raise UnknownValueError("query", query_id, known_ids.slice(0, 20).to_pylist())
        contexts = contexts.filter(pc.equal(contexts["query_id"], query_id))
    texts = dict(zip(queries["_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
    named = pa.concat_arrays([c.flatten() for c in contexts["docs"].chunks]).field("corpus-id")
    passages = texts_of(shard_paths(folder / "corpus", "corpus"), named.unique())
    for query, docs in zip(
        contexts["query_id"].to_pylist(), contexts["docs"].to_pylist(), strict=True
    ):
        shown = [
            Passage(doc["corpus-id"], *passages[doc["corpus-id"]], doc["label"]) for doc in docs
        ]
        yield Shown(query, texts[query], shown)


def texts_of(corpus: list[Path], wanted: Iterable[str] | pa.Array) -> dict[str, tuple[str, str]]:
    """(title, text) of passages by id, streamed: memory grows with what is wanted.

    Args:
        corpus: shards of a corpus.
        wanted: ids; those that the corpus lacks are absent from the result.
    """
    ids = wanted if isinstance(wanted, pa.Array) else pa.array(sorted(set(wanted)), pa.string())
    found: dict[str, tuple[str, str]] = {}
    for batch in iter_batches(corpus, CORPUS.names[:3]):
        here = batch.filter(pc.is_in(batch["_id"], value_set=ids))
        for name, title, text in zip(*(c.to_pylist() for c in here.columns), strict=True):
            found[name] = (title, text)
    return found


def iter_graphs(
    folder: Path, context: str, query_id: str | None = None
) -> Iterator[tuple[str, str, list[Graph]]]:
    """(query id, question, sub-graphs) of a context set of a kalma benchmark.

    Raises:
        UnknownValueError: no such query.
    """
    queries = read_table(shard_paths(folder / "queries", question_form(context)), QUERIES)
    table = read_table(shard_paths(folder / "contexts", context), KG_CONTEXTS)
    ids = queries["_id"].to_pylist()
    if query_id is not None and query_id not in ids:
        raise UnknownValueError("query", query_id, ids[:20])
    rows = zip(ids, queries["text"].to_pylist(), table["triples"].to_pylist(), strict=True)
    for query, text, triples in rows:
        if query_id in (None, query):
            yield query, text, list(graphs_of([from_row(t) for t in triples]))
