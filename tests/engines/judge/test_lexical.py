"""The judge by words."""

import pytest

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import Pair, Verdict


def judge(premise: str, hypothesis: str) -> Verdict:
    kept: dict[int, object] = {}
    LexicalJudge().decide([Pair(premise, hypothesis)], kept.update)
    verdict = kept[0]
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    ("premise", "hypothesis", "entailed"),
    [
        ("The span is 1,298 metres", "1298 metres", True),
        ("opened in ١٩٦٤", "opened 1964", True),
        ("opened in १९६४", "opened 1964", True),
        ("opened on 1964-11-21", "opened 21 November 1964", True),
        ("opened in 1964", "opened 21 November 1964", False),
        ("It weighs 35 kg", "weighs 3.5 kg", False),
        ("some 50 voters", "some 50 % voters", False),
        ("the F-16 flew", "F-16 flew", True),
        # Three of four words, which is the threshold; two of four are too few.
        ("red green blue", "red green blue grey", True),
        ("red green", "red green blue grey", False),
        ("anything", "the of and", False),
    ],
)
def test_words_and_values_decide(premise: str, hypothesis: str, entailed: bool) -> None:
    assert judge(premise, hypothesis).entailed is entailed


def test_the_margin_is_the_distance_from_the_threshold() -> None:
    assert judge("red green", "red green blue grey").margin == pytest.approx(2 / 4 - 0.75)
    assert judge("red 1964", "red 1965").margin == -1
