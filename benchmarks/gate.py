"""What ``citeforge gate`` says of the same system twice, and of one that became 3 points worse.

``python -m benchmarks.coverage SIMULATIONS gate``. :mod:`benchmarks.gate_grid` has false passes.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.simulated import World, chosen, truth, world
from citeforge.evaluator.gate import decide
from citeforge.evaluator.gate_policy import PolicySource
from citeforge.evaluator.measures.registry import parse
from citeforge.evaluator.measures.results import make_entries
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.statistics.power import queries_to_pass
from citeforge.schemas.recipes.gate import GatePolicy
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
LEVEL, SIZE, KEPT = 0.6, 20_000, 0.75


def scores_of(system: str, samples: dict[str, Sample]) -> ScoreFile:
    """A score file of a benchmark."""
    found = [(parse(name), s) for name, s in samples.items()]
    signed = [Signature(m.name, "strict", "1,strict", "mix", "b@1") for m, _ in found]
    n = found[0][1].sums.shape[1]
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_sha256=system, benchmark="b",
        benchmark_hash="1", protocol="strict", context="mix", measures=make_entries(found, signed),
        counts=Counts(n_queries=n, n_runs=1, n_answered=n, n_missing=0, n_unparsed=0),
        query_ids=[f"q{i}" for i in range(n)],
    )  # fmt: skip


def verdicts(
    systems: tuple[World, World], policy: GatePolicy, n: int, simulations: int,
    is_same: bool = False,
) -> dict[str, float]:  # fmt: skip
    """Share of each verdict over benchmarks of n queries.

    Args:
        systems: all answers of the old one and of the new one.
        policy: what is decided by.
        n: queries.
        simulations: how many benchmarks.
        is_same: answers to each query are exchanged by a coin, so that nothing differs but chance.
    """
    rng = np.random.default_rng([n, simulations, is_same])
    names = [name for margins in policy.tiers.values() for name in margins]
    counts = dict.fromkeys(("pass", "fail", "not enough evidence"), 0)
    for _ in range(simulations):
        rows, _ = systems[0].draw(rng, n)
        old, new = ({m: chosen(w.samples[m], rows) for m in names} for w in systems)
        if is_same:
            coins = rng.random(n) < 0.5
            old, new = (
                {m: _mixed(side, old[m], new[m]) for m in names} for side in (coins, ~coins)
            )
        files = scores_of("new", new), scores_of("old", old)
        counts[decide([files[0]], [files[1]], PolicySource(policy)).verdict] += 1
    return {verdict: k / simulations for verdict, k in counts.items()}


def two_systems(points: float) -> tuple[World, World]:
    """A system, and one that answers a quarter of the same queries anew.

    Args:
        points: how much lower its main measure is, over all queries.
    """
    old = world(JUDGE, LEVEL, 51, SIZE, answers=1)
    kept = np.random.default_rng([51, 3]).random(SIZE) < KEPT

    def made(drop: float) -> World:
        fresh = world(JUDGE, LEVEL, 51, SIZE, answers=2, drop=drop).samples
        samples = {name: _mixed(kept, old.samples[name], fresh[name]) for name in fresh}
        return World(samples, {})

    if points == 0:
        return old, made(0.0)
    low, high, wanted = 0.0, 0.6, truth(old.samples[MAIN]) - points / 100
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if truth(made(middle).samples[MAIN]) > wanted else (low, middle)
    return old, made(low)


def _mixed(kept: npt.NDArray[np.bool_], old: Sample, fresh: Sample) -> Sample:
    """Answers of one system where they are kept, else of the other."""
    return replace(
        old, sums=np.where(kept[:, None], old.sums, fresh.sums),
        per_query=np.where(kept, old.per_query, fresh.per_query),
    )  # fmt: skip


def planned(systems: tuple[World, World], points: float, power: float) -> int:
    """Queries that ``gate --plan`` computes for two systems that lost nothing."""
    one, other = (w.samples[MAIN].per_query[0] for w in systems)
    moves, counts = np.unique(np.round(100 * (other - one), 1), return_counts=True)
    needed = queries_to_pass(moves, counts.astype(np.float64), 100.0, points, power)
    assert needed is not None
    return needed


def gate_figures(simulations: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Shares of verdicts: the same system twice, and a drop at planned numbers of queries."""
    same, worse = two_systems(0.0), two_systems(DROP)
    sizes = {power: planned(same, DROP, power) for power in (0.8, 0.9)}
    for name, policy in POLICIES.items():
        for n in (100, sizes[0.9]):
            shares = verdicts(same, policy, n, simulations, is_same=True)
            yield f"gate, the same system twice, {name}, {n} queries", shares
        for power, n in sizes.items():
            shares = verdicts(worse, policy, n, simulations)
            yield f"gate, {DROP:g} points less, {name}, {n} queries (power {power:.0%})", shares
