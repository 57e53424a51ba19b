"""TREC RAG's weighted precision and recall, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from citeforge.engines.judge.records import JudgeFailure, Keep, Pair, Verdict
from conftest_evaluator import Facts, Measure

NAMES = ["TREC.WP", "TREC.WR"]


class Levels:
    """Full support when the premise has all capital letters of the statement, partial when it has
    some of them; a premise with ``#`` makes it fail."""

    signature = "levels@1"
    comparable = False

    def identity(self) -> dict[str, Any]:
        return {"name": "levels"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        for i, pair in enumerate(pairs):
            needed = {c for c in pair.hypothesis if c in "ABCDEF"}
            shared = needed & set(pair.premise)
            level = 1.0 if needed and shared == needed else 0.5 if shared else 0.0
            failed = JudgeFailure("failed")
            keep([(i, failed if "#" in pair.premise else Verdict(level == 1, support=level))])


# (output, weighted precision, weighted recall); passage 1 says A, 2 says B, 3 says C.
CASES = [
    ("Says A [1].", 1, 1),
    ("Says A and B [1].", 0.5 / 1, 0.5 / 1),
    # The best citation of a statement counts for recall, all of them for precision.
    ("Says A [1][2].", (1 + 0) / 2, 1),
    ("Says A and B [1][2].", (0.5 + 0.5) / 2, 0.5),
    ("Says A [1]. Says B.", 1 / 1, 1 / 2),
    ("Says A [1]. Says B and C [2]. Says C [1].", (1 + 0.5 + 0) / 3, (1 + 0.5 + 0) / 3),
    # Of what was not shown nothing is supported.
    ("Says A [1][9].", 1 / 2, 1),
    ("Says A.", 0, 0),
    ("", 0, 0),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
def test_weights(measure: Measure, case: tuple[str, float, float]) -> None:
    output, *expected = case
    found = measure([output], NAMES, judge=Levels())
    assert [found[n][0] for n in NAMES] == pytest.approx(expected)


def test_two_levels_weigh_one_or_nothing(measure: Measure) -> None:
    found = measure(["Says A and B [1]. Says C [3]."], NAMES, judge=Facts())
    assert [found[n][0] for n in NAMES] == [1 / 2, 1 / 2]
