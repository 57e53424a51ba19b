"""What narrows an interval most for its cost."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.plugins.labels.effort import effort_plan, render_effort
from citeforge.plugins.labels.options import EffortOptions
from citeforge.schemas.scores import MeasureScore, ScoreFile, Variance
from conftest import Inline, refused
from conftest_plots import scored

COSTS = EffortOptions(query_cost=7, answer_cost=2, judging_cost=1, label_cost=20)


def by_judge(name: str, values: list[float], **more: Any) -> ScoreFile:
    """Scores of one submission by a judge."""
    file = scored("mine", {"CitRec": values})
    recipe = f"CitRec|p:strict|judge:{name}|v:1"
    entry = file.measures[0].model_copy(update={"signature": recipe, "scale": 100, **more})
    return file.model_copy(update={"measures": [entry], "submission_sha256": "0" * 64})


def test_one_judge_tells_of_queries_alone() -> None:
    plan = effort_plan([by_judge("a", [1.0, 0.0] * 20)], COSTS)
    assert plan.levels == {"judges": 1, "runs": 1, "repeats": 1, "queries": 40}
    (step,) = plan.steps
    # A tenth more of 40 queries, each asked and judged once.
    assert (step.source, step.now, step.then, step.cost) == ("queries", 40, 44, 4 * (7 + 2 + 1))
    spread = 100 * np.std([1, 0] * 20, ddof=1)
    assert plan.half == pytest.approx(2.0227 * spread / math.sqrt(40), rel=1e-4)  # t(39)
    assert step.half == pytest.approx(2.0167 * spread / math.sqrt(44), rel=1e-4)  # t(43)
    assert step.per_cost == pytest.approx((plan.half - step.half) / 40)
    assert list(plan.unknown) == ["runs", "judges", "repeats", "labels"]
    assert "not known: more judges (one judge: give score files" in render_effort(plan)


def test_judges_that_differ_are_wanted_more_of() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.7, 50)
    files = [by_judge(n, (base + d).tolist()) for n, d in (("a", -0.1), ("b", 0.0), ("c", 0.1))]
    plan = effort_plan(files, COSTS)
    assert plan.value == pytest.approx(100 * base.mean())
    assert plan.levels["judges"] == 3
    # Judges have the variance 10² and no interaction; queries theirs: over 3 and 50.
    of_judges, of_queries = 100 / 3, np.var(100 * base, ddof=1) / 50
    assert plan.shares["judges"] == pytest.approx(of_judges / (of_judges + of_queries))
    assert plan.shares["queries"] == pytest.approx(of_queries / (of_judges + of_queries))
    judges, queries = plan.steps
    assert (judges.source, judges.then, judges.cost) == ("judges", 4, 50 * 1)
    assert (queries.source, queries.cost) == ("queries", 5 * (7 + 2 + 3))
    # Nearly all is of judges: Student's t with 3 degrees of freedom in place of 2.
    assert plan.half == pytest.approx(4.303 * 10 / math.sqrt(3), rel=0.02)
    assert judges.half == pytest.approx(3.182 * 10 / math.sqrt(4), rel=0.03)
    assert plan.high - plan.low > 40  # where the one judge's interval is some 7 wide
    dear = COSTS.model_copy(update={"judging_cost": 1e6, "query_cost": 0, "answer_cost": 0})
    assert effort_plan(files, dear).steps[0].source == "judges"


def test_judges_with_unequal_repeats_enter_by_their_means() -> None:
    """Runs are kept: all judges saw the same."""
    twice = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.0, 0.0, 0.5], [1.0, 0.0, 0.5]]
    once = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]

    def variance(rows: list[list[float]], repeats: int) -> Variance:
        levels = {"judges": 1, "runs": 2, "repeats": repeats, "queries": 3}
        return Variance.model_validate(
            {"levels": levels, "components": {}, "shares": {}, "values": rows}
        )

    files = [
        by_judge("a", [0.5] * 3, variance=variance(twice, 2)),
        by_judge("b", [0.5] * 3, variance=variance(once, 1)),
    ]
    plan = effort_plan(files, COSTS)
    assert plan.levels == {"judges": 2, "runs": 2, "repeats": 1, "queries": 3}
    assert plan.value == pytest.approx(100 * (6 / 12 + 4 / 6) / 2)
    assert {s.source for s in plan.steps} == {"judges", "runs", "queries"}
    with pytest.raises(ValueError, match="there is not one a query, run and verdict"):
        variance(once, 2)


def test_labels_narrow_the_corrected_interval() -> None:
    values = [1.0, 0.0] * 20
    recipe = "CitRec|p:strict|corr:ppi++,n=10|judge:a|v:1"
    corrected = {
        "value": 55.0, "low": 30.0, "high": 80.0, "stderr": 12.0, "method": "ppi++",
        "n_labels": 10, "signature": recipe, "tuning": 0.5, "human": [1.0] * 40,
        "labelled": list(range(10)),
    }  # fmt: skip
    entry = MeasureScore.model_validate(
        {**by_judge("a", values).measures[0].model_dump(), "corrected": corrected}
    )
    file = by_judge("a", values, corrected=entry.corrected)
    plan = effort_plan([file], COSTS)
    judged = 0.5 * 100 * np.std(values, ddof=1) / math.sqrt(40)
    rest = math.sqrt(12**2 - judged**2)
    assert plan.half == pytest.approx(math.hypot(2.0227 * judged, 2.2622 * rest), rel=1e-4)
    labels = next(s for s in plan.steps if s.source == "labels")
    assert (labels.now, labels.then, labels.cost) == (10, 11, 20)
    after = math.hypot(2.0227 * judged, 2.2281 * rest * math.sqrt(10 / 11))
    assert labels.half == pytest.approx(after, rel=1e-4)
    assert "labels" not in plan.unknown
    assert "± " in render_effort(plan) and "of the corrected value" in render_effort(plan)


def test_what_cannot_be_planned() -> None:
    one = by_judge("a", [1.0, 0.0, 1.0])
    with refused("duplicate-id"):
        effort_plan([one, one], COSTS)
    other = by_judge("b", [1.0, 0.0, 1.0]).model_copy(update={"submission_sha256": "1" * 64})
    with refused("not-comparable"):
        effort_plan([one, other], COSTS)
    with refused("unknown-name", value="CiteX"):
        effort_plan([one], EffortOptions(measure="CiteX"))
    with refused("too-few"):
        effort_plan([by_judge("a", [1.0, 0.0], per_query=[1.0, None])], COSTS)


def test_the_command(package: Path, tmp_path: Path, inline: Inline) -> None:
    ids = cf.load(package).query_ids
    rows = [
        {"query_id": q, "output": f"Two words [{1 + (i + run) % 3}].", "run": run}
        for i, q in enumerate(ids)
        for run in range(3)
    ]
    cf.score(rows, package, ["CiteP"]).save(tmp_path / "s.json")
    done = inline("labels", "plan-effort", str(tmp_path / "s.json"), "--query-cost", "10")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "made of: judges 1, runs 3, repeats 1, queries 30" in lines[1]
    more = {line.split()[0]: line.split() for line in lines if line.split()[1:2] in (["30"], ["3"])}
    # Three queries cost 10, three answers and three verdicts each; a run 30 answers and verdicts.
    assert more["queries"][1:3] == ["30", "33"] and more["queries"][-2] == str(3 * (10 + 3 + 3))
    assert more["runs"][1:3] == ["3", "4"] and more["runs"][-2] == "60"
    broken = json.loads((tmp_path / "s.json").read_text())
    broken["measures"][0]["variance"]["levels"] = {"runs": 3}
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    done = inline("labels", "plan-effort", str(tmp_path / "broken.json"))
    assert done.returncode == 1 and "lists other sources than judges" in done.stderr
