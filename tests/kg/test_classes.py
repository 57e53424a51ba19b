"""Pairs of two classes, such as film and director: each entity has the words of its own class."""

from pathlib import Path

import pytest

from citeforge.builders.kalma.naming import FactNames
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.kg.classes import merge_classes, select_domain
from citeforge.kg.domain import load_domain
from citeforge.kg.graph import open_graph
from citeforge.package.package import Package
from citeforge.schemas.kg import Triple
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused

FILMS = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix b: <http://wikiba.se/ontology#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P31 r:label "instance of"@en ; b:directClaim wdt:P31 .
wd:P57 r:label "director"@en ; b:directClaim wdt:P57 .
wd:P800 r:label "notable work"@en ; b:directClaim wdt:P800 .
wd:P136 r:label "genre"@en ; b:directClaim wdt:P136 .
wd:P495 r:label "country of origin"@en ; b:directClaim wdt:P495 .
wd:P21 r:label "sex or gender"@en ; b:directClaim wdt:P21 .
wd:P106 r:label "occupation"@en ; b:directClaim wdt:P106 .
wd:P19 r:label "place of birth"@en ; b:directClaim wdt:P19 .
wd:Q5 r:label "human"@en . wd:Q9 r:label "film"@en . wd:Q20 r:label "female"@en .
wd:Q1 r:label "Orlando"@en ; wdt:P31 wd:Q9 ; wdt:P57 wd:Q2 ; wdt:P136 wd:Q11 ; wdt:P495 wd:Q12 .
wd:Q2 r:label "Sally Potter"@en ; wdt:P31 wd:Q5 ; wdt:P21 wd:Q20 ; wdt:P106 wd:Q13 ;
    wdt:P19 wd:Q14 ; wdt:P136 wd:Q15 ; wdt:P800 wd:Q1, wd:Q3 .
