"""A benchmark whose tables stay in memory, so that single queries of it are opened in no time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.package import rows_about


class _Memory:
    """Tables and texts of a benchmark, read when they are first asked for."""

    def __init__(self, whole: Benchmark) -> None:
        self._whole = whole
        self._tables: dict[tuple[str, str], pa.Table] = {}
        self._texts: dict[str, tuple[str, str]] | None = None

    def table(self, config: str, split: str) -> pa.Table:
        key = config, split
        if key not in self._tables:
            self._tables[key] = self._whole.table(config, split)
        return self._tables[key]

    def texts(self, names: list[str]) -> dict[str, tuple[str, str]]:
        """Texts of passages: those that contexts show come from one pass over the corpus."""
        if self._texts is None:
            in_contexts: set[str] = set()
            for context in self._whole.contexts:
                for item in self._whole.items(context):
                    in_contexts.update(p.id for p in item.passages)
            self._texts = self._whole.texts(in_contexts)
        others = [name for name in names if name not in self._texts]
        more = self._whole.texts(others) if others else {}
        return {n: self._texts[n] for n in names if n in self._texts} | more


class InMemoryBenchmark(Benchmark):
    """A few queries of a benchmark, looked at as if it had no others; see :meth:`only`."""

    _memory: _Memory

    @classmethod
    def of(cls, whole: Benchmark) -> InMemoryBenchmark:
        """A benchmark of which tables and shown passages stay in memory."""
        return cls._of(whole, _Memory(whole), None)

    def only(self, queries: Iterable[str]) -> InMemoryBenchmark:
        """The same benchmark with these queries alone, in its own order."""
        return self._of(self, self._memory, frozenset(queries))

    @classmethod
    def _of(
        cls, whole: Benchmark, memory: _Memory, queries: frozenset[str] | None
    ) -> InMemoryBenchmark:
        part = cls(whole.folder, whole.manifest)
        part.also_known = whole.also_known
        part._memory, part.asked = memory, queries
        return part

    def table(self, config: str, split: str) -> pa.Table:
        """As of any package, without reading it again."""
        table = self._memory.table(config, split)
        return table if self.asked is None else rows_about(table, config, self.asked)

    def texts(self, ids: Iterable[str] | Any) -> dict[str, tuple[str, str]]:
        """As of any package, without streaming its corpus again."""
        names = ids.to_pylist() if isinstance(ids, pa.Array) else list(ids)
        return self._memory.texts(names)
