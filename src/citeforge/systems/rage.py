"""Baselines for RAGE benchmarks: a lower and an upper bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.schemas.errors import InputError


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Lines of a submission.

    Raises:
        InputError: the relevant passages are to be cited, and nothing says which they are.
    """
    if name == "echo-relevant" and not any(
        benchmark.context(c).is_relevant.any() for c in contexts
    ):
        raise InputError(
            f"{name} needs gold, and no passage of {', '.join(contexts)} is marked as relevant",
            path=benchmark.folder,
            allowed="the whole package; a public half holds no gold, and another system answers it",
        )
    base = benchmark.manifest.grammar.base
    for context in contexts:
        table = benchmark.context(context)
        for run in range(runs):
            for row, query in enumerate(benchmark.query_ids):
                if name == "random":
                    cited = _drawn(table, row, query, run, seed)
                else:  # what a perfect system would cite
                    cited = sorted(table.relevant[row])
                text = "".join(f"[{base + position}]" for position in cited)
                yield {"query_id": query, "output": text, "context": context, "run": run}


def _drawn(table: ContextTable, row: int, query: str, run: int, seed: int) -> list[int]:
    """One to three distinct passages, all equally likely (the baseline of RAGE, Table 1)."""
    rng = generator(seed, "random baseline", table.name, query, run)
    size = table.sizes[row]
    return rng.sample(range(size), min(rng.randint(1, 3), size))
