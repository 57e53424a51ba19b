"""Wordings of composed questions: drawn by the seed, understood by the check, and varied."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from citeforge.builders.kalma.phrasing import compose
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.selection import EntityPair
from citeforge.builders.kalma.themes import GENERAL_WORDS, Plan, Planner
from citeforge.builders.kalma.variation import Variation
from citeforge.engines.text.names import mask_names
from citeforge.engines.text.variety import find_opener, measure_variety
from citeforge.kg.clauses import ThemeWording
from citeforge.kg.domain import Domain, Phrasing, load_domain
from citeforge.kg.drafts import DraftRelation, ValueSort, draft_phrasing, listed_properties
from citeforge.kg.equivalence import Equivalence
from citeforge.schemas.kg import Graph, Triple
from citeforge.schemas.recipes.kalma import Choices

PEOPLE = load_domain("people")
WORDS = PEOPLE.phrasing
SORTS: tuple[ValueSort, ...] = ("person", "place", "date", "number", "thing", "own")
MOST_VALUES = 12
"""Most facts of one question of the test."""
NAMES = {"Q1": "Ada Byron", "Q2": "George Byron"}
SEXES = {"Q1": "female", "Q2": "male"}


def fact(qid: str, relation: str, value: str, value_id: str = "") -> Triple:
    return Triple(qid, NAMES[qid], "P1", relation, value, value_id)


def pair(facts: Sequence[Triple]) -> EntityPair:
    """Ada Byron, her father, and facts of both."""
    graphs = [
        Graph(q, name, (fact(q, "sex or gender", SEXES[q]), fact(q, "date of birth", "1"),
                        *(t for t in facts if t.qid == q)))
        for q, name in NAMES.items()
    ]  # fmt: skip
    return EntityPair(graphs[0], graphs[1], fact("Q1", "father", "George Byron", "Q2"))


def career(qid: str, n: int) -> list[Triple]:
    relations = ("occupation", "employer", "work location", "field of work")
    return [fact(qid, r, f"{qid} {r} value") for r in relations[:n]]


def people_with(domain: Domain = PEOPLE, **words: Any) -> Domain:
    """A domain, by default that of people, with other words for questions."""
    own = domain.phrasing.model_dump()
    mine = own | {"themes": {}, "theme_wordings": {}, "also": {}} | words
    return Domain.model_validate({**domain.model_dump(), "questions": mine})


def draft_of_all() -> Domain:
    """A domain with draft words: of frequent properties, and of one with each sort of value."""
    listed = [DraftRelation(pid, "", "noun", "thing") for pid in listed_properties()]
    named = [replace(r, label=r.listed_words.label) for r in listed if r.listed_words is not None]
    other = [DraftRelation(f"P{n}", f"token {s}", "noun", s) for n, s in enumerate(SORTS)]
    words = draft_phrasing("thing", [*named, *other]).model_dump()
    words["living"] = {"relation": "date of birth", "after": 1930, "ended_by": []}
    return Domain.model_validate({"name": "draft", "entity_class": "Q1", "questions": words})


DOMAINS = {"people": PEOPLE, "draft": draft_of_all()}


CHECKS = {name: QuestionCheck(domain) for name, domain in DOMAINS.items()}


def in_words(domain: Domain, ask: str, relations: Sequence[str], is_many: bool, theme: str) -> str:
    """The question for facts of Ada Byron in a domain with one clause, of a relation or theme."""
    phrase = {"theme": theme, "ask": ask, "many": ask if is_many else None}
    domain = people_with(
        domain, relations=dict.fromkeys(relations, phrase), themes={theme: ask} if theme else {}
    )
    facts = [fact("Q1", r, f"value {n}") for r in relations for n in range(1 + is_many)]
    return compose(domain, pair(facts), facts, asks_link=False, is_general=bool(theme)).text


def refusal(
    check: QuestionCheck, question: str, form: str, relations: Sequence[str], is_many: bool
) -> str | None:
    """Why the check refuses a question for facts of Ada Byron."""
    facts = [fact("Q1", r, f"value {n}") for r in relations for n in range(1 + is_many)]
    both = pair(facts)
    asking = QuestionToCheck(question, tuple(facts), both.pool, both.link, form)
    return check.check([asking])[0].find_fault(asking)


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("is_many", [False, True])
def test_the_check_understands_every_clause(name: str, is_many: bool) -> None:
    domain = DOMAINS[name]
    for relation, phrase in domain.phrasing.relations.items():
        for ask in phrase.wordings(is_many):
            assert ask.count("{who") == 1, ask
            text = in_words(domain, ask, [relation], is_many, theme="")
            assert refusal(CHECKS[name], text, "specific", [relation], is_many) is None, text


@pytest.mark.parametrize("name", DOMAINS)
def test_the_check_understands_every_theme(name: str) -> None:
    domain = DOMAINS[name]
    words = domain.phrasing
    for theme, base in words.themes.items():
        wordings = (ThemeWording(ask=base), *words.theme_wordings.get(theme, ()))
        mine = [label for label, phrase in words.relations.items() if phrase.theme == theme]
        for wording in wordings:
            assert wording.ask.count("{who") == 1, wording
            relations = list(wording.only or wording.needs or mine)[:MOST_VALUES]
            assert {*relations} <= {*mine}, wording
            assert wording.fits(relations)
            text = in_words(domain, wording.ask, relations, False, theme)
            assert refusal(CHECKS[name], text, "general", relations, False) is None, text


def test_a_wording_of_a_theme_is_for_some_relations() -> None:
    wording = ThemeWording(ask="who {was} {who}", needs=("genre",), only=("genre", "movement"))
    assert wording.fits(["Genre", "movement"]) and wording.fits(["genre"])
    assert not wording.fits(["movement"])  # none of those that it needs
    assert not wording.fits(["genre", "instrument"])  # one besides
    both = ["date of death", "place of death"]
    causes = [*both, "cause of death"]
    asks = {name: WORDS.theme_asks("death", some) for name, some in (("b", both), ("c", causes))}
    assert "what led to {whose} death" in asks["c"] and "what led to {whose} death" not in asks["b"]
    assert asks["b"][0] == asks["c"][0] == WORDS.themes["death"]


def test_what_belongs_to_one_is_asked_for_together() -> None:
    many = {"ask": "x", "many": "what {were} {whose} occupations"}
    domain = people_with(relations={
        "employer": {"ask": "who {was} {whose} employer", "theme": "career"},
        "genre": {"ask": "what {was} {whose} genre", "theme": "career"},
        "occupation": {**many, "theme": "career"},
    }, themes={"career": "what career {did} {who} have"})  # fmt: skip
    facts = [fact("Q1", "genre", "a"), *(fact("Q1", "occupation", v) for v in "bc"),
             fact("Q1", "employer", "d")]  # fmt: skip
    both = pair(facts)
    text = compose(domain, both, facts, asks_link=True, is_general=False).text
    assert text == (
        "Who was George Byron to Ada Byron, what were Ada Byron's genre and occupations, and who "
        "was her employer?"
    )
    assert compose(domain, both, facts[1:3], asks_link=True, is_general=False).text == (
        "Who was George Byron to Ada Byron, and what were Ada Byron's occupations?"
    )


def test_wordings_are_drawn_by_the_seed() -> None:
    facts = [*career("Q1", 4), *career("Q2", 2), fact("Q1", "place of birth", "x")]
    both = pair(facts)
    anything = Variation(PEOPLE, 0).word("specific", both, facts, (), lambda _: True)
    again = Variation(PEOPLE, 0).word("specific", both, facts, (), lambda _: True)
    other = Variation(PEOPLE, 1).word("specific", both, facts, (), lambda _: True)
    assert anything == again != other
    # Nothing fits: the first wordings.
    base = compose(PEOPLE, both, facts, asks_link=False, is_general=False)
    assert Variation(PEOPLE, 0).word("specific", both, facts, (), lambda _: False) == base


def test_no_clause_is_said_twice_where_there_are_others() -> None:
    facts = [fact(q, r, f"{q} {r} value") for q in NAMES for r in ("father", "mother")]
    facts = [t for t in facts if (t.qid, t.relation) != ("Q1", "father")]
    both = pair(facts)
    first = compose(PEOPLE, both, facts, asks_link=True, is_general=False)
    assert first.asks == (
        WORDS.link_asks[0], "who {was} {whose} mother", "what {was} the name of {whose} mother",
        "who {was} {whose} father",
    )  # fmt: skip
    # The general question has none of the specific one's.
    buried = [fact(q, "place of burial", f"{q} value") for q in NAMES]
    made = pair(buried)
    barred = compose(PEOPLE, made, buried, asks_link=True, is_general=False).asks
    assert barred == (WORDS.link_asks[0], WORDS.themes["burial"])
    general = compose(PEOPLE, made, buried, True, is_general=True, avoided_templates=barred)
    assert not {*general.asks} & {*barred}


def test_openers_of_a_benchmark_vary() -> None:
    facts = [*career("Q1", 4), *career("Q2", 2)]
    both = pair(facts)
    free = Planner(PEOPLE, Choices(max_shared=99), 0, Equivalence(PEOPLE))
    plans = [free.plan(replace_names(both, n)) for n in range(12)]
    made = [plan for plan in plans if isinstance(plan, Plan)]
    assert len(made) == 12
    for form in ("general", "specific"):
        texts = [
            mask_names(getattr(plan, form), [f"Ada {n}", f"George {n}"])
            for n, plan in enumerate(made)
        ]
        assert measure_variety(texts).n_openers >= 8
        assert max(Counter(map(find_opener, texts)).values()) <= 2


def test_small_entities_are_asked_for_two_themes_that_both_have() -> None:
    relations = ("place of burial", "native language")  # of two themes, one fact each
    facts = [fact(q, r, f"{q} {r} value") for q in NAMES for r in relations]
    choices = Choices(min_facts=4, max_facts=4)
    plan = Planner(PEOPLE, choices, 0, Equivalence(PEOPLE)).plan(pair(facts))
    assert isinstance(plan, Plan) and {*plan.facts} == {*facts}


def test_a_long_general_question_gets_a_shorter_wording() -> None:
    """The domain's first wording of the only choice is long, and another one is not."""
    relations = ("place of birth", "residence")
    facts = [fact(q, r, f"{q} {r} value") for q in NAMES for r in relations]
    both, choices = pair(facts), Choices(min_facts=6, max_facts=6)  # with dates of birth
    first = compose(PEOPLE, both, facts, asks_link=False, is_general=True)
    assert len(first.text.split()) == 23 > GENERAL_WORDS
    plan = Planner(PEOPLE, choices, 0, Equivalence(PEOPLE)).plan(both)
    assert isinstance(plan, Plan) and len(plan.general.split()) <= GENERAL_WORDS


