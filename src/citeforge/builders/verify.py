"""Is a package what its manifest says, and does it agree with itself?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.duplicates import DuplicateFinder, first_duplicate
from citeforge.engines.tables import iter_batches, read_schema, read_table, shard_paths
from citeforge.package.manifest import Problem, damaged_files, load_manifest
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import (
    CONTEXTS,
    GOLD,
    LABELS,
    MAPPING,
    QUERIES,
    UNJUDGED,
    schemas_of,
)


def verify(folder: Path) -> list[Problem]:
    """All problems of a package; an empty list when it is sound.

    Checks every hash, unexpected Parquet files, schemas, duplicate and dangling ids, that labels
    are disjoint, and that contexts agree with mappings.

    Raises:
        InputError: there is no readable manifest to check against.
    """
    manifest = load_manifest(folder)
    problems = list(damaged_files(folder, manifest))
    known = set(manifest.files)
    for path in sorted(folder.rglob("*.parquet")):
        name = path.relative_to(folder).as_posix()
        if name not in known:
            problems.append(Problem(name, "is not in the manifest"))
    if problems:
        return problems
    problems = list(_wrong_schemas(folder, manifest))
    if manifest.kind == "kalma":
        from citeforge.builders.kalma.verify import wrong_kalma

        return problems or [Problem(*found) for found in wrong_kalma(folder, manifest)]
    return problems or [
        *_wrong_ids(folder),
        *_wrong_contexts(folder, manifest),
        *_wrong_kind(folder, manifest),
    ]


def _wrong_kind(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """What only one kind of benchmark promises."""
    if manifest.kind in ("twins", "authorship"):
        from citeforge.builders.authorship.verify import wrong_cells, wrong_twins

        yield from (Problem(*found) for found in wrong_twins(folder))
        if manifest.kind == "authorship":
            yield from (Problem(*found) for found in wrong_cells(folder, manifest))


def _wrong_schemas(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    for name in manifest.files:
        if not name.endswith(".parquet"):
            continue
        config = name.split("/")[0]
        known = schemas_of(manifest.kind)
        schema = known.get(config)
        try:
            found = read_schema(folder / name)
        except InputError as error:
            yield Problem(name, error.message)
            continue
        if schema is None:
            yield Problem(name, f"belongs to no known config ({', '.join(known)})")
        elif not found.equals(schema):
            yield Problem(name, f"has not the schema of config {config}")


def _mappings(folder: Path) -> dict[str, pa.Table]:
    return {n: read_table(shard_paths(folder / "mapping", n), MAPPING) for n in LABELS}


def _wrong_ids(folder: Path) -> Iterator[Problem]:
    queries = read_table(shard_paths(folder / "queries", "queries"), QUERIES)
    names = queries["_id"]
    if pc.count_distinct(names).as_py() != len(names):
        yield Problem("queries", "an _id comes twice")
    yield from _duplicate_passages(folder)
    mappings = _mappings(folder)
    gold = read_table(shard_paths(folder / "gold", "gold"), GOLD)
    for table, column, label in [
        *((t, "query-id", f"mapping/{n}") for n, t in mappings.items()),
        (gold, "query_id", "gold"),
    ]:
        for stray in _strays(table[column], names):
            yield Problem(label, f"names the query {stray!r}, which is not in queries")
    yield from _dangling_passages(folder, mappings)
    yield from _overlapping_labels(mappings)


def _strays(values: pa.ChunkedArray, known: pa.ChunkedArray) -> list[str]:
    unique = values.unique()
    strays: list[str] = unique.filter(pc.invert(pc.is_in(unique, value_set=known))).to_pylist()
    return strays


def _duplicate_passages(folder: Path) -> Iterator[Problem]:
    corpus = shard_paths(folder / "corpus", "corpus")
    finder = DuplicateFinder()
    for batch in iter_batches(corpus, ["_id"]):
        finder.add(batch["_id"].to_pylist())
    suspects = finder.suspects()
    if suspects:
        ids = (name for b in iter_batches(corpus, ["_id"]) for name in b["_id"].to_pylist())
        found = first_duplicate(ids, suspects)
        if found:
            yield Problem("corpus", f"the _id {found[0]!r} comes twice")


def _dangling_passages(folder: Path, mappings: dict[str, pa.Table]) -> Iterator[Problem]:
    named = pa.chunked_array(
        [c for t in mappings.values() for c in t["corpus-id"].chunks], pa.string()
    ).unique()
    seen = np.zeros(len(named), np.bool_)
    for batch in iter_batches(shard_paths(folder / "corpus", "corpus"), ["_id"]):
        found = pc.index_in(batch["_id"], value_set=named).drop_null()
        seen[found.to_numpy()] = True
    for name in named.filter(pa.array(~seen)).to_pylist()[:10]:
        yield Problem("mapping", f"names the passage {name!r}, which is not in corpus")


def _overlapping_labels(mappings: dict[str, pa.Table]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], str] = {}
    for label, table in mappings.items():
        pairs = zip(table["query-id"].to_pylist(), table["corpus-id"].to_pylist(), strict=True)
        for pair in pairs:
            if pair in seen:
                yield Problem(
                    f"mapping/{label}",
                    f"the pair {pair[0]!r}, {pair[1]!r} stands in {seen[pair]} already",
                )
            seen[pair] = label


def _wrong_contexts(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    queries = read_table(shard_paths(folder / "queries", "queries"), QUERIES)["_id"].to_pylist()
    labels = {
        pair: label
        for label, table in _mappings(folder).items()
        for pair in zip(table["query-id"].to_pylist(), table["corpus-id"].to_pylist(), strict=True)
    }
    for name in manifest.contexts:
        table = read_table(shard_paths(folder / "contexts", name), CONTEXTS)
        place = f"contexts/{name}"
        if table["query_id"].to_pylist() != queries:
            yield Problem(place, "its queries are not those of queries, in their order")
        for query, docs in zip(
            table["query_id"].to_pylist(), table["docs"].to_pylist(), strict=True
        ):
            ids = [doc["corpus-id"] for doc in docs]
            if len(set(ids)) != len(ids):
                yield Problem(place, f"query {query!r} shows one passage twice")
            for doc in docs:
                if labels.get((query, doc["corpus-id"]), UNJUDGED) != doc["label"]:
                    yield Problem(
                        place,
                        f"query {query!r}, passage {doc['corpus-id']!r}: the label "
                        f"{doc['label']!r} is not that of the mappings",
                    )
