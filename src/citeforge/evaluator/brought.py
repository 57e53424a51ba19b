"""Passages that answers bring themselves: which of them does the benchmark know?"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.evaluator.benchmark import Benchmark
from citeforge.schemas.submission import SubmissionLine

_NAMED = 3
"""Unknown ids that a warning names."""


class Brought:
    """Counts the passages of a submission's lines by their ids."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Nothing is counted yet.

        Args:
            benchmark: whose corpus knows ids, and whose judgements say what is relevant.
        """
        self._benchmark = benchmark
        self._ids: Counter[str] = Counter()
        self._bare: Counter[str] = Counter()
        self._nameless = 0

    def add(self, answer: SubmissionLine) -> None:
        """Count the passages of an answer."""
        for passage in answer.passages or ():
            if passage.docid is None:
                self._nameless += 1
                continue
            self._ids[passage.docid] += 1
            if not passage.text:
                self._bare[passage.docid] += 1

    @cached_property
    def known(self) -> frozenset[str]:
        """Ids counted so far that the benchmark's corpus has; the corpus is read once."""
        wanted = pa.array(sorted(self._ids), pa.string())
        found: set[str] = set()
        for batch in self._benchmark.passages(["_id"]) if self._ids else ():
            found.update(batch["_id"].filter(pc.is_in(batch["_id"], value_set=wanted)).to_pylist())
        return frozenset(found)

    def unjudged(self) -> str:
        """Why nothing says which of the passages are relevant; empty where something does."""
        if not any(self._benchmark.relevant_ids):
            return "nobody judged which passages are relevant"
        if not self.known:
            return "no passage has a docid that the benchmark knows, so that none has a label"
        return ""

    def warnings(self) -> list[str]:
        """What to say of passages that the benchmark does not know."""
        unknown = {name: n for name, n in sorted(self._ids.items()) if name not in self.known}
        found = []
        if unknown and self.known:
            named = ", ".join(list(unknown)[:_NAMED]) + ", …" * (len(unknown) > _NAMED)
            found.append(
                f"{sum(unknown.values()):,} of {self._ids.total() + self._nameless:,} passages "
                f"have docids that the benchmark does not know ({named}): they count as not "
                "relevant"
            )
        if self._nameless and self.known:
            found.append(f"{self._nameless:,} passages have no docid: they count as not relevant")
        empty = {name: n for name, n in sorted(self._bare.items()) if name not in self.known}
        if empty:
            found.append(
                f"{sum(empty.values()):,} passages have neither a text nor a docid that the "
                f"benchmark knows (first: {next(iter(empty))}): nothing can be said of what they "
                "support"
            )
        return found
