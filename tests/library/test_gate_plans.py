"""How many queries a gate needs, from nothing, from one score file, and from two."""

import pytest

import citeforge as cf
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
    assert (seen.changed, seen.n, seen.measure) == ("as here: 2 of 40", 40, "CiteP")
    assert seen.power_now is not None and seen.power_now < 0.8
    # A changed answer is another query's: half of them keep the value, and 10 % are 5 % that move.
    assert seen.needed is not None and seen.needed == pytest.approx(assumed[1].needed, rel=0.05)
    with refused("not-computed", cf.InputError):
        cf.gate_plan(cf.Scores(scored("x", {"Length": [1.0] * 40})))


def test_the_command(inline: Inline) -> None:
    ran = inline.ok("gate", "--plan", "--changed", "10%")
    assert "945" in ran.stdout and "right or wrong" in ran.stdout
    for words in (
        ("--plan", "--out", "g.xml"), ("--plan", "--by", "type"), ("x.json", "--power", "80%"), (),
    ):  # fmt: skip
        assert inline("gate", *words).returncode == 2
