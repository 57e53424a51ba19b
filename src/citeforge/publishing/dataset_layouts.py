"""Layouts of whole data sets: BEIR, TREC, MTEB, RAGE, CSV."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from citeforge.builders.card import data_configs
from citeforge.builders.derive import Base
from citeforge.engines.files import atomic_file, write_text
from citeforge.engines.markdown import markdown_text
from citeforge.engines.tables import TableWriter, iter_batches, read_schema, write_table
from citeforge.engines.textfiles import escape_formula
from citeforge.package.package import Package
from citeforge.publishing.export import DroppedFields, Export
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.tables import CORPUS, LABELS, RELEVANT


def corpus_rows(benchmark: Base) -> Iterator[dict[str, Any]]:
    """Yield the passages of a benchmark's corpus as dictionaries, one per passage."""
    for batch in benchmark.passages():
        yield from batch.to_pylist()


def write_passages(benchmark: Base, folder: Path) -> None:
    """Write a benchmark's corpus, without metadata, as Parquet files."""
    columns = ["_id", "title", "text"]
    schema = pa.schema([CORPUS.field(c) for c in columns])
    with TableWriter(folder, "corpus", schema) as writer:
        for batch in benchmark.passages(columns):
            writer.write(batch)


def judgements(benchmark: Base) -> Iterator[tuple[str, str, int]]:
    """Yield (query id, passage id, score): at least 1 for relevant passages, else 0."""
    for label in LABELS:
        for row in benchmark.mappings[label].to_pylist():
            score = max(round(row["score"] or 1), 1) if label == RELEVANT else 0
            yield row["query-id"], row["corpus-id"], score


def list_losses(benchmark: Base, *kept: str) -> DroppedFields:
    """List the data of a benchmark that an export drops; ``kept`` names what it keeps.

    Args:
        benchmark: the benchmark.
        kept: what the export keeps: ``contexts``, ``labels``, ``gold``, ``short`` answers,
            ``scores``.
    """
    lost = []
    if "contexts" not in kept:
        lost.append(f"the frozen contexts ({', '.join(benchmark.manifest.contexts)})")
    if "labels" not in kept and any(benchmark.negatives.values()):
        lost.append("whether a negative is irrelevant or seemingly relevant, and mining scores")
    if benchmark.gold.num_rows and "gold" not in kept:
        lost.append(f"gold answers ({benchmark.gold.num_rows} rows)")
    if "short" not in kept and any(benchmark.answers.values()):
        lost.append("short answers")
    fractions = [
        s for s in benchmark.mappings[RELEVANT]["score"].to_pylist() if s and s != round(s)
    ]
    if fractions and "scores" not in kept:
        lost.append(f"{len(fractions)} judgements that are no integers are rounded")
    return lost


def other_contexts(package: Package, *written: str) -> DroppedFields:
    """List the context sets that an export with one context per question drops."""
    others = [name for name in package.contexts if name not in written]
    return [f"context sets but {written[0]}: {', '.join(others)}"] if others else []


def export_beir(folder: Path, out: Path, options: Part) -> DroppedFields:
    """Write a benchmark in BEIR's layout: corpus, queries and qrels; list what is lost.

    Returns:
        What is lost, one line each.
    """
    benchmark = Base(folder)
    _write_lines(out / "corpus.jsonl", map(_parse_metadata, corpus_rows(benchmark)))
    _write_lines(out / "queries.jsonl", map(_parse_metadata, benchmark.queries.to_pylist()))
    with atomic_file(out / "qrels" / "test.tsv") as file:
        file.write(b"query-id\tcorpus-id\tscore\n")
        for query, passage, score in judgements(benchmark):
            file.write(f"{query}\t{passage}\t{score}\n".encode())
    return list_losses(benchmark)


