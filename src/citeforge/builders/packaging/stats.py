"""Descriptive statistics of a package."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import iter_batches, shard_paths
from citeforge.package.package import Package


def corpus_stats(folder: Path) -> dict[str, object]:
    """Counts and lengths of the passages of a package, streamed."""
    n = words = titled = 0
    longest = 0
    with progress("counting words", None, "passages") as advance:
        for batch in iter_batches(shard_paths(folder / "corpus", "corpus"), ["title", "text"]):
            n += batch.num_rows
            titled += pc.sum(pc.not_equal(batch["title"], "")).as_py()
            spaces = pc.count_substring_regex(batch["text"], r"\S+")
            words += pc.sum(spaces).as_py()
            longest = max(longest, pc.max(spaces).as_py())
            advance(batch.num_rows)
    return {
        "passages": n,
        "passages with a title": titled,
        "words per passage, mean": round(words / n, 2),
        "words per passage, longest": longest,
    }


WORDS = "words per passage"
"""Name of that chart among the statistics."""


class WordLengths:
    """Passages by number of words; the chart in the card."""

    _EDGES = (10, 20, 40, 80, 160, 320, 640)

    def __init__(self) -> None:
        self._counts = np.zeros(len(self._EDGES) + 1, np.int64)

    def add(self, texts: pa.Array) -> pa.Array:
        """Take texts in.

        Returns:
            Words of each.
        """
        words = pc.count_substring_regex(texts, r"\S+")
        bins = np.searchsorted(self._EDGES, words.to_numpy())
        self._counts += np.bincount(bins, minlength=len(self._counts))
        return words

    def table(self) -> dict[str, int]:
        """Range of words to the number of passages."""
        names = [f"up to {self._EDGES[0]}", *(f"to {e}" for e in self._EDGES[1:]), "more"]
        return dict(zip(names, self._counts.tolist(), strict=True))


def word_lengths(package: Package) -> dict[str, int]:
    """Passages by number of words, streamed; empty where there is no corpus."""
    lengths = WordLengths()
    for batch in package.passages(["text"]):
        lengths.add(batch["text"])
    return lengths.table() if package.corpus else {}


def mapping_stats(label: str, mapping: pa.Table, n_queries: int) -> dict[str, object]:
    """How many passages of a label the queries have."""
    per_query = mapping["query-id"].value_counts().field("counts")
    without = n_queries - len(per_query)
    low = 0 if without else pc.min(per_query).as_py()
    return {
        f"{label} passages": mapping.num_rows,
        f"{label} passages per query, mean": round(mapping.num_rows / n_queries, 4),
        f"{label} passages per query, fewest": low,
        f"{label} passages per query, most": pc.max(per_query).as_py() or 0,
    }


def context_stats(name: str, contexts: pa.Table) -> dict[str, object]:
    """Sizes of the contexts of one set, and what chance gives on them."""
    labels = [[d["label"] for d in docs] for docs in contexts["docs"].to_pylist()]
    shares = [row.count("relevant") / len(row) for row in labels if row]
    return {
        **context_sizes(name, contexts),
        f"context {name}: share of relevant passages, mean": round(sum(shares) / len(shares), 4)
        if shares
        else 0.0,
    }


def context_sizes(name: str, contexts: pa.Table) -> dict[str, object]:
    """Sizes of the contexts of one set, which tell nothing of their labels."""
    sizes = pc.list_value_length(contexts["docs"]).to_pylist()
    return {f"context {name}: passages, mean": round(sum(sizes) / len(sizes), 4)}
