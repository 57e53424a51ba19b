"""What must hold between the tables of a KaLMA benchmark."""

import json
from collections import Counter

from citeforge.builders.kalma.selection import missing_values
from citeforge.builders.packaging.verify import Problems
from citeforge.engines.io.tables import rows_of
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.kg import Triple, from_row


def wrong_kalma(package: Package) -> Problems:
    """Queries, contexts, gold and removed facts that do not fit together."""
    ids = package.query_ids
    if len(set(ids)) != len(ids):
        yield "queries/specific", "an _id comes twice"
    for split, table in package.forms.items():
        if table["_id"].to_pylist() != ids:
            yield (
                f"queries/{split}",
                f"its queries are not those of {package.kind.questions}, in their order",
            )
    per_set: dict[str, dict[str, list[Triple]]] = {}
    for name in package.contexts:
        table = package.context_table(name)
        if table["query_id"].to_pylist() != ids:
            yield f"contexts/{name}", "its queries are not those of queries, in their order"
            return
        rows = ([from_row(t) for t in row] for row in table["triples"].to_pylist())
        per_set[name] = dict(zip(ids, rows, strict=True))
    # Published graphs are what a retrieval found; their gold may be of others.
    is_published = "kalma" in {source.kind for source in package.manifest.sources}
    full = {q: {t.key for t in triples} for q, triples in per_set["full"].items()}
    for row in package.gold.to_pylist():
        if row["query_id"] not in full:
            yield "gold", f"names the query {row['query_id']!r}, which is not in queries"
        elif from_row(row).key not in full[row["query_id"]] and not is_published:
            key = from_row(row).key
            yield "gold", f"query {row['query_id']!r}: {key} is not in its sub-graphs"
    if not is_published:
        yield from _partial_relations(package, per_set["full"])
    yield from _wrong_absent(package, per_set)
    yield from _wrong_shares(per_set)


def _partial_relations(package: Package, triples_of: dict[str, list[Triple]]) -> Problems:
    """A relation of which the gold has some values: another right answer would count as wrong."""
    gold: dict[str, list[Triple]] = {}
    for row in package.gold.to_pylist():
        gold.setdefault(row["query_id"], []).append(from_row(row))
    questions = package.forms[package.kind.questions]
    rows = rows_of(questions, "_id", "metadata")
    for query, text in rows:
        metadata, mine = json.loads(text), gold.get(query, [])
        link = [*metadata["entities"], metadata["relation"]]
        links = (t for t in mine if [t.qid, t.value_id, t.relation] == link)
        for t in missing_values(triples_of.get(query, []), mine, next(links, None)):
            yield "gold", f"query {query!r}: has other values of {t.relation}, not {t.value!r}"


def _wrong_absent(package: Package, per_set: dict[str, dict[str, list[Triple]]]) -> Problems:
    before: Counter[tuple[str, Triple]] = Counter()
    for name in (n for n in package.contexts if n.startswith("absent_")):
        rows = package.absent(name).to_pylist()
        removed = Counter((r["query_id"], from_row(r)) for r in rows)
        for query, triples in per_set[name].items():
            gone = {t for q, t in removed if q == query}
            expected = [t for t in per_set["full"][query] if t not in gone]
            if triples != expected:
                yield f"contexts/{name}", f"query {query!r} is not full without what was removed"
        if before - removed:
            yield f"absent/{name}", "does not hold what the smaller set removed"
        before = removed


def _wrong_shares(per_set: dict[str, dict[str, list[Triple]]]) -> Problems:
    """A set of lower accuracy has no right graph that one of higher accuracy lacks."""
    right = {q: {t.qid for t in triples} for q, triples in per_set["full"].items()}
    before: set[tuple[str, str]] | None = None
    names = [n for n in per_set if n.startswith("retrieval_")]
    for name in sorted(names, key=lambda n: -int(n.rpartition("_")[2])):
        right_graphs = {
            (q, t.qid) for q, triples in per_set[name].items() for t in triples if t.qid in right[q]
        }
        if before is not None and not right_graphs <= before:
            yield f"contexts/{name}", "is not nested in the set with the higher accuracy"
        before = right_graphs
