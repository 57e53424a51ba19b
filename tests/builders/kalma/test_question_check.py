"""Whether questions ask for their facts: the rule, a model's reply, and denials in seeds."""

import pytest

from citeforge.builders.kalma.check import find_misplaced_mark
from citeforge.builders.kalma.mentions import annotate, marker
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck, error_stats
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
    ("question", "missing", "beyond"),
    [
        ("Who was Lee Long?", (BRANCH, RANK), ()),
        ("In which military branch did Lee Long serve, and what rank did he reach?", (), ()),
        ("Which rank did Lee Long hold?", (BRANCH,), ()),
        ("Which military branch and rank were Lee Long's, and when was he born?", (),
         ("date of birth",)),
    ],
)  # fmt: skip
def test_the_rule(question: str, missing: tuple[Triple, ...], beyond: tuple[str, ...]) -> None:
    (found,) = QuestionCheck(PEOPLE).check([asking(question)])
    assert (found.missing, found.beyond) == (missing, beyond)
    assert (found.find_fault("specific", asking(question), False) is None) is (
        not missing and not beyond
    )


def checker(*replies: str) -> RuleLlm:
    """A model that replies what it was given, one reply after the other."""
    coming = iter(replies)
    return RuleLlm(lambda request: next(coming))


def test_a_model_is_asked_once_per_question_with_all_facts() -> None:
    llm = checker('{"asked": [2], "other": ["her birthday"]}', "What?", "No.")
    check = QuestionCheck(PEOPLE, llm)
    one, other = asking("First?"), asking("Second?")
    found, failed = check.check([one, other])
    assert (found.missing, found.beyond) == ((BRANCH,), ("her birthday",))
    # 1 of 2 facts are enough for a general question, not for a specific one.
    assert found.find_fault("general", one, True) is None
    reason = "does not ask for its facts: military branch of Lee Long"
    assert found.find_fault("specific", one, True) == reason
    assert str(failed.find_fault("specific", other, True)).startswith("could not be checked")
    # One call for the first question, two for the one whose replies cannot be read.
    assert (len(llm.asked), check.failed) == (1 + 2, 1)
    assert check.check([one]) == [found] and len(llm.asked) == 3


def test_the_errors_of_a_check_are_counted_on_known_questions() -> None:
    llm = checker('{"asked": [1], "other": []}', '{"asked": [1, 2], "other": []}')
    controls = [(asking("A?"), frozenset([RANK])), (asking("B?"), frozenset([RANK]))]
    assert list(error_stats(QuestionCheck(PEOPLE, llm), controls).values()) == [
        "0 of 2 (0.0 %)", "1 of 2 (50.0 %)",
    ]  # fmt: skip


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
    reason = find_misplaced_mark(marked, [link, prize], link, RelationWords(PEOPLE))
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
    reason = find_misplaced_mark(marked, [link, english], link, RelationWords(PEOPLE))
    assert reason == ("has 'English' only before a noun" if refused else None)
