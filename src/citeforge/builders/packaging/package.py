"""Writing a package: tables, stats, card and manifest."""

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from citeforge.builders.packaging.card import Beside, render_card
from citeforge.builders.packaging.stats import context_stats
from citeforge.engines.io.files import digest, sha256_file, write_text
from citeforge.engines.io.folders import amending
from citeforge.engines.io.tables import write_table
from citeforge.package.kinds import plugin_of
from citeforge.package.manifest import (
    BESIDE,
    CARD,
    MANIFEST,
    STATS,
    load_intact,
    pretty_json,
    read_stats,
    splits_of,
)
from citeforge.schemas.benchmarks.manifest import Manifest, benchmark_hash
from citeforge.schemas.benchmarks.tables import CONTEXTS


class PackageWriter:
    """Grows a package in a folder that is not yet visible under its final name.

    Attributes:
        folder: where the package grows.
        files: relative file name to sha256 of what was written.
        splits: config to splits that have rows.
        empty: ``config/split`` of tables without rows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, str] = {}
        self.splits: dict[str, list[str]] = {}
        self.empty: list[str] = []

    def add(self, config: str, split: str, table: pa.Table) -> None:
        """Write one table; one without rows is noted and not written."""
        self.note(config, split, write_table(self.folder / config, split, table))

    def note(self, config: str, split: str, files: dict[str, str]) -> None:
        """Take in shards that were written into ``folder/config`` by someone else."""
        if not files:
            self.empty.append(f"{config}/{split}")
            return
        self.splits.setdefault(config, []).append(split)
        self.files.update({f"{config}/{name}": sha256 for name, sha256 in files.items()})

    def add_contexts(
        self, name: str, docs: Mapping[str, list[dict[str, str]]]
    ) -> dict[str, object]:
        """Write a context set, query to ``corpus-id`` and ``label`` of its passages.

        Returns:
            Its statistics.
        """
        rows = [{"query_id": query, "docs": row} for query, row in docs.items()]
        table = pa.Table.from_pylist(rows, schema=CONTEXTS)
        self.add("contexts", name, table)
        return context_stats(name, table)

    def finish(
        self, manifest: Manifest, stats: dict[str, object], further: Mapping[str, str] | None = None
    ) -> Manifest:
        """Write stats, card and, last, the manifest.

        Args:
            manifest: all but the fields that depend on the files.
            stats: descriptive statistics; numbers, texts, lists and dictionaries of them.
            further: files that go beside the tables, name to text.

        Returns:
            The manifest as written.
        """
        manifest = manifest.model_copy(
            update={
                "files": dict(self.files),
                "empty_tables": sorted(self.empty),
                "benchmark_hash": benchmark_hash(self.files),
                "libraries": {n: version(n) for n in ("numpy", "pyarrow")} | manifest.libraries,
            }
        )
        manifest, files = refreshed(self.folder, manifest, stats, further or {})
        for name, text in files.items():
            write_text(self.folder / name, text)
        return manifest


def amend_stats(folder: Path, extra: dict[str, object]) -> Manifest:
    """Add statistics that were learnt after the build; tables and benchmark hash stay.

    Args:
        folder: a sound package.
        extra: what ``stats.json`` gets; values of known names are replaced.

    Returns:
        The manifest as written.

    Raises:
        InputError: not a package, damaged, or it cannot be written.
    """
    with amending(folder) as files:
        manifest = load_intact(folder)
        stats: dict[str, object] = {**read_stats(folder), **extra}
        manifest, new_files = refreshed(folder, manifest, stats, {})
        files |= new_files
        return manifest


def refreshed(
    folder: Path, manifest: Manifest, stats: dict[str, object], changed: Mapping[str, str]
) -> tuple[Manifest, dict[str, str]]:
    """Manifest and files of a package with its statistics, card and manifest rendered again.

    Args:
        folder: package.
        manifest: its manifest.
        stats: what ``stats.json`` is to hold.
        changed: further files that change, name to text.

    Returns:
        The manifest, and every file that changes, name to text; the caller writes them together.
    """
    manifest = manifest.model_copy(
        update={"files": dict(manifest.files), "plugin": plugin_of(manifest.kind)}
    )
    card = render_card(manifest, splits_of(manifest), stats, Beside.read(folder, changed))
    files = {**changed, STATS: pretty_json(stats), CARD: card}
    for name in (STATS, CARD, *BESIDE):
        manifest.files.pop(name, None)
        if name in files:
            manifest.files[name] = hashlib.sha256(files[name].encode()).hexdigest()
        elif (folder / name).is_file():
            manifest.files[name] = sha256_file(folder / name)
    manifest.files = dict(sorted(manifest.files.items()))
    manifest.manifest_sha256 = manifest_digest(manifest)
    files[MANIFEST] = render_manifest(manifest)
    return manifest, files


def render_manifest(manifest: Manifest) -> str:
    """The exact text of ``manifest.json``."""
    return pretty_json(manifest.model_dump(mode="json"))


def manifest_digest(manifest: Manifest) -> str:
    """sha256 of the manifest with its own field empty."""
    return digest(manifest.model_copy(update={"manifest_sha256": ""}).model_dump(mode="json"))


def safe_name(text: str) -> str:
    """A benchmark name that may stand in signatures and file names."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "benchmark"
