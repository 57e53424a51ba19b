"""Ages and lifetimes that cannot be, read in the favour of rough and doubled dates."""

import pytest

from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.lives import Lives
from citeforge.kg.values import Day, find_days
from citeforge.schemas.kg import Graph, Triple

PEOPLE = load_domain("people")
PIDS = {"date of birth": "P569", "date of death": "P570", "father": "P22", "child": "P40"}


def graph(qid: str, *facts: tuple[str, str], has_ids: bool = True) -> Graph:
    """A sub-graph of (relation, value); values that begin with Q are entities."""
    triples = (
        Triple(qid, f"Name {qid}", PIDS.get(relation, "") if has_ids else "", relation,
               f"Name {value}" if value.startswith("Q") else value,
               value if value.startswith("Q") and has_ids else "",
               "" if value.startswith("Q") or not has_ids else "day")
        for relation, value in facts
    )  # fmt: skip
    return Graph(qid, f"Name {qid}", tuple(triples))


def reasons(*graphs: Graph, domain: Domain = PEOPLE) -> list[str]:
    lives = Lives(domain, graphs)
    return [one.reason for g in graphs for one in lives.find_impossible(g)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1871-11-02", Day(1871, 11, 2), Day(1871, 11, 2)),
        ("1871-11", Day(1871, 11, 1), Day(1871, 11, 31)),
        ("1871", Day(1871, 1, 1), Day(1871, 12, 31)),
        ("1810s", Day(1810, 1, 1), Day(1819, 12, 31)),
        ("5th century", Day(401, 1, 1), Day(500, 12, 31)),
        # 1 BCE is the year 0: 44 BCE is 1 - 44.
        ("44-03-15 BCE", Day(-43, 3, 15), Day(-43, 3, 15)),
        ("-0043-03-15", Day(-43, 3, 15), Day(-43, 3, 15)),
        # 100 BCE to 1 BCE, and 2000 BCE to 1001 BCE.
        ("1st century BCE", Day(-99, 1, 1), Day(0, 12, 31)),
        ("2nd millennium BCE", Day(-1999, 1, 1), Day(-1000, 12, 31)),
    ],
)
def test_days_that_a_date_may_mean(text: str, first: Day, last: Day) -> None:
    assert find_days(text) == (first, last)


@pytest.mark.parametrize("text", ["about 1792", "", "-44 BCE", "-0040s", "1871-11-02T00:00:00Z"])
def test_texts_that_are_no_dates(text: str) -> None:
    assert find_days(text) is None


@pytest.mark.parametrize(
    ("born", "died", "reason"),
    [
        ("0200", "0194", ["died_before_birth"]),
        ("1900-05-03", "1900-05-02", ["died_before_birth"]),
        ("1900-05-03", "1900-05-03", []),
        ("1900", "1900-01-02", []),
        # 1875-02-21 to 1997-08-04 are 122 whole years, the longest life that is verified.
        ("1875-02-21", "1997-08-04", []),
        ("1875-02-21", "1998-02-21", ["lived_over_122_years"]),
        ("19th century", "2015", []),
    ],
)
def test_lifetimes(born: str, died: str, reason: list[str]) -> None:
    assert reasons(graph("Q1", ("date of birth", born), ("date of death", died))) == reason


@pytest.mark.parametrize(
    ("parent", "birth", "reason"),
    [
        ([("date of birth", "1900-06-01")], "1910-05-31", ["had_a_child_under_the_age_of_10"]),
        ([("date of birth", "1900-06-01")], "1910-06-01", []),
        ([("date of birth", "1900")], "1910", []),
        ([("date of birth", "1933")], "1897-09-12", ["had_a_child_before_birth"]),
        ([("date of birth", "0846")], "1833", ["had_a_child_over_the_age_of_122"]),
        ([("date of death", "0194")], "0195", []),
        ([("date of death", "0194-03-01")], "0195-03-01", ["had_a_child_a_year_after_death"]),
        ([("date of death", "0194")], "0196", ["had_a_child_a_year_after_death"]),
        ([("date of death", "0194")], "2nd century", []),
        # The later of two dates of birth is possible.
        ([("date of birth", "1900")], "1905 1915", []),
    ],
)
def test_ages_of_parents(parent: list[tuple[str, str]], birth: str, reason: list[str]) -> None:
    births = [
        ("date of birth", text) for text in ([birth] if "century" in birth else birth.split())
    ]
    child = graph("Q1", *births, ("father", "Q2"))
    assert reasons(child, graph("Q2", *parent)) == reason
    # The same from the parent's side, by ids, and by names where files have no ids.
    assert reasons(graph("Q1", *births), graph("Q2", *parent, ("child", "Q1"))) == reason
    named = graph("Q1", *births, ("father", "Q2"), has_ids=False)
    assert reasons(named, graph("Q2", *parent, has_ids=False)) == reason


