"""Descriptive statistics of a package."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import iter_batches


def corpus_stats(corpus: list[Path]) -> dict[str, object]:
    """Counts and lengths of the passages, streamed."""
    n = words = titled = 0
    longest = 0
    for batch in iter_batches(corpus, ["title", "text"]):
        n += batch.num_rows
        titled += pc.sum(pc.not_equal(batch["title"], "")).as_py()
        spaces = pc.count_substring_regex(batch["text"], r"\S+")
        words += pc.sum(spaces).as_py()
        longest = max(longest, pc.max(spaces).as_py())
    return {
        "passages": n,
        "passages with a title": titled,
        "words per passage, mean": round(words / n, 2),
        "words per passage, longest": longest,
    }


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
