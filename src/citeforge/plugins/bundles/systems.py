"""Control systems for bundles: with and without the behaviour that a bundle measures."""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.plugins.bundles import design
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.systems import System

_ANSWER = "It is so."
_REFUSAL = "I cannot answer this question from the passages."
_CITES = {True: 0.7, False: 0.15}
_SLIP_PROBABILITY = 0.15
"""Probability that an answer does not follow the habit of its system."""
Answer = tuple[str, set[int]]
"""Text of an answer, and the positions that it cites."""
Tables = dict[str, ContextTable]
Habit = Callable[[Tables, str, int, Random], Answer]
"""(all cells, the one that is shown, row of the query, random numbers) to an answer."""


def _make_control(system: str, family: str, description: str, habit: Habit) -> System:
    """Declare a control system for benchmarks of kind ``family``; ``habit`` writes its answers."""
    make = partial(_answer_cells, system=system, family=family, habit=habit)
    return System(
        system, "", f"{family}: {description}", make, family=family, design=True, is_control=True
    )


def _answer_cells(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int, *, system: str, family: str,
    habit: Habit,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield a control system's answers to a bundle, as submission lines.

    Its lines are answers to every query in every context and run.

    Args:
        system: name of the system.
        family: name of the bundle that it answers.
        habit: takes context sets, the name of the one shown, a query's row and random numbers;
            returns a text and the positions that it cites.

    Raises:
        UsageError: the benchmark is no such bundle.
    """
    if benchmark.manifest.config.get("bundle", {}).get("name") != family:
        raise UsageError(
            f"{system} answers bundles: citeforge build {family} --benchmark DIR", code="wrong-kind"
        )
    tables = {c: benchmark.context(c) for c in design.parse_bundle(benchmark.manifest).cells}
    base = benchmark.grammar.base
    for context in contexts:
        for run in range(runs):
            for row, query in enumerate(benchmark.query_ids):
                rng = generator(seed, "control of bundle", system, context, query, run)
                text, cited = habit(tables, context, row, rng)
                marks = "".join(f"[{base + p}]" for p in sorted(cited))
                output = f"{text} {marks}".strip()
                yield {"query_id": query, "output": output, "context": context, "run": run}


def _refuse(
    tables: Tables, context: str, query_row: int, rng: Random, *, probabilities: tuple[float, ...]
) -> Answer:
    """Refuse with the condition's probability, else cite the first relevant passage (or any).

    Args:
        tables: context sets by name.
        context: name of the one that is shown.
        query_row: row of the query.
        rng: random numbers.
        probabilities: probability of a refusal in each context, in the order of the design.
    """
    if rng.random() < probabilities[design.DEFLECTION.index(context)]:
        return _REFUSAL, set()
    relevant = sorted(tables[context].relevant[query_row])
    return _ANSWER, {relevant[0] if relevant else rng.randrange(tables[context].sizes[query_row])}


def _cite_evidence(
    tables: Tables, context: str, query_row: int, rng: Random, *, is_faithful: bool
) -> Answer:
    """Write a control answer that depends on the evidence (``is_faithful``) or only seems to.

    Args:
        tables: context sets by name.
        context: name of the one that is shown.
        query_row: row of the query.
        rng: random numbers.
        is_faithful: whether answers depend on the evidence.
    """
    before, without, decoyed = (tables[c].ids_of(query_row) for c in design.FAITHFULNESS)
    target = design.first_difference(before, without)
    other = rng.choice([p for p in range(len(before)) if p != target])
    slips = rng.random() < _SLIP_PROBABILITY
    if context == design.REMOVED and (slips or is_faithful):
        return _REFUSAL, set()
    if slips:
        return _ANSWER, {other}
    if is_faithful or context == design.ORIGINAL:
        return _ANSWER, {target}
    # It knows the answer, and cites a passage that seems to support it.
    guess = target if rng.random() < 0.5 else other
    return _ANSWER, {design.first_difference(before, decoyed) if context == design.DECOY else guess}


def _cite_by_position(
    tables: Tables, context: str, query_row: int, rng: Random, *, decline: float
) -> Answer:
    """Cite at random: relevant passages more, and the last by the share ``decline`` less.

    Args:
        tables: context sets by name.
        context: name of the one that is shown.
        query_row: row of the query.
        rng: random numbers.
        decline: share of the probability that is lost from the first position to the last.
    """
    table = tables[context]
    size = table.sizes[query_row]
    chances = [
        _CITES[p in table.relevant[query_row]] * (1 - decline * p / (size - 1)) for p in range(size)
    ]
    return _ANSWER, {p for p, chance in enumerate(chances) if rng.random() < chance}


DEFLECTION_BLIND = _make_control(
    "deflection-blind", "deflection", "refuses with probability .4, whatever is shown",
    partial(_refuse, probabilities=(0.4, 0.4, 0.4)),
)  # fmt: skip
DEFLECTION_AWARE = _make_control(
    "deflection-aware", "deflection",
    "refuses with .05 where everything relevant is shown, .3 where some is, .9 else",
    partial(_refuse, probabilities=(0.05, 0.3, 0.9)),
)  # fmt: skip
FAITHFUL = _make_control(
    "faithful", "faithfulness",
    "cites the evidence, and refuses without it, but for one answer of seven",
    partial(_cite_evidence, is_faithful=True),
)  # fmt: skip
POST_RATIONALISER = _make_control(
    "post-rationaliser", "faithfulness",
    "says the same without the evidence, and cites what looks like it, but for one of seven",
    partial(_cite_evidence, is_faithful=False),
)  # fmt: skip
POSITION_BLIND = _make_control(
    "position-blind", "position",
    "cites relevant passages with .7, others with .15, wherever they stand",
    partial(_cite_by_position, decline=0.0),
)  # fmt: skip
POSITION_FOLLOWER = _make_control(
    "position-follower", "position",
    "the same at the first place, a third of it at the last (biased on purpose)",
    partial(_cite_by_position, decline=2 / 3),
)  # fmt: skip
