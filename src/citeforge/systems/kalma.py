"""Baselines for KaLMA benchmarks, whose answers state triples and cite them."""

from collections.abc import Iterator
from random import Random
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.measures.kalma_graphs import ShownGraphs, read_shown
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.kg.domain import Domain
from citeforge.schemas.citations.triples import render
from citeforge.schemas.kg import Triple

_PLAIN = Domain(name="any", entity_class="Q0")
_MARKS = {
    "echo-relevant": {True: 1.0, False: 0.0},
    "absent-blind": {True: 0.4, False: 0.4},
    "absent-aware": {True: 0.9, False: 0.05},
}
"""System to the probability that it marks a fact [NA], by whether the fact is absent."""


def state_triples(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a baseline's submission to a KaLMA benchmark: cited triples as sentences.

    Args:
        name: ``random`` (1 to 8 distinct shown triples, drawn uniformly; lower bound),
            ``echo-relevant`` (every shown triple of the minimum knowledge set, [NA] for absent
            ones; upper bound), or a control of absent knowledge: ``absent-blind`` marks what it
            says as absent whether it is or not, ``absent-aware`` nearly only where it is.
        benchmark: a KaLMA benchmark.
        contexts: context sets that it answers.
        runs: number of runs.
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
                    text = " ".join(_cite_triple(t, domain) for t in drawn)
                else:
                    rng = generator(seed, "control of absent knowledge", name, context, query, run)
                    text = _state_gold(mine, domain, _MARKS[name], rng)
                yield {"query_id": query, "output": text, "context": context, "run": run}


def _state_gold(graphs: ShownGraphs, domain: Domain, marks: dict[bool, float], rng: Random) -> str:
    """State every gold fact of a query; cite it, or mark it as absent with some probability."""
    gold = {key for key, _ in graphs.gold}
    parts = []
    for triple, is_absent in [
        *((t, False) for t in graphs.triples if t.key in gold), *((t, True) for t in graphs.absent)
    ]:  # fmt: skip
        sentence = domain.verbalise(triple).removesuffix(".")
        if rng.random() < marks[is_absent]:
            parts.append(f"{sentence} [NA].")
        else:
            parts.append(f"{sentence}." if is_absent else _cite_triple(triple, domain))
    return " ".join(parts)


def _cite_triple(triple: Triple, domain: Domain) -> str:
    """State a triple as a sentence, with its citation."""
    sentence = domain.verbalise(triple).removesuffix(".")
    return f"{sentence} {render(triple.qid, [(triple.relation, triple.value)])}."
