"""Verification of packages: hashes, schemas, ids and agreement between tables."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from citeforge.engines.tables import read_schema, rows_of, rows_with
from citeforge.ir_convert.source import DuplicateFinder
from citeforge.package.manifest import Problem, damaged_files, list_splits, load_manifest
from citeforge.package.package import Package
from citeforge.schemas.authorship import parse_design
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import RELEVANT, UNJUDGED, is_split_name

Problems = Iterator[tuple[str, str]]
"""Pairs of table and problem."""
SignatureState = Literal["none", "unchecked", "checked"]


@dataclass(frozen=True)
class Verification:
    """Result of verifying a package.

    Attributes:
        folder: folder of the package.
        n_files: files that the manifest lists.
        benchmark_hash: hash of the benchmark, as the manifest records it.
        problems: what is wrong; empty if the package is sound.
        signature: whether it is signed, and whether the signature was checked and is right.
    """

    folder: Path
    n_files: int
    benchmark_hash: str
    problems: list[Problem]
    signature: SignatureState = "none"


def verify(folder: Path) -> list[Problem]:
    """List all problems of a package (hashes, schemas, ids, contexts); empty if it is sound.

    Checks every hash, unexpected Parquet files, schemas, duplicate and dangling ids, that labels
    are disjoint, and that contexts agree with mappings.

    Raises:
        InputError: there is no readable manifest to check against.
    """
    manifest = load_manifest(folder, has_links=True)
    problems = list(damaged_files(folder, manifest))
    listed = set(manifest.files)
    for path in sorted(folder.rglob("*.parquet")):
        name = path.relative_to(folder).as_posix()
        if name not in listed:
            problems.append(Problem(ascii(name)[1:-1], "is not in the manifest", "foreign-file"))
    if problems:
        return problems
    package = Package(folder, manifest, check_tables=False)
    return list(_wrong_schemas(package)) or [
        Problem(*problem) for problem in package.kind.check_consistency(package)
    ]


def _wrong_schemas(package: Package) -> Iterator[Problem]:
    """Yield problems of tables: unknown config, another schema, or not loadable."""
    schemas = package.kind.facts.tables
    for config, splits in list_splits(package.manifest).items():
        for split in splits:
            if not is_split_name(split):
                yield Problem(f"{config}/{split}", "has a split that `datasets` refuses to load")
    for name in package.manifest.files:
        if not name.endswith(".parquet"):
            continue
        config = name.split("/")[0]
        schema = schemas.get(config)
        try:
            actual = read_schema(package.folder / name)
        except InputError as error:
            yield Problem(name, error.message, error.code)
            continue
        if schema is None:
            yield Problem(name, f"belongs to no known config ({', '.join(schemas)})")
        elif not actual.equals(schema):
            yield Problem(name, f"has not the schema of config {config}")


def wrong_ids(package: Package) -> Problems:
    """Yield (table, problem) for duplicate or unknown ids, and pairs with two labels."""
    names, mappings = package.queries["_id"], package.mappings
    if pc.count_distinct(names).as_py() != len(names):
        yield "queries", "duplicate _id"
    yield from _duplicate_passages(package)
    for table, column, label in [
        *((t, "query-id", f"mapping/{n}") for n, t in mappings.items()),
        (package.gold, "query_id", "gold"),
    ]:
        unique = table[column].unique()
        for stray in unique.filter(pc.invert(pc.is_in(unique, value_set=names))).to_pylist():
            yield label, f"names the query {stray!r}, which is not in queries"
    for name in missing_passages(package, (t["corpus-id"] for t in mappings.values()))[:10]:
        yield "mapping", f"names the passage {name!r}, which is not in corpus"
    yield from _overlapping_labels(mappings)


def _duplicate_passages(package: Package) -> Problems:
    """Yield (table, problem) for the first passage id that the corpus has twice."""
    finder = DuplicateFinder()
    for batch in package.passages(["_id"]):
        finder.add(batch["_id"].to_pylist())
    if suspects := finder.suspects():
        ids = (name for b in package.passages(["_id"]) for name in b["_id"].to_pylist())
        if (name := _first_duplicate(ids, suspects)) is not None:
            yield "corpus", f"duplicate _id {name!r}"


def missing_passages(package: Package, id_columns: Iterable[pa.ChunkedArray]) -> list[str]:
    """List the passage ids in given columns that are missing from the corpus, in order.

    Args:
        package: package with the corpus.
        id_columns: columns of passage ids, of any tables.
    """
    ids = pa.chunked_array(
        [c for column in id_columns for c in column.chunks], pa.string()
    ).unique()
    missing = dict.fromkeys(ids.to_pylist())
    for batch in package.passages(["_id"]) if missing else ():
        for name in rows_with(batch, "_id", ids)["_id"].to_pylist():
            missing.pop(name, None)
    return list(missing)


def _overlapping_labels(mappings: dict[str, pa.Table]) -> Problems:
    """Yield (table, problem) for (query, passage) pairs that have two labels.

    Args:
        mappings: label to its pairs, schema MAPPING.
    """
    label_of: dict[tuple[str, str], str] = {}
    for label, table in mappings.items():
        for pair in rows_of(table, "query-id", "corpus-id"):
            if pair in label_of:
                yield (
                    f"mapping/{label}",
                    f"the pair {pair[0]!r}, {pair[1]!r} is also in {label_of[pair]}",
                )
            label_of[pair] = label


def wrong_contexts(package: Package) -> Problems:
    """Yield (table, problem) for contexts with unknown queries, repeats or wrong labels.

    Yields (table, problem).
    """
    labels = {
        pair: label
        for label, table in package.mappings.items()
        for pair in rows_of(table, "query-id", "corpus-id")
    }
    for name in package.contexts:
        table = package.context_table(name)
        table_name = f"contexts/{name}"
        if table["query_id"].to_pylist() != package.query_ids:
            yield table_name, "its queries are not those of queries, in their order"
        for query, docs in rows_of(table, "query_id", "docs"):
            ids = [doc["corpus-id"] for doc in docs]
            if len(set(ids)) != len(ids):
                yield table_name, f"query {query!r} shows one passage twice"
            for doc in docs:
                if labels.get((query, doc["corpus-id"]), UNJUDGED) != doc["label"]:
                    yield (
                        table_name,
                        f"query {query!r}, passage {doc['corpus-id']!r}: the label "
                        f"{doc['label']!r} is not that of the mappings",
                    )


def wrong_candidates(package: Package) -> Problems:
    """Yield (table, problem) for candidates with unknown ids, repeats or wrong ranks.

    Yields (table, problem).
    """
    tables = {
        f"{config}/{split}": package.table(config, split)
        for config in ("candidates", "condensed")
        for split in package.splits.get(config, [])
    }
    queries = set(package.query_ids)
    missing = set(missing_passages(package, (t["corpus-id"] for t in tables.values())))
    for table_name, table in tables.items():
        pairs: set[tuple[str, str]] = set()
        for query, passage in rows_of(table, "query_id", "corpus-id"):
            if query not in queries:
                yield table_name, f"names the query {query!r}, which is not in queries"
            if passage in missing:
                yield table_name, f"names the passage {passage!r}, which is not in corpus"
            if (query, passage) in pairs:
                yield table_name, f"has the pair {query!r}, {passage!r} twice"
            pairs.add((query, passage))
        last: dict[str, int] = {}
        for query, rank in (
            rows_of(table, "query_id", "rank") if "rank" in table.schema.names else ()
        ):
            if rank != last.get(query, 0) + 1:
                yield table_name, f"query {query!r} has rank {rank} after {last.get(query, 0)}"
            last[query] = rank


def wrong_twins(package: Package) -> Problems:
    """Yield (table, problem) for rewritten passages (twins) repeated or not in the corpus.

    Yields (table, problem).
    """
    table = package.twins
    ids = [t for t in table["twin_id"].to_pylist() if t]
    if len(set(ids)) != len(ids) or len(set(table["_id"].to_pylist())) != table.num_rows:
        yield "twins", "duplicate passage or twin"
    for name in sorted(missing_passages(package, [pa.chunked_array([ids], pa.string())]))[:10]:
        yield "twins", f"names the twin {name!r}, which is not in corpus"


def wrong_cells(package: Package) -> Problems:
    """Yield (table, problem) for experimental conditions with wrong passages or author labels.

    Yields (table, problem).
    """
    try:
        design = parse_design(package.manifest.config)
    except (KeyError, ValidationError) as error:
        yield "manifest.json", f"config.design cannot be read ({str(error).splitlines()[0]})"
        return
    if [c.context for c in design.cells] != package.contexts:
        yield "manifest.json", "the cells of config.design are not the context sets"
        return
    human_of = dict(rows_of(package.twins, "twin_id", "_id"))
    expected: list[list[str]] | None = None
    for cell in design.cells:
        table = package.context_table(cell.context)
        rows = table["docs"].to_pylist()
        humans = [[human_of.get(d["corpus-id"], d["corpus-id"]) for d in row] for row in rows]
        expected = expected or humans
        if humans != expected:
            yield f"contexts/{cell.context}", "shows other passages than the first cell"
        for doc in chain.from_iterable(rows):
            origin = cell.relevant_origin if doc["label"] == RELEVANT else cell.other_origin
            name = doc["corpus-id"]
            if (name in human_of) != (origin == "llm"):
                yield f"contexts/{cell.context}", f"passage {name!r} is not of origin {origin}"
        if cell.labels is None:
            continue
        authors = package.authors(cell.context)
        table_name = f"authors/{cell.context}"
        if authors["query_id"].to_pylist() != table["query_id"].to_pylist():
            yield table_name, "its queries are not those of the contexts"
            continue
        labels = design.label_set(cell.labels)
        for row, words in zip(rows, authors["labels"].to_pylist(), strict=True):
            sides = [cell.side(d["label"] == RELEVANT) for d in row]
            pools = [labels.first if side == "first" else labels.second for side in sides]
            if labels.by_lot:
                pools = [labels.first + labels.second] * len(row)
            if len(words) != len(row) or any(
                word not in pool for word, pool in zip(words, pools, strict=True)
            ):
                yield table_name, "a passage carries a label of the wrong side"
                break


def _first_duplicate(ids: Iterable[str], suspect_hashes: frozenset[int]) -> str | None:
    """Find the first id that occurs twice among ids with suspect hashes; None without one.

    Args:
        ids: all ids again, in the same order.
        suspect_hashes: result of ``DuplicateFinder.suspects``.
    """
    seen: set[str] = set()
    for name in ids:
        if hash(name) in suspect_hashes:
            if name in seen:
                return name
            seen.add(name)
    return None
