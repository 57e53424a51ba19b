"""How many queries a gate needs, from nothing, from one score file, and from two."""

from pathlib import Path

import pytest

import citeforge as cf
from citeforge.schemas.scores import Variance
from conftest import Inline, refused
from conftest_plots import scored


def test_before_any_score() -> None:
    plan = cf.gate_plan(changed=[0, 0.1, 0.5])
    none, few, many = (row.needed for row in plan.rows)
    assert none == 122  # 1 − .025^(1/n) ≤ .03
    assert few is not None and many is not None and none < few < many
    wide = cf.gate_plan(margin=5, power="90%", changed="10%").rows[0]
    assert wide.needed is not None and wide.needed < few and wide.power_now is None
    for options in ({"power": "100%"}, {"changed": ""}, {"changed": "half"}, {"margin": -1.0}):
        with refused("bad-option", cf.UsageError):
            cf.gate_plan(**options)  # type: ignore[arg-type]


def test_from_score_files(inline: Inline) -> None:
    old = scored("old", {"CiteP": [1.0, 0.0] * 20})
    new = scored("new", {"CiteP": [0.0, 1.0] + [1.0, 0.0] * 19})
    plan = cf.gate_plan(cf.Scores(new), cf.Scores(old), margin=10)
    *assumed, seen = plan.rows
    assert (seen.share, seen.n_changed, seen.n, seen.measure) == (None, 2, 40, "CiteP")
    assert seen.power_now is not None and seen.power_now < 0.8
    assert "as here: 2 of 40" in plan.text()
    # A changed answer is another query's: half of them keep the value, and 10 % are 5 % that move.
    assert seen.needed is not None and seen.needed == pytest.approx(assumed[1].needed, rel=0.05)
    with refused("not-computed", cf.InputError):
        cf.gate_plan(cf.Scores(scored("x", {"Length": [1.0] * 40})))


def test_failures_of_the_judge_and_runs_are_named() -> None:
    old = scored("old", {"CiteP": [1.0, 0.0] * 20})
    new = scored("new", {"CiteP": [0.0, 1.0] + [1.0, 0.0] * 19})
    before = cf.gate_plan(cf.Scores(new), cf.Scores(old), margin=10)
    assert before.rows[-1].needed is not None
    new.counts.n_judge_failed = 7
    new.measures[0].lower_bound, new.measures[0].upper_bound = 50.0, 60.0
    plan = cf.gate_plan(cf.Scores(new), cf.Scores(old), margin=10)
    assert plan.rows[-1].needed is None  # the failures alone are 60 − 50 = 10
    assert plan.rows[:-1] == before.rows[:-1]
    assert any("new: the judge failed on 7 pairs, and no number" in note for note in plan.notes)
    old.measures[0].variance = Variance.model_validate({
        "levels": {"judges": 1, "runs": 3, "repeats": 1, "queries": 40},
        "components": {"runs": 120.0, "queries": 9.0, "runs:queries": 0.0}, "shares": {},
    })  # fmt: skip
    new.measures[0].upper_bound = 50.0
    plan = cf.gate_plan(cf.Scores(new), cf.Scores(old), margin=10)
    assert plan.rows[-1].needed is None  # 4.303 √(120 / 3) = 27 by runs alone
    assert any("old: runs and verdicts that differ" in note for note in plan.notes)


@pytest.mark.parametrize(("words", "code"), [
    (("gone.json",), "missing-file"),
    (("--baseline", "gone.json"), "missing-file"),
    (("--policy", "gone.yaml"), "missing-file"),
    (("--policy", "typo.yaml"), "unknown-field"),
    (("cut.json",), "bad-json"),
    (("length.json",), "not-computed"),
    (("--power", "100%"), "bad-option"),
])  # fmt: skip
def test_a_plan_that_could_not_run_ends_with_5(
    inline: Inline, tmp_path: Path, words: tuple[str, ...], code: str
) -> None:
    (tmp_path / "typo.yaml").write_text("critical: [CiteP]\nmargn: 3\n")
    (tmp_path / "cut.json").write_text('{"system": ')
    (tmp_path / "length.json").write_text(scored("x", {"Length": [1.0] * 40}).model_dump_json())
    inline.fails(5, code, "gate", "--plan", *words)


def test_the_command(inline: Inline) -> None:
    ran = inline.ok("gate", "--plan", "--changed", "10%")
    assert "945" in ran.stdout and "right or wrong" in ran.stdout
    for words in (
        ("--plan", "--out", "g.xml"), ("--plan", "--by", "type"), ("x.json", "--power", "80%"), (),
    ):  # fmt: skip
        assert inline("gate", *words).returncode == 2
