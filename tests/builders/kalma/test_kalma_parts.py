"""Parts of `build kalma`: marks and facts of a text, checks of a writer, and context sets."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from citeforge.builders import writer_prompts
from citeforge.builders.kalma import check
from citeforge.builders.kalma.check import Extension, ExtensionCheck
from citeforge.builders.kalma.contexts import (
    KalmaQuestion,
    count_answers,
    find_theme_answers,
    make_contexts,
)
from citeforge.builders.kalma.evolve import Specificity
from citeforge.builders.kalma.mentions import Mentions, annotate, marker
from citeforge.builders.kalma.package import kalma_stats, parse_year
from citeforge.builders.kalma.selection import StatedPair, disambiguate
from citeforge.builders.kalma.words import RelationWords
from citeforge.builders.kalma.writer_requests import TASKS, refusal_kind, request
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import load_domain
from citeforge.kg.engines import StoreEngine
from citeforge.kg.equivalence import Equivalence
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.kg import Graph, Triple
from conftest import EXAMPLES
from conftest_evaluator import Facts

PEOPLE = load_domain("people")
WORDS = RelationWords(PEOPLE)


def fact(qid: str, relation: str, value: str, **more: str) -> Triple:
    return Triple(qid, {"Q1": "Ada Byron", "Q2": "Lord Byron"}.get(qid, qid), "P1", relation,
                  value, **more)  # fmt: skip


# --- checks of what the writer wrote ----------------------------------------------------------

POOL = [
    fact("Q1", "father", "Lord Byron", value_id="Q2"),
    fact("Q1", "date of birth", "1815-12-10", precision="day"),
    fact("Q1", "place of birth", "London"),
    fact("Q1", "field of work", "mathematics"),
    fact("Q1", "field of work", "poetical science"),
    fact("Q2", "place of birth", "Dover"),
    fact("Q2", "date of birth", "1788-01-22", precision="day"),
]
BEFORE = "Ada Byron's father is Lord Byron [Q1, father: Lord Byron]."
MATHS, BORN = POOL[3], POOL[1]
MARK = "[Q1, field of work: mathematics]"
EXTENSIONS = [
    (f"{BEFORE} She worked in mathematics {MARK}.", MATHS, None),
    (f"{BEFORE} Her field was maths {MARK}.", MATHS, None),  # an alias
    (f"{BEFORE} Ada’s field of work, Byron's too, was maths {MARK}.", MATHS, None),
    (f"{BEFORE} She loved maths {MARK}.", MATHS, "claims what no triple says: 'loved'"),
    (f"{BEFORE} For decades she worked in mathematics {MARK}.", MATHS, "claims what no triple"),
    (f"{BEFORE} She later worked in mathematics {MARK}.", MATHS, "claims what no triple says"),
    (f"{BEFORE} She worked in secret in mathematics {MARK}.", MATHS, "claims what no triple says"),
    (f"{BEFORE} She worked in mathematics until the 19th {MARK}.", MATHS, "claims what no triple"),
    (f"{BEFORE} Ada was born on 10 December 1815 [Q1, date of birth: 1815-12-10].", BORN, None),
    (f"{BEFORE} Ada was born on December 10, 1815 [Q1, date of birth: 1815-12-10].", BORN, None),
    (f"She worked in mathematics {MARK}.", MATHS, "lost a citation"),
    (f"{BEFORE} She worked in mathematics.", MATHS, "does not add just the citation"),
    (
        f"{BEFORE} She worked in mathematics {MARK} [Q1, place of birth: London].",
        MATHS,
        "does not add just the citation",
    ),
    (f"{BEFORE} She worked hard {MARK}.", MATHS, "does not name 'mathematics'"),
    (
        f"{BEFORE} She worked in mathematics {MARK}. It was fun. It was hard.",
        MATHS,
        "is 3 sentences longer",
    ),
    # The pool says 1815, and London; a sentence of Ada Byron's birth that says otherwise clashes.
    (
        f"{BEFORE} Ada Byron, born in 1820, worked in mathematics {MARK}.",
        MATHS,
        "says 1820; date of birth of Ada Byron is 1815-12-10",
    ),
    (f"{BEFORE} Ada Byron, born in 1815, worked in mathematics {MARK}.", MATHS, None),
]


@pytest.mark.parametrize(("after", "triple", "reason"), EXTENSIONS)
def test_extensions(after: str, triple: Triple, reason: str | None) -> None:
    checker = check.ExtensionCheck(PEOPLE, SentenceSegmenter())
    (result,) = checker.find_faults([check.Extension(BEFORE, after, triple, POOL, ["maths"])])
    assert (result or "").startswith(reason or "")
    assert (result is None) == (reason is None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Dr. No", "Ian Fleming"),
        ("Guards! Guards!", "Terry Pratchett"),
        ("Who's Afraid of Virginia Woolf?", "Edward Albee"),
        ("Help!", "P!nk"),
        ("The Hobbit", "J. R. R. Tolkien"),
        ("Never. Not. Once", "Monsters, Inc."),
    ],
)
@pytest.mark.parametrize("publisher", ["St. John Press", "Yahoo!", "Press, Inc."])
def test_no_sentence_ends_inside_a_name(name: str, value: str, publisher: str) -> None:
    checker = check.ExtensionCheck(PEOPLE, SentenceSegmenter())
    pool = [
        replace(MATHS, name=name, relation="author", value=value),
        replace(MATHS, name=name, relation="publisher", value=publisher),
    ]
    said, added = (PEOPLE.verbalise(t).removesuffix(".") for t in pool)
    before = f"{said} {marker(pool[0])}."
    extensions = [
        check.Extension(before, f"{before} {added} {marker(pool[1])}.{more}", pool[1], pool)
        for more in ("", " It was fun. It was hard.")
    ]
    assert checker.find_faults(extensions) == [None, "is 3 sentences longer"]


def test_words_of_a_name_begin_no_sentence_and_deny_nothing() -> None:
    names = {"Q1": "Guards! Guards!", "Q2": "The Man who Was not There"}
    mentions = Mentions("Guards! Guards! and The Man who Was not There won Oscars.", names)
    at = mentions.text.index("Oscars")
    assert mentions.is_preceded_by_name(mentions.text.index("The Man"))
    assert not mentions.is_denied(at, at + 6)
    assert Mentions("Guards! Guards! never won Oscars.", names).is_denied(26, 32)


def test_the_extend_prompts_demonstration_follows_its_own_rule() -> None:
    folder = Path(writer_prompts.__file__).parent / "templates" / "kalma"
    prompt = (folder / "extend.j2").read_text()
    shown = re.search(r"Paragraph: (.+)\n.+ Its citation: (.+)\nAnswer: (.+)\n", prompt)
    assert shown is not None
    born, worked = (
        Triple("Q56189", "Lise Meitner", pid, relation, value)
        for pid, relation, value in (("P19", "place of birth", "Vienna"),
                                     ("P937", "work location", "Berlin"))
    )  # fmt: skip
    before, mark, after = shown.groups()
    assert mark == marker(worked)
    texts = (after, after.replace("She worked", "For decades she worked"))
    checker = check.ExtensionCheck(PEOPLE, SentenceSegmenter())
    pool = [born, worked]
    assert checker.find_faults([check.Extension(before, t, worked, pool) for t in texts]) == [
        None, "claims what no triple says: 'decades'",
    ]  # fmt: skip


def test_a_judge_asks_whether_the_sentence_says_its_fact() -> None:
    judge = JudgeSession(Facts(), None)  # entails when it has all capitals of A to F
    checker = check.ExtensionCheck(PEOPLE, SentenceSegmenter(), judge)
    told = f"{BEFORE} It was mathematics for Ada and Byron {MARK}."
    bare = f"{BEFORE} It was mathematics {MARK}."
    failing = f"{BEFORE} It was mathematics for Ada and Byron # {MARK}."
    unmarked = f"{BEFORE} For Ada and Byron it was mathematics."
    texts = [told, bare, failing, unmarked]
    result = checker.find_faults([check.Extension(BEFORE, t, MATHS, POOL) for t in texts])
    assert result[:2] == [None, "does not say the new fact (judge)"]
    assert str(result[2]).startswith("the judge failed")
    assert result[3] == "does not add just the citation of the new fact"
    assert len(judge.judge.asked) == 2 * 3  # not the one that breaks a rule
    assert "judge facts@1" in checker.checked_by


def test_annotations() -> None:
    seed = "Ada Byron was born in London, the child of Lord Byron, and loved mathematics."
    text = annotate(seed, POOL, POOL[0])
    # Words and names do not show what else is stated: only the link is marked.
    assert text == (
        "Ada Byron was born in London, the child of Lord Byron [Q1, father: Lord Byron], and loved "
        "mathematics."
    )
    text = text.replace("in London", "in London [Q1, place of birth: London]")
    assert check.find_annotation_fault(text, seed, POOL) is None
    assert check.find_annotation_fault(seed, seed, POOL) == "cites no fact"
    changed = text.replace("loved", "hated")
    assert check.find_annotation_fault(changed, seed, POOL) == "changed the text"
    stray = text.replace("place of birth: London", "place of birth: Rome")
    assert "cites what is not given" in str(check.find_annotation_fault(stray, seed, POOL))


# --- contexts ----------------------------------------------------------------------------------


def entries(n: int) -> list[KalmaQuestion]:
    result = []
    for i in range(n):
        a, b = f"Q{10 + 2 * i}", f"Q{11 + 2 * i}"
        father = fact(a, "father", b, value_id=b)
        first = (*(fact(a, f"r{k}", f"v{k}") for k in range(4)), father)
        second = (fact(b, "child", a, value_id=a), fact(b, "r9", "v9"))
        gold = tuple((t, 1) for t in (first[-1], *first[:3]))
        result.append(KalmaQuestion(f"q{i}", (Graph(a, a, first), Graph(b, b, second)), gold))
    return result


def test_absent_sets_are_nested_and_leak_nothing() -> None:
    made = make_contexts(entries(12), Equivalence(PEOPLE), seed=3)
    before: set[tuple[str, Triple]] = set()
    inverses = 0
    for size in (1, 2, 3):
        name = f"absent_{size}"
        gone = {(q, t) for q, rows in made[name].removed.items() for t, _ in rows}
        assert before <= gone
        for query, rows in made[name].removed.items():
            assert sum(why == "gold" for _, why in rows) == size
            removed = {t for t, _ in rows}
            full = made["full"].triples[query]
            assert made[name].triples[query] == [t for t in full if t not in removed]
            for triple, why in rows:
                if why == "inverse":
                    inverses += 1
                    assert triple.relation == "child"
            # The removed father does not come back as somebody's child.
            if any(t.relation == "father" for t in removed):
                assert any(t.relation == "child" for t in removed)
        before = gone
    assert inverses > 0


def test_retrieval_sets_are_nested_and_exact() -> None:
    everything = entries(10)
    made = make_contexts(everything, Equivalence(PEOPLE), seed=3)
    own = {e.query_id: {g.qid for g in e.graphs} for e in everything}
    before: set[tuple[str, str]] | None = None
    for share in (80, 60, 40, 20):
        triples = made[f"retrieval_{share}"].triples
        right = {(q, t.qid) for q, rows in triples.items() for t in rows if t.qid in own[q]}
        assert len(right) == 20 * share // 100  # 20 sub-graphs in all
        words = made[f"retrieval_{share}"].description
        assert words.startswith(f"{20 * share // 100} of 20 sub-graphs are the right ones")
        assert all(len({t.qid for t in rows}) == 2 for rows in triples.values())
        assert before is None or right < before
        before = right


def test_a_short_minimum_set_is_recorded() -> None:
    first, *_ = entries(3)
    short = KalmaQuestion(first.query_id, first.graphs, first.gold[:2])
    made = make_contexts([short, *entries(3)[1:]], Equivalence(PEOPLE), seed=0)
    assert {name: c.short for name, c in made.items() if c.short} == {
        "absent_3": {"q0": {"absent": 2}}
    }


def test_other_facts_that_answer_a_general_question() -> None:
    father = fact("Q1", "father", "Lord Byron", value_id="Q2")
    sport = fact("Q1", "sport", "football")
    cup = fact("Q1", "participated in", "1978 World Cup")
    first = (father, sport, fact("Q1", "participant in", "1978 World Cup"), cup,
             fact("Q1", "date of birth", "1949"))  # fmt: skip
    # The other person's part in events is not asked for, and a league has no theme.
    second = (fact("Q2", "participated in", "1958 World Cup"), fact("Q2", "league", "A"))
    graphs = (Graph("Q1", "Ada Byron", first), Graph("Q2", "Lord Byron", second))
    question = KalmaQuestion("q", graphs, ((father, 1), (sport, 2)), "specific?", "general?")
    # "participant in" states the same as the other one, and both are listed.
    assert find_theme_answers(PEOPLE, question, {father: [], sport: []}) == [
        first[2], first[3],
    ]  # fmt: skip
    # What restates gold is right already.
    assert find_theme_answers(PEOPLE, question, {sport: [first[2], cup]}) == []
    equivalence = Equivalence(PEOPLE)
    same: dict[str, dict[Triple, list[Triple]]] = {"q": {father: [], sport: []}}
    counts = count_answers([question], same, equivalence, PEOPLE)
    assert counts["questions_with_uncounted_answers"] == 1
    known = replace(question, answers=first[2:4])
    counts = count_answers([known], same, equivalence, PEOPLE)
    assert counts["questions_with_uncounted_answers"] == 0
    assert counts["questions_with_further_answers"] == 1
    # The specific question asks for the relation alone.
    specific = replace(question, general="")
    counts = count_answers([specific], same, equivalence, PEOPLE)
    assert counts["questions_with_uncounted_answers"] == 0


def test_questions_that_name_one_of_two_entities_are_counted() -> None:
    graphs = (Graph("Q1", "Ada Byron", ()), Graph("Q2", "Lord Byron", ()))
    both = KalmaQuestion("a", graphs, (), "Who was Lord Byron to Ada Byron?")
    one = KalmaQuestion("b", graphs, (), "When was Ada Byron born?")
    single = KalmaQuestion("c", graphs[:1], (), "When was Ada Byron born?")
    key = "questions_that_leave_an_entity_out"
    assert kalma_stats([both, one, single], {})[key] == 1
    assert key not in kalma_stats([both, single], {})


FAMILY = {"Q1": "Hans Albert Einstein", "Q2": "Albert Einstein", "Q3": "Mileva Maric"}
LINK = Triple("Q1", FAMILY["Q1"], "P22", "father", "Albert Einstein", "Q2")
HANS = "Hans Albert Einstein's father is Albert Einstein [Q1, father: Albert Einstein]."


def added(sentence: str, triple: Triple) -> str | None:
    pool = [LINK, triple, Triple("Q2", FAMILY["Q2"], "P551", "residence", "Ulm")]
    checker = ExtensionCheck(load_domain("people"), SentenceSegmenter())
    said = sentence.replace("[]", marker(triple))
    (result,) = checker.find_faults([Extension(HANS, f"{HANS} {said}", triple, pool)])
    return result


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
    reply = seed.replace("[]", marker(movement))
    result = check.find_misstated_triple(reply, [LINK, movement], LINK, WORDS)
    assert (result or "").startswith(reason or "") and (result is None) == (reason is None)


def test_marks_of_a_model_on_somebody_elses_fact_are_refused() -> None:
    born = Triple("Q1", FAMILY["Q1"], "P19", "place of birth", "Ulm")
    text = "Hans Albert Einstein's father, Albert Einstein, was born in Ulm"
    his = Triple("Q2", FAMILY["Q2"], "P19", "place of birth", "Ulm")
    pool = [LINK, born, his]
    result = check.find_misstated_triple(f"{text} {marker(born)}.", pool, LINK, WORDS)
    assert result == "says 'Ulm' of somebody else"
    assert check.find_misstated_triple(f"{text} {marker(his)}.", pool, LINK, WORDS) is None


def test_tokens_of_a_writer_are_bounded() -> None:
    plain, paragraph = {"plain": "x" * 1000}, {"paragraph": "x" * 1000}
    sizes = {t: request(t, {**plain, **paragraph, "fact": "", "marker": "", "graphs": [],
                             "again": "", "facts": []}, 0, 0)
             for t in TASKS}  # fmt: skip
    assert {t: r.params["max_tokens"] for t, r in sizes.items()} == {
        "seed": 80, "annotate": 160 + 500, "extend": 120 + 500, "general": 100, "specific": 200,
    }  # fmt: skip


def of_family(
    qid: str, relation: str, value: str, value_id: str = "", precision: str = ""
) -> Triple:
    return Triple(qid, FAMILY[qid], "P1", relation, value, value_id, precision)


def marked(text: str, *facts: Triple) -> str:
    """The text, each mark shortened to the relation and whose it is."""
    pool = [LINK, *facts]
    result = annotate(text, pool, LINK)
    assert check.find_annotation_fault(result, text, pool) is None
    for triple in pool:
        result = result.replace(marker(triple), f"[{triple.qid} {triple.relation}]")
    return result


def test_not_inside_another_name() -> None:
    text = "Hans Albert Einstein's father is Albert Einstein."
    family = [of_family(q, "noble family", "Einstein") for q in ("Q1", "Q2")]
    expected = "Hans Albert Einstein's father is Albert Einstein [Q1 father]."
    assert marked(text, *family, of_family("Q1", "movement", "Albert")) == expected


def test_values_that_are_ids_are_no_facts() -> None:
    text = "Hans Albert Einstein's father is Albert Einstein. Q4233718 is his spouse."
    unnamed = of_family("Q2", "spouse", "Q4233718")
    assert "spouse]" not in marked(text, unnamed)
    reply = annotate(text, [LINK], LINK).replace("Q4233718", f"Q4233718 {marker(unnamed)}")
    reason = check.find_annotation_fault(reply, text, [LINK, unnamed])
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


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Tomorrow Never Dies was made in Rome.", False),
        ("No Country for Old Men was made in Rome.", False),
        ("Tomorrow Never Dies was never made in Rome.", True),
        ("No film was made in Rome.", True),
    ],
)
def test_words_of_names_are_no_negations(text: str, denied: bool) -> None:
    names = {"Q1": "Tomorrow Never Dies", "Q2": "No Country for Old Men"}
    mentions = Mentions(text, names, ["Rome"])
    assert [mentions.is_denied(*span) for span in mentions.find_spans(["Rome"])] == [denied]


def test_whom_a_place_speaks_of() -> None:
    text = "In 1905 Hans met Albert Einstein, a physicist; Hans Albert Einstein was an engineer."
    mentions = Mentions(text, FAMILY)
    for word, qid in (("1905", "Q1"), ("physicist", "Q2"), ("engineer", "Q1")):
        assert mentions.subject(text.index(word)) == qid
    text = "Hans Albert Einstein was the son of Albert Einstein, and loved music."
    assert Mentions(text, FAMILY).subject(text.index("music")) == "Q1"
    assert Mentions("Nobody is here.", FAMILY).subject(3) is None


@pytest.mark.parametrize(
    ("date", "year"),
    [("1815-12-10", 1815), ("1871-11", 1871), ("1810s", 1810), ("1815", 1815),
     ("44-03-15 BCE", -43), ("44 BCE", -43), ("-0043-03-15", -43), ("0000-01-01", 0),
     ("1 BCE", 0), ("19th century", None), ("", None), ("Škoda", None)],
)  # fmt: skip
def test_years(date: str, year: int | None) -> None:
    """Years count without a gap: 0 is 1 BCE, in our words and in XSD 1.1."""
    assert parse_year(date) == year


def test_case_does_not_distinguish_relations() -> None:
    kg = KnowledgeGraph(StoreEngine(EXAMPLES / "people" / "graph.ttl"), PEOPLE)
    for word in ("Daughter", "DAUGHTER", "daughter", "Child"):
        stated = [StatedPair(1, "text", "Marie Curie", word, "Irène Joliot-Curie")]
        assert [p.id for p in disambiguate(kg, stated).pairs] == ["Q901-Q903"], word
    assert PEOPLE.inverses("Father") == PEOPLE.inverses("father")
    graphs = [
        Graph(q, "x", (Triple(q, "x", "", r, "v"),)) for q, r in (("Q1", "Son"), ("Q2", "son"))
    ]
    assert Specificity(graphs).counts == {"son": 2}


def test_refusals_are_counted_by_kind_and_not_by_person() -> None:
    kinds = {
        refusal_kind(reason)
        for name in ("Ada Lovelace", "Conan O'Brien", 'A: "b"; c')
        for reason in (
            f"does not name {name!r}",
            f"says {name!r} of somebody else",
            f"names {name!r} only inside another name",
            "cites Q4233718, which has no label"
            if name[0] == "A"
            else "cites Q1, which has no label",
            f"says {name.replace(';', '')}; date of birth of {name} is 1815-12-10",
            f"cites what is not given: father: {name} of Q1",
        )
    }
    assert kinds == {
        "does not name …", "says … of somebody else", "names … only inside another name",
        "cites …, which has no label", "says …", "cites what is not given",
    }  # fmt: skip
