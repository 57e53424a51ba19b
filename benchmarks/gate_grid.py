"""How often the gate's interval lies above the margin: at a true loss of the margin, and at none.

``python -m benchmarks.gate_grid [SIMULATIONS [PART…]]`` prints the figures of docs/gate.md; parts
are false, runs, labels, power, graded, plan. Values of 0 and 1 are computed exactly, sums over all
outcomes; the others are drawn. A cell above 2.5 % is drawn again ten times as often.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from citeforge.evaluator.corrected_ranks import corrected_difference
from citeforge.evaluator.measures.registry import parse
from citeforge.evaluator.measures.results import make_entry
from citeforge.evaluator.statistics.bounds import lower_bound, mean_interval
from citeforge.evaluator.statistics.estimates import Floats, mean_sample
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.evaluator.statistics.paired import paired_change
from citeforge.evaluator.statistics.power import binary_changes, queries_to_pass
from citeforge.schemas.scores import Corrected, MeasureScore
from citeforge.schemas.signature import Signature

SIZES = (30, 100, 300, 1000, 3000)
MARGINS = (0.01, 0.03, 0.05, 0.1)
BASELINES = (0.5, 0.8, 0.95, 1.0)
SIGNATURE = Signature("CiteP", "strict", "1,strict", "mix", "b@1")
FEW = 1e-12
"""Probabilities below this are left out of exact sums."""
_TINY = 1e-9
Draw = Callable[[np.random.Generator, int, float], Floats]


@lru_cache(maxsize=1 << 20)
def whole_bound(n: int, losses: int, gains: int) -> float:
    """Lower end where whole answers are lost and gained."""
    values, counts = np.array([-1.0, 0.0, 1.0]), np.array([losses, n - losses - gains, gains])
    kept = counts > 0
    return lower_bound(values[kept], counts[kept].astype(np.float64), -1.0, ALPHA / 2)


def t_bound(n: int, losses: int, gains: int) -> float:
    """Student's lower end."""
    mean = (gains - losses) / n
    sd = np.sqrt(max(0.0, (gains + losses) / n - mean**2) * n / (n - 1))
    return float(mean - stats.t.ppf(1 - ALPHA / 2, n - 1) * sd / np.sqrt(n))


def whole_passes(
    n: int, lost: float, gained: float, margin: float,
    bound: Callable[[int, int, int], float] = whole_bound,
) -> float:  # fmt: skip
    """Exact probability of a pass where answers are lost and gained with these probabilities."""
    total = 0.0
    gains = np.arange(n + 1)
    weight = stats.binom.pmf(gains, n, gained) if gained else (gains == 0).astype(float)
    for c in gains[weight > FEW]:
        low, high = -1, n - int(c)  # the most losses that pass lie between
        while high - low > 0:
            middle = (low + high + 1) // 2
            if bound(n, middle, int(c)) >= -margin - _TINY:
                low = middle
            else:
                high = middle - 1
        if low >= 0:
            total += weight[c] * stats.binom.cdf(low, n - c, lost / (1 - gained))
    return float(total)


def _beta(rng: np.random.Generator, n: int, loss: float) -> Floats:
    """Every query loses something, most of them little."""
    return -rng.beta(1.0, (1 - loss) / loss, n)


def _shift(rng: np.random.Generator, n: int, loss: float) -> Floats:
    """Every query moves up or down by up to 30 points."""
    return -loss + 0.6 * (rng.beta(2, 2, n) - 0.5)


def _two_modes(rng: np.random.Generator, n: int, loss: float) -> Floats:
    """Few queries lose all, all others gain a little."""
    gain = loss / 2 / (1 - 1.5 * loss)
    return np.where(rng.random(n) < 1.5 * loss, -1.0, gain * 2 * rng.random(n))


def _halves(rng: np.random.Generator, n: int, loss: float) -> Floats:
    """Few queries lose one of two citations."""
    return np.where(rng.random(n) < 2 * loss, -0.5, 0.0)


