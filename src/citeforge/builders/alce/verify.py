"""Does what was retrieved and condensed agree with queries and corpus?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.io.tables import rows_of
from citeforge.package.package import Package


def wrong_candidates(package: Package) -> Iterator[tuple[str, str]]:
    """Candidates and condensed texts of unknown queries or passages, pairs that come twice, and
    ranks that do not count from 1."""
    tables = {
        f"{config}/{split}": package.table(config, split)
        for config in ("candidates", "condensed")
        for split in package.splits.get(config, [])
    }
    queries = set(package.query_ids)
    ids = pa.chunked_array(
        [c for t in tables.values() for c in t["corpus-id"].chunks], pa.string()
    ).unique()
    there = np.zeros(len(ids), np.bool_)
    for batch in package.passages(["_id"]) if tables else ():
        there[pc.index_in(batch["_id"], value_set=ids).drop_null().to_numpy()] = True
    missing = set(ids.filter(pa.array(~there)).to_pylist())
    for place, table in tables.items():
        ids_of: dict[str, set[str]] = {}
        for query, passage in rows_of(table, "query_id", "corpus-id"):
            if query not in queries:
                yield place, f"names the query {query!r}, which is not in queries"
            if passage in missing:
                yield place, f"names the passage {passage!r}, which is not in corpus"
            if passage in ids_of.setdefault(query, set()):
                yield place, f"has the pair {query!r}, {passage!r} twice"
            ids_of[query].add(passage)
        if place.startswith("candidates/"):
            yield from _wrong_ranks(place, table)


def _wrong_ranks(place: str, table: pa.Table) -> Iterator[tuple[str, str]]:
    last: dict[str, int] = {}
    for query, rank in rows_of(table, "query_id", "rank"):
        if rank != last.get(query, 0) + 1:
            yield place, f"query {query!r} has rank {rank} after {last.get(query, 0)}"
        last[query] = rank
