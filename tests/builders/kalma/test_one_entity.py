"""Questions about one entity alone."""

import json
from pathlib import Path

import pytest

from citeforge.builders.kalma.one_entity import draw_single_entities
from citeforge.builders.kalma.phrasing import compose
from citeforge.builders.kalma.selection import EntityPair
from citeforge.kg.domain import load_domain
from citeforge.package.package import Package
from citeforge.schemas.kg import Graph, Triple
from conftest import EXAMPLES, Inline

PEOPLE = load_domain("people")
GRAPH = f"file:{EXAMPLES / 'people' / 'graph.ttl'}"


def fact(qid: str, relation: str, value: str, value_id: str = "") -> Triple:
    return Triple(qid, f"Name {qid}", "P1", relation, value, value_id)


def person(qid: str, *facts: tuple[str, str]) -> Graph:
    return Graph(qid, f"Name {qid}", tuple(fact(qid, *one) for one in facts))


A = person("Q1", ("occupation", "poet"), ("employer", "x"), ("employer", "y"), ("child", "Name Q2"))
B = person("Q2", ("occupation", "baker"), ("place of birth", "Rome"))
C = person("Q3", ("Commons category", "C"), ("unknown relation", "z"), ("occupation", "Name Q3 jr"))


def linked(one: Graph, other: Graph) -> EntityPair:
    return EntityPair(one, other, fact(one.qid, "child", other.name, other.qid))


def test_each_entity_is_drawn_once_and_begins_with_a_fact_of_its_own() -> None:
    pairs = [linked(A, B), linked(A, C), linked(A, B)]
    assert draw_single_entities(PEOPLE, pairs, 0, 0).pairs == pairs
    for seed in range(8):
        drawn = draw_single_entities(PEOPLE, pairs, 1, seed)
        # C has no fact with words but one that says its name: A is for the second pair, or none.
        singles = [p for p in drawn.pairs if p.link is None]
        assert drawn.n_single == len(singles) == 2
        assert {p.id for p in singles} == {"Q1", "Q2"}
        for pair in singles:
            assert pair.graphs == (pair.first,) and pair.stated in pair.first.triples
            # Both employers would have to be said; a category says nothing.
            assert pair.stated.relation in ("occupation", "place of birth", "child")
    # Half of two pairs is one.
    assert draw_single_entities(PEOPLE, pairs[:2], 0.5, 0).n_single == 1


def test_questions_about_one_entity_name_it_once() -> None:
    alone = EntityPair(A, None, A.triples[0])
    assert (alone.link, alone.owner, alone.other, alone.id) == (None, A, A, "Q1")
    questions = [compose(PEOPLE, alone, A.triples, False, is_general=g).text for g in (True, False)]
    assert questions == [
        "What career did Name Q1 have, and which family members did Name Q1 have?",
        "What occupation did Name Q1 have, for whom did Name Q1 work, and what children did Name "
        "Q1 have?",
    ]


# Utopia is its own country, as states are in Wikidata, and borders Arcadia.
STATES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix b: <http://wikiba.se/ontology#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P31 r:label "instance of"@en ; b:directClaim wdt:P31 .
wd:P17 r:label "country"@en ; b:directClaim wdt:P17 .
wd:P30 r:label "continent"@en ; b:directClaim wdt:P30 .
wd:P36 r:label "capital"@en ; b:directClaim wdt:P36 .
wd:P47 r:label "shares border with"@en ; b:directClaim wdt:P47 .
wd:Q9 r:label "country"@en .
wd:Q1 r:label "Utopia"@en ; wdt:P31 wd:Q9 ; wdt:P17 wd:Q1 ; wdt:P30 wd:Q11 ; wdt:P36 wd:Q12 ;
    wdt:P47 wd:Q2 .
wd:Q2 r:label "Arcadia"@en ; wdt:P31 wd:Q9 ; wdt:P17 wd:Q2 ; wdt:P30 wd:Q11 ; wdt:P36 wd:Q13 ;
    wdt:P47 wd:Q1 .
wd:Q11 r:label "Europe"@en . wd:Q12 r:label "Amaurot"@en . wd:Q13 r:label "Tripolis"@en .
"""


def test_an_entity_may_be_a_value_of_itself(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "g.ttl").write_text(STATES)
    inline.ok("kg", "profile", "--kg", "file:g.ttl", "--class", "country", "--out", "state.yaml")
    options = ("build", "kalma", "--kg", "file:g.ttl", "--domain", "state.yaml",
               "--pairs-from-kg", "shares border with", "--min-facts", "2")  # fmt: skip
    for folder, more in (("pair", ()), ("one", ("--one-entity", "1"))):
        inline.ok(*options, *more, "--licence", "cc0-1.0", "--out", folder)
        package = Package(tmp_path / folder)
        texts = [t for form in package.forms.values() for t in form["text"].to_pylist()]
        # Neither is where the other one is.
        assert texts and not any("besides" in text for text in texts), texts


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_build_asks_about_one_entity(tmp_path: Path, inline: Inline, share: float) -> None:
    relations = ("--pairs-from-kg", "spouse,father,child")
    made = inline.ok("build", "kalma", "--kg", GRAPH, *relations, "--one-entity", str(share),
                     "--licence", "cc0-1.0", "--out", "k")  # fmt: skip
    package = Package(tmp_path / "k")
    n_pairs = package.manifest.counts["pairs_selected"]
    n_single = package.manifest.counts["pairs_asked_about_one_entity"]
    assert "pairs of which one entity is asked about alone" in made.stdout
    assert 0 < n_single <= share * n_pairs + 0.5
    gold = package.gold.to_pylist()
    shown = dict(zip(*package.context_table("full").to_pydict().values(), strict=True))
    n_alone = 0
    for row in package.forms["specific"].to_pylist():
        about = json.loads(row["metadata"])
        if len(about["entities"]) == 1:
            n_alone += 1
            (qid,), (name,) = about["entities"], about["names"]
            assert row["_id"] == qid and "relation" not in about and name in row["text"]
            mine = [t for t in gold if t["query_id"] == qid]
            assert 4 <= len(mine) <= 8 and {t["qid"] for t in mine} == {qid}
            assert {t["qid"] for t in shown[qid]} == {qid}
    assert 0 < n_alone <= n_single
    inline.ok("verify", "k")
    assert "asks" not in inline.ok("audit", "k").stdout


def test_paragraphs_are_about_two(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "p.jsonl").write_text(
        '{"paragraph": "A and B", "first": "A", "relation": "r", "second": "B"}\n'
    )
    ran = inline("build", "kalma", "--kg", GRAPH, "--pairs", "p.jsonl", "--one-entity", "0.5",
                 "--out", "k")  # fmt: skip
    assert (ran.returncode, ran.code) == (2, "conflicting-options")