GRADED: dict[str, Draw] = {
    "all lose a little": _beta, "all move by up to 30": _shift,
    "few lose all, others gain": _two_modes, "few lose half": _halves,
}  # fmt: skip


def drawn_passes(draw: Draw, n: int, loss: float, margin: float, simulations: int) -> float:
    """Share of draws that pass."""
    rng = np.random.default_rng([n, round(1e4 * margin), simulations])
    passed = 0
    for _ in range(simulations):
        passed += mean_interval(draw(rng, n, loss), -1.0, 1.0)[0] >= -margin - _TINY
    return passed / simulations


def redrawn(passes: Callable[[int], float], simulations: int) -> float:
    """Share of passes; one above the level is drawn again, ten times as often."""
    share = passes(simulations)
    return share if share <= ALPHA / 2 else passes(10 * simulations)


def _score(values: Floats) -> MeasureScore:
    """A score of runs × queries."""
    return make_entry(parse("CiteP"), mean_sample(values), SIGNATURE)


def run_passes(
    n: int, right: float, loss: float, runs: int, simulations: int, stable: float = 0.9
) -> float:
    """Share of passes where both systems answer several times.

    A right answer is right in a run with a probability of ``stable``, a wrong one with the rest;
    each run moves that by about 2 points, unless all runs are alike (``stable`` of 1).
    """
    rng = np.random.default_rng([n, round(1e4 * loss), runs, simulations, round(100 * right)])
    lost_share = loss / (2 * stable - 1) / right
    passed = 0
    for _ in range(simulations):
        old = rng.random(n) < right
        sides = []
        for system in (old, old & (rng.random(n) >= lost_share)):
            level = np.where(system, stable, 1 - stable)
            moved = level + (rng.normal(0, 0.02, (runs, 1)) if stable < 1 else 0.0)
            sides.append(_score((rng.random((runs, n)) < moved).astype(np.float64)))
        passed += paired_change(*sides, parse("CiteP").range).interval[0] >= -100 * loss - 1e-7
    return passed / simulations


def corrected_passes(
    n: int, labels: int, right: float, loss: float, judge: float, simulations: int
) -> float:
    """Share of passes of label-corrected differences, by a judge that is right so often."""
    rng = np.random.default_rng([n, labels, round(1e4 * loss), round(100 * judge), simulations])
    passed = 0
    for _ in range(simulations):
        old = (rng.random(n) < right).astype(float)
        new = old * (rng.random(n) >= loss / right)
        labelled = np.sort(rng.choice(n, labels, replace=False))
        sides = []
        for human in (old, new):
            seen = np.where(rng.random(n) < judge, human, 1 - human)
            entry = _score(seen[None])
            known: list[float | None] = [None] * n
            for i in labelled:
                known[i] = float(human[i])
            entry.corrected = Corrected(
                value=100 * float(human[labelled].mean()), low=0, high=100, stderr=1,
                method="ppi++", n_labels=labels, signature=str(SIGNATURE), human=known,
                labelled=labelled.tolist(),
            )  # fmt: skip
            sides.append(entry)
        found = corrected_difference(*sides, largest_change=100.0)
        # Without a difference among the labels the raw values decide.
        low = (
            paired_change(*sides, parse("CiteP").range).interval[0] if found is None else found.low
        )
        passed += low >= -100 * loss - 1e-7
    return passed / simulations


@dataclass(frozen=True)
class Cell:
    """A cell of the grid.

    Attributes:
        kind: what changes.
        baseline: share of right answers; None of graded values.
        n: queries.
        margin: margin, as a share.
        false: share of passes at a true loss of the margin.
    """

    kind: str
    baseline: float | None
    n: int
    margin: float
    false: float