def test_a_date_of_published_files_on_1_january_is_a_year() -> None:
    dates = [("date of birth", "1900-05-03"), ("date of death", "1900-01-01")]
    assert reasons(graph("Q1", *dates)) == ["died_before_birth"]
    assert reasons(graph("Q1", *dates, has_ids=False)) == []


def test_other_beings_have_no_bounds_but_an_order() -> None:
    horses = PEOPLE.model_copy(update={"entity_class": "Q726"})
    foal = graph("Q1", ("date of birth", "2003"), ("father", "Q2"))
    assert reasons(foal, graph("Q2", ("date of birth", "1998")), domain=horses) == []
    assert reasons(foal, graph("Q2", ("date of birth", "2004")), domain=horses) == [
        "had_a_child_before_birth"
    ]


def test_relations_of_schema_org_by_their_predicates() -> None:
    relations = {
        "schema:birthDate": {"label": "birthday", "values": "date"},
        "schema:parent": {"label": "begotten by", "values": "entity"},
    }
    fields = {
        "prefixes": {"schema": "https://schema.org/"}, "classes": ["schema:Person"],
        "labels": ["schema:name"], "relations": relations,
    }  # fmt: skip
    domain = load_domain({"name": "p", "model": "plain", "plain": fields, "entity_class": "Q0"})
    child = Graph("Q1", "a", (
        Triple("Q1", "a", "P1", "birthday", "1905", "", "year"),
        # An id of this graph alone, which is no citizenship.
        Triple("Q1", "a", "P569", "shoe size", "1"),
        Triple("Q1", "a", "P2", "begotten by", "b", "Q2"),
    ))  # fmt: skip
    parent = Graph("Q2", "b", (Triple("Q2", "b", "P1", "birthday", "1900", "", "year"),))
    assert reasons(child, parent, domain=domain) == ["had_a_child_under_the_age_of_10"]


def test_the_text_names_both_and_their_dates() -> None:
    child = graph("Q1", ("date of birth", "1833"), ("father", "Q2"))
    lives = Lives(PEOPLE, [child, graph("Q2", ("date of birth", "0846"))])
    assert [one.text for one in lives.find_impossible(child)] == [
        "Name Q1: born 1833; parent Name Q2: born 0846"
    ]


@pytest.mark.parametrize("people_first", [True, False])
def test_the_bounds_are_for_the_people_among_several_classes(people_first: bool) -> None:
    gods = Domain(name="deities", entity_class="Q178885")
    first, second = (PEOPLE, gods) if people_first else (gods, PEOPLE)
    domain = first.model_copy(update={"others": (second,)})

    def one(qid: str, of: str, *facts: tuple[str, str]) -> Graph:
        own = graph(qid, *facts)
        kind = Triple(qid, own.name, "P31", "instance of", "", of)
        # A class without a label in the languages asked for is a class, too.
        return Graph(qid, own.name, own.triples, (kind,))

    life = [("date of birth", "0100"), ("date of death", "0900")]
    # 900 - 100 = 800 years.
    assert reasons(one("Q1", "Q5", *life), domain=domain) == ["lived_over_122_years"]
    assert reasons(one("Q1", "Q178885", *life), domain=domain) == []
    child = one("Q1", "Q5", ("date of birth", "1827"), ("father", "Q2"))
    for of, found in (("Q5", ["had_a_child_over_the_age_of_122"]), ("Q178885", [])):
        father = one("Q2", of, ("date of birth", "0840"))
        assert reasons(child, father, domain=domain) == found
