"""Questions of the template writer: they read like questions, and do not say their answers."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.kalma.build import build_kalma
from citeforge.builders.kalma.package import wrong_kalma
from citeforge.builders.kalma.phrasing import compose, find_given_away
from citeforge.builders.kalma.selection import EntityPair, missing_values
from citeforge.builders.kalma.themes import GENERAL_WORDS, NoPlan, Plan, Planner
from citeforge.builders.kalma.writer_requests import embedded_templates
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.engines.text.names import mask_names
from citeforge.engines.text.variety import measure_variety
from citeforge.kg.domain import Domain, Phrasing, load_domain
from citeforge.kg.equivalence import Equivalence
from citeforge.kg.graph import open_graph
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.schemas.kg import Graph, Triple
from citeforge.schemas.recipes.kalma import Choices
from citeforge.schemas.text import MONTHS, normalise_em
from conftest import EXAMPLES, write_jsonl
from stand_ins import RuleLlm

GRAPH = EXAMPLES / "people" / "graph.ttl"
PEOPLE = load_domain("people")
assert PEOPLE.questions is not None
WORDS: Phrasing = PEOPLE.questions
SINGLE = {"honorific prefix", "voice type", "eye color", "lifestyle", "canonization status",
          "manner of death", "handedness", "father", "mother"}  # fmt: skip
NAMES = {"Q1": "Ada Byron", "Q2": "George Byron"}


def fact(qid: str, relation: str, value: str, value_id: str = "") -> Triple:
    return Triple(qid, NAMES[qid], "P1", relation, value, value_id)


def pair(relation: str = "father", born: str = "1815", **more: Sequence[Triple]) -> EntityPair:
    ada = (fact("Q1", "sex or gender", "female"), fact("Q1", "date of birth", born))
    george = (fact("Q2", "sex or gender", "male"), fact("Q2", "date of birth", "1788"))
    graphs = [
        Graph(q, NAMES[q], (*own, *more.get(q, ()))) for q, own in (("Q1", ada), ("Q2", george))
    ]
    return EntityPair(*graphs, fact("Q1", relation, "George Byron", "Q2"))


def asked(facts: Sequence[Triple], asks_link: bool = False, **given: Any) -> tuple[str, str]:
    """The general and the specific question."""
    both = (pair(**given, **_facts_by_qid(facts)),)
    return (
        compose(PEOPLE, *both, facts, asks_link, is_general=True).text,
        compose(PEOPLE, *both, facts, asks_link, is_general=False).text,
    )


def _facts_by_qid(facts: Sequence[Triple]) -> dict[str, Any]:
    return {q: [t for t in facts if t.qid == q] for q in NAMES}


def test_the_domain_of_people_has_clauses_and_themes() -> None:
    assert len(WORDS.relations) >= 60
    assert {p.theme for p in WORDS.relations.values()} == set(WORDS.themes)
    for relation, phrase in WORDS.relations.items():
        assert phrase.ask.count("{who") == 1, relation
        # A clause for one value is not asked for several.
        singular = re.match(r"(?:\w+ )*(?:which|what) (?!did|is|was|\{|children)", phrase.ask)
        assert phrase.many or not singular or relation in SINGLE, relation


def test_one_person() -> None:
    facts = [
        fact("Q1", "occupation", "poet"), fact("Q1", "employer", "herself"),
        fact("Q1", "field of work", "maths"), fact("Q1", "field of work", "poetry"),
        fact("Q1", "student of", "Mary Somerville"),
    ]  # fmt: skip
    assert asked(facts, asks_link=True) == (
        "Who was George Byron to Ada Byron, what career did Ada Byron have, and which teachers, "
        "students and companions did she have?",
        "Who was George Byron to Ada Byron, what occupation did Ada Byron have, for whom and in "
        "which fields did she work, and who taught her?",
    )


def test_the_present_is_for_those_who_live() -> None:
    facts = [fact("Q1", "occupation", "poet"), fact("Q2", "religion", "none")]
    general, _ = asked(facts, born="1990")
    assert general == (
        "What career does Ada Byron have, and what beliefs and memberships did her father George "
        "Byron have?"
    )


@pytest.mark.parametrize(
    ("born", "verb"),
    # The domain of people says the present of those born after 1930.
    [("1931-02", "does"), ("1940s", "does"), ("1930", "did"), ("2600 BCE", "did"),
     ("1990 BCE", "did"), ("-1990-01-01", "did"), ("20th century", "did")],
)  # fmt: skip
def test_births_before_our_era_are_no_later_years(born: str, verb: str) -> None:
    _, specific = asked([fact("Q1", "occupation", "poet")], born=born)
    assert specific == f"What occupation {verb} Ada Byron have?"


def test_both_people() -> None:
    facts = [
        fact("Q2", "noble title", "Baron"), fact("Q1", "noble title", "Countess"),
        fact("Q2", "conflict", "the war"), fact("Q1", "date of birth", "1"),
        fact("Q1", "place of birth", "x"),
    ]  # fmt: skip
    assert asked(facts) == (
        "What rank in society did Ada Byron and her father George Byron each hold, under what "
        "circumstances was Ada Byron born, and what part did George Byron play in war and the "
        "armed forces?",
        "What noble title did Ada Byron and her father George Byron each hold, when and where was "
        "Ada Byron born, and in which conflict was George Byron involved?",
    )
    # Only about the second one: the first is named with what connects the two.
    assert asked(facts[2:3])[1] == (
        "In which conflict was Ada Byron's father George Byron involved?"
    )


def test_the_other_one_is_excepted_from_answers() -> None:
    """The link holds the other way round: she is one of his children."""
    facts = [fact("Q2", "child", "B"), fact("Q2", "father", "C"), fact("Q2", "mother", "D")]
    assert asked(facts) == (
        "Which family members did Ada Byron's father George Byron have besides Ada Byron?",
        "What children did Ada Byron's father George Byron have besides Ada Byron, and who were "
        "George Byron's father and mother?",
    )
    both = [*facts[:1], fact("Q1", "mother", "E"), fact("Q1", "child", "F")]
    link = fact("Q1", "father", "George Byron", "Q2")
    shown = pair(Q1=[link, *both[1:]], Q2=both[:1])
    assert compose(PEOPLE, shown, both, asks_link=False, is_general=True).text == (
        "Which family members did Ada Byron and her father George Byron each have besides each "
        "other?"
    )


def test_without_a_known_sex_the_name_is_said_again() -> None:
    facts = [fact("Q1", "height", "x"), fact("Q1", "residence", "y")]
    graphs = [Graph(q, name, tuple(t for t in facts if t.qid == q)) for q, name in NAMES.items()]
    bare = EntityPair(graphs[0], graphs[1], fact("Q1", "sibling", "George Byron", "Q2"))
    assert compose(PEOPLE, bare, facts, asks_link=True, is_general=False).text == (
        "Who was George Byron to Ada Byron, how tall was Ada Byron, and where did Ada Byron live?"
    )


def test_a_relation_without_words_is_asked_for_by_its_name() -> None:
    facts = [fact("Q1", "shoe size", "4"), fact("Q1", "participant at", "x")]
    assert asked(facts) == 2 * (
        "What is known of Ada Byron's shoe size, and what is known of her participant at?",
    )


def test_answers_in_questions_are_found() -> None:
    born = Triple("Q1", "Ada Byron", "P1", "date of birth", "1815-12-10", "", "day")
    assert find_given_away("Where was she on 10 December 1815?", [born]) == born
    assert find_given_away("Where was she in 1815?", [born]) is None
    maths = fact("Q1", "field of work", "maths")
    assert find_given_away("Why did Ada Byron love Maths?", [maths]) == maths
    assert find_given_away("Why was Ada Byron an aftermaths expert?", [maths]) is None


# --- plans -------------------------------------------------------------------------------------

CAREER = ("occupation", "employer", "work location", "field of work")


def career(qid: str, n: int = 4) -> list[Triple]:
    return [fact(qid, r, f"{qid} {r} value") for r in CAREER[:n]]


def planner(**choices: int) -> Planner:
    return Planner(PEOPLE, Choices(**choices), 0, Equivalence(PEOPLE))


@pytest.mark.parametrize(
    ("relation", "value", "value_id"),
    [
        ("position held", "Ada Byron foundation chair", ""),  # has the name in it
        ("position held", "Byron", ""),  # is in the name
        ("position held", "career", ""),  # is in the question
        ("position held", "Q77", "Q77"),  # has no label
    ],
)
def test_a_theme_is_asked_for_as_a_whole_or_not_at_all(
    relation: str, value: str, value_id: str
) -> None:
    facts = career("Q1")
    assert isinstance(planner().plan(pair(Q1=facts, Q2=career("Q2"))), Plan)
    no = pair(Q1=[*facts, fact("Q1", relation, value, value_id)])
    assert isinstance(planner(min_facts=4).plan(no), NoPlan)


@pytest.mark.parametrize("relation", ["position held", "occupation"])
def test_a_theme_with_a_value_in_another_language_is_not_asked_for(relation: str) -> None:
    both = pair(Q1=career("Q1"))
    unnamed = replace(both.first, unnamed=(fact("Q1", relation, "", "Q77"),))
    assert isinstance(planner(min_facts=4).plan(both), Plan)
    none = planner(min_facts=4).plan(replace(both, first=unnamed))
    assert none == NoPlan("pairs_without_facts")


def test_a_plan_has_the_declared_number_of_facts() -> None:
    both = pair(Q1=career("Q1"), Q2=career("Q2", 2))
    plan = planner(min_facts=6, max_facts=6).plan(both)
    assert isinstance(plan, Plan) and len(plan.facts) == 4 + 2
    none = planner(min_facts=9, max_facts=9).plan(both)  # 4 + 2 + one of two births
    assert none == NoPlan("pairs_without_facts")
    with pytest.raises(ValueError, match="min_facts 5 is above max_facts 4"):
        Choices(min_facts=5, max_facts=4)


def test_questions_share_few_facts_and_one_in_three_asks_for_the_link() -> None:
    # The same pair again shares all facts.
    same = planner(min_facts=6, max_facts=6, max_shared=2)
    both = pair(Q1=career("Q1"), Q2=career("Q2", 2))
    assert isinstance(same.plan(both), Plan)
    assert same.plan(both) == NoPlan("pairs_without_free_themes")
    free = planner(max_shared=99)
    plans = [free.plan(both) for _ in range(9)]
    made = [plan for plan in plans if isinstance(plan, Plan)]
    asks = [plan.specific.startswith("Who was George Byron to") for plan in made]
    assert len(asks) == 9 and sum(asks) == 9 // 3
    assert [both.link in plan.facts for plan in made] == asks


def test_the_reason_is_that_of_the_choice_that_came_furthest() -> None:
    made = planner(min_facts=4)
    assert isinstance(made.plan(pair(Q1=career("Q1"))), Plan)
    # Five choices say an answer (beliefs alone, with one or both births, with the career). Four
    # (the career alone, with one or both births) only share their facts with the plan before.
    said = [fact("Q2", "religion", v) for v in ("beliefs", "b", "c", "d")]
    again = pair(Q1=career("Q1"), Q2=said)
    assert made.plan(again) == NoPlan("pairs_without_free_themes")
    assert planner(min_facts=4).plan(pair(Q2=said)) == NoPlan("pairs_whose_questions_say_an_answer")


def test_without_themes_more_than_three_relations_meet() -> None:
    # Ten relations of one fact each: a question of eight facts has eight of them.
    domain = Domain(name="d", entity_class="Q9")
    facts = [fact("Q1", f"property {n}", f"value {n}") for n in "abcdefghij"]
    chosen = Planner(domain, Choices(min_facts=8), 0, Equivalence(domain)).plan(pair(Q1=facts))
    assert isinstance(chosen, Plan) and len(chosen.facts) == 8


# --- built -------------------------------------------------------------------------------------


def build(out: Path, *args: Any, llm: Any = None, **more: Any) -> Any:
    recipe = cf.KalmaRecipe.model_validate(
        {
            "kg": f"file:{GRAPH}",
            "pairs_from_kg": ("spouse", "father", "child"),
            "nearest": "none",
            **more,
        }
    )
    return build_kalma(recipe, cf.RunOptions(out=out), llm=llm)


PLAIN = EXAMPLES / "plain"
EXAMPLE_BUILDS: dict[str, dict[str, Any]] = {
    "people": {},
    "people, few facts": {"choices": {"min_facts": 2, "max_facts": 3}},
    "people, all relations": {
        "pairs_from_kg": ("spouse", "father", "mother", "child", "sibling", "student"),
    },
    "friends": {
        "kg": f"file:{PLAIN / 'people.ttl'}",
        "domain": str(PLAIN / "friends.yaml"),
        "pairs_from_kg": ("spouse", "child", "parent", "acquaintance"),
        "choices": {"min_facts": 2},
    },
}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Package]:
    """The package of a name, built when it is first asked for."""

    @cache
    def built(name: str) -> Package:
        out = tmp_path_factory.mktemp("kalma") / "k"
        build(out, **EXAMPLE_BUILDS[name])
        return Package(out)

    return built


def test_no_question_of_the_example_gives_its_answers_away(
    example: Callable[[str], Package],
) -> None:
    package = example("people")
    later: dict[str, list[Triple]] = {}
    for row in package.gold.to_pylist():
        assert row["relation"] not in PEOPLE.uninformative
        if row["value_id"] not in row["query_id"].split("-"):
            result = Triple(*(row[f] for f in Triple.__dataclass_fields__))
            later.setdefault(row["query_id"], []).append(result)
    for form in ("general", "specific"):
        for query, text in zip(
            package.query_ids, package.forms[form]["text"].to_pylist(), strict=True
        ):
            for triple in later[query]:
                assert f" {normalise_em(triple.value)} " not in f" {normalise_em(text)} "
    starts = {" ".join(t.split()[:2]) for t in package.forms["specific"]["text"].to_pylist()}
    assert len(starts) >= 4


@pytest.mark.parametrize("name", ["people", "people, all relations"])
def test_what_questions_of_the_example_are(name: str, example: Callable[[str], Package]) -> None:
    package = example(name)
    rows = package.gold.to_pylist()
    texts = {form: package.forms[form]["text"].to_pylist() for form in ("general", "specific")}
    metadata = [json.loads(m) for m in package.forms["general"]["metadata"].to_pylist()]
    for query, about, general, specific in zip(
        package.query_ids, metadata, *texts.values(), strict=True
    ):
        mine = [r for r in rows if r["query_id"] == query]
        assert 4 <= len(mine) <= 8
        assert len(general.split()) <= GENERAL_WORDS and len(general.split()) < len(
            specific.split()
        )
        assert all(n in general and n in specific for n in about["names"])
        for row in (r for r in mine if r["value_id"] not in about["entities"]):
            phrase = WORDS.phrase(row["relation"])
            assert phrase is not None
            # The head and the end of its clause are there.
            assert any(map(partial(has_head_and_end, specific), phrase.all_wordings)), specific
    n_links = len([r for r in rows if r["value_id"] in r["query_id"].split("-")])
    assert n_links <= len(metadata) / 3


def has_head_and_end(question: str, ask: str) -> bool:
    """Whether a question has the words of a clause before its verb, and its end."""
    owned = re.fullmatch(r"(?:who|what) \{(?:was|were)\} \{whose\} (.+)", ask)
    if owned is not None:
        return owned[1] in question
    head, end = re.split(r" (?:did\b|\{)", ask)[0], ask.split()[-1]
    return head.lower() in question.lower() and (end.startswith("{") or end in question)


@pytest.mark.slow
def test_statistics_state_the_variety_of_questions(example: Callable[[str], Package]) -> None:
    package = example("people")
    stats, card = read_stats(package.folder), (package.folder / "README.md").read_text()
    metadata = [json.loads(m)["names"] for m in package.queries["metadata"].to_pylist()]
    for form, table in package.forms.items():
        texts = zip(table["text"].to_pylist(), metadata, strict=True)
        found = measure_variety([mask_names(text, names) for text, names in texts])
        assert stats[f"distinct_openers[{form} questions]"] == found.n_openers > 1
        assert stats[f"self_repetition[{form} questions]"] == round(found.self_repetition, 4)
        assert f"distinct first three words, {form} questions" in card


@pytest.mark.parametrize("name", EXAMPLE_BUILDS)
def test_no_right_answer_is_missing_from_the_gold(
    name: str, example: Callable[[str], Package]
) -> None:
    """Every value that the shown graphs have of a relation that is asked for is gold."""
    package = example(name)
    shown = {
        row["query_id"]: [
            (t["qid"], t["relation"], t["value"], t["value_id"] or "-?") for t in row["triples"]
        ]
        for row in package.context_table("full").to_pylist()
    }
    rows = package.gold.to_pylist()
    gold = {(r["query_id"], r["qid"], r["relation"], r["value"]) for r in rows}
    asked = {
        (r["query_id"], r["qid"], r["relation"])
        for r in rows
        if r["value_id"] not in r["query_id"].split("-")
    }
    missing = [
        (query, *fact)
        for query, facts in shown.items()
        for fact in facts
        if (query, *fact[:2]) in asked and (query, *fact[:3]) not in gold and fact[3] not in query
    ]
    assert asked and missing == []
    assert list(wrong_kalma(package)) == []


def test_facts_of_a_seed_are_gold_where_the_plan_has_them(tmp_path: Path) -> None:
    """A model marks the place of birth in the seed, and a prize that no theme asks for."""
    seed = "Marie Curie, born in Warsaw, was the wife of Pierre Curie."
    rows: list[dict[str, object]] = [
        {"paragraph": seed, "first": "Marie Curie", "relation": "spouse", "second": "Pierre Curie"}
    ]
    write_jsonl(tmp_path / "pairs.jsonl", rows)
    made = {"pairs": tmp_path / "pairs.jsonl", "pairs_from_kg": ()}
    build(tmp_path / "k", llm=template_but(annotate), **made)
    package = Package(tmp_path / "k")
    gold = [(r["round"], r["relation"], r["value"]) for r in package.gold.to_pylist()]
    assert gold[0] == (1, "place of birth", "Warsaw")
    assert [number for number, *_ in gold] == list(range(1, len(gold) + 1))


def test_verify_finds_a_relation_that_is_gold_in_part() -> None:
    link = fact("Q1", "father", "George Byron", "Q2")
    pool = [link, *(fact("Q1", "child", v) for v in ("A", "B")), fact("Q1", "Child", "C")]
    assert missing_values(pool, [link, pool[1]], ("Q1", "Q2")) == [pool[2], pool[3]]
    assert missing_values(pool, [link, *pool[1:]], ("Q1", "Q2")) == []
    # Two connected people: what connects them is asked for by their names.
    other = fact("Q1", "father", "Another Byron")
    assert missing_values([*pool, other], [link], ("Q1", "Q2")) == []
    assert missing_values([*pool, other], [link], ()) == [other]


def template_but(change: Callable[[Request, str], str]) -> RuleLlm:
    """A model that writes like the template, with its texts changed."""
    base = TemplateWriter(embedded_templates(PEOPLE))

    def reply(request: Request) -> str | Result:
        (result,) = base.complete([request])
        return change(request, result.text) if isinstance(result, LlmReply) else result

    return RuleLlm(reply, "model")


def date_in_words(request: Request, text: str) -> str:
    """Write ``7 November 1867`` for ``1867-11-07`` in first sentences."""
    if request.task != "seed":
        return text
    return re.sub(
        r"(\d{4})-(\d\d)-(\d\d)", lambda m: f"{int(m[3])} {MONTHS[int(m[2]) - 1]} {m[1]}", text
    )


def test_first_sentences_may_state_a_date_in_words(tmp_path: Path) -> None:
    model = template_but(date_in_words)
    made = build(tmp_path / "k", llm=model, one_entity=1.0, seed=1)
    asked_for = [r.values["fact"] for r in model.asked if r.task == "seed"]
    assert sum(re.search(r"\d{4}-\d\d-\d\d", text) is not None for text in asked_for) == 2
    # No reply is refused: each first sentence is asked for once.
    assert len(asked_for) == made.counts["pairs_selected"] == 8
    assert made.counts["pairs_asked_about_one_entity"] == 7
    paragraphs = Package(tmp_path / "k").evolution["paragraph"].to_pylist()
    assert any("is 4 July 1934 [" in text for text in paragraphs)


def annotate(request: Request, text: str) -> str:
    """Mark the place of birth, too."""
    if request.task != "annotate":
        return text
    return text.replace("Warsaw", "Warsaw [Q901, place of birth: Warsaw]")


def give_away(request: Request, text: str) -> str:
    """Let first questions say their answers."""
    if request.task == "specific" and request.sample == 0:
        value = request.values["plain"].rstrip(".").split(" is ")[-1]
        return f"{text.removesuffix('?')} with {value}?"
    return text


@pytest.mark.slow
def test_what_a_model_writes_is_checked(tmp_path: Path) -> None:
    made = build(tmp_path / "k", llm=template_but(give_away), pairs_from_kg=("father",))
    refused = {k: n for k, n in made.counts.items() if k.startswith("replies_refused[specific]")}
    assert sum(refused.values()) == len(Package(tmp_path / "k").query_ids)
    assert all("gives away" in k for k in refused)


def test_a_domain_without_words_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = PEOPLE.model_copy(update={"questions": None, "name": "plain people"})
    few = {"domain": bare.model_dump(mode="json"), "choices": {"min_facts": 2, "max_facts": 3}}
    made = build(tmp_path / "k", pairs_from_kg=("father",), **few)
    assert made.counts["facts_without_words"] >= len(Package(tmp_path / "k").query_ids) > 0
    assert "'plain people' has no words for" in capsys.readouterr().err
    for text in Package(tmp_path / "k").forms["specific"]["text"].to_pylist():
        assert re.search(r"(?i)(?:what is known of|who or what (?:is|was)) ", text)


# --- gold that stands where it is said -----------------------------------------------------------


def test_the_graph_of_a_recipe_has_the_words() -> None:
    domain = open_graph(f"file:{GRAPH}", "people", ("en",), cf.RunOptions()).domain
    assert isinstance(domain, Domain) and domain.phrasing == WORDS
