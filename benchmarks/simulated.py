"""Simulated answers of which everything is known: what people say, and what a judge says."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    harmonic,
    harmonic_sample,
    mean_sample,
    ratio,
    ratio_sample,
)

LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""How good systems are; a simulated benchmark is of any, so that no lucky value decides."""
_POPULATION = 50_000
_STATEMENTS = 6
_SAME = 2 / 3
Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]


@dataclass(frozen=True)
class World:
    """All queries there are, answered by one system.

    Attributes:
        samples: measures, by the judge where there is one.
        human: the judged ones, by people.
        clusters: the question of each query, in order; None where no question repeats.
    """

    samples: dict[str, Sample]
    human: dict[str, Sample]
    clusters: npt.NDArray[np.int64] | None = None

    def draw(self, rng: np.random.Generator, n: int) -> Rows:
        """Rows of a benchmark of n questions, and the question of each where they repeat."""
        if self.clusters is None:
            return rng.integers(0, self.samples["CiteP"].sums.shape[1], n), None
        drawn = rng.integers(0, int(self.clusters[-1]) + 1, n)
        start, end = np.searchsorted(self.clusters, [drawn, drawn + 1])
        number = np.repeat(np.arange(n), end - start)
        first = np.cumsum(end - start) - (end - start)
        return start[number] + np.arange(len(number)) - first[number], number


def world(
    judge: tuple[float, float],
    level: float,
    seed: int,
    size: int = _POPULATION,
    repeats: bool = False,
    answers: int | None = None,
    drop: float = 0.0,
) -> World:
    """Answers of one to six statements; queries are easy or hard for recall and citations alike.

    Args:
        judge: its sensitivity and specificity.
        level: how good the system is, 0 to 1.
        seed: of everything.
        size: queries.
        repeats: questions have several queries (HAGRID: several rows), 2.5 on the average, that
            are equally hard and get the very answer of the first in two of three cases.
        answers: seed of the answers to the very same queries; None for those of ``seed``.
        drop: chance by which every citation is wrong more often.
    """
    rng = np.random.default_rng(seed)
    ease = rng.beta(4 * level, 4 * (1 - level), size)
    clusters = np.sort(rng.integers(0, size * 2 // 5, size)) if repeats else None
    if clusters is not None:
        _, clusters = np.unique(clusters, return_inverse=True)
        ease = ease[clusters]
    ease = np.maximum(ease - drop, 0.0)
    rng = rng if answers is None else np.random.default_rng([seed, answers])
    n = rng.integers(1, _STATEMENTS + 1, size)
    here = np.arange(_STATEMENTS) < n[:, None]
    cited = here & (rng.random(here.shape) < 0.85)
    several = cited & (rng.random(here.shape) < 0.4)
    first = cited & (rng.random(here.shape) < ease[:, None])
    second = several & (rng.random(here.shape) < ease[:, None] / 2)
    relevant = rng.integers(1, 4, size)
    hits = rng.binomial(relevant, ease)
    wrong = rng.binomial(3, 1 - ease)
    precision, recall = ratio(hits * 1.0, (hits + wrong) * 1.0), hits / relevant
    precision = np.nan_to_num(precision)
    length = np.round(np.exp(rng.normal(4, 0.5, size)))
    right = (rng.random(size) < ease).astype(float)

    def judged(truth: np.ndarray) -> np.ndarray:
        sensitivity, specificity = judge
        draw = rng.random(truth.shape)
        return np.where(truth, draw < sensitivity, draw >= specificity)

    human = _judged(first, second, here, cited, several)
    said = _judged(judged(first) & cited, judged(second) & several, here, cited, several)
    plain = {
        "CiteP": mean_sample(precision[None]),
        "CiteR": mean_sample(recall[None]),
        "CiteF1": harmonic_sample(precision[None], recall[None]),
        "CiteF1@query": mean_sample(harmonic(precision, recall)[None]),
        "ShortEM": mean_sample(right[None]),
        "Distinct": mean_sample((hits + wrong)[None] * 1.0),
        "Length": mean_sample(length[None]),
    }
    source = np.arange(size)
    if clusters is not None:
        same = rng.random(size) < _SAME
        source = np.where(same, np.searchsorted(clusters, clusters), source)
    samples = {name: chosen(_ranged(name, s), source) for name, s in {**plain, **said}.items()}
    people = {name: chosen(_ranged(name, s), source) for name, s in human.items()}
    return World(samples, people, clusters)


def _judged(
    first: np.ndarray, second: np.ndarray, here: np.ndarray, cited: np.ndarray, several: np.ndarray
) -> dict[str, Sample]:
    supported = first | second
    n = here.sum(axis=1)
    recall = supported.sum(axis=1) / n
    n_cited = (cited.sum(axis=1) + several.sum(axis=1)).astype(float)
    precision = np.nan_to_num(ratio((first.sum(axis=1) + second.sum(axis=1)) * 1.0, n_cited))
    both = np.stack([(supported & several).sum(axis=1), several.sum(axis=1)], axis=-1)[None] * 1.0
    best = np.where(several, first | second, first).sum(axis=1) / np.maximum(1, cited.sum(axis=1))
    return {
        "ALCE.CitRec": mean_sample(recall[None]),
        "ALCE.CitPrec": mean_sample(precision[None]),
        "ALCE.CitF1": harmonic_sample(precision[None], recall[None]),
        "ALCE.MultiSupported": ratio_sample(both),
        "AutoAIS.cit@cited": mean_sample(best[None]),
    }  # fmt: skip


def _ranged(name: str, sample: Sample) -> Sample:
    """With the values that its measure is declared to have."""
    measure = find_measure(name)
    assert measure is not None, name
    return replace(sample, within=measure.range)


def chosen(sample: Sample, rows: npt.NDArray[np.int64]) -> Sample:
    """A benchmark of some of the queries."""
    return replace(sample, sums=sample.sums[:, rows], per_query=sample.per_query[:, rows])


def truth(sample: Sample) -> float:
    """Over all queries."""
    return float(sample.combine(sample.sums[0].sum(axis=0)))


def labelled_runs(
    rng: np.random.Generator, systems: int, n: int, bias: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Precision of systems that ignore labels, or follow them, shape (systems, n): with labels,
    with none, and with the placebo's.

    A system cites the relevant one of 10 passages with chance .7, others with .15, and decides
    15 % of its citations anew in each run.

    Args:
        rng: of everything.
        systems: how many.
        n: queries.
        bias: added to the chance of the relevant passage where there are labels.
    """
    chance = np.where(np.arange(10) == 0, 0.7, 0.15)
    same = rng.random((systems, n, 10))

    def run(chance: Floats) -> Floats:
        fresh = np.where(rng.random(same.shape) < 0.15, rng.random(same.shape), same)
        cited = fresh < chance
        total = cited.sum(-1)
        found: Floats = np.where(total > 0, cited[..., 0] / np.maximum(total, 1), 0.0)
        return found

    moved = chance.copy()
    moved[0] += bias
    return run(moved), run(chance), run(chance)
