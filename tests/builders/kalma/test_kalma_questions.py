"""Questions of the template writer: they read like questions, and do not say their answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.builders.kalma import check
from citeforge.builders.kalma.build import build_kalma
from citeforge.builders.kalma.check import Extension, ExtensionCheck
from citeforge.builders.kalma.phrasing import Composer, cannot_be_asked, gives_away
from citeforge.builders.kalma.selection import EntityPair
from citeforge.builders.kalma.tasks import template_writer_templates
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.phrasing import Phrase, Phrasing
from citeforge.kg.setup import open_graph
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.kg import Graph, Triple
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes import KalmaRecipe, RunOptions
from citeforge.schemas.text import normalise_em
from conftest import EXAMPLES

GRAPH = EXAMPLES / "people" / "graph.ttl"
PEOPLE = load_domain("people")
assert PEOPLE.questions is not None
WORDS: Phrasing = PEOPLE.questions
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
    composer = Composer(PEOPLE, WORDS)
    return composer.general(pair(**given), facts), composer.specific(pair(**given), facts)


def test_the_domain_of_people_has_words_and_frames() -> None:
    assert len(WORDS.relations) >= 60
    assert len({f.one for f in WORDS.frames.values()}) == len(WORDS.frames) >= 8
    assert {p.about for p in WORDS.relations.values()} <= set(WORDS.frames)
    for relation, phrase in WORDS.relations.items():
        assert phrase.ask.count("{who") == 1, relation


def test_one_person() -> None:
    facts = [
        fact("Q1", "field of work", "maths"), fact("Q1", "field of work", "poetry"),
        fact("Q1", "employer", "herself"), fact("Q1", "student of", "Mary Somerville"),
    ]  # fmt: skip
    assert asked(facts) == (
        "What did Ada Byron do in life, and how was she connected with George Byron?",
        "In which fields did Ada Byron work, for whom did she work, who taught her, and how was "
        "she related to George Byron?",
    )
    # A spouse is no relative; and who was born late, and has not died, lives.
    general, specific = asked(facts, relation="spouse", born="1990")
    assert general == "What does Ada Byron do in life, and how is she connected with George Byron?"
    assert specific.startswith("In which fields does Ada Byron work, for whom does she work, who")
    assert specific.endswith("how was she connected with George Byron?")  # he has died


def test_both_people() -> None:
    facts = [
        fact("Q2", "noble title", "Baron"), fact("Q1", "noble title", "Countess"),
        fact("Q2", "conflict", "the war"), fact("Q1", "mother", "Annabella Milbanke"),
    ]  # fmt: skip
    assert asked(facts) == (
        "What standing did Ada Byron and George Byron have, and how were they connected?",
        "What noble title did Ada Byron and George Byron each hold, in which conflict was George "
        "Byron involved, who was Ada Byron's mother, and how were the two related?",
    )


def test_frames_follow_what_most_facts_are_about() -> None:
    family = [fact("Q1", "mother", "A"), fact("Q1", "child", "B"), fact("Q1", "residence", "C")]
    general, specific = asked(family)
    assert general.endswith("and who else belonged to her family?")
    assert specific == (
        "How were Ada Byron and George Byron related, who was Ada Byron's mother, who was one of "
        "her children, and where did she live?"
    )
    war = [fact("Q2", "conflict", "A"), fact("Q2", "military rank", "B")]
    assert asked(war)[1].startswith("As to military matters, in which conflict was George")
    # One fact of four about it is no reason to say so.
    little = [war[0], *(fact("Q1", r, "x") for r in ("height", "employer", "residence"))]
    assert asked(little)[1].startswith("In which conflict was George")


def test_without_further_facts_what_connects_the_two_is_asked() -> None:
    assert asked([]) == (
        "Who were Ada Byron and George Byron, and how were their lives connected?",
        "How were Ada Byron and George Byron related?",
    )


def test_without_a_known_sex_the_name_is_said_again() -> None:
    composer = Composer(PEOPLE, WORDS)
    graphs = [Graph(q, name, ()) for q, name in NAMES.items()]
    bare = EntityPair(graphs[0], graphs[1], fact("Q1", "sibling", "George Byron", "Q2"))
    facts = [fact("Q1", "height", "x"), fact("Q1", "residence", "y")]
    assert composer.specific(bare, facts) == (
        "How were Ada Byron and George Byron related, how tall was Ada Byron, and where did Ada "
        "Byron live?"
    )


def test_a_relation_without_words_is_asked_for_by_its_name_and_counted() -> None:
    composer = Composer(PEOPLE, WORDS)
    facts = [fact("Q1", "shoe size", "4"), fact("Q1", "participant at", "x")]
    question = composer.specific(pair(), facts)
    assert "What was Ada Byron's shoe size, what was her participant at" in question
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
    assert cannot_be_asked(triple, pair(), Composer(PEOPLE, WORDS).clause(triple))
    other = fact("Q1", relation, "Byronesque sports", "Q9")
    assert not cannot_be_asked(other, pair(), Composer(PEOPLE, WORDS).clause(other))


def test_answers_in_questions_are_found() -> None:
    born = Triple("Q1", "Ada Byron", "P1", "date of birth", "1815-12-10", "", "day")
    assert gives_away("Where was she on 10 December 1815?", [born]) == born
    assert gives_away("Where was she in 1815?", [born]) is None
    maths = fact("Q1", "field of work", "maths")
    assert gives_away("Why did Ada Byron love Maths?", [maths]) == maths
    assert gives_away("Why was Ada Byron an aftermaths expert?", [maths]) is None


# --- built -------------------------------------------------------------------------------------


def build(out: Path, *args: Any, llm: Any = None, **more: Any) -> Any:
    recipe = KalmaRecipe.model_validate(
        {"kg": f"file:{GRAPH}", "pairs_from_kg": ("spouse", "father", "child"), **more}
    )
    return build_kalma(recipe, RunOptions(out=out), llm=llm)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kalma") / "k"
    build(out)
    return out


def test_no_question_of_the_example_gives_its_answers_away(built: Path) -> None:
    package = Package(built)
    later: dict[str, list[Triple]] = {}
    for row in package.gold.to_pylist():
        assert row["relation"] not in PEOPLE.uninformative
        if row["round"] > 1:
            found = Triple(*(row[f] for f in Triple.__dataclass_fields__))
            later.setdefault(row["query_id"], []).append(found)
    for form in ("general", "specific"):
        for query, text in zip(
            package.query_ids, package.forms[form]["text"].to_pylist(), strict=True
        ):
            for triple in later[query]:
                assert f" {normalise_em(triple.value)} " not in f" {normalise_em(text)} "
    starts = {" ".join(t.split()[:2]) for t in package.forms["specific"]["text"].to_pylist()}
    assert len(starts) >= 4


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
        f"'plain people' has no words for questions: all {2 * n} read as forms; citeforge kg pr"
        in (capsys.readouterr().err)
    )
    words = {"relations": {"father": {"about": "life", "ask": "who {was} {whose} father"}},
             "frames": {"life": WORDS.frames["life"].model_dump()}}  # fmt: skip
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
    given = {"name": "x", "entity_class": "Q5", "questions": {"relations": {"a": words},
             "frames": {"life": {"one": "?", "both": "?"}}}}  # fmt: skip
    with pytest.raises(InputError, match=r"questions\.relations\.a"):
        load_domain(given)
    with pytest.raises(ValueError, match="'life' is missing"):
        Phrasing.model_validate({"relations": WORDS.relations, "frames": {}})


# --- gold that stands where it is said -----------------------------------------------------------

FAMILY = {"Q1": "Hans Albert Einstein", "Q2": "Albert Einstein", "Q3": "Mileva Maric"}
LINK = Triple("Q1", FAMILY["Q1"], "P22", "father", "Albert Einstein", "Q2")
BEFORE = "Hans Albert Einstein's father is Albert Einstein [Q1, father: Albert Einstein]."


def added(sentence: str, triple: Triple) -> str | None:
    pool = [LINK, triple, Triple("Q2", FAMILY["Q2"], "P551", "residence", "Ulm")]
    checker = ExtensionCheck(PEOPLE, SentenceSegmenter())
    said = sentence.replace("[]", check.marker(triple))
    (found,) = checker.wrong([Extension(BEFORE, f"{BEFORE} {said}", triple, pool)])
    return found


def test_a_value_must_stand_for_itself_in_the_new_sentence() -> None:
    movement = Triple("Q1", FAMILY["Q1"], "P1", "movement", "Albert")
    assert added("Hans Albert Einstein was a man of his time [].", movement) == (
        "names 'Albert' only inside another name"
    )
    residence = Triple("Q1", FAMILY["Q1"], "P551", "residence", "Bern")
    assert added("He lived in Bern [].", residence) is None
    assert added("Hans Albert Einstein lived in Bern [].", residence) is None
    assert added("Albert Einstein lived in Bern [].", residence) == "says 'Bern' of somebody else"
    father = Triple("Q1", FAMILY["Q1"], "P1", "namesake of", "Albert Einstein")
    assert added("He was proud of it [].", father) == (
        "does not name 'Albert Einstein' in the new sentence"
    )


@pytest.mark.parametrize(
    ("seed", "reason"),
    [
        ("Hans Albert [] Einstein's father is Albert Einstein.", "names 'Albert' only inside"),
        ("Albert Einstein was the father. Albert [] was a name.", None),
    ],
)
def test_marks_of_a_model_inside_names_are_refused(seed: str, reason: str | None) -> None:
    movement = Triple("Q1", FAMILY["Q1"], "P1", "movement", "Albert")
    reply = seed.replace("[]", check.marker(movement))
    found = check.misplaced(reply, [LINK, movement], LINK)
    assert (found or "").startswith(reason or "") and (found is None) == (reason is None)


def test_marks_of_a_model_on_somebody_elses_fact_are_refused() -> None:
    born = Triple("Q1", FAMILY["Q1"], "P19", "place of birth", "Ulm")
    text = "Hans Albert Einstein's father, Albert Einstein, was born in Ulm"
    his = Triple("Q2", FAMILY["Q2"], "P19", "place of birth", "Ulm")
    pool = [LINK, born, his]
    found = check.misplaced(f"{text} {check.marker(born)}.", pool, LINK)
    assert found == "says 'Ulm' of somebody else"
    assert check.misplaced(f"{text} {check.marker(his)}.", pool, LINK) is None


def test_the_graph_of_a_recipe_has_the_words() -> None:
    kg = open_graph(f"file:{GRAPH}", "people", ("en",), RunOptions())
    assert isinstance(kg.domain, Domain) and kg.domain.questions == WORDS
