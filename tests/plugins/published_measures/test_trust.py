"""Trust-Score by hand: a judge of letters, and passages that have "one", "two" and "three"."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from citeforge.engines.judge.records import JudgeFailure
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.package.items import Gold, Passage
from citeforge.plugins.published_measures.trust import is_near_refusal
from conftest_evaluator import Facts, gold
from peers.hard_answers import make_inputs, totals

NAMES = ["Trust.Score", "Trust.Refusals", "Trust.Correct", "Trust.Citations"]
SHOWN = tuple(Passage(f"p{i}", "", text) for i, text in enumerate(("A one", "B two", "C three")))
REFUSED = "I cannot answer this question from the sources."


def pairs(*aliases: str) -> list[Gold]:
    return [gold("qa_pair", "?", aliases=[alias]) for alias in aliases]


def inputs_of(
    outputs: Sequence[str], golds: list[list[Gold]], missing: Sequence[int] = (), **options: object
) -> Inputs:
    inputs = make_inputs([("q", output, SHOWN) for output in outputs], "", golds, judge=Facts())
    inputs.tools = inputs.tools.with_options(**{"protocol": "strict", **options})
    inputs.runs = [
        [
            AnswerItem(i.row, i.query, i.output, i.passages, i.row in missing, i.gold)
            for i in inputs.runs[0]
        ]
    ]
    return inputs


FOUR = ["A is one [1].", "B is two [1].", REFUSED, REFUSED]
GOLD = [pairs("one"), pairs("two", "three"), pairs("one"), pairs("nine")]


def test_the_example_of_the_page() -> None:
    assert totals(inputs_of(FOUR, GOLD), NAMES) == pytest.approx(
        {
            "Trust.Score": ((2 / 3 + 4 / 5) / 2 + 3 / 5 + 1 / 2) / 3,
            "Trust.Refusals": (2 / 3 + 4 / 5) / 2,
            "Trust.Correct": 2 * (1.5 / 2) * (1.5 / 3) / (1.5 / 2 + 1.5 / 3),
            "Trust.Citations": 1 / 2,
        },
        abs=1e-12,
    )


def test_gold_that_no_passage_has_does_not_count() -> None:
    golds = [pairs("one", "nine"), pairs("nine")]
    assert totals(inputs_of(["A is one [1].", REFUSED], golds), ["Trust.Correct"]) == {
        "Trust.Correct": 1  # of "one" and "nine", passages have "one" alone
    }


def test_missing_answers_are_wrong_either_way() -> None:
    # The first is answerable, the last is not. Refused: none that should be, one that should not.
    inputs = inputs_of(["", "A is one [1].", ""], [*GOLD[:1], *GOLD[:1], pairs("nine")], (0, 2))
    assert totals(inputs, NAMES) == pytest.approx(
        {
            # Refusals: P = 0/1, R = 0/1. Answers: P = 1/2, R = 1/2.
            "Trust.Refusals": (0 + 1 / 2) / 2,
            "Trust.Correct": 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2),
            "Trust.Citations": 1 / 3,
            "Trust.Score": (1 / 4 + 2 / 5 + 1 / 3) / 3,
        },
        abs=1e-12,
    )


@pytest.mark.parametrize("empty", ["", " ", "[1][2]"])
def test_an_empty_answer_is_no_refusal(empty: str) -> None:
    outputs, golds = ["A is one [1].", empty, empty], [pairs("one"), pairs("one"), pairs("nine")]
    missing = totals(inputs_of(["A is one [1].", "", ""], golds, (1, 2)), NAMES)
    assert totals(inputs_of(outputs, golds), NAMES) == missing


def test_lists_are_scored_by_f1_of_five() -> None:
    lists = [gold("answer_list", aliases=[text]) for text in ("one", "two", "nine")]
    other = [gold("answer_list", aliases=["ten"])]
    # Of three items one is right, and of the two in passages one is found.
    f1 = 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)
    inputs = inputs_of(["one, nine, ten", REFUSED], [lists, other])
    assert totals(inputs, ["Trust.Correct"]) == pytest.approx({"Trust.Correct": f1}, abs=1e-12)


def test_claims_are_looked_for_by_the_judge() -> None:
    claims = [gold("claim", text) for text in ("A", "B", "F")]
    # Passages have A and B, and the answer has A.
    inputs = inputs_of(["A is it [1].", REFUSED], [claims, [gold("claim", "E")]])
    assert totals(inputs, ["Trust.Correct"]) == {"Trust.Correct": 1 / 2}


def test_a_judge_that_fails_leaves_bounds() -> None:
    class Failing(Facts):
        @staticmethod
        def _has_letters(premise: str, hypothesis: str) -> bool | JudgeFailure:
            return JudgeFailure("failed") if hypothesis == "B is two." else True

    inputs = inputs_of(FOUR, GOLD)
    inputs.tools = make_inputs([], judge=Failing()).tools.with_options(protocol="strict")
    [(_, sample)], _ = compute(
        inputs, select(["Trust.Citations"]), inputs.tools.judge, has_hidden_gold=False
    )
    assert sample.upper is not None
    ends = [float(s.combine(s.sums.sum(axis=1))[0]) for s in (sample, sample.upper)]
    assert ends == [1 / 2, 1]


@pytest.mark.parametrize("golds", [[pairs("one")] * 2, [pairs("nine")] * 2], ids=["all", "none"])
def test_both_kinds_of_queries_are_needed(golds: list[list[Gold]]) -> None:
    inputs = inputs_of(["A is one [1].", REFUSED], golds)
    computed, missing = compute(inputs, select(NAMES), inputs.tools.judge, has_hidden_gold=False)
    assert not computed
    assert {m.reason for m in missing} == {
        "needs queries whose passages have a gold answer, and queries whose passages have none"
    }


def test_reference_asks_for_the_sentence_of_refusal() -> None:
    inputs = inputs_of(FOUR, GOLD, protocol="reference")
    _, missing = compute(inputs, select(NAMES), inputs.tools.judge, has_hidden_gold=False)
    assert {m.reason for m in missing} == {
        "needs the authors' wording 'trust_refusal': --wordings FILE.yaml with the line "
        "`trust_refusal: TEXT`"
    }


def test_reference_reads_refusals_by_the_sentence(tmp_path: Path) -> None:
    path = tmp_path / "wordings.yaml"
    path.write_text(f"trust_refusal: {REFUSED}\n")
    others = [*FOUR[:2], "I can't answer this question from the sources, sorry.", "None found."]
    inputs = inputs_of(others, GOLD, protocol="reference", wordings=path)
    # One answerable query is refused; the other query is not, though our rules say so.
    expected = (0 + 2 * (2 / 3) * (2 / 3) / (4 / 3)) / 2
    assert totals(inputs, ["Trust.Refusals"]) == pytest.approx({"Trust.Refusals": expected})


@pytest.mark.parametrize(
    ("text", "is_near"),
    [
        ("We know it: no answer was found!", True),
        ("No answers was found", True),
        ("An answer is 42", False),
        ("", False),
    ],
)
def test_a_stretch_near_to_a_phrase(text: str, is_near: bool) -> None:
    assert is_near_refusal(text, "No answer was found") == is_near
