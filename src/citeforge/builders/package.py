"""Writing of a package: tables, statistics, card and manifest."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.card import SidecarFiles, render_card
from citeforge.engines.files import digest, sha256_file, storage_errors, write_text
from citeforge.engines.folders import amending
from citeforge.engines.posix import link_or_copy
from citeforge.engines.progress import progress
from citeforge.engines.tables import TableWriter, iter_batches, rows_with, shard_paths, write_table
from citeforge.ir_convert.source import Source
from citeforge.package.fields import describe_fields
from citeforge.package.kinds import plugin_of
from citeforge.package.manifest import (
    BESIDE,
    CARD,
    MANIFEST,
    STATS,
    list_splits,
    load_intact,
    pretty_json,
    read_stats,
)
from citeforge.package.package import Package
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.file_names import portable_name
from citeforge.schemas.manifest import Manifest, benchmark_hash
from citeforge.schemas.tables import CONTEXTS, CORPUS, is_split_name

_WORD = r"[^\s\v\x1c-\x1f\x85\p{Z}]+"
"""Characters between white space of Unicode, as ``str.split`` knows it; RE2's ``\s`` is ASCII's."""


def count_words(texts: pa.Array) -> pa.Array:
    """Count the words (runs without any Unicode white space) of each text."""
    return pc.count_substring_regex(texts, _WORD)


def corpus_stats(folder: Path) -> dict[str, object]:
    """Compute a package corpus's numbers of passages and of titled ones, and word counts."""
    n = words = titled = 0
    longest = 0
    with progress("counting words", None, "passages") as advance:
        for batch in iter_batches(shard_paths(folder / "corpus", "corpus"), ["title", "text"]):
            n += batch.num_rows
            titled += pc.sum(pc.not_equal(batch["title"], "")).as_py()
            counts = count_words(batch["text"])
            words += pc.sum(counts).as_py()
            longest = max(longest, pc.max(counts).as_py())
            advance(batch.num_rows)
    return {
        "passages": n,
        "passages_with_a_title": titled,
        "words_per_passage_mean": round(words / n, 2),
        "words_per_passage_longest": longest,
    }


WORDS = "words_per_passage"
"""Key of the histogram among the statistics."""


class WordLengths:
    """Histogram of passages by number of words, for the chart in the card."""

    _EDGES = (10, 20, 40, 80, 160, 320, 640)

    def __init__(self) -> None:
        """Start a histogram of passage lengths with empty bins."""
        self._counts = np.zeros(len(self._EDGES) + 1, np.int64)

    def add(self, texts: pa.Array) -> pa.Array:
        """Add passage texts to the histogram of lengths; return each text's number of words."""
        words = count_words(texts)
        bins = np.searchsorted(self._EDGES, words.to_numpy())
        self._counts += np.bincount(bins, minlength=len(self._counts))
        return words

    def table(self) -> dict[str, int]:
        """Map each range of word counts (``11–20``) to the number of passages in it."""
        starts = [0, *(edge + 1 for edge in self._EDGES)]
        names = [f"{a}–{b}" for a, b in zip(starts, self._EDGES, strict=False)]
        names.append(f"{starts[-1]} or more")
        return dict(zip(names, self._counts.tolist(), strict=True))


def word_lengths(package: Package) -> dict[str, int]:
    """Compute the histogram of a package's passages by words; empty without a corpus."""
    lengths = WordLengths()
    for batch in package.passages(["text"]):
        lengths.add(batch["text"])
    return lengths.table() if package.corpus else {}


def mapping_stats(label: str, mapping: pa.Table, n_queries: int) -> dict[str, object]:
    """Compute the total, mean, least and most passages with a label per query.

    Args:
        label: the label, for the names of the statistics.
        mapping: pairs of query and passage that have it, schema MAPPING.
        n_queries: number of all queries.
    """
    per_query = mapping["query-id"].value_counts().field("counts")
    without = n_queries - len(per_query)
    low = 0 if without else pc.min(per_query).as_py()
    return {
        count_key("mapped_passages", label): mapping.num_rows,
        count_key("mapped_passages_per_query_mean", label): round(mapping.num_rows / n_queries, 4),
        count_key("mapped_passages_per_query_fewest", label): low,
        count_key("mapped_passages_per_query_most", label): pc.max(per_query).as_py() or 0,
    }