wd:Q3 r:label "Yes"@en ; wdt:P31 wd:Q9 ; wdt:P136 wd:Q11 ; wdt:P57 wd:Q4 .
wd:Q4 r:label "Madonna"@en ; wdt:P31 wd:Q5 .
wd:Q11 r:label "drama film"@en . wd:Q12 r:label "United Kingdom"@en . wd:Q13 r:label "dancer"@en .
wd:Q14 r:label "London"@en . wd:Q15 r:label "opera"@en .
"""


@pytest.fixture
def film(tmp_path: Path, inline: Inline) -> Path:
    (tmp_path / "g.ttl").write_text(FILMS)
    inline.ok("kg", "profile", "--kg", "file:g.ttl", "--class", "film", "--out", "film.yaml")
    return tmp_path / "film.yaml"


def test_a_draft_names_the_domain_of_the_other_class(film: Path) -> None:
    domain = load_domain(str(film))
    assert [other.name for other in domain.others] == ["people"]
    # A title gets no article.
    assert (domain.titles, domain.name_in_text("Star Wars")) == (True, "Star Wars")
    assert domain.others[0].name_in_text("Boer Wars") == "the Boer Wars"
    kg = open_graph(f"file:{film.parent / 'g.ttl'}", str(film), ("en",), RunOptions())
    # A film and a person, in either direction: never two of the other class.
    (director,), (work,) = (kg.properties([r])[r] for r in ("director", "notable work"))
    assert kg.statements([director, work]) == [
        ("Q1", "P57", "Q2"), ("Q2", "P800", "Q1"), ("Q2", "P800", "Q3"), ("Q3", "P57", "Q4"),
    ]  # fmt: skip
    graphs = kg.subgraphs(["Q1", "Q2"])
    assert [select_domain(domain, graphs[q]).entity_class for q in ("Q1", "Q2")] == ["Q9", "Q5"]
    assert kg.find(["Orlando", "Sally Potter"]) == {"Orlando": ["Q1"], "Sally Potter": ["Q2"]}
    assert set(kg.labels_of_class()) == {"Orlando", "Sally Potter", "Yes", "Madonna"}
    # By relation alone, the domain's own words come first.
    merged = merge_classes(domain).phrasing
    assert merged.relations["genre"] == domain.phrasing.relations["genre"]
    assert merged.relations["occupation"] == domain.others[0].phrasing.relations["occupation"]


def test_each_entity_has_the_words_of_its_class(film: Path, inline: Inline) -> None:
    options = ("--kg", "file:g.ttl", "--domain", "film.yaml", "--pairs-from-kg", "director")
    made = inline.ok(
        "build", "kalma", *options, "--min-facts", "3", "--licence", "cc0-1.0", "--out", "k"
    )
    assert "a name has fewer than 2 parts" in made.stdout  # Madonna: the rule of people
    package = Package(film.parent / "k")
    (specific,) = package.forms["specific"]["text"].to_pylist()
    assert specific == (
        "With which genre was Orlando's director Sally Potter associated, for which work was she "
        "best known besides Orlando, of which genre is Orlando, and in which country was it "
        "made?"
    )
    assert inline.ok("verify", "k") and inline.ok("audit", "k")


def test_questions_may_have_the_words_of_either_class(film: Path) -> None:
    """Films and people have genres; each class has its own theme and clause for them."""
    domain = load_domain(str(film))
    assert domain.phrasing.theme_of("genre") != domain.others[0].phrasing.theme_of("genre")
    check = QuestionCheck(merge_classes(domain))
    link = Triple("Q1", "Orlando", "P57", "director", "Sally Potter", "Q2")
    hers = Triple("Q2", "Sally Potter", "P136", "genre", "opera", "Q15")
    its = Triple("Q1", "Orlando", "P136", "genre", "drama film", "Q11")
    for form, text, gold in (
        ("general", "What creative work did Orlando's director Sally Potter do?", hers),
        ("specific", "With which genre was Orlando's director Sally Potter associated?", hers),
        ("specific", "Of which genre is Orlando?", its),
    ):
        asking = QuestionToCheck(text, (gold,), (link, its, hers), link, form)
        assert check.check([asking])[0].find_fault(asking) is None, text


def test_sentences_name_facts_in_the_words_of_either_class(tmp_path: Path, film: Path) -> None:
    clause = "notable work: {ask: 'which daubing {did} {who} leave'}"
    (tmp_path / "p.yaml").write_text(
        f"name: p\nentity_class: Q5\nquestions: {{relations: {{{clause}}}}}\n"
    )
    film.write_text(film.read_text().replace("- people", "- p.yaml"))
    work = Triple("Q2", "Sally Potter", "P800", "notable work", "Yes", "Q3")
    genre = Triple("Q2", "Sally Potter", "P136", "genre", "opera", "Q15")
    text = "No daubing of Sally Potter is given."
    names = {"Q1": "Orlando", "Q2": "Sally Potter"}
    namer = FactNames(load_domain(str(film)))
    assert namer.find_named(text, [work, genre], names) == [work]


def test_other_domains_are_checked(tmp_path: Path, film: Path) -> None:
    own = film.read_text()
    (tmp_path / "p.yaml").write_text("name: p\nentity_class: Q5\nothers: [film.yaml]\n")
    film.write_text(own.replace("- people", "- p.yaml"))
    (person,) = load_domain(str(film)).others  # its own others are left
    assert (person.name, person.others) == ("p", ())
    film.write_text(own.replace("- people", "- persons"))
    with refused("missing-file", field="others.0") as error:
        load_domain(str(film))
    assert error.value.line == own.splitlines().index("- people") + 1
    for text, message in (
        ("name: p\nentity_class: Q9\n", "two domains are of one class"),
        ("name: p\nentity_class: Q5\nentity_iri: http://example.org/\n", "has another entity_iri"),
    ):
        (tmp_path / "p.yaml").write_text(text)
        film.write_text(own.replace("- people", "- p.yaml"))
        with refused("wrong-value", field="others") as error:
            load_domain(str(film))
        assert message in str(error.value)
        assert error.value.line == own.splitlines().index("others:") + 1
    content = {"name": "d", "entity_class": "Q9", "others": ["people"]}
    assert [other.name for other in load_domain(content).others] == ["people"]
    plain = {"classes": ["urn:c"], "labels": ["urn:l"], "relations": {"urn:r": {"label": "r"}}}
    for wrong in (
        content | {"others": ["persons"]},
        {"name": "d", "model": "plain", "plain": plain, "others": ["people"]},
    ):
        with refused("wrong-value", field="others"):
            load_domain(wrong)
