"""ScholarQA's meta-evaluation (Hwang et al. 2026) beside ours, on preferences that are made up.

On its annotators' preferences `citeforge reproduce` computes its published tables.
"""

import json
import math
import random
import runpy
from pathlib import Path
from typing import Any

import pytest

from citeforge.plugins.labels.preferences import (
    PreferencePair,
    annotator_agreement,
    pairwise_agreement,
    read_preferences,
    select_agreed,
    tie_threshold,
    win_rates,
)
from peers.frozen import FrozenNumbers, Program

SCHOLARQA = Program(
    "scholarqa",
    "allenai/ai2-scholarqa-eval",
    "calculate_agreement.py: calculate_agreement(), find_optimal_threshold(), system_rankings() "
    "and calculate_iaa()",
    "test_scholarqa_peer.py",
)
PEOPLE = "preference_ranking_norm"
MEASURES = ("overall", "answer_recall", "citation_precision")
SYSTEMS = ("alpha", "beta", "gamma", "delta", "epsilon")
THRESHOLDS = (0.0, 1 / 64, 9 / 64, 2.0)
GRID = [k / 64 for k in range(10)]
Rows = list[dict[str, Any]]


def draw(seed: int) -> list[Rows]:
    """What two annotators prefer, and a measure that is near to the first; values in 64ths,
    so that some differ by a threshold exactly."""
    rng = random.Random(seed)
    annotators: list[Rows] = [[], []]
    for q in range(80):
        row: dict[str, Any] = {"question": f"Question {q}?", "models": rng.sample(SYSTEMS, 2)}
        people = rng.choice([[0, 1], [1, 0], [0.5, 0.5]])
        for measure in MEASURES:
            values = [(40 * p + rng.randrange(24)) / 64 for p in people]
            row[f"human_{measure}"] = [round(v, 1) for v in values]
            if measure != "overall" and rng.random() < 0.1:
                values[rng.randrange(2)] = None
            row[f"model_{measure}"] = values
        others = [people, people, people[::-1], [0.5, 0.5]]
        for rows, preferred in zip(annotators, (people, rng.choice(others)), strict=True):
            rows.append(row | {PEOPLE: preferred})
    return annotators


def evaluate(checkout: Path, annotators: list[Rows]) -> dict[str, Any]:
    """All figures of two annotators."""
    folder = checkout / "meta_evaluation" / "agreement_calculation"
    theirs = runpy.run_path(str(folder / "calculate_agreement.py"))
    tables, correlations = zip(*map(theirs["system_rankings"], annotators), strict=True)
    strict, half = theirs["calculate_iaa"](annotators)
    return {
        "agreement": {
            measure: [
                [theirs["calculate_agreement"](rows, PEOPLE, f"model_{measure}", threshold)
                 for threshold in THRESHOLDS]
                for rows in annotators
            ]
            for measure in MEASURES
        },
        "thresholds": {
            # Where the measure has values: their share of people's ties is of all comparisons.
            measure: theirs["find_optimal_threshold"](
                [row for row in annotators[0] if None not in row[f"model_{measure}"]],
                f"human_{measure}", f"model_{measure}", GRID,
            )["optimal_threshold"]
            for measure in MEASURES
        },
        "rankings": [sorted(table.values.tolist()) for table in tables],
        "correlations": correlations,
        "among themselves": [len(strict), sum(strict), sum(half)],
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_every_figure(printed: FrozenNumbers, tmp_path: Path, seed: int) -> None:
    annotators = draw(seed)
    theirs = printed(SCHOLARQA, f"seed {seed}", evaluate, annotators)

    def read(rows: Rows, measure: str, people: str = PEOPLE) -> list[PreferencePair]:
        path = tmp_path / "preferences.json"
        path.write_text(json.dumps(rows))
        return read_preferences(path, people, f"model_{measure}")[0]

    for measure in MEASURES:
        for rows, expected in zip(annotators, theirs["agreement"][measure], strict=True):
            for threshold, (rate, equal, tau, total) in zip(THRESHOLDS, expected, strict=True):
                result = pairwise_agreement(read(rows, measure), threshold)
                assert (result.n, round(result.n * result.agreement)) == (total, equal)
                assert result.agreement == pytest.approx(rate, abs=1e-12)
                # Where one side ties everything there is no correlation; theirs is 0.
                assert math.isnan(result.tau) == (threshold == 2)
                assert (0.0 if threshold == 2 else result.tau) == pytest.approx(tau, abs=1e-12)
        rated = read(annotators[0], measure, f"human_{measure}")
        assert tie_threshold(rated, GRID) == theirs["thresholds"][measure]
    both = [read(rows, "overall") for rows in annotators]
    for rows, ranking, tau in zip(both, theirs["rankings"], theirs["correlations"], strict=True):
        assert pairwise_agreement(rows, 0).system_tau == pytest.approx(tau, abs=1e-12)
        by_people, by_measure = win_rates(rows)
        assert ranking == [[s, by_people[s], pytest.approx(by_measure[s])] for s in by_people]
    n, equal, half = theirs["among themselves"]
    among = annotator_agreement(both)
    assert (among.n, round(n * among.strict), n * among.half_credit) == (n, equal, half)
    assert len(select_agreed(both)) == equal
