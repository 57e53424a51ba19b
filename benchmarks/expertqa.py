"""Corrected values on real labels: ExpertQA's answers, 50 of them labelled, a thousand times."""

import itertools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import Judge, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.corrected_ranks import rank_by_intervals
from citeforge.evaluator.label_files import EXPERTQA, FULL
from citeforge.evaluator.ranks import ALPHA
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import Range
from citeforge.evaluator.statistics.ppi import (
    LEAST_LABELS,
    PpiEstimate,
    Units,
    compute_interval,
    estimate_ppi,
)

SHARE = Range(0, 1)
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True)
class Answers:
    """Citation recall of each answer.

    Attributes:
        systems: who answered, shape (answers,).
        human: share of claims that people call completely supported, shape (answers, 1).
        judged: share that the judge calls entailed.
    """

    systems: list[str]
    human: Floats
    judged: Floats


def read(path: Path, judge: Judge, with_evidence: bool = False) -> Answers:
    """Claims with a label of people, answer by answer.

    Args:
        path: ExpertQA's rows.
        judge: asked whether all evidence of a claim entails it.
        with_evidence: claims with evidence only; others are not supported, whoever is asked.
    """
    session = JudgeSession(judge)
    systems: list[str] = []
    groups: list[list[tuple[bool, Pair]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pairs = [
            (
                EXPERTQA[c["support"]] == FULL,
                Pair("\n".join(c["evidence"]), _MARK.sub("", c["claim"])),
            )
            for c in row["claims"]
            if EXPERTQA.get(c["support"]) is not None and (c["evidence"] or not with_evidence)
        ]
        if pairs:
            systems.append(row["system"])
            groups.append(pairs)
    said = session.ask(pair for pairs in groups for _, pair in pairs)

    def yes(pair: Pair) -> bool:
        found = said[pair]
        return isinstance(found, Verdict) and found.entailed

    human = np.array([[np.mean([h for h, _ in pairs])] for pairs in groups])
    judged = np.array([[np.mean([yes(p) for _, p in pairs])] for pairs in groups])
    return Answers(systems, human, judged)


@dataclass(frozen=True)
class Draws:
    """What many draws of labelled answers gave.

    Attributes:
        covered: share of corrected intervals that hold the value by all labels.
        widest: widest corrected interval, as a multiple of that of the labels alone.
        mean_width: mean of that multiple.
        separated: pairs of systems whose rank intervals do not overlap, over all draws.
        wrong: of these, in another order than by all labels.
        apart: pairs whose intervals of a single value do not overlap, which promises no order.
        apart_wrong: likewise.
        raw_wrong: pairs in another order by the judge alone, of all pairs of systems.
        pairs: pairs of systems.
    """

    covered: float
    widest: float
    mean_width: float
    separated: int
    wrong: int
    apart: int
    apart_wrong: int
    raw_wrong: int
    pairs: int


def draw(
    answers: Answers,
    labels: int = 50,
    draws: int = 1000,
    seed: int = 0,
    each: int | None = None,
    by_system: bool = True,
) -> Draws:
    """Label answers at random, correct, and look; many times.

    Args:
        answers: all with labels.
        labels: how many are labelled in a draw.
        draws: how often.
        seed: of the draws.
        each: label so many answers of every system instead.
        by_system: correct each system, too, and look at their order.
    """
    rng = np.random.default_rng(seed)
    n = len(answers.systems)
    truth = float(answers.human.mean())
    names = sorted(set(answers.systems))
    of_system = {s: np.array([x == s for x in answers.systems]) for s in names}
    people = {s: float(answers.human[m].mean()) for s, m in of_system.items()}
    machine = {s: float(answers.judged[m].mean()) for s, m in of_system.items()}
    covered = 0
    told, apart = np.zeros(2, int), np.zeros(2, int)
    widths = []
    for _ in range(draws):
        labelled = np.zeros(n, bool)
        if each is None:
            labelled[rng.choice(n, labels, replace=False)] = True
        for mask in of_system.values() if each else ():
            labelled[rng.choice(np.flatnonzero(mask), each, replace=False)] = True
        found, alone = (_value(answers, labelled, tuning) for tuning in (None, 0.0))
        covered += found.low <= truth <= found.high
        widths.append((found.high - found.low) / (alone.high - alone.low))
        estimates = {
            s: _value(answers, labelled, None, m)
            for s, m in of_system.items()
            if by_system
            and labelled[m].sum() >= LEAST_LABELS
            and np.ptp(answers.human[m & labelled]) > 0
        }
        level = 1 - ALPHA / max(1, len(estimates))
        for counts, found_level in ((told, level), (apart, 1 - ALPHA)):
            counts += _order(estimates, people, found_level)
    every = list(itertools.combinations(names, 2))
    raw_wrong = sum((machine[a] - machine[b]) * (people[a] - people[b]) < 0 for a, b in every)
    return Draws(
        covered / draws, max(widths), float(np.mean(widths)), int(told[0]), int(told[1]),
        int(apart[0]), int(apart[1]), raw_wrong, len(every),
    )  # fmt: skip


def _value(
    answers: Answers, labelled: np.ndarray, tuning: float | None, mask: np.ndarray | None = None
) -> PpiEstimate:
    chosen = np.ones(len(labelled), bool) if mask is None else mask
    units = Units(
        answers.judged[chosen], answers.human[chosen], labelled[chosen],
        np.zeros(int(chosen.sum()), bool),
    )  # fmt: skip
    return estimate_ppi(units, lambda s: s[..., 0], tuning, SHARE)


def _order(
    estimates: dict[str, PpiEstimate], people: dict[str, float], level: float
) -> tuple[int, int]:
    """(pairs of systems whose intervals do not overlap, those in another order than by people)."""
    ends = {
        s: compute_interval(e.value, e.stderr, e.df, e.n_labels, SHARE, level)
        for s, e in estimates.items()
    }
    ranks = dict(zip(ends, rank_by_intervals(list(ends.values())), strict=True))
    found = wrong = 0
    for a, b in itertools.permutations(ends, 2):
        if ends[a][0] > ends[b][1]:
            assert ranks[a][0] < ranks[b][1]
            found += 1
            wrong += people[a] < people[b]
    return found, wrong


def main() -> None:
    """Print a table."""
    folder = os.environ.get("CITEFORGE_REAL_DATA")
    if folder is None:
        print("ExpertQA: CITEFORGE_REAL_DATA is not set")
        return
    path = Path(folder) / "expertqa" / "val.jsonl"
    for words, with_evidence in (("all claims", False), ("claims with evidence", True)):
        answers = read(path, LexicalJudge(), with_evidence)
        found = draw(answers)
        print(
            f"ExpertQA, {words}, lexical judge: {len(answers.systems)} answers, people "
            f"{100 * answers.human.mean():.2f}, judge {100 * answers.judged.mean():.2f}; of 1,000 "
            f"draws of 50 labelled answers {100 * found.covered:.1f} % cover; width of the labels' "
            f"alone: mean {found.mean_width:.3f}, most {found.widest:.4f}; {_pairs(found)} (raw: "
            f"{found.raw_wrong} of {found.pairs} pairs)"
        )
        for each in (LEAST_LABELS, 15):
            found = draw(answers, each=each)
            print(f"  {each} labelled answers of each system: {_pairs(found)}")


def _pairs(found: Draws) -> str:
    return (
        f"pairs told apart by rank intervals {found.separated:,}, in the wrong order "
        f"{found.wrong:,}; by intervals of single values {found.apart:,}, {found.apart_wrong:,}"
    )


if __name__ == "__main__":
    main()