def context_stats(name: str, contexts: pa.Table) -> dict[str, object]:
    """Compute a context set's mean number of passages, and mean share of relevant ones.

    Args:
        name: name of the set, for the names of the statistics.
        contexts: schema CONTEXTS.
    """
    labels = [[d["label"] for d in docs] for docs in contexts["docs"].to_pylist()]
    shares = [row.count("relevant") / len(row) for row in labels if row]
    mean = round(sum(shares) / max(1, len(shares)), 4)
    return context_sizes(name, contexts) | {count_key("context_relevant_share_mean", name): mean}


def context_sizes(name: str, contexts: pa.Table) -> dict[str, object]:
    """Compute the mean number of passages in the contexts of a set.

    Args:
        name: name of the set, for the name of the statistic.
        contexts: schema CONTEXTS.
    """
    sizes = pc.list_value_length(contexts["docs"]).to_pylist()
    return {count_key("context_passages_mean", name): round(sum(sizes) / len(sizes), 4)}


class PackageWriter:
    """Writes a package into a working folder: tables first, the manifest last.

    Attributes:
        folder: working folder of the package.
        files: relative file name to sha256 of what was written.
        splits: config to splits that have rows.
        empty: ``config/split`` of tables without rows.
    """

    def __init__(self, folder: Path) -> None:
        """Start writing a package, without tables, into a folder."""
        self.folder = folder
        self.files: dict[str, str] = {}
        self.splits: dict[str, list[str]] = {}
        self.empty: list[str] = []

    def add(self, config: str, split: str, table: pa.Table) -> None:
        """Write the table ``config/split``; one without rows is only recorded as empty."""
        self.add_shards(config, split, write_table(self.folder / config, split, table))

    def add_shards(self, config: str, split: str, files: dict[str, str]) -> None:
        """Record a table whose Parquet files are already in the package's folder.

        Args:
            config: config of the table, such as ``mapping``.
            split: split of the config.
            files: file names with sha256; empty for a table without rows.

        Raises:
            ValueError: ``datasets`` loads no split of this name.
        """
        if not is_split_name(split):
            raise ValueError(f"`datasets` loads no split with the name {split!r}")
        if not files:
            self.empty.append(f"{config}/{split}")
            return
        self.splits.setdefault(config, []).append(split)
        self.files.update({f"{config}/{name}": sha256 for name, sha256 in files.items()})

    def add_contexts(
        self, name: str, docs: Mapping[str, list[dict[str, str]]]
    ) -> dict[str, object]:
        """Write a context set (query to passage ids with labels); return its statistics.

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
        """Write a package's statistics, further files, card and, last, manifest; return this.

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
        manifest, files = render_again(self.folder, manifest, stats, further or {})
        for name, text in files.items():
            write_text(self.folder / name, text)
        return manifest


def write_corpus(
    folder: Path,
    batches: Iterable[pa.RecordBatch],
    source: Source,
    stage: str = "reading the corpus",
) -> dict[str, str]:
    """Write passages of a source (at least one) as a corpus; return file names with sha256.

    Args:
        folder: folder for the tables.
        batches: schema CORPUS.
        source: source of the batches.
        stage: description of the work, for the progress line.

    Returns:
        File names with sha256.

    Raises:
        InputError: there are none.
    """
    files = _write_passages(folder, batches, stage)
    if not files:
        raise InputError(
            "the corpus is empty",
            path=source.info().spec,
            allowed="at least one passage",
            code="empty-file",
        )
    return files


