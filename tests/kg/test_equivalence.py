"""Triples that state one fact: inverses, declared groups, and what a graph shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from citeforge.evaluator.measures.kalma_citations import Share, reference_counts, strict_counts
from citeforge.evaluator.statements.triples import ShownGraphs, read_answer
from citeforge.kg.domain import load_domain
from citeforge.kg.equivalence import Equivalence
from citeforge.kg.graph import open_graph
from citeforge.schemas.kg import Graph, Key, Triple
from citeforge.schemas.recipes.base import RunOptions

PEOPLE = load_domain("people")
NAMES = {"Q1": "Ada Byron", "Q2": "Lord Byron", "Q3": "Anne Byron"}


def fact(qid: str, relation: str, value: str) -> Triple:
    """A triple whose value is one of the people, or a word."""
    return Triple(
        qid, NAMES[qid], "P1", relation, NAMES.get(value, value), value * (value in NAMES)
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (fact("Q1", "father", "Q2"), fact("Q2", "child", "Q1"), True),
        (fact("Q1", "Father", "Q2"), fact("Q2", "CHILD", "Q1"), True),
        (fact("Q1", "mother", "Q3"), fact("Q2", "child", "Q1"), False),
        (fact("Q1", "father", "Q2"), fact("Q2", "father", "Q1"), False),
        (fact("Q2", "spouse", "Q3"), fact("Q3", "spouse", "Q2"), True),
        (fact("Q2", "noble title", "baron"), fact("Q2", "position held", "baron"), True),
        (fact("Q2", "noble title", "baron"), fact("Q2", "position held", "judge"), False),
        (fact("Q2", "noble title", "baron"), fact("Q1", "position held", "baron"), False),
        (fact("Q1", "father", "Q2"), fact("Q1", "mother", "Q2"), False),
        # The other way round by a relation of the same group: a student's teacher supervised.
        (fact("Q1", "doctoral student", "Q2"), fact("Q2", "student of", "Q1"), True),
    ],
)
def test_two_triples(one: Triple, other: Triple, same: bool) -> None:
    equivalence = Equivalence(PEOPLE)
    assert equivalence.same(one, other) is equivalence.same(other, one) is same


def test_a_published_value_is_known_by_its_name_alone() -> None:
    named = Triple("Q1", NAMES["Q1"], "", "father", NAMES["Q2"])
    assert Equivalence(PEOPLE).same(named, Triple("Q2", NAMES["Q2"], "", "child", NAMES["Q1"]))


def test_another_value_answers_too_and_another_relation_does_not() -> None:
    equivalence = Equivalence(PEOPLE)
    asked = fact("Q2", "child", "Q9")
    assert equivalence.answers(fact("Q2", "child", "Q8"), asked)
    assert equivalence.answers(fact("Q1", "father", "Q2"), asked)
    assert not equivalence.answers(fact("Q2", "spouse", "Q3"), asked)
    # The child of a mother says nothing of the father.
    assert not equivalence.answers(fact("Q3", "child", "Q1"), fact("Q1", "father", "Q2"))


def links(n: int, *relations: str, start: int = 0) -> list[Graph]:
    """n pairs of entities with a link forth, and one back if there is a second relation."""
    graphs = []
    for i in range(start, start + n):
        ends = [f"A{i}", f"B{i}"]
        for one, other, relation in zip(ends, reversed(ends), (*relations, ""), strict=False):
            own = (Triple(one, one, "P1", relation, other, other),) if relation else ()
            graphs.append(Graph(one, one, own))
    return graphs


@pytest.mark.parametrize(
    ("both", "forth", "inverse"),
    [(5, 0, True), (4, 0, False), (5, 5, True), (5, 6, False)],  # 5 of 5 + 6 are under half
)
def test_what_a_graph_shows_to_be_inverse(both: int, forth: int, inverse: bool) -> None:
    graphs = [*links(both, "wrote", "written by"), *links(forth, "wrote", start=both)]
    equivalence = Equivalence(PEOPLE, graphs=graphs)
    assert ("written by" in equivalence.inverses("wrote")) is inverse


WIKIDATA = """
@prefix p: <http://www.wikidata.org/prop/direct/> . @prefix e: <http://www.wikidata.org/entity/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
e:P50 rdfs:label "author"@en ; p:P7087 e:Q7 . e:Q7 rdfs:label "author of"@en .
e:P170 rdfs:label "creator"@en ; p:P1696 e:P171 . e:P171 rdfs:label "creation"@en .
e:P1 rdfs:label "older than"@en . e:P2 rdfs:label "younger than"@en ; owl:inverseOf e:P1 .
"""


def test_what_a_graph_declares_to_be_inverse(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(WIKIDATA)
    kg = open_graph(f"file:{tmp_path / 'g.ttl'}", "people", ["en"], RunOptions())
    assert kg.inverses(["P50", "P170", "P171", "P1", "P2", "P9"]) == {
        "P50": ["author of"], "P170": ["creation"], "P171": ["creator"],
        "P1": ["younger than"], "P2": ["older than"], "P9": [],
    }  # fmt: skip
    stated = Equivalence(PEOPLE, {"author": ["author of"]})
    assert stated.same(fact("Q1", "author", "Q2"), fact("Q2", "author of", "Q1"))


def counted(share: Share) -> tuple[float, float]:
    """Numerator and denominator of an answer's share."""
    return share.hits, share.total


def test_any_triple_of_a_fact_meets_it_in_strict() -> None:
    father, child = fact("Q1", "father", "Q2"), fact("Q2", "child", "Q1")
    shown = (father, child, fact("Q1", "occupation", "poet"))
    gold = ((father.key, 1), (shown[2].key, 2))
    graphs = ShownGraphs("?", shown, gold, (), (), (frozenset([father.key, child.key]),))
    job = "[Q1, occupation: poet]"
    for cited, hits in (("[Q1, father: Lord Byron]", 1), ("[Q2, child: Ada Byron]", 1),
                        ("[Q1, father: Lord Byron] [Q2, child: Ada Byron]", 2)):  # fmt: skip
        counts = strict_counts(read_answer(0, graphs, f"{cited} {job}.", ()))
        assert counted(counts.precise) == (hits + 1, hits + 1)
        assert counted(counts.recalled) == (2, 2)
    # Two gold facts that state the same are one.
    twice = ShownGraphs("?", shown, (*gold, (child.key, 3)), (), (), graphs.equivalents)
    assert len(twice.facts) == 2
    assert frozenset([Key("Q1", "occupation", "poet")]) in twice.facts


def test_what_a_question_says_itself_is_neither_right_nor_wrong_in_strict() -> None:
    father, job = fact("Q1", "father", "Q2"), fact("Q1", "occupation", "poet")
    names = {"Q1": "Ada Byron", "Q2": "Lord Byron"}
    # What published graphs show has no ids.
    for link in (father, replace(father, value_id="")):
        shown, gold = (link, job), ((job.key, 1),)
        graphs = ShownGraphs("?", shown, gold, (), names=names)
        text = "[Q1, father: Lord Byron] [Q1, occupation: poet] [Q1, father: X]"
        counts = strict_counts(read_answer(0, graphs, text, ()))
        assert counted(counts.precise) == (1, 3 - 1)
        assert counted(counts.correct) == (2, 3)
        assert counted(reference_counts(read_answer(0, graphs, text, ())).precise) == (1, 3)
        # Where the question asks for the link, it is gold as any fact.
        asked = replace(graphs, gold=((link.key, 1), *gold))
        assert counted(strict_counts(read_answer(0, asked, text, ())).precise) == (2, 3)