def _parse_metadata(row: dict[str, Any]) -> dict[str, Any]:
    """Copy a row with its metadata parsed from JSON, if it has any."""
    flat = {k: v for k, v in row.items() if k != "metadata"}
    if row.get("metadata"):
        flat["metadata"] = json.loads(row["metadata"])
    return flat


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write dictionaries to a JSON Lines file."""
    texts = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with atomic_file(path) as file:
        file.writelines(text.encode("utf-8", "surrogatepass") for text in texts)


def export_trec(folder: Path, out: Path, options: Part) -> DroppedFields:
    """Write a benchmark in TREC's layout: topics, qrels, corpus, runs; list what is lost.

    Returns:
        What is lost, one line each.
    """
    benchmark = Base(folder)
    for row in benchmark.queries.to_pylist():
        if any(c in row["text"] + row["_id"] for c in "\t\n\r"):
            raise InputError(
                f"the query {row['_id']!r} contains a tab or a line break", path=benchmark.folder,
                allowed="another format: TREC's topics are one line each", code="unsupported"
            )  # fmt: skip
    topics = "".join(f"{r['_id']}\t{r['text']}\n" for r in benchmark.queries.to_pylist())
    write_text(out / "topics.tsv", topics)
    rows = list(judgements(benchmark))
    for query, passage, _ in rows:
        for noun, name in (("query", query), ("passage", passage)):
            if not any(c.isspace() for c in name):
                continue
            raise InputError(
                f"the id {name!r} of a {noun} contains white space", path=benchmark.folder,
                allowed="another format: TREC's files are separated by white space",
                code="unsupported"
            )  # fmt: skip
    write_text(out / "qrels.txt", "".join(f"{q} 0 {p} {s}\n" for q, p, s in rows))
    passages = corpus_rows(benchmark)
    documents = ({"docid": r["_id"], "title": r["title"], "text": r["text"]} for r in passages)
    _write_lines(out / "corpus.jsonl", documents)
    for name in benchmark.manifest.contexts:
        lines = [
            f"{q} Q0 {d['corpus-id']} {rank} {len(docs) - rank + 1} {name}\n"
            for q, docs in benchmark.shown_passages(name).items()
            for rank, d in enumerate(docs, 1)
        ]
        write_text(out / f"{name}.run", "".join(lines))
    return list_losses(benchmark, "contexts")


def export_mteb(folder: Path, out: Path, options: Part) -> DroppedFields:
    """Write a benchmark in the layout of MTEB's retrieval tasks; list what is lost.

    Judgements are in the split ``test``; the first context set becomes ``top_ranked``.

    Returns:
        What is lost, one line each.
    """
    benchmark = Base(folder)
    queries = [{"_id": r["_id"], "text": r["text"]} for r in benchmark.queries.to_pylist()]
    qrels = [
        {"query-id": q, "corpus-id": p, "score": s} for q, p, s in judgements(benchmark)
    ]  # fmt: skip
    name, docs = next((n, benchmark.shown_passages(n)) for n in benchmark.contexts)
    top = [
        {"query-id": q, "corpus-ids": [d["corpus-id"] for d in rows]} for q, rows in docs.items()
    ]
    tables = {
        "queries": ("queries", queries),
        "default": ("test", qrels), "top_ranked": ("test", top),
    }  # fmt: skip
    write_passages(benchmark, out / "corpus")
    splits = {"corpus": ["corpus"]}
    for config, (split, rows) in tables.items():
        write_table(out / config, split, pa.Table.from_pylist(rows))
        splits[config] = [split]
    _write_readme(out, data_configs(splits), benchmark)
    return list_losses(benchmark, "contexts") + other_contexts(benchmark, name)


def export_rage(folder: Path, out: Path, options: Part) -> DroppedFields:
    """Write a benchmark in the layout of rage_toolkit (RAGE); list what is lost.

    Returns:
        What is lost, one line each.
    """
    benchmark = Base(folder)
    splits = {"corpus": ["corpus"], "queries": ["queries"], "mapping": []}
    write_passages(benchmark, out / "corpus")
    write_table(out / "queries", "queries", benchmark.queries.select(["_id", "text"]))
    for label in LABELS:
        if benchmark.mappings[label].num_rows:
            write_table(out / "mapping", label, benchmark.mappings[label])
            splits["mapping"].append(label)
    _write_readme(out, data_configs(splits), benchmark)
    return list_losses(benchmark, "labels", "short", "scores")


def export_csv(folder: Path, out: Path, options: Part) -> DroppedFields:
    """Write each table as CSV for the Hub's viewer, lists as JSON; list what is lost.

    Returns:
        What is lost, one line each.
    """
    package = Package(folder)
    for config, names in package.splits.items():
        for name in names:
            target = out / config / f"{name}.csv"
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                shards = package.shards(config, name)
                writer.writerow(read_schema(shards[0]).names)
                for batch in iter_batches(shards):
                    writer.writerows(
                        [_format_cell(v) for v in row.values()] for row in batch.to_pylist()
                    )
    _write_readme(out, data_configs(package.splits, ".csv"), package)
    return [
        "types: numbers and texts are told apart by their looks",
        "null and '' are alike",
        "texts that a spreadsheet would take for a formula have an apostrophe before them",
    ]


def _format_cell(value: Any) -> Any:
    """Format a value as a CSV cell: JSON for lists and structs, no formulas."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return escape_formula(value)
    return "" if value is None else value


def _write_readme(out: Path, configs: list[dict[str, Any]], benchmark: Package) -> None:
    """Write an export's ``README.md``, whose metadata the Hub's viewer needs.

    Args:
        out: folder of the export.
        configs: name and files of each config, as the Hub's viewer reads them.
        benchmark: package that was exported.
    """
    front: dict[str, Any] = {"configs": configs}
    if benchmark.manifest.licence:
        front["license"] = benchmark.manifest.licence.lower()
    build = f"{benchmark.manifest.name}@{benchmark.manifest.benchmark_hash[:8]}"
    text = f"{markdown_text(build)}, exported by citeforge."
    write_text(out / "README.md", f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n\n{text}\n")


BEIR = Export("beir", "BEIR's corpus, queries and qrels, as JSON Lines and TSV.", export_beir)
TREC = Export("trec", "TREC's topics, qrels, corpus and runs.", export_trec)
MTEB = Export("mteb", "Parquet tables as MTEB's retrieval tasks load them.", export_mteb)
RAGE = Export("rage-toolkit", "RAGE's data set, as rage_toolkit loads it.", export_rage)
HF_CSV = Export("hf-csv", "One CSV per table, for the Hub's viewer.", export_csv, of="benchmarks")
