"""Publishing without gold: what systems see in one repository, what scores them in another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.package import PackageWriter
from citeforge.builders.stats import context_sizes, corpus_stats
from citeforge.engines.files import read_json, write_text
from citeforge.engines.tables import read_table, shard_paths
from citeforge.package.manifest import CARD, MANIFEST, load_intact
from citeforge.publish.card import WORDS, word_counts
from citeforge.publish.hub import copy_files
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import CONTEXTS, QUERIES, UNJUDGED

LINK = "hidden.json"
_SHOWN = ("corpus", "queries", "authors", "twins")


def split_package(folder: Path, public: Path, gold: Path) -> tuple[Manifest, Manifest]:
    """Write the public and the gold half of a package.

    The public half has corpus, queries and contexts without labels; it is a package of its own.
    The gold half has everything else of the original, to the byte, and joins with the public one
    to the original again.

    Raises:
        UsageError: a kalma benchmark: its contexts have no labels, its gold is a table already;
            an authorship benchmark: its labels follow from its contexts.
    """
    manifest = load_intact(folder)
    if manifest.kind in ("kalma", "authorship", "twins"):
        raise UsageError(f"--hide-gold: not for {manifest.kind} benchmarks")
    shown = [n for n in manifest.files if n.split("/")[0] in _SHOWN]
    copy_files(folder, shown, public)
    writer = PackageWriter(public)
    for config in _SHOWN:
        splits = {n.rsplit("-", 3)[0].removeprefix(f"{config}/") for n in shown
                  if n.startswith(f"{config}/")}  # fmt: skip
        for split in sorted(splits):
            names = [n for n in shown if n.startswith(f"{config}/{split}-")]
            files = {n.removeprefix(f"{config}/"): manifest.files[n] for n in names}
            writer.note(config, split, files)
    for name in manifest.contexts:
        table = read_table(shard_paths(folder / "contexts", name), CONTEXTS)
        writer.add("contexts", name, _unlabelled(table))
    choices: dict[str, Any] = {
        "hidden_gold": True,
        "seed": manifest.config.get("seed"),
        "contexts": list(manifest.contexts),
    }
    open_half = manifest.model_copy(
        update={"config": choices, "counts": {}, "short_mappings": {}, "models": {}, "files": {}}
    )
    written = writer.finish(open_half, _public_stats(public, manifest))
    hidden = [n for n in manifest.files if n not in shown and n not in (CARD,)]
    copy_files(folder, [*hidden, CARD, MANIFEST], gold)
    link = {"public_hash": written.benchmark_hash, "shown": shown}
    write_text(gold / LINK, json.dumps(link, indent=1) + "\n")
    return written, manifest


def _public_stats(public: Path, manifest: Manifest) -> dict[str, object]:
    """Statistics of what is public, counted there: none is taken over from the whole."""
    corpus = shard_paths(public / "corpus", "corpus")
    stats: dict[str, object] = {
        "queries": read_table(shard_paths(public / "queries", "queries"), QUERIES).num_rows,
        **corpus_stats(corpus),
    }
    for name in manifest.contexts:
        stats |= context_sizes(name, read_table(shard_paths(public / "contexts", name), CONTEXTS))
    return stats | {WORDS: word_counts(corpus)}


def _unlabelled(table: pa.Table) -> pa.Table:
    rows = [
        {
            "query_id": r["query_id"],
            "docs": [{"corpus-id": d["corpus-id"], "label": UNJUDGED} for d in r["docs"]],
        }
        for r in table.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=CONTEXTS)


def join_package(public: Path, gold: Path, out: Path) -> str:
    """Put the two halves together; the original package, to the byte.

    Returns:
        Hash of the public half, which submissions may name.

    Raises:
        InputError: the halves do not belong together.
    """
    if not (gold / LINK).is_file():
        raise InputError("holds no gold half", path=gold, allowed="what publish --hide-gold made")
    link = read_json(gold / LINK)
    found = load_intact(public)
    if found.benchmark_hash != link["public_hash"]:
        raise InputError(
            "is not the gold of this benchmark", path=gold,
            allowed=f"the gold of {found.name}@{found.benchmark_hash[:8]}",
        )  # fmt: skip
    names = [
        p.relative_to(gold).as_posix()
        for p in gold.rglob("*")
        if p.is_file() and ".cache" not in p.parts and p.name not in (LINK, ".gitattributes")
    ]
    copy_files(gold, names, out)
    copy_files(public, link["shown"], out)
    load_intact(out)
    return str(link["public_hash"])
