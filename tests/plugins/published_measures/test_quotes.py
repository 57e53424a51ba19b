"""Quotations of answers in the passages that they cite (docs/measures/quotes.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.plugins.published_measures.quotes import _has_parts, _words
from conftest_evaluator import Measure

SHOWN = [
    "He lived in the house by the sea, and wrote: “It’s late – too late.”",
    "She died at home in 1931.",
    "他说我们从未见过他，然后离开了。",
]
EXAMPLE = (
    'He "lived in the house by the sea" [1] and "died […] in 1931" there [2]. '
    '"We never saw him", it says.'
)
# (answer, in cited passages, in passages shown, quotations)
CASES = [
    (EXAMPLE, 2, 2, 3),
    # The other passage is cited; the quotation is in one that was shown.
    ('He "lived in the house by the sea" [2].', 0, 1, 1),
    # Case, apostrophes, dashes and punctuation are no difference; a word that differs is.
    ("“IT'S LATE - too late!” [1]", 1, 1, 1),
    ("He „lived in the house by the sea“ [1].", 1, 1, 1),
    ('He "lived in a house by the sea" [1].', 0, 0, 1),
    # Parts come in order, and whole words.
    ('It was "in 1931 ... died at home" [2].', 0, 0, 1),
    ('It was "ived in the house" [1].', 0, 0, 1),
    # Two words are no quotation, and no apostrophe is a quotation mark.
    ("The \"blue house\" isn't the sea's [1].", 0, 0, 0),
    # Signs of scripts without spaces are words.
    ("他说：「我们从未见过他」[3]。", 1, 1, 1),
    ("他说：「我们见过他们」[3]。", 0, 0, 1),
    # A line ends a quotation, as it ends a statement.
    ("He «lived in the\nhouse by the sea» [1].", 0, 0, 0),
    # Two sentences in one quotation: the citations of both count.
    ('"She died at home. In 1931 he lived" [2].', 0, 0, 1),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_quotations_are_looked_for_word_for_word(
    case: tuple[str, int, int, int], measure: Measure
) -> None:
    output, cited, shown, total = case
    found = measure([output, 'It is "one two three four" [1].'], ["quotes"], SHOWN)
    assert found["Quotes.Count"] == [total, 1]
    assert found["Quotes"] == [cited / total if total else None, 0 / 1]
    assert found["Quotes.Shown"] == [shown / total if total else None, 0 / 1]


def test_a_missing_answer_has_the_worst_value_and_one_without_quotations_leaves(
    measure: Measure,
) -> None:
    outputs = ['He "lived in the house" [1].', "He lived [1].", ""]
    found = measure(outputs, ["quotes"], SHOWN, missing=[2])
    assert found["Quotes"] == [1 / 1, None, 0]
    assert found["Quotes.Count"] == [1, 0, 0]


def test_ragas_reads_apostrophes_and_all_passages(measure: Measure) -> None:
    outputs = [EXAMPLE, "It isn't the one that he's in.", "He lived [1]."]
    found = measure(outputs, ["quotes"], SHOWN, protocol="reference")
    # "t the one that he" is a quotation there; without one, an answer has 1.
    assert found["Quotes"] == [1 / 3, 0 / 1, 1]
    assert found["Quotes.Count"] == [3, 1, 0]


@given(st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=30), st.data())
def test_any_run_of_words_is_in_its_text(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    source = f" {' '.join(_words(', '.join(words)))} "
    assert _has_parts(source, [" ".join(words[start:end])])
    assert _has_parts(source, words[start:end])
    assert not _has_parts(source, [" ".join([*words, "zzzzzzz"])])
