"""A judge that is biased on purpose is found out, by its own bias and by no other."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.plugins.labels.bias import CHANGES, LEAST_PAIRS, try_biases
from citeforge.plugins.labels.calibration import calibrate
from citeforge.plugins.labels.meta_eval import LabelledPair
from conftest import Inline, refused, write_jsonl
from stand_ins import RuleJudge

Rule = Callable[[str, str], bool]

ROWS = sorted(
    LabelledPair(
        "s",
        f"a{i}",
        Pair(f"{'Yes' if i % 2 else 'No'}, of number {i}.", f"Number {i} is odd."),
        i % 2 == 1,
    )
    for i in range(40)
)


def knows(premise: str, statement: str) -> bool:
    """Right on every pair, whatever else stands beside it."""
    number = statement.split()[-3]
    return f"Yes, of number {number}." in premise


BIASED: dict[str, Rule] = {
    # Each calls all supported where its bias is spoken to.
    "length": lambda p, s: knows(p, s) or p.count("of number") > 1,
    "order": lambda p, s: knows(p, s) or f"{s.split()[-3]}." not in p.partition("\n\n")[0].split(),
    "verbosity": lambda p, s: knows(p, s) or s.startswith("It is worth noting"),
    "authority": lambda p, s: knows(p, s) or "Encyclopaedia" in p,
    "own family": lambda p, s: knows(p, s) or "a text by llama" in p,
}  # fmt: skip


def biases_of(rule: Rule, family: str = "llama") -> dict[str, float]:
    battery = try_biases(ROWS, JudgeSession(RuleJudge(rule)), family)
    return {e.change.name: e.shift for e in battery.effects if e.is_bias}


def test_a_judge_without_bias_has_none() -> None:
    battery = try_biases(ROWS, JudgeSession(RuleJudge(knows)), "llama")
    assert [e.change.name for e in battery.effects] == ["placebo", *(c.name for c in CHANGES)]
    assert all(e.n == 40 and e.shift == 0 and not e.is_bias for e in battery.effects)
    assert (battery.n_failed, battery.not_tried) == (0, {})


@pytest.mark.parametrize("name", BIASED)
def test_each_bias_is_found(name: str) -> None:
    """All 20 pairs that people call unsupported become supported: 20/40, of 20 the same."""
    assert biases_of(BIASED[name]) == {name: 0.5}


def test_an_unsteady_judge_is_not_called_biased() -> None:
    """Every third text is judged the other way, whatever was changed."""

    def unsteady(premise: str, statement: str) -> bool:
        turned = sum(map(ord, premise + statement)) % 3 == 0
        return knows(premise, statement) != turned

    battery = try_biases(ROWS, JudgeSession(RuleJudge(unsteady)), "llama")
    (placebo, *others) = battery.effects
    assert placebo.to_supported + placebo.to_not_supported > 5
    assert sum(effect.is_bias for effect in others) <= 1


def test_what_is_not_known_is_not_tried() -> None:
    battery = try_biases(ROWS, JudgeSession(RuleJudge(knows)))
    assert list(battery.not_tried) == ["own family"]
    with refused("too-few"):
        try_biases(ROWS[: LEAST_PAIRS - 1], JudgeSession(RuleJudge(knows)))
    same = [LabelledPair("s", "a", row.pair, row.supported) for row in ROWS]
    with refused("too-few"):
        try_biases(same, JudgeSession(RuleJudge(knows)))


def test_a_certificate_by_hand() -> None:
    """20 of 20 found on both sides. Wilson's lower end of 20/20 is 20 / (20 + z²)."""
    result = calibrate(ROWS, JudgeSession(RuleJudge(knows)), certify_from=0.8)
    low, other_low = result.lower_bounds
    assert low == other_low and result.is_certified
    assert low == pytest.approx(40 / (40 + 1.959963984540054**2), abs=1e-9)
    strict = calibrate(ROWS, JudgeSession(RuleJudge(knows)), certify_from=0.95)
    assert not strict.is_certified
    assert strict.figures()["certified_from"] == 0.95
    assert not calibrate(ROWS, JudgeSession(RuleJudge(knows))).is_certified


def test_on_the_command_line(inline: Inline, tmp_path: Path) -> None:
    """``lexical`` counts common words: what stands before a statement lowers its share."""
    claims = [
        {"claim": f"The tower of town {i} is {i} metres high.", "references":
         [f"The tower of town {i} is {i} metres high." if i % 2 else f"Ponds of {i}."],
         "attribution_label": "attributable" if i % 2 else "not attributable"}
        for i in range(30)
    ]  # fmt: skip
    labels = write_jsonl(tmp_path / "claims.jsonl", claims)
    made = inline.ok(
        *("labels", "meta-eval", "--labels", labels, "--format", "claims"),
        *("--judge", "lexical", "--bias", "--certify-from", "0.8"),
    )
    assert "changes that must not change a verdict" in made.stdout
    assert "own family: not tried: the judge's family is not known" in made.stdout
    assert "  certified: of supported at least" in made.stdout


def test_scores_by_an_uncertified_judge_say_so(inline: Inline, tmp_path: Path) -> None:
    inline.ok("build", "demo", "--out", tmp_path / "demo")
    folder = tmp_path / "demo" / "facts"
    claims = [
        {"claim": f"Town {i} has a tower.", "references": [f"Town {i} has a tower."],
         "attribution_label": "attributable" if i % 2 else "not attributable"}
        for i in range(30)
    ]  # fmt: skip
    labels = write_jsonl(tmp_path / "claims.jsonl", claims)
    calibrate_it = ("labels", "calibrate", folder, "--labels", labels, "--format", "claims")
    made = inline.ok(*calibrate_it, "--judge", "lexical", "--certify-from", "0.8")
    assert "not certified: of supported at least" in made.stdout
    scored = inline.ok(
        *("score", tmp_path / "demo" / "top-1.jsonl", "--benchmark", folder, "--judge", "lexical"),
        *("--measures", "ALCE.CitRec", "--out", tmp_path / "s.json"),
    )
    assert "is not certified for this benchmark" in scored.stderr
    warnings = json.loads((tmp_path / "s.json").read_text())["warnings"]
    assert any("is not certified for this benchmark" in text for text in warnings)
