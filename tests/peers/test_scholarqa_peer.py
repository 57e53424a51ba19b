"""ScholarQA's meta-evaluation (Hwang et al. 2026) beside ours, on its annotators' preferences.

Their repository is ``ai2-scholarqa-eval``.
"""

import math
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.plugins.labels.agreement.preferences import (
    PreferencePair,
    agreed,
    annotator_agreement,
    pairwise_agreement,
    read_preferences,
    tie_threshold,
    win_rates,
)

PEOPLE = "preference_ranking_norm"
MEASURES = ("overall", "answer_precision", "answer_recall", "citation_precision", "citation_recall")
GRID = np.arange(0.01, 0.16, 0.01)


@pytest.fixture(scope="module")
def folder(peer: Callable[[str], Path]) -> Path:
    return peer("ai2-scholarqa-eval") / "meta_evaluation" / "agreement_calculation"


@pytest.fixture(scope="module")
def theirs(folder: Path) -> dict[str, Any]:
    """Their functions."""
    pytest.importorskip("pandas")
    return runpy.run_path(str(folder / "calculate_agreement.py"))


def _rows(
    folder: Path, names: Sequence[str], measure: str = "model_overall", people: str = PEOPLE
) -> list[PreferencePair]:
    files = [folder / "annotation" / f"pairwise_{name}.json" for name in names]
    return [one for file in files for one in read_preferences(file, people, measure)[0]]


def _their_rows(
    theirs: dict[str, Any], names: Sequence[str], only_agreed: bool
) -> list[dict[str, Any]]:
    data, _ = theirs["load_and_concatenate_jsons"](only_agreed)
    rows: list[dict[str, Any]] = theirs["filter_by_source"](data, names)
    return rows


SETS = {
    "first": (["dev_assigned_ann1", "test_assigned_ann1"], ["dev_assigned_1", "test_assigned_1"]),
    "second": (["dev_assigned_ann2", "test_assigned_ann2"], ["dev_assigned_2", "test_assigned_2"]),
    "near": (["chosen"], ["near_expert"]),
    "deep": (["authored"], ["deep_expert"]),
    "agreed": (["dev_assigned_agreement_only", "test_assigned_agreement_only"],
               ["dev_assigned", "test_assigned"]),
}  # fmt: skip


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", SETS)
def test_every_figure(folder: Path, theirs: dict[str, Any], name: str, measure: str) -> None:
    ours, sources = SETS[name]
    rows = _rows(folder, ours, f"model_{measure}")
    data = _their_rows(theirs, sources, name == "agreed")
    for threshold in (0.0, 0.01, 0.13):
        result = pairwise_agreement(rows, threshold)
        rate, equal, tau, total = theirs["calculate_agreement"](
            data, PEOPLE, f"model_{measure}", threshold
        )
        assert (result.n, round(result.n * result.agreement)) == (total, equal)
        assert result.agreement == pytest.approx(rate, abs=1e-12)
        # Where one side ties everything there is no correlation; theirs is 0.
        assert (0.0 if math.isnan(result.tau) else result.tau) == pytest.approx(tau, abs=1e-12)
    if measure == "overall":
        _, correlation = theirs["system_rankings"](data)
        assert pairwise_agreement(rows, 0).system_tau == pytest.approx(correlation, abs=1e-12)
        tally, _ = theirs["system_rankings"](data)
        by_people, by_measure = win_rates(rows)
        for system, people, model in tally.itertuples(index=False):
            assert (by_people[system], by_measure[system]) == pytest.approx((people, model))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ["near", "deep"])
def test_thresholds(folder: Path, theirs: dict[str, Any], name: str, measure: str) -> None:
    """Of the sets in which people rated every metric."""
    ours, sources = SETS[name]
    rows = _rows(folder, ours, f"model_{measure}", f"human_{measure}")
    data = _their_rows(theirs, sources, only_agreed=False)
    best = theirs["find_optimal_threshold"](data, f"human_{measure}", f"model_{measure}", GRID)
    assert tie_threshold(rows, list(GRID)) == best["optimal_threshold"]


def test_the_published_figures(folder: Path, theirs: dict[str, Any]) -> None:
    """Tables 2 and 3: two annotators' means, and what both agree on."""
    annotators = [_rows(folder, SETS[name][0]) for name in ("first", "second")]
    both = [pairwise_agreement(rows, 0.01) for rows in annotators]
    mean = [sum(getattr(one, f) for one in both) / 2 for f in ("agreement", "tau", "system_tau")]
    assert [round(mean[0], 3), round(mean[1], 2), round(mean[2], 2)] == [0.516, 0.25, 0.40]
    one = pairwise_agreement(agreed(annotators), 0.01)
    assert one.n == 335
    assert [round(one.agreement, 3), round(one.tau, 2), round(one.system_tau, 2)] == [
        0.624,
        0.36,
        0.60,
    ]
    assert one == pairwise_agreement(_rows(folder, SETS["agreed"][0]), 0.01)


def test_annotators_among_themselves(folder: Path, theirs: dict[str, Any]) -> None:
    """Their code keeps one comparison a question, and drops opposites from the second figure."""
    annotators = [_rows(folder, SETS[name][0]) for name in ("first", "second")]
    data = [_their_rows(theirs, SETS[n][1], only_agreed=False) for n in ("first", "second")]
    strict, half = theirs["calculate_iaa"](data)
    last = [list({c.question: c for c in rows}.values()) for rows in annotators]
    result = annotator_agreement(last)
    assert result.n == len(strict)
    assert result.strict == pytest.approx(sum(strict) / len(strict))
    assert result.half_credit == pytest.approx(sum(half) / len(strict))
    every = annotator_agreement(annotators)
    assert (every.n, round(every.strict * 600), round(every.half_credit * 600)) == (600, 335, 413)
    assert not math.isnan(every.half_credit)
