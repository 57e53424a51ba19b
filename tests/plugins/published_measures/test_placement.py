"""Where answers cite, counted by hand (docs/measures/placement.md)."""

import pytest

from citeforge.engines.text.sentences import SentenceSegmenter
from conftest_evaluator import Measure

NAMES = ["Placement.PerStatement", "Placement.AtEnd", "Placement.First", "Placement.Last"]
# (answer, citations per statement, at the end, first cited, last cited)
CASES = [
    ("One is [1][2]. Two is. Three is [3].", 3 / 3, 1 / 3, 1, 1),
    ("One is. Two is [1].", 1 / 2, 1 / 1, 0, 1),
    # A paragraph of one statement does not say where its citations would go.
    ("One is [1].\n\nTwo is [2].", 2 / 2, None, 1, 1),
    ("One is [1]. Two is.\n\nThree is [2]. Four is [3].", 3 / 4, 1 / 3, 1, 1),
    # A line that introduces a list is no statement.
    ("They are:\n- One is [1]. Two is.\n- Three is. Four is [1].", 2 / 4, 1 / 2, 1, 1),
    # So it is with line ends of Windows, and with other bullets.
    ("One is [1]. Two is.\r\n\r\nThree is [2]. Four is [3].", 3 / 4, 1 / 3, 1, 1),
    ("They are:\n– One is [1]. Two is.\n◦ Three is. Four is [1].", 2 / 4, 1 / 2, 1, 1),
    # A line break alone ends no paragraph; a citation that repeats in a statement is one.
    ("One is [1] and [1].\nTwo is.", 1 / 2, 0 / 1, 1, 0),
    ("One is. Two is.", 0 / 2, None, 0, 0),
    ("", None, None, None, None),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
def test_citations_are_counted_by_statement_and_paragraph(
    case: tuple[str, float | None, float | None, float | None, float | None], measure: Measure
) -> None:
    found = measure([case[0]], NAMES)
    values = [found[name][0] if isinstance(found[name], list) else None for name in NAMES]
    assert values == list(case[1:])


def test_both_protocols_have_the_same_rules_with_the_same_splitter(measure: Measure) -> None:
    """punkt ends a sentence after "approx.", so that one statement of one becomes one of two."""
    answer, name = ["It sold approx. Twelve tonnes [1]."], "Placement.PerStatement"
    assert measure(answer, [name])[name] == [1 / 1]
    assert measure(answer, [name], protocol="reference")[name] == [1 / 2]
    same = measure(answer, [name], protocol="reference", segmenter=SentenceSegmenter())
    assert same[name] == [1 / 1]
