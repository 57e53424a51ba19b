"""Baselines for RAGE benchmarks: a lower and an upper bound."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.schemas.errors import InputError
from citeforge.systems import kalma

Choose = Callable[[ContextTable, int, str, int], Iterable[int]]
"""(context set, row of a query, its id, run) to the places of the passages that are cited."""


def citing(
    benchmark: Benchmark, contexts: Iterable[str], runs: int, choose: Choose
) -> Iterator[dict[str, Any]]:
    """Lines of a submission that says nothing but citations."""
    base = benchmark.manifest.grammar.base
    for context in contexts:
        table = benchmark.context(context)
        for run in range(runs):
            for row, query in enumerate(benchmark.query_ids):
                text = "".join(f"[{base + place}]" for place in choose(table, row, query, run))
                yield {"query_id": query, "output": text, "context": context, "run": run}


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Lines of a submission to a benchmark of passages, or of graphs.

    Raises:
        InputError: the relevant passages are to be cited, and nothing says which they are.
    """
    if benchmark.has_graphs:
        return kalma.lines(name, benchmark, contexts, runs, seed)
    if name == "random":
        return citing(benchmark, contexts, runs, partial(_drawn, seed))
    if not any(benchmark.context(c).is_relevant.any() for c in contexts):
        raise InputError(
            f"{name} cites the relevant passages, and none of the context set "
            f"{', '.join(contexts)} is marked as relevant",
            path=benchmark.folder,
            allowed="a package with labels: the public half of a benchmark has none; or run "
            "another system, such as random",
            code="no-relevant",
        )
    # What a perfect system would cite.
    return citing(benchmark, contexts, runs, lambda table, row, *_: sorted(table.relevant[row]))


def _drawn(seed: int, table: ContextTable, row: int, query: str, run: int) -> list[int]:
    """One to three distinct passages, all equally likely (the baseline of RAGE, Table 1)."""
    rng = generator(seed, "random baseline", table.name, query, run)
    size = table.sizes[row]
    return rng.sample(range(size), min(rng.randint(1, 3), size))
