"""A judge that is biased on purpose is found out, by its own bias and by no other."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from scipy.stats import t

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.plugins.labels.bias import CHANGES, LEAST_PAIRS, TRUSTED, Effect, try_biases
from citeforge.plugins.labels.calibration import calibrate, render_certificate
from citeforge.plugins.labels.meta_eval import LabelledPair, judge_quality
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


def test_intervals_of_equal_differences_are_those_of_clopper_and_pearson() -> None:
    """0 of 40 pairs moved: up to 1 − .025^(1/40) = 8.8 % may, either way, also in the excess.

    If all of 40 moved by 1, the share p of (1 + difference) / 2 is at least .025^(1/40): the lower
    end is 2 × .912 − 1 = 82.4 %.
    """
    steady = try_biases(ROWS, JudgeSession(RuleJudge(knows)), "llama")
    most = 1 - 0.025 ** (1 / 40)
    assert most == pytest.approx(0.088, abs=0.0005)
    for effect in steady.effects:
        assert effect.interval == pytest.approx((-most, most), rel=1e-9)
        assert effect.excess_interval == pytest.approx((-most, most), rel=1e-9)
    (low, high) = _length_effect(lambda p, s: p.count("of number") > 1, 40).interval
    assert (low, high) == pytest.approx((2 * 0.025 ** (1 / 40) - 1, 1), rel=1e-9)


def test_two_answers_that_move_alike_are_no_evidence() -> None:
    """Two answers of six pairs each, all moved by 1: their mean may be 0 with p = (1 / 2)².

    Of both sides that is 1/2, which no adjustment makes smaller; the interval has 0 inside.
    """
    effect = _length_effect(lambda p, s: p.count("of number") > 1, 12, n_answers=2)
    assert (effect.shift, effect.p_shift, effect.is_bias) == (1, 1, False)
    assert effect.interval[0] < 0 < effect.interval[1]


def _length_effect(rule: Rule, n: int, n_answers: int | None = None) -> Effect:
    """Effect of `length` on the first n pairs, spread over the answers."""
    rows = [replace(row, answer=f"a{i % (n_answers or n)}") for i, row in enumerate(ROWS[:n])]
    battery = try_biases(rows, JudgeSession(RuleJudge(rule)), "llama")
    return next(effect for effect in battery.effects if effect.change.name == "length")


def test_an_unsteady_judge_is_not_called_biased() -> None:
    """Every third text is judged the other way, whatever was changed."""

    def unsteady(premise: str, statement: str) -> bool:
        turned = sum(map(ord, premise + statement)) % 3 == 0
        return knows(premise, statement) != turned

    battery = try_biases(ROWS, JudgeSession(RuleJudge(unsteady)), "llama")
    (placebo, *others) = battery.effects
    assert placebo.to_supported + placebo.to_not_supported > 5
    assert sum(effect.is_bias for effect in others) <= 1


def test_p_values_by_hand() -> None:
    """`length` moves 20 of 40 pairs by 1, each of an answer of its own: mean .5, deviations .5.

    Its standard error is √(40/39 × 40 × .25) / 40 = .0801, t = .5 / .0801 = 6.245 with 39 degrees
    of freedom: p = 2.36e-07 on both sides, 1.18e-07 above. Of ten tests the smallest p counts
    tenfold, the next ninefold, and never less than the one before it.
    """
    battery = try_biases(ROWS, JudgeSession(RuleJudge(BIASED["length"])), "llama")
    effects = {effect.change.name: effect for effect in battery.effects}
    above = t.sf(0.5 / ((40 / 39 * 40 * 0.25) ** 0.5 / 40), 39)
    assert above == pytest.approx(1.18e-07, rel=0.01)
    assert effects["length"].p_excess == pytest.approx(10 * above)
    assert effects["length"].p_shift == pytest.approx(9 * 2 * above)
    assert effects["order"].p_shift == effects["order"].p_excess == 1


def test_one_judge_in_twenty_at_most_is_called_biased_by_chance() -> None:
    """Of 100 judges that turn every fifth verdict, whatever was changed, 5 are the most expected.

    With 5 % each, more than 12 would be found in 1 of 900 such tests; seeds are fixed.
    """

    def turns(seed: int) -> Rule:
        return lambda p, s: knows(p, s) != (Random(f"{seed}|{p}|{s}").random() < 0.2)

    batteries = [try_biases(ROWS, JudgeSession(RuleJudge(turns(i))), "llama") for i in range(100)]
    assert sum(any(e.is_bias for e in battery.effects) for battery in batteries) <= 12


def test_a_failed_pair_counts_once() -> None:
    """The judge fails on pair 7 as it is, and on pair 8 with a trusted source: one of each."""

    def fails(premise: str, statement: str) -> bool | Decision:
        if statement == "Number 7 is odd." and premise == "Yes, of number 7.":
            return JudgeFailure("no reply")
        if statement == "Number 8 is odd." and TRUSTED in premise:
            return JudgeFailure("no reply")
        return knows(premise, statement)

    session = JudgeSession(RuleJudge(fails))
    battery = try_biases(ROWS, session, "llama")
    assert battery.n_failed == 1
    assert judge_quality(ROWS, session).n_failed == 1


def test_what_cannot_be_computed_is_refused_before_the_judge_is_asked() -> None:
    judge = RuleJudge(knows)
    with refused("too-few"):
        try_biases(ROWS[: LEAST_PAIRS - 1], JudgeSession(judge))
    with refused("too-few"):
        calibrate([row for row in ROWS if row.supported], JudgeSession(judge))
    assert judge.asked == []


@pytest.mark.parametrize("option", [["--bias"], ["--certify-from", "0.5"]])
def test_the_command_refuses_too_few_labels_before_it_prints(
    inline: Inline, tmp_path: Path, option: list[str]
) -> None:
    claims = [
        {"claim": f"Town {i} has a tower.", "references": [f"Town {i} has a tower."],
         "attribution_label": "attributable" if i else "not attributable"} for i in range(2)
    ]  # fmt: skip
    labels = write_jsonl(tmp_path / "claims.jsonl", claims)
    made = inline.fails(
        *(1, "too-few", "labels", "meta-eval", "--labels", labels, "--format", "claims"),
        *("--judge", "lexical", *option),
    )
    assert made.stdout == ""


def test_a_judge_that_is_not_certified_ends_the_command_with_4(
    inline: Inline, tmp_path: Path
) -> None:
    """Wilson's lower end of 15 of 15 is 15 / (15 + 1.96²) = 79.6 %."""
    claims = [
        {"claim": f"The tower of town {i} is {i} metres high.", "references":
         [f"The tower of town {i} is {i} metres high." if i % 2 else f"Ponds of {i}."],
         "attribution_label": "attributable" if i % 2 else "not attributable"}
        for i in range(30)
    ]  # fmt: skip
    labels = write_jsonl(tmp_path / "claims.jsonl", claims)
    command = (
        "labels",
        "meta-eval",
        "--labels",
        labels,
        "--format",
        "claims",
        "--judge",
        "lexical",
    )
    assert inline.ok(*command, "--certify-from", "0.79")
    made = inline.fails(4, "not-certified", *command, "--certify-from", "0.99")
    assert "  not certified: of supported at least" in made.stdout


