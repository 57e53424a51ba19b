"""Checks of what a writer wrote, and the context sets of KaLMA benchmarks."""

import pytest

from citeforge.builders.kalma import check
from citeforge.builders.kalma.contexts import KalmaQuestion, make_contexts
from citeforge.builders.kalma.mentions import annotate
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import load_domain
from citeforge.schemas.benchmarks.kg import Graph, Triple
from conftest_evaluator import Facts

PEOPLE = load_domain("people")


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
    (f"{BEFORE} She loved maths {MARK}.", MATHS, None),  # an alias
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
    (found,) = checker.wrong([check.Extension(BEFORE, after, triple, POOL, ["maths"])])
    assert (found or "").startswith(reason or "")
    assert (found is None) == (reason is None)


def test_a_judge_asks_whether_the_sentence_says_its_fact() -> None:
    judge = JudgeSession(Facts(), None)  # entails when it has all capitals of A to F
    checker = check.ExtensionCheck(PEOPLE, SentenceSegmenter(), judge)
    told = f"{BEFORE} For Ada and Byron it was mathematics {MARK}."
    bare = f"{BEFORE} It was mathematics {MARK}."
    failing = f"{BEFORE} For Ada and Byron it was mathematics # {MARK}."
    unmarked = f"{BEFORE} For Ada and Byron it was mathematics."
    texts = [told, bare, failing, unmarked]
    found = checker.wrong([check.Extension(BEFORE, t, MATHS, POOL) for t in texts])
    assert found[:2] == [None, "does not say the new fact (judge)"]
    assert str(found[2]).startswith("the judge failed")
    assert found[3] == "does not add just the citation of the new fact"
    assert len(judge.judge.asked) == 3  # not the one that breaks a rule
    assert "judge facts@1" in checker.checked_by


def test_annotations() -> None:
    seed = "Ada Byron was born in London, the child of Lord Byron, and loved mathematics."
    text = annotate(seed, POOL, PEOPLE, POOL[0])
    assert text == (
        "Ada Byron was born in London [Q1, place of birth: London], the child of Lord Byron "
        f"[Q1, father: Lord Byron], and loved mathematics {MARK}."
    )
    assert check.wrong_annotation(text, seed, POOL) is None
    assert check.wrong_annotation(seed, seed, POOL) == "cites no fact"
    changed = text.replace("loved", "hated")
    assert check.wrong_annotation(changed, seed, POOL) == "changed the text"
    stray = text.replace("place of birth: London", "place of birth: Rome")
    assert "cites what is not given" in str(check.wrong_annotation(stray, seed, POOL))


# --- contexts ----------------------------------------------------------------------------------


def entries(n: int) -> list[KalmaQuestion]:
    found = []
    for i in range(n):
        a, b = f"Q{10 + 2 * i}", f"Q{11 + 2 * i}"
        father = fact(a, "father", b, value_id=b)
        first = (*(fact(a, f"r{k}", f"v{k}") for k in range(4)), father)
        second = (fact(b, "child", a, value_id=a), fact(b, "r9", "v9"))
        gold = tuple((t, 1) for t in (first[-1], *first[:3]))
        found.append(KalmaQuestion(f"q{i}", (Graph(a, a, first), Graph(b, b, second)), gold))
    return found


def test_absent_sets_are_nested_and_leak_nothing() -> None:
    made = make_contexts(entries(12), PEOPLE, seed=3)
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
    made = make_contexts(everything, PEOPLE, seed=3)
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
    made = make_contexts([short, *entries(3)[1:]], PEOPLE, seed=0)
    assert {name: c.short for name, c in made.items() if c.short} == {
        "absent_3": {"q0": {"absent": 2}}
    }
