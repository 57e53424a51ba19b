"""Corrected values on ExpertQA's human labels."""

import pytest
from benchmarks.expertqa import draw, read

from citeforge.engines.judge.no_model import LexicalJudge
from conftest import real_data

pytestmark = pytest.mark.slow


def test_corrected_intervals_cover_what_people_say() -> None:
    answers = read(real_data() / "expertqa" / "val.jsonl", LexicalJudge())
    assert len(answers.systems) == 223
    # The lexical judge finds a sixth of what people find.
    assert answers.judged.mean() < answers.human.mean() / 4
    result = draw(answers, labels=50, draws=1000, by_system=False)
    assert result.covered >= 0.94
    assert result.widest <= 1.01
    # Rank intervals, which alone claim an order, claim no wrong one.
    ordered = draw(answers, each=15, draws=400)
    assert ordered.separated > 0
    assert ordered.wrong == 0
    # Intervals of single values promise none.
    assert ordered.apart > ordered.separated
