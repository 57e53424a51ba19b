"""What ``citeforge gate`` says of the same system twice, and of one that became 3 points worse."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.simulated import World, chosen, truth, world
from citeforge.evaluator.gate.decide import decide
from citeforge.evaluator.gate.policy import PolicySource
from citeforge.evaluator.measures.registry import parse
from citeforge.evaluator.reports.entries import Row, make_entries
from citeforge.evaluator.statistics.estimates import Measured, Sample
from citeforge.plugins.labels.planning import queries_needed
from citeforge.schemas.gate import GatePolicy
from citeforge.schemas.scores import Counts, ScoreFile
from citeforge.schemas.signature import Signature

MAIN = "CiteF1@query"
POLICIES = {
    "one critical measure": GatePolicy(critical=[MAIN]),  # type: ignore[arg-type]
    "two critical and four supporting": GatePolicy(
        critical=[MAIN, "ALCE.CitRec"],  # type: ignore[arg-type]
        supporting=["CiteP", "CiteR", "ALCE.CitPrec", "ShortEM"],  # type: ignore[arg-type]
    ),
}
DROP = 3.0
"""Points."""
JUDGE = (0.9, 0.9)
LEVEL, SIZE = 0.6, 20_000


def scores_of(system: str, samples: dict[str, Sample], rows: npt.NDArray[np.int64]) -> ScoreFile:
    """A score file of some queries of a world."""
    n = len(rows)
    found = [Row(parse(name), Measured(chosen(s, rows))) for name, s in samples.items()]
    signed = [Signature(r.measure.name, "strict", "1,strict", "mix", "b@1") for r in found]
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_sha256=system, benchmark="b",
        benchmark_hash="1", protocol="strict", context="mix", measures=make_entries(found, signed),
        counts=Counts(n_queries=n, n_runs=1, n_answered=n, n_missing=0, n_unparsed=0),
        query_ids=[f"q{i}" for i in range(n)],
    )  # fmt: skip


def verdicts(
    old: World, new: World, policy: GatePolicy, n: int, simulations: int, seed: int
) -> dict[str, float]:
    """Share of each verdict over benchmarks of n queries."""
    rng = np.random.default_rng([seed, n, 19])
    names = [name for margins in policy.tiers.values() for name in margins]
    counts = dict.fromkeys(("pass", "fail", "not enough evidence"), 0)
    for _ in range(simulations):
        rows, _ = old.draw(rng, n)
        before, after = (
            scores_of(system, {name: w.samples[name] for name in names}, rows)
            for system, w in (("old", old), ("new", new))
        )
        counts[decide([after], [before], PolicySource(policy)).verdict] += 1
    return {verdict: k / simulations for verdict, k in counts.items()}


def two_systems(points: float) -> tuple[World, World]:
    """A system, and one of fresh answers to the same queries whose main measure is lower.

    Args:
        points: how much lower, over all queries.
    """

    def made(drop: float) -> World:
        return world(JUDGE, LEVEL, 51, SIZE, answers=2, drop=drop)

    old = world(JUDGE, LEVEL, 51, SIZE, answers=1)
    if points == 0:
        return old, made(0.0)
    low, high, wanted = 0.0, 0.3, truth(old.samples[MAIN]) - points / 100
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if truth(made(middle).samples[MAIN]) > wanted else (low, middle)
    return old, made(low)


def planned(old: World, new: World, points: float) -> int:
    """Queries that ``labels plan-queries --effect POINTS`` names for two systems."""
    one, other = (w.samples[MAIN].per_query[0] for w in (old, new))
    needed = queries_needed(points, 100 * float(np.std(other - one, ddof=1)), 0.8)
    assert needed is not None
    return needed


def gate_figures(
    simulations: int, policies: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, float]]]:
    """Shares of verdicts: the same system twice, and a drop at the planned number of queries."""
    same, worse = two_systems(0.0), two_systems(DROP)
    n_planned = planned(*same, DROP)
    for name in policies or POLICIES:
        policy = POLICIES[name]
        for n in (100, n_planned):
            shares = verdicts(*same, policy, n, simulations, 21)
            yield f"gate, the same system twice, {name}, {n} queries", shares
        shares = verdicts(*worse, policy, n_planned, simulations, 22)
        yield f"gate, {DROP:g} points less, {name}, {n_planned} queries (planned)", shares
