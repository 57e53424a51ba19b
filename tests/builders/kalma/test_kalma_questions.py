"""Questions of the template writer: they read like questions, and do not say their answers."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.kalma.asking import template_writer_templates
from citeforge.builders.kalma.build import build_kalma
from citeforge.builders.kalma.package import wrong_kalma
from citeforge.builders.kalma.phrasing import Composer, cannot_be_asked, gives_away
from citeforge.builders.kalma.selection import EntityPair, missing_values
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.kg.domain import (
    Domain,
    Phrase,
    Phrasing,
    load_domain,
    plural,
    with_article,
)
from citeforge.kg.graph import open_graph
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.kg import Graph, Triple
from citeforge.schemas.text import normalise_em
from conftest import EXAMPLES, refused, write_jsonl

GRAPH = EXAMPLES / "people" / "graph.ttl"
PEOPLE = load_domain("people")
assert PEOPLE.questions is not None
WORDS: Phrasing = PEOPLE.questions
SINGLE = {"manner of death", "honorific prefix", "voice type", "handedness", "eye color",
          "lifestyle", "instance of"}  # fmt: skip
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


def asked(facts: Sequence[Triple], **given: Any) -> tuple[str, str]:
    composer = Composer(PEOPLE)
    return composer.general(pair(**given), facts), composer.specific(pair(**given), facts)


def test_the_domain_of_people_has_words_and_frames() -> None:
    assert len(WORDS.relations) >= 60
    assert {p.about for p in WORDS.relations.values()} == set(WORDS.frames)
    for relation, phrase in WORDS.relations.items():
        assert phrase.ask.count("{who") == 1, relation
        # A clause for one value is not asked for several.
        singular = re.match(r"(?:\w+ )?(?:which|what) (?!did|is|was|\{)", phrase.ask)
        is_one = phrase.many is None and singular is not None and "children" not in phrase.ask
        assert not is_one or relation in SINGLE, relation


def test_one_person() -> None:
    facts = [
        fact("Q1", "field of work", "maths"), fact("Q1", "field of work", "poetry"),
        fact("Q1", "employer", "herself"), fact("Q1", "student of", "Mary Somerville"),
    ]  # fmt: skip
    assert asked(facts) == (
        "What did Ada Byron do in life as regards her fields of work and employer, what is known "
        "of her teacher, and how was she related to George Byron?",
        "In which fields did Ada Byron work, for whom did she work, who taught her, and how was "
        "she related to George Byron?",
    )
    # A spouse is no relative; and who was born late, and has not died, lives.
    general, specific = asked(facts, relation="spouse", born="1990")
    assert general.startswith("What does Ada Byron do in life as regards her fields of work and em")
    assert specific.startswith("In which fields does Ada Byron work, for whom does she work, who")
    assert specific.endswith("how was she connected with George Byron?")  # he has died


def test_both_people() -> None:
    facts = [
        fact("Q2", "noble title", "Baron"), fact("Q1", "noble title", "Countess"),
        fact("Q2", "conflict", "the war"), fact("Q1", "mother", "Annabella Milbanke"),
    ]  # fmt: skip
    assert asked(facts) == (
        "What is known of the noble title of Ada Byron and George Byron, of George Byron's "
        "military conflict, and of Ada Byron's mother, and how were the two related?",
        "What noble title did Ada Byron and George Byron each hold, in which conflict was George "
        "Byron involved, who was Ada Byron's mother, and how were the two related?",
    )


def test_frames_follow_what_most_facts_are_about() -> None:
    family = [fact("Q1", "mother", "A"), fact("Q1", "child", "B"), fact("Q1", "residence", "C")]
    general, specific = asked(family)
    assert general == (
        "How were Ada Byron and George Byron related, who were Ada Byron's mother and child, and "
        "what is known of her place of residence?"
    )
    assert specific == (
        "How were Ada Byron and George Byron related, who was Ada Byron's mother, what children "
        "did she have, and where did she live?"
    )
    war = [fact("Q2", "conflict", "A"), fact("Q2", "military rank", "B")]
    assert asked(war)[1].startswith("As to military matters, in which conflict was George")
    # One fact of four about it is no reason to say so.
    little = [war[0], *(fact("Q1", r, "x") for r in ("height", "employer", "residence"))]
    assert asked(little)[1].startswith("In which conflict was George")


def test_without_further_facts_what_connects_the_two_is_asked() -> None:
    assert asked([]) == (
        "How were Ada Byron and George Byron related?",
        "How were Ada Byron and George Byron related?",
    )


def test_without_a_known_sex_the_name_is_said_again() -> None:
    composer = Composer(PEOPLE)
    graphs = [Graph(q, name, ()) for q, name in NAMES.items()]
    bare = EntityPair(graphs[0], graphs[1], fact("Q1", "sibling", "George Byron", "Q2"))
    facts = [fact("Q1", "height", "x"), fact("Q1", "residence", "y")]
    assert composer.specific(bare, facts) == (
        "How were Ada Byron and George Byron related, how tall was Ada Byron, and where did Ada "
        "Byron live?"
    )


def test_a_relation_without_words_is_asked_for_by_its_name_and_counted() -> None:
    composer = Composer(PEOPLE)
    facts = [fact("Q1", "shoe size", "4"), fact("Q1", "participant at", "x")]
    question = composer.specific(pair(), facts)
    assert "What was Ada Byron's shoe size, what was her participant at" in question
    assert "Ada Byron's shoe size and participant at" in composer.general(pair(), facts)
    assert composer.wordless == {"shoe size": 1, "participant at": 1}


@pytest.mark.parametrize(
    ("relation", "value", "value_id"),
    [
        ("family name", "Byron", ""),  # stands in the name
        ("discography", "Ada Byron discography", ""),  # has the name in it
        ("unmarried partner", "George Byron", "Q2"),  # every question names him
        ("sport", "sport", ""),  # stands in the clause
    ],
)
def test_what_a_question_would_say_itself_cannot_be_asked(
    relation: str, value: str, value_id: str
) -> None:
    triple = fact("Q1", relation, value, value_id)
    assert cannot_be_asked(triple, pair(), Composer(PEOPLE).clause(triple))
    other = fact("Q1", relation, "Byronesque sports", "Q9")
    assert not cannot_be_asked(other, pair(), Composer(PEOPLE).clause(other))


def test_answers_in_questions_are_found() -> None:
    born = Triple("Q1", "Ada Byron", "P1", "date of birth", "1815-12-10", "", "day")
    assert gives_away("Where was she on 10 December 1815?", [born]) == born
    assert gives_away("Where was she in 1815?", [born]) is None
    maths = fact("Q1", "field of work", "maths")
    assert gives_away("Why did Ada Byron love Maths?", [maths]) == maths
    assert gives_away("Why was Ada Byron an aftermaths expert?", [maths]) is None


# --- built -------------------------------------------------------------------------------------


def build(out: Path, *args: Any, llm: Any = None, **more: Any) -> Any:
    recipe = cf.KalmaRecipe.model_validate(
        {"kg": f"file:{GRAPH}", "pairs_from_kg": ("spouse", "father", "child"), **more}
    )
    return build_kalma(recipe, cf.RunOptions(out=out), llm=llm)


PLAIN = EXAMPLES / "plain"
EXAMPLE_BUILDS: dict[str, dict[str, Any]] = {
    "people": {},
    "people, few rounds": {"choices": {"rounds": 2}},
    "people, all relations": {
        "pairs_from_kg": ("spouse", "father", "mother", "child", "sibling", "student"),
    },
    "friends": {
        "kg": f"file:{PLAIN / 'people.ttl'}",
        "domain": str(PLAIN / "friends.yaml"),
        "pairs_from_kg": ("spouse", "child", "parent", "acquaintance"),
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
        if row["round"] > 1:
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


SLOTS = {"are": "(?:is|are|was|were)", "whose": "(?!known|there|on )(?:his|her|their|[^,?]+'s?)"}


def pattern(template: str) -> str:
    """A template as an expression that any names fit."""
    text = re.sub(r"\\\{(\w+)\\\}", lambda m: SLOTS.get(m[1], ".+?"), re.escape(template))
    return f"(?i){text}"


def frame_of(question: str) -> str:
    """A question without names of people and without what it asks of them."""
    templates = [*(f.ask for f in WORDS.frames.values()), *WORDS.rest]
    parts = sorted(t for t in set(templates) if re.search(pattern(t), question))
    return f"{question.startswith('How')} {parts}"


@pytest.mark.parametrize("name", ["people", "people, all relations", "friends"])
def test_every_fact_is_asked_for_in_both_wordings(
    name: str, example: Callable[[str], Package]
) -> None:
    """Without any part of the machinery: words of the relation's clause, or its noun, are there;
    and no frame has more than a quarter of the questions."""
    package = example(name)
    rows = package.gold.to_pylist()
    texts = {form: package.forms[form]["text"].to_pylist() for form in ("general", "specific")}
    for query, general, specific in zip(package.query_ids, *texts.values(), strict=True):
        for row in (r for r in rows if r["query_id"] == query):
            phrase = WORDS.phrase(row["relation"])
            assert phrase is not None
            noun = phrase.noun or phrase.ask.split()[-1]
            names = (noun, phrase.nouns or plural(noun))
            if row["round"] == 1:  # of these pairs what connects the two
                for text in (general, specific):
                    assert re.search(r"(?i)how (was|were) .+ (related|connected)", text)
                continue
            assert any(re.search(rf"\b{n}\b", general) for n in names), (general, noun)
            clauses = [c for c in (phrase.ask, phrase.many) if c is not None]
            assert any(re.search(pattern(c), specific) for c in clauses), (specific, noun)
    frames = Counter(map(frame_of, texts["general"]))
    assert max(frames.values()) <= len(package.query_ids) / 4, frames
    assert len(set(texts["general"])) == len(set(texts["specific"])) == len(package.query_ids)


def test_no_wording_has_more_than_a_quarter_of_a_benchmark() -> None:
    """A hundred pairs of which one and the same is to be asked."""
    composer = Composer(PEOPLE, n_questions=100)
    facts = [fact("Q1", "place of birth", "x"), fact("Q1", "date of birth", "y")]
    frames = Counter(frame_of(composer.general(pair(), facts)) for _ in range(100))
    assert max(frames.values()) <= 100 / 4


def test_names_have_articles_where_english_has_them() -> None:
    for name, text in {
        "Greek War of Independence": "the Greek War of Independence",
        "University of Paris": "the University of Paris",
        "Nobel Prize in Physics": "the Nobel Prize in Physics",
        "Radical Party": "the Radical Party",
        "United States of America": "the United States of America",
        "Twentieth Dynasty of Egypt": "Twentieth Dynasty of Egypt",
        "Harvard University": "Harvard University",
        "World War II": "World War II",
        "Charlotte Church": "Charlotte Church",
        "Commentaries on the Gallic War": "Commentaries on the Gallic War",
        "The Great War": "The Great War",
        "Paris": "Paris",
    }.items():
        assert with_article(name) == text
    war = Triple("Q1", "Lord Byron", "P607", "conflict", "Greek War of Independence", "Q9")
    assert PEOPLE.verbalise(war) == "Lord Byron's conflict is the Greek War of Independence."
    born = [plural(n) for n in ("place of birth", "child", "university", "wish", "award")]
    assert born == ["places of birth", "children", "universities", "wishes", "awards"]


@pytest.mark.parametrize("name", EXAMPLE_BUILDS)
def test_no_right_answer_is_missing_from_the_gold(
    name: str, example: Callable[[str], Package]
) -> None:
    """Every value that the shown graphs have of a relation that is asked for is gold."""
    package = example(name)
    shown = {
        row["query_id"]: [(t["qid"], t["relation"], t["value"]) for t in row["triples"]]
        for row in package.context_table("full").to_pylist()
    }
    rows = package.gold.to_pylist()
    gold = {(r["query_id"], r["qid"], r["relation"], r["value"]) for r in rows}
    asked = {(r["query_id"], r["qid"], r["relation"]) for r in rows if r["round"] > 1}
    missing = [
        (query, *fact)
        for query, facts in shown.items()
        for fact in facts
        if (query, *fact[:2]) in asked and (query, *fact) not in gold
    ]
    assert asked and missing == []
    assert list(wrong_kalma(package)) == []


def test_a_relation_is_asked_for_with_all_values_or_not_at_all(tmp_path: Path) -> None:
    """Of five rounds, four add a fact: the first seed states one of two citizenships."""
    rows: list[dict[str, object]] = [
        {"paragraph": text, "first": "Marie Curie", "relation": "spouse", "second": "Pierre Curie"}
        for text in ("Marie Curie, born in Warsaw, in Poland, was the wife of Pierre Curie.",)
    ]
    write_jsonl(tmp_path / "pairs.jsonl", rows)
    for rounds, others in ((2, 1), (5, 4)):
        out = tmp_path / str(rounds)
        build(out, pairs=tmp_path / "pairs.jsonl", pairs_from_kg=(), choices={"rounds": rounds})
        gold = [(r["round"], r["relation"], r["value"]) for r in Package(out).gold.to_pylist()]
        assert gold[:4] == [
            (1, "place of birth", "Warsaw"), (1, "country of citizenship", "Poland"),
            (1, "spouse", "Pierre Curie"), (2, "country of citizenship", "France"),
        ]  # fmt: skip
        assert len(gold) == 3 + others
    # With one round there is no room for the other citizenship: none of the two is asked for.
    build(tmp_path / "1", pairs=tmp_path / "pairs.jsonl", pairs_from_kg=(), choices={"rounds": 1})
    package = Package(tmp_path / "1")
    assert [r["relation"] for r in package.gold.to_pylist()] == ["place of birth", "spouse"]
    (row,) = package.evolution.to_pylist()
    assert row["refused"] == ["not asked for: [Q901, country of citizenship: Poland]"]


def test_verify_finds_a_relation_that_is_gold_in_part() -> None:
    link = fact("Q1", "father", "George Byron", "Q2")
    pool = [link, *(fact("Q1", "child", v) for v in ("A", "B")), fact("Q1", "Child", "C")]
    assert missing_values(pool, [link, pool[1]], link) == [pool[2], pool[3]]
    assert missing_values(pool, [link, *pool[1:]], link) == []
    # Two connected people: what connects them is asked for by their names.
    other = fact("Q1", "father", "Another Byron")
    assert missing_values([*pool, other], [link], link) == []
    assert missing_values([*pool, other], [link], None) == [other]


class Writer:
    """A model whose first questions say their answers, and whose next ones do not."""

    def __init__(self) -> None:
        self.base = TemplateWriter(template_writer_templates(PEOPLE))
        self.asked: list[str] = []

    def identity(self) -> dict[str, Any]:
        return {"name": "model"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Result:
        self.asked.append(request.task)
        if request.task == "specific" and request.sample == 0:
            return LlmReply(f"Did you know it all: {request.values['plain']}?")
        return self.base.complete([request])[0]  # type: ignore[return-value]


def test_what_a_model_writes_is_checked(tmp_path: Path) -> None:
    made = build(tmp_path / "k", llm=Writer(), pairs_from_kg=("father",))
    refused = {k: n for k, n in made.counts.items() if k.startswith("replies refused: specific")}
    assert sum(refused.values()) == len(Package(tmp_path / "k").query_ids)
    assert all("gives away" in k for k in refused)


def test_uninformative_facts_are_taken_only_where_nothing_else_is_there(tmp_path: Path) -> None:
    head = """
    @prefix wd: <http://www.wikidata.org/entity/> .
    @prefix wdt: <http://www.wikidata.org/prop/direct/> .
    @prefix b: <http://wikiba.se/ontology#> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
    wd:P31 r:label "instance of"@en ; b:directClaim wdt:P31 .
    wd:P22 r:label "father"@en ; b:directClaim wdt:P22 .
    wd:P551 r:label "residence"@en ; b:directClaim wdt:P551 .
    wd:Q5 r:label "human"@en . wd:Q9 r:label "Bern"@en .
    wd:Q1 r:label "Eva Zwei"@en ; wdt:P31 wd:Q5 ; wdt:P22 wd:Q2 .
    wd:Q2 r:label "Otto Eins"@en ; wdt:P31 wd:Q5 .
    """
    for more, relation in (("", "instance of"), ("wd:Q2 wdt:P551 wd:Q9 .", "residence")):
        (tmp_path / "g.ttl").write_text(head + more)
        out = tmp_path / relation
        build(out, kg=f"file:{tmp_path / 'g.ttl'}", pairs_from_kg=("father",),
              choices={"rounds": 2})  # fmt: skip
        assert [r["relation"] for r in Package(out).gold.to_pylist()] == ["father", relation]


def test_a_domain_without_words_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = PEOPLE.model_copy(update={"questions": None, "name": "plain people"})
    made = build(tmp_path / "k", domain=bare.model_dump(mode="json"), pairs_from_kg=("father",))
    n = len(Package(tmp_path / "k").query_ids)
    assert made.counts["questions without words of the domain"] == 2 * n
    assert (
        f"'plain people' has no words for questions: all {2 * n} ask for relations by their lab"
        in (capsys.readouterr().err)
    )
    for text in Package(tmp_path / "k").forms["specific"]["text"].to_pylist():
        assert "(" not in text and re.search(r"(?i)who or what (is|are) ", text)
    words = {"relations": {"father": {"about": "life", "ask": "who {was} {whose} father"}}}
    some = bare.model_copy(update={"questions": Phrasing.model_validate(words), "name": "some"})
    made = build(tmp_path / "s", domain=some.model_dump(mode="json"), pairs_from_kg=("father",))
    assert made.counts["facts asked for without words of the domain"] > n
    assert "'some' has no words for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"about": "x", "ask": "who {is} {whose} father"}, r"\{is\} is no slot"),
        ({"about": "x", "ask": "who {0} x"}, r"\{0\} is no slot"),
        ({"about": "x", "ask": "who {was.x} x"}, r"\{ is no slot"),
        ({"about": "x", "ask": "who", "many": "{"}, r"\{ is no slot"),
    ],
)
def test_wrong_words_are_refused(words: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Phrase.model_validate(words)
    given = {"name": "x", "entity_class": "Q5", "questions": {"relations": {"a": words}}}
    with refused("wrong-value") as caught:
        load_domain(given)
    assert "questions.relations.a" in str(caught.value)
    with pytest.raises(ValueError, match=r"asks for no fact: \{nouns\} or \{own\} is missing"):
        Phrasing.model_validate({"frames": {"a": {"ask": "who {was} {who}"}}})
    with pytest.raises(ValueError, match=r"asks for no fact: \{things\} is missing"):
        Phrasing.model_validate({"rest": ["who are they"]})


# --- gold that stands where it is said -----------------------------------------------------------


def test_the_graph_of_a_recipe_has_the_words() -> None:
    kg = open_graph(f"file:{GRAPH}", "people", ("en",), cf.RunOptions())
    assert isinstance(kg.domain, Domain) and kg.domain.questions == WORDS
