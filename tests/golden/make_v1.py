"""Wrote ``tests/golden/v1``, with nothing of citeforge: what files of version 1 look like.

The folder is frozen. A change of a format gets a folder of its own, and the code has to go on
reading this one. Usage: ``python tests/golden/make_v1.py FOLDER``.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def text(name: str, nullable: bool = False) -> pa.Field:
    return pa.field(name, pa.string(), nullable)


PASSAGES = pa.schema([text("_id", False), text("title"), text("text"), text("metadata", True)])
QUERIES = pa.schema([text("_id"), text("text"), text("metadata", True)])
MAPPING = pa.schema(
    [
        text("query-id"),
        text("corpus-id"),
        text("short_answers", True),
        pa.field("score", pa.float64()),
        pa.field("rank", pa.int32()),
    ]
)
DOC = pa.struct([pa.field("corpus-id", pa.string()), pa.field("label", pa.string())])
CONTEXTS = pa.schema([text("query_id"), pa.field("docs", pa.list_(DOC), nullable=False)])


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode())


def doc(passage: str, label: str) -> dict[str, str]:
    return {"corpus-id": passage, "label": label}


def mapped(
    query: str, passage: str, answers: str | None, score: float | None, rank: int | None
) -> dict[str, Any]:
    return {
        "query-id": query,
        "corpus-id": passage,
        "short_answers": answers,
        "score": score,
        "rank": rank,
    }


TABLES: dict[str, tuple[pa.Schema, list[dict[str, Any]]]] = {
    "corpus/corpus": (
        PASSAGES,
        [
            {"_id": "d1", "title": "Oxo", "text": "The Oxo mill opened in 1901.", "metadata": None},
            {"_id": "d2", "title": "", "text": "Its twin mill opened in 1908.", "metadata": "{}"},
            {"_id": "d3", "title": "Rye", "text": "Rye is sown in autumn.", "metadata": None},
            {"_id": "d4", "title": "Ubu", "text": "The Ubu ferry has two decks.", "metadata": None},
        ],
    ),
    "queries/queries": (
        QUERIES,
        [
            {"_id": "q1", "text": "When did the Oxo mill open?", "metadata": None},
            {"_id": "q2", "text": "How many decks has the Ubu ferry?", "metadata": None},
        ],
    ),
    "mapping/relevant": (
        MAPPING,
        [mapped("q1", "d1", '["1901"]', None, None), mapped("q2", "d4", '["two"]', None, None)],
    ),
    "mapping/irrelevant": (
        MAPPING,
        [mapped("q1", "d3", None, None, None), mapped("q2", "d3", None, None, None)],
    ),
    "mapping/seemingly_relevant": (
        MAPPING,
        [mapped("q1", "d2", None, 0.9, 1), mapped("q2", "d2", None, 0.5, 1)],
    ),
    "contexts/mix": (
        CONTEXTS,
        [
            {
                "query_id": "q1",
                "docs": [
                    doc("d2", "seemingly_relevant"),
                    doc("d1", "relevant"),
                    doc("d3", "irrelevant"),
                ],
            },
            {"query_id": "q2", "docs": [doc("d4", "relevant"), doc("d3", "irrelevant")]},
        ],
    ),
}


def main() -> None:
    folder = Path(sys.argv[1]) / "package"
    files = {}
    for name, (schema, rows) in TABLES.items():
        path = folder / f"{name}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), path, compression="zstd")
        files[path.relative_to(folder).as_posix()] = path
    for name, content in (("README.md", "# oxo\n"), ("stats.json", '{\n  "queries": 2\n}\n')):
        files[name] = folder / name
        files[name].write_text(content)
    hashes = {name: sha256(path.read_bytes()) for name, path in sorted(files.items())}
    lines = sorted(f"{sha}  {name}\n" for name, sha in hashes.items() if name.endswith(".parquet"))
    manifest = {
        "schema_version": 1,
        "kind": "rage",
        "name": "oxo",
        "version": "1.0.0",
        "citeforge": "0.1.0",
        "licence": "cc0-1.0",
        "sources": [],
        "config": {"seed": 1},
        "models": {},
        "grammar": {"base": 1, "name": "strict", "form": "[n]"},
        "contexts": {"mix": {"description": "one of each", "sizes": {"relevant": 1}, "short": {}}},
        "counts": {"queries": 2},
        "short_mappings": {},
        "empty_tables": [],
        "libraries": {},
        "files": hashes,
        "benchmark_hash": sha256("".join(lines).encode()),
        "manifest_sha256": "",
    }
    manifest["manifest_sha256"] = digest(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