def _write_passages(
    folder: Path, batches: Iterable[pa.RecordBatch | pa.Table], stage: str
) -> dict[str, str]:
    """Write batches of passages as corpus files; return names with sha256 (none if empty).

    Args:
        folder: folder for the files.
        batches: schema CORPUS.
        stage: description of the work, for the progress line.
    """
    writer = TableWriter(folder, "corpus", CORPUS)
    with progress(stage, None, "passages") as advance, writer:
        for batch in batches:
            writer.write(batch)
            advance(batch.num_rows)
    return writer.files


def copy_corpus(
    folder: Path,
    corpus: list[Path],
    only: Iterable[str] | None = None,
    extra: pa.Table | None = None,
    change: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
) -> dict[str, str]:
    """Copy a corpus (all or ``only`` some passages, changed), then ``extra``: names and sha256.

    Args:
        folder: folder of the package.
        corpus: Parquet files of the passages; their order is kept.
        only: ids of those that the package needs; None for all.
        extra: further passages, schema CORPUS, written after them.
        change: changes batches (schema CORPUS) before they are written; None for nothing.

    Returns:
        File names with sha256.
    """
    batches = iter_batches(corpus)
    if only is not None:
        ids = pa.array(sorted(set(only)), pa.string())
        batches = (rows_with(b, "_id", ids) for b in batches)
    further = [] if extra is None else [extra]
    cast = (batch.cast(CORPUS) for batch in chain(batches, further))
    written = cast if change is None else map(change, cast)
    return _write_passages(folder / "corpus", written, "writing the corpus")


def link_corpus(folder: Path, corpus: list[Path]) -> dict[str, str]:
    """Link a stage's corpus files into a package, else copy them; return names with sha256.

    Args:
        folder: folder of the package.
        corpus: files of the stage, which goes when the build ends.

    Returns:
        File names with sha256.
    """
    target = folder / "corpus"
    with storage_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        for path in corpus:
            link_or_copy(path, target / path.name)
    return {path.name: sha256_file(path) for path in corpus}


def amend_stats(folder: Path, extra: dict[str, object]) -> Manifest:
    """Add statistics to a finished package, and renew its card; tables and hash stay.

    Args:
        folder: a sound package.
        extra: statistics to add; those of known names are replaced.

    Returns:
        The manifest as written.

    Raises:
        InputError: not a package, damaged, or it cannot be written.
    """
    with amending(folder) as files:
        manifest = load_intact(folder)
        stats: dict[str, object] = {**read_stats(folder), **extra}
        manifest, new_files = render_again(folder, manifest, stats, {})
        files |= new_files
        return manifest


def render_again(
    folder: Path, manifest: Manifest, stats: dict[str, object], new_texts: Mapping[str, str]
) -> tuple[Manifest, dict[str, str]]:
    """Render card and manifest for new statistics and texts: (manifest, file name to text).

    Args:
        folder: package.
        manifest: its manifest.
        stats: new content of ``stats.json``.
        new_texts: further files that change, name to text.

    Returns:
        The manifest, and every file that changes, name to text; the caller writes them together.
    """
    manifest = manifest.model_copy(
        update={"files": dict(manifest.files), "plugin": plugin_of(manifest.kind)}
    )
    fields = describe_fields(Package(folder, manifest).queries)
    sidecar = SidecarFiles.read(folder, new_texts)
    card = render_card(manifest, list_splits(manifest), stats, sidecar, fields)
    files = {**new_texts, STATS: pretty_json(stats), CARD: card}
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
    """Write a manifest as the text of ``manifest.json``."""
    return pretty_json(manifest.model_dump(mode="json"))


def manifest_digest(manifest: Manifest) -> str:
    """Compute the sha256 of a manifest, in which its field for this hash is empty."""
    return digest(manifest.model_copy(update={"manifest_sha256": ""}).model_dump(mode="json"))


def safe_name(text: str) -> str:
    """Turn a text into a benchmark name that is safe in signatures and file names."""
    return portable_name(re.sub(r"[^\w.-]+", "-", text).strip("-.") or "benchmark")
