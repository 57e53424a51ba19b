"""Whether 95 % intervals cover in 95 of 100 benchmarks, and tests reject in 5: simulated ones.

``python -m benchmarks.coverage [SIMULATIONS]``: measures of answers with statements, citations, a
judge that errs, of 30, 100 and 300 queries; raw intervals against the measure's mean over all
queries, corrected ones against what people would say.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from citeforge.evaluator.compare import holm, paired_t, permutation_tests
from citeforge.evaluator.entries import make_entry
from citeforge.evaluator.measures.registry import find
from citeforge.evaluator.ppi import Units, powered
from citeforge.evaluator.ranks import rank_intervals
from citeforge.evaluator.statistics import (
    Floats,
    Sample,
    estimate_all,
    harmonic,
    harmonic_sample,
    mean_sample,
    ratio,
)
from citeforge.schemas.signature import Signature

SIZES = (30, 100, 300)
JUDGES = {
    "good": ((0.95, 0.95), (0.95, 0.95)),
    "bad": ((0.6, 0.7), (0.6, 0.7)),
    "biased": ((0.95, 0.9), (0.6, 0.9)),
}
"""Sensitivity and specificity on the answers of two systems."""
_POPULATION = 100_000
_STATEMENTS = 6
_RESAMPLES = 2_000
"""Of the bootstrap here; score files have 10,000."""


@dataclass(frozen=True)
class World:
    """All queries there are, answered by one system.

    Attributes:
        samples: measures, by the judge where there is one.
        human: the judged ones, by people.
    """

    samples: dict[str, Sample]
    human: dict[str, Sample]


def world(judge: tuple[float, float], level: float, seed: int, size: int = _POPULATION) -> World:
    """Answers of one to six statements; queries are easy or hard for recall and citations alike.

    Args:
        judge: its sensitivity and specificity.
        level: how good the system is, 0 to 1.
        seed: of everything.
        size: queries.
    """
    rng = np.random.default_rng(seed)
    ease = rng.beta(4 * level, 4 * (1 - level), size)
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
        "CiteP": mean_sample("CiteP", precision[None]),
        "CiteR": mean_sample("CiteR", recall[None]),
        "CiteF1": harmonic_sample("CiteF1", precision[None], recall[None]),
        "CiteF1@query": mean_sample("CiteF1@query", harmonic(precision, recall)[None]),
        "ShortEM": mean_sample("ShortEM", right[None]),
        "Distinct": mean_sample("Distinct", (hits + wrong)[None] * 1.0),
        "Length": mean_sample("Length", length[None]),
    }
    return World({**plain, **said}, human)


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
        "ALCE.CitRec": mean_sample("ALCE.CitRec", recall[None]),
        "ALCE.CitPrec": mean_sample("ALCE.CitPrec", precision[None]),
        "ALCE.CitF1": harmonic_sample("ALCE.CitF1", precision[None], recall[None]),
        "ALCE.MultiSupported": Sample(
            "ALCE.MultiSupported", both, lambda s: ratio(s[..., 0], s[..., 1]),
            ratio(both[..., 0], both[..., 1]),
        ),
        "AutoAIS.cit@cited": mean_sample("AutoAIS.cit@cited", best[None]),
    }  # fmt: skip


def chosen(sample: Sample, rows: np.ndarray) -> Sample:
    """A benchmark of some of the queries."""
    return Sample(sample.name, sample.sums[:, rows], sample.combine, sample.per_query[:, rows])


def truth(sample: Sample) -> float:
    """Over all queries."""
    return float(sample.combine(sample.sums[0].sum(axis=0)))


def raw_coverage(found: World, n: int, simulations: int, seed: int) -> dict[str, float]:
    """Share of printed intervals (as in score files, cut to the measure's range) that cover."""
    rng = np.random.default_rng([seed, n])
    true = {name: truth(s) for name, s in found.samples.items()}
    size = found.samples["CiteP"].sums.shape[1]
    covered = dict.fromkeys(true, 0)
    signature = Signature("m", "strict", "1,strict2", "c", "b@0")
    for _ in range(simulations):
        rows = rng.integers(0, size, n)
        samples = [chosen(s, rows) for s in found.samples.values()]
        for sample, estimate in zip(samples, estimate_all(samples, _RESAMPLES), strict=True):
            measure = find(sample.name)
            assert measure is not None
            entry = make_entry(measure, sample, estimate, signature)
            value = true[sample.name] * measure.scale
            if entry.low is not None and entry.high is not None:
                covered[sample.name] += entry.low <= value <= entry.high
    return {name: k / simulations for name, k in covered.items()}


def corrected_coverage(
    found: World, n: int, labels: int, simulations: int, seed: int
) -> dict[str, tuple[float, float]]:
    """(share of corrected intervals that cover what people say, width against labels alone)."""
    rng = np.random.default_rng([seed, n, labels])
    result = {}
    size = found.samples["CiteP"].sums.shape[1]
    for name, human in found.human.items():
        true, raw, covered, widths = truth(human), found.samples[name], 0, []
        # Without the draws that `score` refuses: people say the same of all labelled answers.
        for _ in range(simulations):
            rows = rng.integers(0, size, n)
            labelled = np.zeros(n, bool)
            labelled[rng.choice(n, labels, replace=False)] = True
            values = human.combine(human.sums[0, rows][labelled])
            if np.ptp(values[~np.isnan(values)]) == 0:
                continue
            units = Units(raw.sums[0, rows], human.sums[0, rows], labelled, np.zeros(n, bool))
            value = powered(units, human.combine)
            alone = powered(units, human.combine, tuning=0.0)
            covered += value.low <= true <= value.high
            widths.append((value.high - value.low) / (alone.high - alone.low))
        result[name] = covered / len(widths), float(np.mean(widths))
    return result


def null_rejections(found: World, n: int, simulations: int, seed: int) -> dict[str, float]:
    """Share of p below .05 where two systems do not differ, and of families with any (Holm)."""
    rng = np.random.default_rng([seed, n, 7])
    size = found.samples["CiteP"].sums.shape[1]
    names = list(found.samples)
    t, permuted, family = 0, 0, 0
    for _ in range(simulations):
        one, other = rng.integers(0, size, (2, n))
        changes = [
            found.samples[m].per_query[0, one] - found.samples[m].per_query[0, other] for m in names
        ]
        p_values = permutation_tests(changes, 2_000)
        permuted += int(np.sum(np.array(p_values) < 0.05))
        t += sum(paired_t(d[~np.isnan(d)]) < 0.05 for d in changes)
        family += min(holm(p_values)) < 0.05
    tested = simulations * len(names)
    return {"t": t / tested, "permutation": permuted / tested, "holm": family / simulations}


def rank_coverage(levels: list[Floats], n: int, simulations: int, seed: int) -> float:
    """Share of leaderboards whose rank intervals hold all systems' true ranks at once.

    Args:
        levels: values of every query for each system, shape (queries,); equal means tie.
    """
    rng = np.random.default_rng([seed, n, 11])
    true = np.array([x.mean() for x in levels])
    held = 0
    for _ in range(simulations):
        rows = rng.integers(0, len(levels[0]), n)
        found = rank_intervals([x[rows] for x in levels])
        held += all(
            interval is not None
            and interval[0] <= 1 + int((true > v + 1e-12).sum())
            and interval[1] >= len(true) - int((true < v - 1e-12).sum())
            for interval, v in zip(found, true, strict=True)
        )
    return held / simulations


def main(simulations: int = 2_000) -> None:
    """Print tables."""
    print(f"{simulations:,} simulations a cell; Monte Carlo error ± "
          f"{196 * (0.95 * 0.05 / simulations) ** 0.5:.1f} points")  # fmt: skip
    for judge, ((*first,), _) in JUDGES.items():
        found = world((first[0], first[1]), 0.6, 1)
        for n in SIZES if judge == "good" else ():
            shares = raw_coverage(found, n, simulations, 2)
            print(f"raw, {n} queries: " + _line(shares), flush=True)
    for judge, systems in JUDGES.items():
        for number, rates in enumerate(systems if judge == "biased" else systems[:1]):
            found = world(rates, 0.6, 3 + number)
            for n in SIZES:
                shown = corrected_coverage(found, n, min(50, n // 2), simulations, 4)
                shares = {name: covered for name, (covered, _) in shown.items()}
                width = np.mean([w for _, w in shown.values()])
                where = f"{judge} judge (se {rates[0]}, sp {rates[1]})"
                print(f"corrected, {where}, {n} queries, {min(50, n // 2)} labels: "
                      f"{_line(shares)}; width {width:.3f}", flush=True)  # fmt: skip
    found = world((0.95, 0.95), 0.6, 1)
    for n in SIZES:
        shares = null_rejections(found, n, simulations, 5)
        print(f"p < .05 under the null, {n} queries: " + _line(shares), flush=True)
    rng = np.random.default_rng(6)
    base = rng.beta(2, 2, 20_000)
    equal = [np.clip(base + rng.normal(0, 0.2, base.shape), 0, 1) for _ in range(6)]
    equal = [x - x.mean() for x in equal]
    spread = [x + 0.02 * i for i, x in enumerate(equal)]
    for n in SIZES:
        shares = {
            "6 equal systems": rank_coverage(equal, n, simulations, 8),
            "6 unequal": rank_coverage(spread, n, simulations, 9),
        }
        print(f"rank intervals hold at once, {n} queries: " + _line(shares), flush=True)
    from benchmarks import expertqa

    expertqa.main()


def _line(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.3f}" for name, share in shares.items())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
