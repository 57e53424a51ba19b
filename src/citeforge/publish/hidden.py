"""Publishing without gold: what systems see in one repository, what scores them in another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.package import PackageWriter, refreshed
from citeforge.builders.stats import WORDS, context_sizes, corpus_stats, word_lengths
from citeforge.engines.files import read_json, write_text
from citeforge.engines.folders import amending
from citeforge.package.manifest import CARD, MANIFEST, load_intact
from citeforge.package.package import Package
from citeforge.publish.community import FILE as EVALS
from citeforge.publish.community import render_evals
from citeforge.publish.hub import copy_files
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import CONTEXTS, QUERIES, UNJUDGED

LINK = "hidden.json"


def split_package(folder: Path, public: Path, gold: Path) -> tuple[Manifest, Manifest]:
    """Write the public and the gold half of a package.

    The public half has what systems are shown, without labels; it is a package of its own. The
    gold half has everything else of the original, to the byte, and joins with the public one to
    the original again.

    Raises:
        UsageError: its kind says why this cannot be.
    """
    package = Package(folder)
    manifest = package.manifest
    if reason := package.kind.refusal("hide-gold"):
        raise UsageError(f"--hide-gold: {reason}")
    kind = package.kind
    contexts = [n for n in package.contexts if not any(fnmatch(n, w) for w in kind.withheld)]
    shown = [n for n in manifest.files if n.split("/")[0] in kind.public]
    copy_files(folder, shown, public)
    writer = PackageWriter(public)
    for config in kind.public:
        splits = {n.rsplit("-", 3)[0].removeprefix(f"{config}/") for n in shown
                  if n.startswith(f"{config}/")}  # fmt: skip
        for split in sorted(splits):
            names = [n for n in shown if n.startswith(f"{config}/{split}-")]
            files = {n.removeprefix(f"{config}/"): manifest.files[n] for n in names}
            writer.note(config, split, files)
    for config, blind in kind.blinded.items():
        for split in contexts if config == "contexts" else package.splits.get(config, []):
            writer.add(config, split, blind(package.table(config, split)))
    choices: dict[str, Any] = {
        "hidden_gold": True,
        "seed": manifest.config.get("seed"),
        "contexts": contexts,
        **{k: manifest.config[k] for k in kind.public_facts if k in manifest.config},
    }
    cleared: dict[str, Any] = {name: {} for name in ("counts", "short_mappings", "models", "files")}
    open_half = manifest.model_copy(
        update={
            **cleared,
            "config": choices,
            "contexts": {n: manifest.contexts[n] for n in contexts},
        }
    )
    stats = _public_stats(Package(public, manifest), contexts)
    written = _with_leaderboards(public, writer.finish(open_half, stats), stats)
    hidden = [n for n in manifest.files if n not in shown and n not in (CARD,)]
    copy_files(folder, [*hidden, CARD, MANIFEST], gold)
    link = {"public_hash": written.benchmark_hash, "shown": shown}
    write_text(gold / LINK, json.dumps(link, indent=1) + "\n")
    return written, manifest


def given_away(folder: Path) -> list[str]:
    """What a public half lacks, and what it gives away all the same, in words for the user."""
    package = Package(folder)
    kept = [n for n in package.contexts if any(fnmatch(n, w) for w in package.kind.withheld)]
    found = [package.kind.open_secret] if package.kind.open_secret else []
    if kept:
        found.append(
            f"the context sets {', '.join(kept)} stay in the gold half: beside the others they "
            "tell what is gold"
        )
    return found


def _with_leaderboards(public: Path, manifest: Manifest, stats: dict[str, object]) -> Manifest:
    """The public half with its ``eval.yaml``, where its kind has leaderboards."""
    evals = render_evals(manifest)
    if evals is None:
        return manifest
    with amending(public) as write:
        manifest, files = refreshed(public, manifest, stats, {EVALS: evals})
        write(files)
    return manifest


def _public_stats(half: Package, contexts: Sequence[str]) -> dict[str, object]:
    """Statistics of what is public, counted there: none is taken over from the whole."""
    stats: dict[str, object] = {"queries": len(half)}
    if half.kind.shows_triples:
        for name in contexts:
            sizes = pc.list_value_length(half.context_table(name)["triples"])
            stats[f"context {name}: triples, mean"] = round(pc.mean(sizes).as_py() or 0.0, 4)
        return stats
    stats |= corpus_stats(half.corpus)
    for name in contexts:
        stats |= context_sizes(name, half.context_table(name))
    return stats | {WORDS: word_lengths(half)}


def unlabelled(table: pa.Table) -> pa.Table:
    """Contexts of passages without their labels (schema CONTEXTS)."""
    rows = [
        {
            "query_id": r["query_id"],
            "docs": [{"corpus-id": d["corpus-id"], "label": UNJUDGED} for d in r["docs"]],
        }
        for r in table.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=CONTEXTS)


def as_it_is(table: pa.Table) -> pa.Table:
    """A table that tells nothing of what is gold."""
    return table


def without_relation(table: pa.Table) -> pa.Table:
    """KaLMA's queries without the relation that their question starts from: it is gold (schema
    QUERIES)."""
    rows = table.to_pylist()
    for row in rows:
        said = {k: v for k, v in json.loads(row["metadata"] or "{}").items() if k != "relation"}
        row["metadata"] = json.dumps(said, ensure_ascii=False, sort_keys=True)
    return pa.Table.from_pylist(rows, schema=QUERIES)


def gold_link(gold: Path) -> dict[str, Any]:
    """What a gold half says of the public one: ``public_hash`` and the files ``shown``.

    Raises:
        InputError: the folder is no gold half.
    """
    if not (gold / LINK).is_file():
        raise InputError("holds no gold half", path=gold, allowed="what publish --hide-gold made")
    found: dict[str, Any] = read_json(gold / LINK)
    return found


def join_package(public: Path, gold: Path, out: Path) -> str:
    """Put the two halves together; the original package, to the byte.

    Returns:
        Hash of the public half, which submissions may name.

    Raises:
        InputError: the halves do not belong together.
    """
    link = gold_link(gold)
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
