"""Words of a domain where labels are asked for in another language than English."""

from pathlib import Path

import pytest

from citeforge.kg.domain import load_domain
from citeforge.kg.graph import KnowledgeGraph, open_graph
from citeforge.kg.relabel import relabel_domain
from citeforge.package.package import Package
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline

GRAPH = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix b: <http://wikiba.se/ontology#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P31 r:label "instance of"@en, "ist ein(e)"@de ; b:directClaim wdt:P31 .
wd:P26 r:label "spouse"@en, "Ehepartner"@de ; b:directClaim wdt:P26 .
wd:P21 r:label "sex or gender"@en, "Geschlecht"@de ; b:directClaim wdt:P21 .
wd:P19 r:label "place of birth"@en, "Geburtsort"@de ; b:directClaim wdt:P19 .
wd:P106 r:label "occupation"@en ; b:directClaim wdt:P106 .
wd:P999 r:label "Wappentier"@de ; b:directClaim wdt:P999 .
wd:Q20 r:label "female"@en, "weiblich"@de . wd:Q21 r:label "male"@en, "maennlich"@de .
wd:Q22 r:label "male"@en, "Maennchen"@de .
wd:Q1 r:label "Ada King"@en ; wdt:P31 wd:Q5 ; wdt:P26 wd:Q2 ; wdt:P21 wd:Q20 ; wdt:P19 wd:Q11 ;
    wdt:P106 wd:Q12 ; wdt:P999 wd:Q13 .
wd:Q2 r:label "Bob King"@en ; wdt:P31 wd:Q5 ; wdt:P26 wd:Q1 ; wdt:P21 wd:Q21 ; wdt:P19 wd:Q14 ;
    wdt:P106 wd:Q15 .
wd:Q11 r:label "Vienna"@en, "Wien"@de . wd:Q12 r:label "poet"@en . wd:Q13 r:label "Adler"@de .
wd:Q14 r:label "Rome"@en, "Rom"@de . wd:Q15 r:label "baker"@en .
"""


def relabelled(tmp_path: Path, domain: str, *languages: str) -> KnowledgeGraph:
    (tmp_path / "g.ttl").write_text(GRAPH)
    kg = open_graph(f"file:{tmp_path / 'g.ttl'}", domain, languages, RunOptions())
    relabel_domain(kg)
    return kg


def test_words_follow_the_labels_of_the_graph(tmp_path: Path) -> None:
    own, words = load_domain("people"), relabelled(tmp_path, "people", "de", "en").domain
    assert words.phrasing.relations["Geburtsort"] == own.phrasing.relations["place of birth"]
    assert words.phrasing.relations["occupation"].theme == "career"  # has no German label
    assert words.phrasing.sex == "Geschlecht"
    # Only values of the relation are meant: Q22 is something else.
    assert set(words.phrasing.pronouns) == {"maennlich", "weiblich"}
    assert words.phrasing.links["Ehepartner"]["weiblich"] == "wife"
    assert words.inverse["Ehepartner"] == ("Ehepartner",)
    assert words.single_valued["Geburtsort"] == own.single_valued["place of birth"]
    assert "Geburtsort" in words.phrasing.also["places"]
    assert "ist ein(e)" in words.uninformative and "instance of" not in words.uninformative
    assert relabelled(tmp_path, "people", "en").domain == own


@pytest.mark.parametrize(("language", "label"), [("en", "place of birth"), ("de", "Geburtsort")])
def test_relations_can_be_named_by_their_ids(tmp_path: Path, language: str, label: str) -> None:
    words = "questions: {relations: {P19: {ask: 'where {past} {who} born'}}}"
    (tmp_path / "d.yaml").write_text(f"name: d\nentity_class: Q5\n{words}\n")
    kg = relabelled(tmp_path, str(tmp_path / "d.yaml"), language)
    assert set(kg.domain.phrasing.relations) == {label}


@pytest.mark.parametrize(("language", "label"), [("en", "place of birth"), ("de", "Geburtsort")])
def test_forms_can_be_set_by_id(tmp_path: Path, language: str, label: str) -> None:
    (tmp_path / "d.yaml").write_text("name: d\nentity_class: Q5\nforms: {P19: active}\n")
    domain = relabelled(tmp_path, str(tmp_path / "d.yaml"), language).domain
    assert (domain.forms, domain.label_form(label)) == ({label: "active"}, "active")


def test_a_german_build_asks_as_an_english_one(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "g.ttl").write_text(GRAPH)
    made = inline.ok(
        "build", "kalma", "--kg", "file:g.ttl", "--languages", "de,en", "--pairs-from-kg", "spouse",
        "--min-facts", "2", "--licence", "cc0-1.0", "--out", "k",
    )  # fmt: skip
    assert "no words for 1 relations with labels in de" in made.stderr
    assert "Wappentier (1)" in made.stderr
    package = Package(tmp_path / "k")
    (question,) = package.forms["specific"]["text"].to_pylist()
    assert question == (
        "Where were Ada King and her husband Bob King each born, and what is known of Ada King's "
        "Wappentier?"
    )
    assert package.manifest.counts["relations_without_words"] == 1
    assert {row["relation"] for row in package.gold.to_pylist()} == {"Geburtsort", "Wappentier"}
    inline.ok("verify", "k")
