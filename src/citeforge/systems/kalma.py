"""Baselines for KaLMA benchmarks: sentences made of triples, with their citations."""

from collections.abc import Iterator
from random import Random
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.measures.kalma_graphs import ShownGraphs, read_shown
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.kg.domain import Domain
from citeforge.schemas.benchmarks.kg import Triple
from citeforge.schemas.citations.triples import render

_PLAIN = Domain(name="any", entity_class="Q0")
_MARKS = {
    "echo-relevant": {True: 1.0, False: 0.0},
    "absent-blind": {True: 0.4, False: 0.4},
    "absent-aware": {True: 0.9, False: 0.05},
}
"""Chance of an [NA], by whether the fact is absent."""


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a baseline's submission to a KaLMA benchmark.

    Args:
        name: ``random`` (1 to 8 distinct shown triples, drawn uniformly; lower bound),
            ``echo-relevant`` (every shown triple of the minimum knowledge set, [NA] for absent
            ones; upper bound), or a control of absent knowledge: ``absent-blind`` marks what it
            says as absent whether it is or not, ``absent-aware`` nearly only where it is.
        benchmark: what it answers, a kalma benchmark.
        contexts: context sets that it is shown.
        runs: runs, numbered from 0.
        seed: seed of all draws.
    """
    declared = benchmark.manifest.config.get("domain")
    domain = Domain.model_validate(declared) if isinstance(declared, dict) else _PLAIN
    for context in contexts:
        graphs, _ = read_shown(benchmark, context)
        for run in range(runs):
            for query, mine in zip(benchmark.query_ids, graphs, strict=True):
                if name == "random":
                    rng = generator(seed, "random baseline", context, query, run)
                    drawn = rng.sample(mine.triples, min(rng.randint(1, 8), len(mine.triples)))
                    text = " ".join(_cited(t, domain) for t in drawn)
                else:
                    rng = generator(seed, "control of absent knowledge", name, context, query, run)
                    text = _marked(mine, domain, _MARKS[name], rng)
                yield {"query_id": query, "output": text, "context": context, "run": run}


def _marked(graphs: ShownGraphs, domain: Domain, marks: dict[bool, float], rng: Random) -> str:
    """State every gold fact, shown or not, with its citation; mark some as absent."""
    gold = {key for key, _ in graphs.gold}
    parts = []
    for triple, is_absent in [
        *((t, False) for t in graphs.triples if t.key in gold), *((t, True) for t in graphs.absent)
    ]:  # fmt: skip
        sentence = domain.verbalise(triple).removesuffix(".")
        if rng.random() < marks[is_absent]:
            parts.append(f"{sentence} [NA].")
        else:
            parts.append(f"{sentence}." if is_absent else _cited(triple, domain))
    return " ".join(parts)


def _cited(triple: Triple, domain: Domain) -> str:
    sentence = domain.verbalise(triple).removesuffix(".")
    return f"{sentence} {render(triple.qid, [(triple.relation, triple.value)])}."
