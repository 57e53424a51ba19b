"""Whether 95 % intervals cover in 95 of 100 benchmarks, and tests reject in 5: simulated ones.

``python -m benchmarks.coverage [SIMULATIONS [PART…]]``: measures of answers with statements,
citations and a judge that errs, of 30, 100 and 300 queries, by systems of seven levels; raw
intervals against the measure over all queries, corrected ones against what people would say.
Parts: raw, repeats, corrected, differences, rates, authorship, null, ranks, cascade, crossed,
expertqa, gate; all without a name.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.crossed import CROSSED, crossed_coverage, difference_over_runs
from benchmarks.gate import gate_figures
from benchmarks.simulated import LEVELS, World, chosen, labelled_runs, truth, world
from citeforge.evaluator.ranks import rank_intervals
from citeforge.evaluator.statistics.error_rates import compute_rates, rogan_gladen
from citeforge.evaluator.statistics.estimates import Floats, estimate_value, mean_sample
from citeforge.evaluator.statistics.intervals import Range
from citeforge.evaluator.statistics.ppi import Units, estimate_ppi, t_test
from citeforge.evaluator.statistics.significance import holm, paired_t, permutation_tests
from citeforge.plugins.audit.cascade import Stratum, pooled_share

SIZES = (30, 100, 300)
GOOD, BAD, HARSH = (0.95, 0.95), (0.6, 0.7), (0.6, 0.9)
RATES = {"good": GOOD, "bad": BAD, "biased": HARSH}
JUDGES = {"good": (GOOD, GOOD), "bad": (BAD, BAD), "biased by system": (GOOD, HARSH)}
"""Sensitivity and specificity on the answers of two systems."""
Shares = dict[str, float]


def worlds(judge: tuple[float, float], seed: int, repeats: bool = False) -> list[World]:
    """A world a level."""
    return [world(judge, level, seed + i, repeats=repeats) for i, level in enumerate(LEVELS)]


def raw_coverage(populations: Sequence[World], n: int, simulations: int, seed: int) -> Shares:
    """Share of printed intervals that cover."""
    rng = np.random.default_rng([seed, n])
    true = [{name: truth(s) for name, s in w.samples.items()} for w in populations]
    covered = dict.fromkeys(true[0], 0)
    for i in range(simulations):
        here = i % len(populations)
        rows, clusters = populations[here].draw(rng, n)
        samples = {name: chosen(s, rows) for name, s in populations[here].samples.items()}
        estimates = [estimate_value(s, clusters) for s in samples.values()]
        for name, estimate in zip(samples, estimates, strict=True):
            covered[name] += estimate.low <= true[here][name] <= estimate.high
    return {name: k / simulations for name, k in covered.items()}


def units_of(
    population: World, name: str, rng: np.random.Generator, n: int, labels: int
) -> Units | None:
    """A benchmark with labels; None for a draw that ``score`` refuses: labels that are all alike.

    Args:
        population: all queries there are.
        name: measure.
        rng: of the draw.
        n: questions.
        labels: labelled answers.
    """
    rows, clusters = population.draw(rng, n)
    labelled = np.zeros(len(rows), bool)
    labelled[rng.choice(len(rows), min(labels, len(rows)), replace=False)] = True
    human = population.human[name]
    values = human.combine(human.sums[0, rows][labelled])
    defined = values[~np.isnan(values)]
    if len(defined) < 2 or np.ptp(defined) == 0:
        return None
    raw = population.samples[name]
    return Units(
        raw.sums[0, rows], human.sums[0, rows], labelled, np.zeros(len(rows), bool), clusters
    )


def corrected_coverage(
    populations: Sequence[World], n: int, labels: int, simulations: int, seed: int
) -> dict[str, tuple[float, float, float]]:
    """By measure: (share of corrected intervals that cover what people say, of those of the labels
    alone; width of the former in the latter's)."""
    rng = np.random.default_rng([seed, n, labels])
    result = {}
    for name in populations[0].human:
        true = [truth(w.human[name]) for w in populations]
        hits, widths = np.zeros(2), []
        for i in range(simulations):
            here = i % len(populations)
            units = units_of(populations[here], name, rng, n, labels)
            if units is None:
                continue
            human = populations[here].human[name]
            both = [
                estimate_ppi(units, human.combine, tuning, value_range=human.within)
                for tuning in (None, 0.0)
            ]
            hits += [p.low <= true[here] <= p.high for p in both]
            widths.append((both[0].high - both[0].low) / (both[1].high - both[1].low))
        shares = (hits / len(widths)).tolist()
        result[name] = shares[0], shares[1], float(np.nanmean(widths))
    return result


def difference_coverage(
    first: World, second: World, n: int, labels: int, simulations: int, seed: int
) -> Shares:
    """Of a judged mean's difference by two systems: raw intervals against the judge's difference,
    and against people's; corrected ones against people's; corrected p below .05."""
    rng = np.random.default_rng([seed, n, labels, 3])
    name = "ALCE.CitRec"
    worlds_ = (first, second)
    sides = [(w.samples[name].per_query[0], w.human[name].per_query[0]) for w in worlds_]
    judged, human = (sides[1][i] - sides[0][i] for i in (0, 1))
    counts = dict.fromkeys(("raw", "raw against people", "corrected", "corrected p < .05"), 0)
    for _ in range(simulations):
        rows = rng.integers(0, len(judged), n)
        labelled = np.zeros(n, bool)
        labelled[rng.choice(n, labels, replace=False)] = True
        raw = estimate_value(mean_sample(judged[rows][None]))
        sums = [mean_sample(d[rows][None]) for d in (judged, human)]
        units = Units(sums[0].sums[0], sums[1].sums[0], labelled, np.zeros(n, bool))
        corrected = estimate_ppi(units, sums[0].combine)
        counts["raw"] += raw.low <= judged.mean() <= raw.high
        counts["raw against people"] += raw.low <= human.mean() <= raw.high
        counts["corrected"] += corrected.low <= human.mean() <= corrected.high
        counts["corrected p < .05"] += t_test(corrected) < 0.05
    return {what: k / simulations for what, k in counts.items()}


def rates_coverage(n: int, labels: int, simulations: int, seed: int) -> Shares:
    """Of Rogan–Gladen intervals: error rates from other answers, citation recall of these."""
    rng = np.random.default_rng([seed, n, labels, 5])
    covered = 0
    for _ in range(simulations):
        level = rng.choice(LEVELS)
        other = [_statements(rng, rng.choice(LEVELS)) for _ in range(labels)]
        rates = compute_rates([list(zip(h.tolist(), j.tolist(), strict=True)) for h, j in other])
        verdicts = [_statements(rng, level)[1] for _ in range(n)]
        sums = np.array([[j.mean()] for j in verdicts])
        asked = np.stack([np.ones((n, 1)), np.zeros((n, 1))])
        estimate = rogan_gladen(sums, asked, lambda s: s[..., 0], rates, Range(0, 1))
        covered += estimate.low <= level <= estimate.high
    return {"citation recall": covered / simulations}


def _statements(rng: np.random.Generator, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether people and a judge (.8, .85) call the statements of one answer supported."""
    ease = rng.beta(4 * level, 4 * (1 - level))
    human = rng.random(rng.integers(1, 7)) < ease
    return human, np.where(human, rng.random(human.shape) < 0.8, rng.random(human.shape) > 0.85)


def authorship(n: int, simulations: int, seed: int) -> Shares:
    """CAB and CAS of systems that ignore labels, and of ones that follow them; p under the null."""
    rng = np.random.default_rng([seed, n, 13])
    shares = {}
    for name, bias in (("null", 0.0), ("biased", 0.2)):
        big, placebo = _changes(labelled_runs(rng, 20, 20_000, bias))
        changes, placebos = _changes(labelled_runs(rng, simulations, n, bias))
        over = np.abs(changes) - np.abs(placebos)
        cab, cas = float(big.mean()), float(np.abs(big).mean())
        for measure, values, within, true in (
            ("CAB", changes, Range(-1, 1), cab if bias else 0.0),
            ("CAS", np.abs(changes), Range(0, 1), cas),
            ("CAS - placebo", over, Range(-1, 1), cas - np.abs(placebo).mean() if bias else 0.0),
        ):
            samples = [replace(mean_sample(d[None]), within=within) for d in values]
            held = [e.low <= true <= e.high for e in map(estimate_value, samples)]
            shares[f"{measure}, {name}"] = float(np.mean(held))
        if not bias:
            above = [paired_t(d) for d in over]
            shares["p < 0.05, CAS - placebo"] = float(np.mean(np.array(above) < 0.05))
            p = np.array([paired_t(d) for d in changes])
            shares |= {f"p < {bar:g}": float(np.mean(p < bar)) for bar in (0.01, 0.05, 0.5)}
            tables = p[: len(p) // 8 * 8].reshape(-1, 8)  # cells of a placebo: 4 origins, P and R
            shares["any of 8"] = float(np.mean(tables.min(axis=1) < 0.05))
            shares["any of 8, Holm"] = float(np.mean([min(holm(t)) < 0.05 for t in tables]))
    return shares


def _changes(runs: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    """What labels change, and what the placebo's change."""
    labelled, vanilla, placebo = runs
    return labelled - vanilla, placebo - vanilla


def null_rejections(population: World, n: int, simulations: int, seed: int) -> Shares:
    """Share of p below .05 where two systems do not differ, and of families with any (Holm)."""
    rng = np.random.default_rng([seed, n, 7])
    size = population.samples["CiteP"].sums.shape[1]
    names = list(population.samples)
    t, permuted, family = 0, 0, 0
    for _ in range(simulations):
        one, other = rng.integers(0, size, (2, n))
        changes = [
            population.samples[m].per_query[0, one] - population.samples[m].per_query[0, other]
            for m in names
        ]
        n_changed = [int(np.count_nonzero(np.nan_to_num(d))) for d in changes]
        p_values = permutation_tests(changes, n_changed, 1_000)
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
        intervals = rank_intervals([x[rows] for x in levels])
        held += all(
            interval is not None
            and interval[0] <= 1 + int((true > v + 1e-12).sum())
            and interval[1] >= len(true) - int((true < v - 1e-12).sum())
            for interval, v in zip(intervals, true, strict=True)
        )
    return held / simulations


def systems_of_ranks() -> tuple[list[Floats], list[Floats]]:
    """Six equal systems, and six that differ."""
    rng = np.random.default_rng(6)
    base = rng.beta(2, 2, 20_000)
    equal = [np.clip(base + rng.normal(0, 0.2, base.shape), 0, 1) for _ in range(6)]
    equal = [x - x.mean() for x in equal]
    return equal, [x + 0.02 * i for i, x in enumerate(equal)]


def cascade_coverage(shares: Sequence[float], simulations: int, seed: int) -> float:
    """Of the share of false negatives by a cascade: suspects that a strong judge confirmed, those
    that it cleared, and all others; people looked at some of each.

    Args:
        shares: of false negatives in each.
    """
    rng = np.random.default_rng([seed, 17])
    sizes, looked = (60, 140, 4000), (30, 40, 120)
    hits = [round(n * p) for n, p in zip(sizes, shares, strict=True)]
    covered = 0
    for _ in range(simulations):
        strata = [
            Stratum(size, n, int(rng.hypergeometric(k, size - k, n)))
            for size, k, n in zip(sizes, hits, looked, strict=True)
        ]
        _, low, high = pooled_share(strata)
        covered += low <= sum(hits) / sum(sizes) <= high
    return covered / simulations


def main(simulations: int = 2_000, parts: Sequence[str] = ()) -> None:
    """Print tables."""
    print(f"{simulations:,} simulations a cell; Monte Carlo error ± "
          f"{196 * (0.95 * 0.05 / simulations) ** 0.5:.1f} points")  # fmt: skip
    for name in parts or PARTS:
        PARTS[name](simulations)


def _raw(simulations: int) -> None:
    for judge, rates in RATES.items():
        populations = worlds(rates, 1)
        for n in SIZES:
            shares = raw_coverage(populations, n, simulations, 2)
            if judge != "good":
                shares = {name: shares[name] for name in populations[0].human}
            _line(f"raw, {judge} judge, {n} queries", shares)


def _corrected(simulations: int) -> None:
    for judge, rates in RATES.items():
        populations = worlds(rates, 31)
        for n in SIZES:
            _labelled(f"{judge} judge, {n} queries", populations, n, simulations)


def _labelled(where: str, populations: Sequence[World], n: int, simulations: int) -> None:
    labels = min(50, n // 2)
    coverage = corrected_coverage(populations, n, labels, simulations, 4)
    width = float(np.mean([w for *_, w in coverage.values()]))
    shares = {name: share for name, (share, *_) in coverage.items()}
    _line(f"corrected, {where}, {labels} labels", shares | {"width": width})
    _line(f"labels alone, {where}, {labels} labels", {k: s for k, (_, s, _) in coverage.items()})


def _repeats(simulations: int) -> None:
    populations = worlds(GOOD, 21, repeats=True)
    for n in SIZES:
        where = f"{n} questions that repeat"
        _line(f"raw, {where}", raw_coverage(populations, n, simulations, 2))
        _labelled(f"good judge, {where}", populations, n, simulations)


def _differences(simulations: int) -> None:
    for judge, (one, other) in JUDGES.items():
        pair = world(one, 0.6, 41), world(other, 0.6, 42)
        for n in SIZES:
            labels = min(50, n // 2)
            shares = difference_coverage(*pair, n, labels, simulations, 4)
            _line(f"difference of equals, {judge} judge, {n} queries, {labels} labels", shares)


def _rates(simulations: int) -> None:
    for n in SIZES:
        _line(f"by error rates of 100 other answers, {n} queries",
              rates_coverage(n, 100, simulations, 6))  # fmt: skip


def _authorship(simulations: int) -> None:
    for n in SIZES:
        _line(f"authorship, {n} queries", authorship(n, simulations, 7))


def _null(simulations: int) -> None:
    population = world(GOOD, 0.6, 1)
    for n in SIZES:
        shares = null_rejections(population, n, simulations, 5)
        _line(f"p < .05 under the null, {n} queries", shares)


def _ranks(simulations: int) -> None:
    equal, spread = systems_of_ranks()
    for n in SIZES:
        shares = {"6 equal systems": rank_coverage(equal, n, simulations, 8),
                  "6 unequal": rank_coverage(spread, n, simulations, 9)}  # fmt: skip
        _line(f"rank intervals hold at once, {n} queries", shares)


def _cascade(simulations: int) -> None:
    cells = ((0.8, 0.3, 0.01), (0.9, 0.5, 0.05), (0.6, 0.1, 0.2))
    shares = {f"{a:g}/{b:g}/{c:g}": cascade_coverage((a, b, c), simulations, 10)
              for a, b, c in cells}  # fmt: skip
    _line("false negatives by a cascade (confirmed/cleared/others)", shares)


def _crossed(simulations: int) -> None:
    for n in SIZES:
        shares = {
            name: crossed_coverage(levels, moves, n, simulations, 11)
            for name, (levels, moves) in CROSSED.items()
        }
        _line(f"over all sources, {n} queries", shares)
        shares = {
            f"{a} and {b} runs, {moved:g}": difference_over_runs((a, b), moved, n, simulations, 12)
            for a, b in ((2, 2), (3, 3), (5, 3), (3, 1))
            for moved in (0.0, 0.1, 0.3)
        }
        _line(f"differences over runs, {n} queries", shares)


def _expertqa(simulations: int) -> None:
    from benchmarks import expertqa

    expertqa.main()


def _gate(simulations: int) -> None:
    for what, shares in gate_figures(simulations):
        _line(what, shares)


def _line(what: str, shares: Shares) -> None:
    text = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    print(f"{what}: {text}", flush=True)


PARTS = {
    "raw": _raw, "repeats": _repeats, "corrected": _corrected, "differences": _differences,
    "rates": _rates, "authorship": _authorship, "null": _null, "ranks": _ranks,
    "cascade": _cascade, "crossed": _crossed, "expertqa": _expertqa, "gate": _gate,
}  # fmt: skip

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000, sys.argv[2:])
