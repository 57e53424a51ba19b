"""What the template writer marks in a seed: facts that it states, where it states them."""

import pytest

from citeforge.builders.kalma import check
from citeforge.builders.kalma.evolve import Specificity
from citeforge.builders.kalma.mentions import Mentions, annotate, marker
from citeforge.builders.kalma.package import year_of
from citeforge.builders.kalma.selection import Stated, disambiguate
from citeforge.kg.domain import load_domain
from citeforge.kg.engines import StoreEngine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.benchmarks.kg import Graph, Triple
from conftest import EXAMPLES

PEOPLE = load_domain("people")
NAMES = {"Q1": "Hans Albert Einstein", "Q2": "Albert Einstein"}


def fact(qid: str, relation: str, value: str, value_id: str = "", precision: str = "") -> Triple:
    return Triple(qid, NAMES[qid], "P1", relation, value, value_id, precision)


LINK = fact("Q1", "father", "Albert Einstein", "Q2")


def marked(text: str, *facts: Triple) -> str:
    """The text, each mark shortened to the relation and whose it is."""
    pool = [LINK, *facts]
    found = annotate(text, pool, PEOPLE, LINK)
    assert check.wrong_annotation(found, text, pool) is None
    for triple in pool:
        found = found.replace(marker(triple), f"[{triple.qid} {triple.relation}]")
    return found


def test_not_inside_another_name() -> None:
    text = "Hans Albert Einstein's father is Albert Einstein."
    family = [fact(q, "noble family", "Einstein") for q in NAMES]
    expected = "Hans Albert Einstein's father is Albert Einstein [Q1 father]."
    assert marked(text, *family, fact("Q1", "movement", "Albert")) == expected


def test_not_in_a_clause_about_somebody_else() -> None:
    """Both were born in Ulm here; the text says it of the father alone."""
    born = [fact(q, "place of birth", "Ulm") for q in NAMES]
    text = "Hans Albert Einstein, whose father was Albert Einstein, a physicist born in Ulm."
    assert marked(text, *born, fact("Q1", "occupation", "physicist")) == (
        "Hans Albert Einstein, whose father was Albert Einstein [Q1 father], a physicist born in "
        "Ulm [Q2 place of birth]."
    )


def test_the_nearest_cue_counts() -> None:
    facts = [fact("Q1", "place of birth", "Bern"), fact("Q1", "place of death", "Bern")]
    text = "Albert Einstein was the father. Hans Albert Einstein was born in Bern and died poor."
    assert marked(text, *facts).endswith("was born in Bern [Q1 place of birth] and died poor.")
    text = "Albert Einstein was the father. Hans Albert Einstein died young and liked Bern."
    assert "Bern [Q1 place of birth]" not in marked(text, *facts)


def test_values_that_are_ids_are_no_facts() -> None:
    text = "Hans Albert Einstein's father is Albert Einstein. Q4233718 is his spouse."
    unnamed = fact("Q2", "spouse", "Q4233718")
    assert "spouse]" not in marked(text, unnamed)
    reply = annotate(text, [LINK], PEOPLE, LINK).replace("Q4233718", f"Q4233718 {marker(unnamed)}")
    reason = check.wrong_annotation(reply, text, [LINK, unnamed])
    assert reason == "cites Q4233718, which has no label"


@pytest.mark.parametrize(
    ("text", "value", "alone"),
    [
        ("He lived in Paris.", "Paris", True),
        ("In Paris he lived.", "Paris", True),
        ("He taught at the University of Paris.", "Paris", False),
        ("He met Marie Curie there.", "Curie", False),
        ("He met Curie Institute staff.", "Curie", False),
        ("The Curie-Joliot prize.", "Curie", False),
        ("He was a house painter.", "painter", True),
        ("He saw London's Royal Society.", "London", True),
        ("It was Trinity College, Cambridge that he left.", "Cambridge", False),  # known as a whole
        ("It was Trinity, Cambridge that he left.", "Cambridge", True),
    ],
)
def test_mentions(text: str, value: str, alone: bool) -> None:
    start = text.index(value)
    mentions = Mentions(text, {}, [value, "Trinity College, Cambridge"])
    assert mentions.stands_alone(start, start + len(value)) is alone


def test_whom_a_place_speaks_of() -> None:
    text = "In 1905 Hans met Albert Einstein, a physicist; Hans Albert Einstein was an engineer."
    mentions = Mentions(text, NAMES)
    for word, qid in (("1905", "Q1"), ("physicist", "Q2"), ("engineer", "Q1")):
        assert mentions.subject(text.index(word)) == qid
    text = "Hans Albert Einstein was the son of Albert Einstein, and loved music."
    assert Mentions(text, NAMES).subject(text.index("music")) == "Q1"
    assert Mentions("Nobody is here.", NAMES).subject(3) is None


@pytest.mark.parametrize(
    ("date", "year"),
    [("1815-12-10", 1815), ("1871-11", 1871), ("1810s", 1810), ("1815", 1815),
     ("44-03-15 BCE", -43), ("44 BCE", -43), ("-0043-03-15", -43), ("0000-01-01", 0),
     ("1 BCE", 0), ("19th century", None), ("", None), ("Škoda", None)],
)  # fmt: skip
def test_years(date: str, year: int | None) -> None:
    """Years count without a gap: 0 is 1 BCE, in our words and in XSD 1.1."""
    assert year_of(date) == year


def test_case_does_not_distinguish_relations() -> None:
    kg = KnowledgeGraph(StoreEngine(EXAMPLES / "people" / "graph.ttl"), PEOPLE)
    for word in ("Daughter", "DAUGHTER", "daughter", "Child"):
        stated = [Stated(1, "text", "Marie Curie", word, "Irène Joliot-Curie")]
        assert [p.id for p in disambiguate(kg, stated).pairs] == ["Q901-Q903"], word
    assert PEOPLE.inverses("Father") == PEOPLE.inverses("father")
    graphs = [
        Graph(q, "x", (Triple(q, "x", "", r, "v"),)) for q, r in (("Q1", "Son"), ("Q2", "son"))
    ]
    assert Specificity(graphs).counts == {"son": 2}