def false_passes(
    simulations: int, sizes: tuple[int, ...] = SIZES, margins: tuple[float, ...] = MARGINS
) -> Iterator[Cell]:
    """Passes at a true loss of exactly the margin."""
    for n in sizes:
        for margin in margins:
            for right in BASELINES:
                yield Cell("few lose all", right, n, margin, whole_passes(n, margin, 0, margin))
                gained = 0.5 * min(right - margin, 1 - right)
                if gained > 0:
                    share = whole_passes(n, margin + gained, gained, margin)
                    yield Cell("many change", right, n, margin, share)
            for kind, draw in GRADED.items():
                share = redrawn(
                    lambda k, a=(draw, n, margin, margin): drawn_passes(*a, k), simulations
                )
                yield Cell(kind, None, n, margin, share)


def powers(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[int, float, float, float, float]]:
    """(queries, share that changes, margin, power, power of t) where 30 or more change."""
    for n in sizes:
        for share in (0.03, 0.1, 0.3, 0.6):
            if n * share < 30:
                continue
            for errors in (2.0, 2.8, 3.3):
                margin = errors * float(np.sqrt(share / n))
                pair = (
                    whole_passes(n, share / 2, share / 2, margin, bound)
                    for bound in (whole_bound, t_bound)
                )
                yield n, share, margin, *pair


def graded_powers(simulations: int) -> Iterator[tuple[int, float, float, float, float]]:
    """(queries, sd, margin, power, power of t) where all queries move up or down."""
    for n in SIZES:
        for sd in (0.1, 0.2, 0.3, 0.45):
            margin = 2.8 * sd / float(np.sqrt(n))
            rng = np.random.default_rng([n, round(100 * sd)])
            passed = by_t = 0
            for _ in range(simulations):
                d = rng.normal(0, sd, n).clip(-1, 1)
                passed += mean_interval(d, -1.0, 1.0)[0] >= -margin
                half = stats.t.ppf(1 - ALPHA / 2, n - 1) * d.std(ddof=1) / np.sqrt(n)
                by_t += d.mean() - half >= -margin
            yield n, sd, margin, passed / simulations, by_t / simulations


def plans() -> Iterator[tuple[float, float, int | None, float]]:
    """(share that changes, margin, planned queries for a power of .8, exact power there)."""
    for share in (0.0, 0.02, 0.1, 0.3, 1.0):
        for margin in (0.02, 0.05):
            changes, shares = binary_changes(share)
            n = queries_to_pass(changes, shares, 1.0, margin, 0.8)
            yield share, margin, n, whole_passes(n, share / 2, share / 2, margin)


def over_runs(simulations: int) -> Iterator[tuple[int, float, float, int, float, float]]:
    """(queries, baseline, margin, runs, stability, passes at a true loss of the margin)."""
    for n in (30, 100, 300):
        for right in (0.8, 1.0):
            for loss in (0.05, 0.1):
                for runs, stable in ((2, 0.9), (3, 0.9), (3, 1.0)):
                    share = redrawn(
                        lambda k, a=(n, right, loss, runs), s=stable: run_passes(*a, k, s),
                        simulations,
                    )
                    yield n, right, loss, runs, stable, share


def over_labels(simulations: int) -> Iterator[tuple[int, int, float, float, float, float]]:
    """(queries, labels, baseline, judge, margin, passes at a true loss of the margin)."""
    for n, labels in ((100, 20), (100, 50), (300, 30), (300, 100), (1000, 100)):
        for right in (0.8, 1.0):
            for judge in (0.7, 0.95):
                for loss in (0.03, 0.1):
                    share = redrawn(
                        lambda k, a=(n, labels, right, loss, judge): corrected_passes(*a, k),
                        simulations,
                    )
                    yield n, labels, right, judge, loss, share


PARTS: dict[str, Callable[[int], Iterator[object]]] = {
    "false": false_passes, "runs": lambda k: over_runs(k // 4),
    "labels": lambda k: over_labels(k // 4), "power": lambda _: powers(),
    "graded": lambda k: graded_powers(k // 4), "plan": lambda _: plans(),
}  # fmt: skip


def main(simulations: int, parts: Sequence[str]) -> None:
    """Print the tables of some parts, or of all."""
    for part in parts or PARTS:
        for row in PARTS[part](simulations):
            print(part, row, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:])
