"""Which facts a sentence names."""

import pytest

from citeforge.builders.kalma.naming import FactNames
from citeforge.kg.domain import load_domain
from citeforge.schemas.kg import Triple

PEOPLE = load_domain("people")
NAMES = {"Q1": "Ada Lovelace", "Q2": "Lord Byron"}
FACTS = [Triple(q, n, "", r, "v") for q, n in NAMES.items() for r in PEOPLE.phrasing.relations]
NAMER = FactNames(PEOPLE)


@pytest.mark.parametrize(
    ("sentence", "relations"),
    [
        ("The facts do not say when Lord Byron was born.", {"date of birth"}),
        ("The facts do not say where Byron died.", {"place of death"}),
        ("Byron's place of death is not given.", {"place of death"}),
        ("I do not know what Lord Byron died of.", {"cause of death"}),
        ("When and where Byron died is unknown.", {"date of death", "place of death"}),
        ("No employer of Byron is listed.", {"employer"}),
        ("It is not known who taught Lord Byron.", {"student of"}),
        ("It is not said which party Byron belonged to.", {"member of political party"}),
        ("No award of Byron is stated.", {"award received", "nominated for"}),
        ("The facts say nothing about Lord Byron.", set()),
    ],
)
def test_relations_that_a_sentence_names(sentence: str, relations: set[str]) -> None:
    named = NAMER.find_named(sentence, FACTS, NAMES)
    assert {t.relation for t in named} == relations
    assert {t.qid for t in named} <= {"Q2"}


def test_a_sentence_without_a_name_may_be_about_both() -> None:
    named = NAMER.find_named("Her mother is unknown.", FACTS, NAMES)
    assert [(t.qid, t.relation) for t in named] == [("Q1", "mother"), ("Q2", "mother")]


def test_relations_without_wordings_are_named_by_their_label() -> None:
    fact = Triple("Q1", "Ada Lovelace", "", "blood type", "A")
    assert NAMER.find_named("Her blood type is not given.", [fact], NAMES) == [fact]
    assert NAMER.find_named("Her type is not given.", [fact], NAMES) == []
