"""Sentences and clauses that a rewrite lost or added."""

import pytest

from citeforge.builders.authorship.alignment import Alignment
from citeforge.builders.authorship.checks import Checker, SourcePassage
from citeforge.builders.authorship.completeness import find_added, find_lost
from citeforge.builders.authorship.facts import Entities
from citeforge.schemas.recipes.twins import Thresholds

HUMAN = (
    "The old ferry crossed the fjord twice a day, carrying milk and mail. Its captain retired "
    "when the tunnel opened. Fishermen bought the hull, which now serves as a workshop."
)
TWIN = (
    "Twice a day the fjord was crossed by the old ferry, which carried mail and milk. When the "
    "tunnel was opened its captain went into retirement. The hull, bought by fishermen, is a "
    "workshop now."
)


def test_a_good_twin_lacks_and_adds_nothing() -> None:
    alignment = Alignment(HUMAN, TWIN)
    assert (find_lost(alignment, "en"), find_added(alignment, "en")) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "lost", "added"),
    [
        ("When the tunnel was opened its captain went into retirement. ", "",
         ["Its captain retired", "the tunnel opened."], []),
        (", which carried mail and milk", "", ["carrying milk", "mail."], []),
        ("workshop now.", "workshop now. Critics admired the design for decades.",
         [], ["Critics admired the design for decades."]),
    ],
)  # fmt: skip
def test_lost_and_added_parts_are_found(
    old: str, new: str, lost: list[str], added: list[str]
) -> None:
    assert old in TWIN
    alignment = Alignment(HUMAN, TWIN.replace(old, new))
    found = find_lost(alignment, "en"), find_added(alignment, "en")
    assert [bool(part) for part in found] == [bool(lost), bool(added)]
    assert set(found[1]) == set(added)


def test_an_added_clause_is_found_in_a_close_rewrite() -> None:
    twin = HUMAN.replace("a workshop.", "a workshop, although tourists rarely noticed.")
    assert find_added(Alignment(HUMAN, twin), "en") == ["tourists rarely noticed."]


def test_checks_name_what_is_lost_and_added() -> None:
    checker = Checker(Thresholds(length_ratio=(0.5, 2.0)), Entities())
    twin = f"{TWIN} Critics admired the design for decades."
    (report,) = checker.check([(SourcePassage("p", "", HUMAN), twin)])
    assert report.failed == {"added": "adds 'Critics admired the design for decades.'"}


def test_other_words_for_the_same_are_no_addition() -> None:
    # Unmatched: "huge", "boat", "sank" and "vast", "ship", "foundered": three each, none in excess.
    alignment = Alignment("The huge boat sank near Malta.", "Near Malta the vast ship foundered.")
    assert (find_lost(alignment, "en"), find_added(alignment, "en")) == ([], [])


LAKE = (
    "The town is located beside a large lake. It began as a camp of many miners. A road "
    "was built from the shore to the old mine in the hills. People came from everywhere to work."
)
LAKE_TWIN = (
    "The town is situated beside a big lake. It started as a camp of numerous miners. "
    "A road was constructed from the shore to the old mine in the hills. People came from "
    "everywhere to work."
)


def test_an_added_clause_is_found_where_other_words_are_exchanged() -> None:
    alignment = Alignment(LAKE, LAKE_TWIN)
    assert (find_lost(alignment, "en"), find_added(alignment, "en")) == ([], [])
    # Two new words at the end of a sentence in which "constructed" is new, too, for "built".
    wrong = LAKE_TWIN.replace("the hills.", "the hills, which pleased the public.")
    assert find_added(Alignment(LAKE, wrong), "en") == ["which pleased the public"]
    # "Stony coast" may be other words for "old".
    other = LAKE_TWIN.replace("the old mine", "the stony coast mine")
    assert find_added(Alignment(LAKE, other), "en") == []


def test_a_dropped_clause_is_found_though_its_words_are_elsewhere() -> None:
    human = f"{LAKE} They learn the names of roads, and hills near the lake, and paint at home."
    twin = f"{LAKE_TWIN} They learn the names of roads, and paint at home."
    # The rewrite has "hills" and "lake" once less than the passage.
    assert find_lost(Alignment(human, twin), "en") == ["hills near the lake and"]


def test_a_phrase_for_a_quantifier_is_no_addition() -> None:
    human = "In the old harbour many boats wait for the tide and the wind."
    twin = "In the old harbour a great number of boats wait for the tide and the wind."
    assert find_added(Alignment(human, twin), "en") == []


def test_many_clauses_in_other_words_are_no_loss() -> None:
    human = (
        "There are resources available, promoting quicker recovery, lowering total expenses, "
        "calming anxious visitors."
    )
    # Seven words of four clauses have no counterpart, and the rewrite has four words fewer.
    twin = "Help is there: people get well sooner, it costs less, guests stay calm."
    assert find_lost(Alignment(human, twin), "en") == []


def test_a_clause_of_new_words_is_added_whatever_else_is_new() -> None:
    human = "The score was composed by Ann Lee. It was the first of a long series of films."
    good = "Ann Lee wrote the music. In a long row of movies it was the first."
    assert find_added(Alignment(human, good), "en") == []
    wrong = good.replace("music.", "music, which critics everywhere admired.")
    assert find_added(Alignment(human, wrong), "en") == ["which critics everywhere admired."]
