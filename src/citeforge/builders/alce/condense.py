"""Summaries and snippets of passages for a question (ALCE, section 4.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from citeforge.builders.alce.coverage import Texts
from citeforge.builders.alce.writing import write_texts
from citeforge.engines.io.tables import table_of
from citeforge.engines.llm.records import Failure, Llm
from citeforge.schemas.benchmarks.tables import CONDENSED
from citeforge.schemas.text import normalise_answer

_MOST_TOKENS = 160
_WORD = re.compile(r"\birrelevant\b", re.IGNORECASE)
_REMARK = 12
"""Words up to which a reply that says "irrelevant" is a remark on the passage, not a text on
something irrelevant."""


def is_irrelevant(reply: str) -> bool:
    """Whether a reply says that the passage does not help."""
    words = normalise_answer(reply).split()
    return words[:1] == ["irrelevant"] or (
        len(words) <= _REMARK and _WORD.search(reply) is not None
    )


def condense(
    form: str,
    questions: Mapping[str, str],
    candidates: Mapping[str, Sequence[str]],
    texts: Texts,
    llm: Llm,
    counts: Counter[str],
) -> pa.Table:
    """What each passage says to its question, in fewer words (schema CONDENSED).

    Args:
        form: ``summary`` or ``snippet``.
        questions: query to its text.
        candidates: query to the passages that are condensed.
        texts: of these.
        llm: writes.
        counts: told what was written, irrelevant, or failed. A passage for which the writer fails
            has no row.
    """
    pairs = [(query, name) for query in questions for name in candidates[query]]
    rows = [{"question": questions[q], "title": texts[p][0], "text": texts[p][1]} for q, p in pairs]
    condensed = []
    for (query, name), reply in zip(pairs, write_texts(llm, form, rows, _MOST_TOKENS), strict=True):
        if isinstance(reply, Failure):
            counts[f"{form}: passages for which the writer failed"] += 1
            continue
        idle = is_irrelevant(reply)
        counts[f"{form}: passages found irrelevant"] += idle
        counts[f"{form}: passages condensed"] += not idle
        condensed.append((query, name, reply, idle))
    return table_of(condensed, CONDENSED)


def usable(table: pa.Table) -> dict[tuple[str, str], str]:
    """(query, passage) to text, of rows that are not irrelevant."""
    columns = (c.to_pylist() for c in table.columns)
    return {
        (query, name): text for query, name, text, idle in zip(*columns, strict=True) if not idle
    }


def condensed_stats(form: str, table: pa.Table, texts: Texts) -> dict[str, object]:
    """How long the texts are, and how much shorter than their passages; for snippets, how many
    stand in their passage word for word."""
    good = usable(table)
    stats: dict[str, object] = {
        f"{form}: share of passages found irrelevant": round(
            1 - len(good) / table.num_rows, 4
        ) if table.num_rows else 0.0
    }  # fmt: skip
    if not good:
        return stats
    words = sum(len(text.split()) for text in good.values())
    before = sum(len(texts[name][1].split()) for _, name in good)
    stats[f"{form}: words, mean"] = round(words / len(good), 2)
    stats[f"{form}: words of the passage a word"] = round(before / words, 2)
    if form == "snippet":
        spans = [
            normalise_answer(text) in normalise_answer(texts[name][1])
            for (_, name), text in good.items()
        ]
        stats["snippet: share that is a span of its passage"] = round(sum(spans) / len(spans), 4)
    return stats
