"""Does what was retrieved and condensed agree with queries and corpus?"""

from citeforge.builders.packaging.verify import Problems, missing_passages
from citeforge.engines.io.tables import rows_of
from citeforge.package.package import Package


def wrong_candidates(package: Package) -> Problems:
    """Candidates and condensed texts of unknown queries or passages, pairs that come twice, and
    ranks that do not count from 1."""
    tables = {
        f"{config}/{split}": package.table(config, split)
        for config in ("candidates", "condensed")
        for split in package.splits.get(config, [])
    }
    queries = set(package.query_ids)
    missing = set(missing_passages(package, (t["corpus-id"] for t in tables.values())))
    for place, table in tables.items():
        pairs: set[tuple[str, str]] = set()
        for query, passage in rows_of(table, "query_id", "corpus-id"):
            if query not in queries:
                yield place, f"names the query {query!r}, which is not in queries"
            if passage in missing:
                yield place, f"names the passage {passage!r}, which is not in corpus"
            if (query, passage) in pairs:
                yield place, f"has the pair {query!r}, {passage!r} twice"
            pairs.add((query, passage))
        last: dict[str, int] = {}
        for query, rank in (
            rows_of(table, "query_id", "rank") if "rank" in table.schema.names else ()
        ):
            if rank != last.get(query, 0) + 1:
                yield place, f"query {query!r} has rank {rank} after {last.get(query, 0)}"
            last[query] = rank
