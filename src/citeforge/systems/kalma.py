"""Baselines for KaLMA benchmarks, whose answers state triples and cite them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.statements.triples import ShownGraphs, read_shown
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.kg.classes import merge_classes
from citeforge.kg.domain import Domain
from citeforge.schemas.citations.triples import render
from citeforge.schemas.kg import Triple

_PLAIN = Domain(name="any", entity_class="Q0")


@dataclass(frozen=True)
class Marks:
    """Probabilities with which a system marks a fact as absent, [NA].

    Attributes:
        present: probability for a fact that is shown.
        absent: probability for a fact of the minimum knowledge set that is not shown.
    """

    present: float
    absent: float


def state_random(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield submission lines that state and cite 1 to 8 distinct random triples of those shown."""
    domain = _read_domain(benchmark)

    def state(graphs: ShownGraphs, rng: Random) -> str:
        """Write 1 to 8 distinct random triples of those shown, each as a sentence with citation."""
        drawn = rng.sample(graphs.triples, min(rng.randint(1, 8), len(graphs.triples)))
        return " ".join(_cite_triple(t, domain) for t in drawn)

    return _answer_graphs(benchmark, contexts, runs, (seed, "random baseline"), state)


def state_gold(
    benchmark: Benchmark,
    contexts: list[str],
    runs: int,
    seed: int,
    *,
    system_name: str,
    na_probabilities: Marks,
) -> Iterator[dict[str, Any]]:
    """Yield submission lines that state the gold facts, some of them marked as absent.

    Args:
        benchmark: a KaLMA benchmark.
        contexts: context sets that it answers.
        runs: number of runs.
        seed: seed of all draws.
        system_name: name of the system, which its draws depend on.
        na_probabilities: probabilities of [NA].
    """
    domain = _read_domain(benchmark)
    key = (seed, "control of absent knowledge", system_name)
    state = partial(_state_gold, domain, na_probabilities)
    return _answer_graphs(benchmark, contexts, runs, key, state)


def _read_domain(benchmark: Benchmark) -> Domain:
    """Read a benchmark's domain, by which triples become sentences; a generic one if none."""
    declared = benchmark.manifest.config.get("domain")
    if not isinstance(declared, dict):
        return _PLAIN
    return merge_classes(Domain.model_validate(declared))


def _answer_graphs(
    benchmark: Benchmark, contexts: list[str], runs: int, seed_key: tuple[Any, ...],
    write_answer: Callable[[ShownGraphs, Random], str],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield submission lines for queries with sub-graphs, answered by ``write_answer``.

    Args:
        benchmark: a KaLMA benchmark.
        contexts: context sets to answer.
        runs: number of runs.
        seed_key: seeds all random draws, with context set, query and run.
        write_answer: writes an answer from the graphs shown and random numbers.
    """
    for context in contexts:
        graphs, _ = read_shown(benchmark, context)
        for run in range(runs):
            for query, mine in zip(benchmark.query_ids, graphs, strict=True):
                text = write_answer(mine, generator(*seed_key, context, query, run))
                yield {"query_id": query, "output": text, "context": context, "run": run}


def _state_gold(domain: Domain, na_probabilities: Marks, graphs: ShownGraphs, rng: Random) -> str:
    """Write a query's gold facts as an answer: cited if shown, or marked [NA] by chance.

    Args:
        domain: says how triples are written as sentences.
        na_probabilities: probabilities of [NA] for facts that are shown and for facts that are not.
        graphs: what is shown for the query, with its gold facts.
        rng: random numbers.
    """
    gold = {key for key, _ in graphs.gold}
    parts = []
    for triple, is_absent in [
        *((t, False) for t in graphs.triples if t.key in gold), *((t, True) for t in graphs.absent)
    ]:  # fmt: skip
        sentence = domain.verbalise(triple).removesuffix(".")
        if rng.random() < (na_probabilities.absent if is_absent else na_probabilities.present):
            parts.append(f"{sentence} [NA].")
        else:
            parts.append(f"{sentence}." if is_absent else _cite_triple(triple, domain))
    return " ".join(parts)


def _cite_triple(triple: Triple, domain: Domain) -> str:
    """Write a triple as a sentence with its citation."""
    sentence = domain.verbalise(triple).removesuffix(".")
    return f"{sentence} {render(triple.qid, [(triple.relation, triple.value)])}."
