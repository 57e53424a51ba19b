"""Plans of labels against what corrected intervals turn out to be."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from citeforge.evaluator.statistics.ppi import Units, estimate_ppi
from citeforge.plugins.labels.options import LabelPlanOptions
from citeforge.plugins.labels.planning import (
    half_width,
    labels_needed,
    plan_labels,
    render_label_plan,
)
from citeforge.schemas.scores import Corrected, ScoreFile
from conftest import Inline, refused
from conftest_plots import scored

SIGNATURE = "ALCE.CitRec|p:strict|judge:lexical@2|v:1"


def file(values: list[float | None], system: str = "a", **corrected: object) -> ScoreFile:
    """A score file of one judged measure."""
    file = scored(system, {"ALCE.CitRec": values})
    (entry,) = file.measures
    entry.signature, entry.scale = SIGNATURE, 100
    if corrected:
        entry.corrected = Corrected(
            value=1, low=1, high=1, stderr=1, method="ppi++", n_labels=1, signature=SIGNATURE,
            **corrected,  # type: ignore[arg-type]
        )  # fmt: skip
    return file


def test_half_widths_are_those_of_corrected_values() -> None:
    """A judge with correlation r: the mean width of 60 draws is the planned one."""
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(60):
        human = rng.normal(0, 1, 400)
        judged = 0.7 * human + math.sqrt(1 - 0.7**2) * rng.normal(0, 1, 400)
        labelled = np.arange(400) < 60
        units = Units(judged[:, None], human[:, None], labelled, np.zeros(400, bool))
        result = estimate_ppi(units, lambda s: s[..., 0])
        widths.append((result.high - result.low) / 2)
    assert np.mean(widths) == pytest.approx(half_width(1, 60, 400, 0.7), rel=0.05)
    # Labels alone: t · sd / √n.
    assert half_width(2, 16, 100, 0) == pytest.approx(2.131449545559323 * 2 / 4)
    n = labels_needed(0.25, 1, 400, 0.7)
    assert n is not None
    assert half_width(1, n, 400, 0.7) <= 0.25 < half_width(1, n - 1, 400, 0.7)


def test_a_pilot_tells_what_the_judge_saves() -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(0, 5, 200) / 4
    judged = np.clip(people + rng.normal(0, 0.1, 200), 0, 1)
    human = [float(v) if i < 30 else None for i, v in enumerate(people)]
    pilot = file(judged.tolist(), human=human, labelled=list(range(30)))
    plan = plan_labels(pilot, LabelPlanOptions(half_width=6))
    assert (plan.pilot, plan.n_answers) == (30, 200)
    assert plan.sd == pytest.approx(100 * np.std(people[:30], ddof=1))
    assert plan.alone is not None
    assert plan.with_judge is not None
    assert plan.with_judge < plan.alone
    assert len(plan.queries) == plan.with_judge
    assert "needs" in render_label_plan(plan, 6)
    noise = file(rng.random(200).round(3).tolist(), human=human, labelled=list(range(30)))
    noise.measures[0].per_query[:30] = [0.5] * 30
    useless = plan_labels(noise, LabelPlanOptions(half_width=6))
    assert "saves nothing" in render_label_plan(useless, 6)
    unknown = plan_labels(file(judged.tolist()), LabelPlanOptions(half_width=6))
    assert unknown.with_judge is None
    assert "not known" in render_label_plan(unknown, 6)
    short = plan_labels(file([0.0, 1.0, 0.0, 1.0]), LabelPlanOptions(half_width=1))
    assert "cannot be reached" in render_label_plan(short, 1)


def test_every_answer_is_as_likely() -> None:
    values = file([i / 40 for i in range(40)])
    counts = dict.fromkeys(values.query_ids, 0)
    for seed in range(300):
        options = LabelPlanOptions(half_width=18, seed=seed)
        plan = plan_labels(values, options)
        assert plan.alone is not None
        assert len(plan.queries) == plan.alone
        for query in plan.queries:
            counts[query] += 1
    share = plan.alone / 40
    # 300 draws: six standard errors.
    error = math.sqrt(share * (1 - share) / 300)
    assert all(abs(n / 300 - share) < 6 * error for n in counts.values())
    assert plan_labels(values, options).queries == plan.queries


def test_what_is_no_judged_measure() -> None:
    plain = file([0.0, 1.0])
    with refused("unknown-name", value="CiteP"):
        plan_labels(plain, LabelPlanOptions(half_width=5, measure="CiteP"))
    plain.measures[0].signature = "ALCE.CitRec|p:strict"
    with refused("not-computed"):
        plan_labels(plain, LabelPlanOptions(half_width=5))


def test_commands(inline: Inline, tmp_path: Path) -> None:
    values = [i % 5 / 4 for i in range(50)]
    (tmp_path / "a.json").write_text(file(list(values)).model_dump_json())
    shown = inline.ok("labels", "plan", "a.json", "--half-width", "12", "--out", "plan.json")
    drawn = json.loads((tmp_path / "plan.json").read_text())
    assert f"plan.json: {len(drawn['queries'])} queries" in shown.stdout
    (tmp_path / "plan.json").write_text('{"queries": 3}')
    asked = ("labels", "export", "a.json", "--task", "utility", "--queries", "plan.json")
    inline.fails(1, "schema-mismatch", *asked, "--out", "x.csv")
    assert inline(*asked, "--sample", "3", "--out", "x.csv").code == "conflicting-options"
