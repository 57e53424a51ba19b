"""Reading a package back: queries with the passages they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import iter_batches, read_table, shard_paths
from citeforge.schemas.errors import UnknownValueError
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
    passages = _passages(folder, contexts)
    for query, docs in zip(
        contexts["query_id"].to_pylist(), contexts["docs"].to_pylist(), strict=True
    ):
        shown = [
            Passage(doc["corpus-id"], *passages[doc["corpus-id"]], doc["label"]) for doc in docs
        ]
        yield Shown(query, texts[query], shown)


def _passages(folder: Path, contexts: pa.Table) -> dict[str, tuple[str, str]]:
    docs = pa.concat_arrays([c.flatten() for c in contexts["docs"].chunks])
    wanted = docs.field("corpus-id").unique()
    found: dict[str, tuple[str, str]] = {}
    for batch in iter_batches(shard_paths(folder / "corpus", "corpus"), CORPUS.names[:3]):
        here = batch.filter(pc.is_in(batch["_id"], value_set=wanted))
        for name, title, text in zip(*(c.to_pylist() for c in here.columns), strict=True):
            found[name] = (title, text)
    return found