def test_the_link_is_said_where_the_sex_is_unknown() -> None:
    """Without "her father", the name says whose father it is."""
    facts = [fact(q, "place of birth", f"{q} value") for q in NAMES]
    graphs = [Graph(q, NAMES[q], (t,)) for q, t in zip(NAMES, facts, strict=True)]
    both = EntityPair(graphs[0], graphs[1], fact("Q1", "father", "George Byron", "Q2"))
    text = compose(PEOPLE, both, facts, asks_link=False, is_general=False).text
    assert text == "Where were Ada Byron and Ada Byron's father George Byron each born?"


def replace_names(both: EntityPair, n: int) -> EntityPair:
    """The pair with other names and ids."""
    names = {"Q1": f"Ada {n}", "Q2": f"George {n}"}

    def rename(triple: Triple) -> Triple:
        value, value_id = triple.value, triple.value_id
        if value_id in names:
            value, value_id = names[value_id], f"{value_id}{n}"
        own = {"qid": f"{triple.qid}{n}", "name": names[triple.qid]}
        return replace(triple, value=value, value_id=value_id, **own)

    first, second = (
        Graph(f"{g.qid}{n}", names[g.qid], tuple(map(rename, g.triples))) for g in both.graphs
    )
    return EntityPair(first, second, rename(both.link))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"theme_wordings": {"life": ["how"]}}, "'life' is not among the themes"),
        ({"link_asks": ["who {was} {other}"]}, r"names no \{owner\}"),
        ({"link_asks": ["who {past} {other} to {owner}"]}, r"\{past\} is no slot"),
    ],
)
def test_wrong_other_words_are_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Phrasing.model_validate(words)
