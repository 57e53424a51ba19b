"""Whether questions ask for their facts: the rule, a model's reply, and denials in seeds."""

from dataclasses import replace

import pytest

from citeforge.builders.kalma.check import find_misstated_triple
from citeforge.builders.kalma.mentions import annotate, marker
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.question_controls import KINDS, RIGHT, Control, error_stats
from citeforge.builders.kalma.words import RelationWords
from citeforge.kg.domain import load_domain
from citeforge.schemas.kg import Triple
from stand_ins import RuleLlm

PEOPLE = load_domain("people")


def fact(relation: str, value: str) -> Triple:
    return Triple("Q1", "Lee Long", "P1", relation, value)


BRANCH, RANK = fact("military branch", "army"), fact("military rank", "general")
SHOWN = (BRANCH, RANK, fact("residence", "Bern"), fact("date of birth", "1952"))


def asking(question: str, *facts: Triple) -> QuestionToCheck:
    return QuestionToCheck(question, facts or (BRANCH, RANK), SHOWN)


@pytest.mark.parametrize(
    ("question", "missing", "beyond", "undecided"),
    [
        ("Who was Lee Long?", (BRANCH, RANK), (), ("who was Lee Long",)),
        ("In which military branch did Lee Long serve, and what rank did he reach?", (), (), ()),
        ("Which rank did Lee Long hold?", (BRANCH,), (), ()),
        ("Which military branch and rank were Lee Long's, and when was he born?", (),
         ("date of birth of Lee Long",), ()),
        # Nothing is left to ask for, so whatever the last clause means, it is too much.
        ("Which military branch and rank were Lee Long's, and how did he like it?", (),
         ("how did he like it",), ("how did he like it",)),
        ("Which military branch was Lee Long's, and how did he like it?", (RANK,), (),
         ("how did he like it",)),
    ],
)  # fmt: skip
def test_the_rule(
    question: str, missing: tuple[Triple, ...], beyond: tuple[str, ...], undecided: tuple[str, ...]
) -> None:
    (found,) = QuestionCheck(PEOPLE).check([asking(question)])
    assert (found.missing, found.beyond, found.undecided) == (missing, beyond, undecided)
    assert (found.find_fault(asking(question)) is None) is not (missing or beyond or undecided)


def checker(*replies: str) -> RuleLlm:
    """A model that replies what it was given, one reply after the other."""
    coming = iter(replies)
    return RuleLlm(lambda request: next(coming))


def test_a_model_is_asked_once_per_question_with_all_facts() -> None:
    llm = checker('{"asked": [2], "other": ["her birthday"]}', '{"asked": [2], "other": []}', "No.")
    check = QuestionCheck(PEOPLE, llm)
    vague = "How did Lee Long fare?"
    one, other = asking(vague), asking("How did Lee Long get on?")
    # 1 of 2 facts are enough for a general question, not for a specific one.
    found, half = check.check([one, replace(other, form="general")])
    assert (found.missing, found.beyond) == ((BRANCH,), ("her birthday",))
    assert found.find_fault(one) == "asks for what is no gold: her birthday"
    assert half.find_fault(replace(other, form="general")) is None
    assert half.find_fault(other) == "does not ask for its facts: military branch of Lee Long"
    assert len(llm.asked) == 2
    # What the rules decide is not asked; neither is what was asked before.
    known = asking("In which military branch did Lee Long serve, and what was his military rank?")
    assert check.check([one, known])[0] == found and len(llm.asked) == 2


def test_a_question_without_a_reply_that_can_be_read_is_counted() -> None:
    llm = checker("What?", "No.")
    check, one = QuestionCheck(PEOPLE, llm), asking("How did Lee Long fare?")
    (failed,) = check.check([one])
    assert str(failed.find_fault(one)).startswith("could not be checked")
    assert (len(llm.asked), check.failed) == (2, 1)


def test_the_errors_of_a_check_are_counted_on_known_questions() -> None:
    yes, no = '{"asked": [1, 2], "other": []}', '{"asked": [1], "other": []}'
    questions = [asking(f"How did Lee Long {verb}?") for verb in ("fare", "do", "live", "act")]
    kinds = (RIGHT, RIGHT, KINDS[0], KINDS[0])
    controls = [Control(k, q) for k, q in zip(kinds, questions, strict=True)]
    stats = error_stats(QuestionCheck(PEOPLE, checker(yes, no, yes, no)), controls)
    # Wilson's interval of 1 of 2 with z = 1.96: 0.5 plus and minus 0.4055.
    half = "1 of 2 (50.0 % [9.5, 90.5])"
    assert stats == {
        "question_check_refused": half,
        f"question_check_accepted[{KINDS[0]}]": half,
        **{f"question_check_accepted[{kind}]": "0 of 0" for kind in KINDS[1:]},
    }


@pytest.mark.parametrize(
    ("seed", "refused"),
    [
        ("Lee Long, son of Lee Short, never won the Booker Prize.", True),
        ("Lee Long, son of Lee Short, did not win the Booker Prize.", True),
        ("Lee Long, son of Lee Short, won the Booker Prize.", False),
    ],
)
def test_a_mark_on_what_a_seed_denies_is_refused(seed: str, refused: bool) -> None:
    link = Triple("Q1", "Lee Long", "P22", "father", "Lee Short", "Q2")
    prize = fact("award received", "Booker Prize")
    marked = seed.replace("Prize", f"Prize {marker(prize)}")
    reason = find_misstated_triple(marked, [link, prize], link, RelationWords(PEOPLE))
    assert reason == ("denies 'Booker Prize'" if refused else None)
    # Words alone do not show that a seed states a fact, so the template marks the link alone.
    assert marker(prize) not in annotate(seed, [link, prize], link)


@pytest.mark.parametrize(
    ("seed", "refused"),
    [
        ("Lee Long, son of Lee Short, was an English physicist.", True),
        ("Lee Long, son of Lee Short, was an English-born physicist.", True),
        ("Lee Long, son of Lee Short, was an English physicist whose native language was English.",
         False),
        ("Lee Long, son of Lee Short, was a physicist who grew up speaking English.", False),
        ("Lee Long, an English speaking physicist, was a son of Lee Short.", False),
    ],
)  # fmt: skip
def test_a_nationality_is_no_language(seed: str, refused: bool) -> None:
    link = Triple("Q1", "Lee Long", "P22", "father", "Lee Short", "Q2")
    english = fact("native language", "English")
    marked = seed.replace("English", f"English {marker(english)}", 1)
    reason = find_misstated_triple(marked, [link, english], link, RelationWords(PEOPLE))
    assert reason == ("has 'English' only before a noun" if refused else None)
