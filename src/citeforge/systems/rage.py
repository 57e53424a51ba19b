"""Baselines for RAGE benchmarks: a lower and an upper bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.schemas.errors import InputError

System = Callable[[ContextTable, int, str, int, int, int], list[int]]
"""(context, query row, query id, run, seed, index base) to citation numbers."""


def random_citations(
    table: ContextTable, row: int, query: str, run: int, seed: int, base: int
) -> list[int]:
    """One to three distinct passages, all equally likely (the baseline of RAGE, Table 1)."""
    rng = generator(seed, "random baseline", table.name, query, run)
    size = table.sizes[row]
    return [base + p for p in rng.sample(range(size), min(rng.randint(1, 3), size))]


def relevant_citations(
    table: ContextTable, row: int, query: str, run: int, seed: int, base: int
) -> list[int]:
    """Every relevant passage of the context: what a perfect system would cite."""
    return [base + position for position in sorted(table.relevant[row])]


_SYSTEMS: dict[str, System] = {"random": random_citations, "echo-relevant": relevant_citations}


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Lines of a submission.

    Raises:
        InputError: the relevant passages are to be cited, and nothing says which they are.
    """
    system = _SYSTEMS[name]
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
                numbers = system(table, row, query, run, seed, base)
                text = "".join(f"[{n}]" for n in numbers)
                yield {"query_id": query, "output": text, "context": context, "run": run}
