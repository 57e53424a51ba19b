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