def test_what_is_not_known_is_not_tried() -> None:
    battery = try_biases(ROWS, JudgeSession(RuleJudge(knows)))
    assert list(battery.not_tried) == ["own family"]
    same = [LabelledPair("s", "a", row.pair, row.supported) for row in ROWS]
    with refused("too-few"):
        try_biases(same, JudgeSession(RuleJudge(knows)))


def test_a_certificate_by_hand() -> None:
    """20 of 20 found on both sides. Wilson's lower end of 20/20 is 20 / (20 + z²)."""
    result = calibrate(ROWS, JudgeSession(RuleJudge(knows)), certify_from=0.8)
    low, other_low = result.lower_bounds
    assert low == other_low and result.is_certified
    assert low == pytest.approx(20 / (20 + 1.959963984540054**2), abs=1e-9)
    strict = calibrate(ROWS, JudgeSession(RuleJudge(knows)), certify_from=0.95)
    assert not strict.is_certified
    assert strict.figures()["certified_from"] == 0.95
    assert not calibrate(ROWS, JudgeSession(RuleJudge(knows))).is_certified


def test_each_bound_of_a_certificate_is_of_its_own_side() -> None:
    """Of 40 answers 3 are supported, and all decided rightly: n / (n + z²) with n of 3 and of 37.

    A judge that misses one of 37 has a lower bound by Wilson's formula, too.
    """
    z2 = 1.959963984540054**2
    few = [row for row in ROWS if row.supported][:3]
    many = [row for row in ROWS if not row.supported]
    many += [replace(row, answer=f"{row.answer}b") for row in many[:17]]
    result = calibrate([*few, *many], JudgeSession(RuleJudge(knows)), certify_from=0.5)
    assert result.lower_bounds == pytest.approx((3 / (3 + z2), 37 / (37 + z2)))  # 43.9 %, 90.6 %
    assert not result.is_certified
    assert result.certify_from is not None
    assert "of supported at least 43.9 %, of others at least 90.6 %" in render_certificate(
        result, result.certify_from
    )
    wrong = RuleJudge(lambda p, s: knows(p, s) or p == many[19].pair.premise)
    share, n = 36 / 37, 37
    root = (share * (1 - share) / n + z2 / (4 * n * n)) ** 0.5
    low = (share + z2 / (2 * n) - z2**0.5 * root) / (1 + z2 / n)
    assert calibrate([*few, *many], JudgeSession(wrong)).lower_bounds[1] == pytest.approx(low)


def test_a_single_answer_of_a_side_certifies_nothing() -> None:
    rows = [ROWS[1], *(row for row in ROWS if not row.supported)]
    assert [row.supported for row in rows].count(True) == 1
    result = calibrate(rows, JudgeSession(RuleJudge(knows)), certify_from=0.0)
    assert math.isnan(result.lower_bounds[0]) and not result.is_certified
    assert result.figures()["sensitivity_low"] is None
    assert "of supported at least –, of others" in render_certificate(result, 0.0)


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
        *("--judge", "lexical", "--bias", "--certify-from", "0.79"),
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
