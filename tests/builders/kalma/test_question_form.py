"""Questions as writers word them, right and wrong in many ways, checked without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.kg.domain import load_domain
from citeforge.schemas.kg import Triple

CHECK = QuestionCheck(load_domain("people"))


def fact(qid: str, name: str, relation: str, value: str, value_id: str = "") -> Triple:
    return Triple(qid, name, "P1", relation, value, value_id)


def of_ann(relation: str, value: str) -> Triple:
    return fact("Q1", "Ann Lee", relation, value)


def of_bob(relation: str, value: str) -> Triple:
    return fact("Q2", "Bob Moor", relation, value)


LINK = fact("Q1", "Ann Lee", "father", "Bob Moor", "Q2")
CAUSE, PARTY = (
    of_ann("cause of death", "heart failure"),
    of_bob("member of political party", "Whigs"),
)
BIRTH, MORE = of_ann("place of birth", "Oslo"), of_bob("place of birth", "Bergen")
GOLD = (CAUSE, PARTY, BIRTH)
SHOWN = (LINK, *GOLD, MORE, of_ann("sex or gender", "female"), of_bob("sex or gender", "male"))
FIRST = "What did Ann Lee die of, where was she born, and"


def find_fault(question: str, form: str = "specific", gold: tuple[Triple, ...] = GOLD) -> str:
    asking = QuestionToCheck(question, gold, SHOWN, LINK, form)
    (found,) = CHECK.check([asking])
    return found.find_fault(asking) or ""


@pytest.mark.parametrize(
    "question",
    [
        f"{FIRST} which party was Bob Moor a member of?",
        "Which political party did Bob Moor join, where was his daughter Ann Lee born, and what "
        "was the cause of her death?",
        "What was the cause of Ann Lee's death, what was her birthplace, and to which political "
        "party did her father Bob Moor belong?",
        "Of what did Ann Lee, the daughter of Bob Moor, die, where was she born, and what was Bob "
        "Moor's party?",
        "What were Ann Lee's cause of death and place of birth, and what was Bob Moor's political "
        "party?",
        "What were the birthplace and the cause of death of Ann Lee, and what party affiliation "
        "did Bob Moor have?",
        "What did Ann Lee die of and in what town was she born, and for what party did Bob Moor "
        "run?",
        "What killed Ann Lee, where did she first see the light of day, and of which party was her "
        "father Bob Moor a member?",
    ],
)
def test_ordinary_english_is_understood(question: str) -> None:
    assert find_fault(question) == ""


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (f"{FIRST} which party was Bob Moor a member of.", "is no question"),
        ("Ann Lee died, was born, and Bob Moor was in a party?", "does not open"),
        ("Did Ann Lee die, and which party was Bob Moor a member of?", "does not open"),
        (f"{FIRST} did Bob Moor join a party?", "can be answered by yes or no"),
        (f"{FIRST} which party was Bob Moor a member of? Where was he?", "has more than one"),
        (f"Here is a question: {FIRST} which party was Bob Moor in?", "does not open"),
        (f"{FIRST} which party, according to the passage, was Bob Moor a member of?", "talks of"),
        (f"{FIRST} which party was Moor a member of?", "does not name"),
        (f"{FIRST} which party did Bob Moor never join?", "denies something"),
        (f"{FIRST} which party was Bob Moor a member of after the war?", "states a premise"),
        (f"{FIRST} which first party was Bob Moor a member of?", "states a premise"),
        (f"{FIRST} what other party was Bob Moor a member of?", "states a premise"),
        (f"{FIRST} which party was Bob Moor eventually a member of?", "states a premise"),
        (f"{FIRST} which party was Bob Moor a member of in 1850?", "states a number"),
        (f"{FIRST} which party was Bob Moor of Paris a member of?", "states what no triple says"),
        (f"{FIRST} which Whigs was Bob Moor a member of?", "gives away"),
        (f"{FIRST} which party was Bob Moor a member of at heart?", "says a word of an"),
        (f"{FIRST} where was she born, and which party was Bob Moor a member of?", "asks twice"),
        ("Woran starb Ann Lee, wo kam sie zur Welt, und welcher Partei gehörte Bob Moor an?",
         "does not open"),
        ("What ist die Todesursache und der Geburtsort von Ann Lee, und welcher Partei gehörte Bob "
         "Moor an?", "is in another language: de"),
        ("What did Bob Moor die of, where was he born, and which party was Ann Lee a member of?",
         "asks for what is no gold"),
        ("What did Ann Lee die of, where was Bob Moor born, and which party was he a member of?",
         "asks for what is no gold: place of birth of Bob Moor"),
        ("What did Ann Lee die of, and which party was Bob Moor a member of?",
         "does not ask for its facts: place of birth of Ann Lee"),
        (f"{FIRST} which party was Bob Moor a member of, and how was he related to Ann Lee?",
         "asks for what is no gold"),
        (f"{FIRST} which party was Bob Moor a member of, and what did he like best?",
         "asks for what is no gold: what did he like best"),
        ("How many parties was Bob Moor a member of, what did Ann Lee die of, and where was she "
         "born?", "asks for a number"),
        ("When was Bob Moor a member of a political party, what did Ann Lee die of, and where was "
         "she born?", "asks in unknown words"),
        (f"{FIRST} what did Bob Moor like best?", "asks in unknown words"),
        (f"{FIRST} which party was Ann Lee's father's, as Bob Moor was a politician?",
         "states a premise"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_specific_question(question: str, reason: str) -> None:
    assert find_fault(question).startswith(reason), find_fault(question)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How did the faith, the death and the politics of Ann Lee and Bob Moor differ?", ""),
        ("How did the lives of Ann Lee and Bob Moor compare?", ""),
        ("What is the favourite colour of Ann Lee?", "does not name 'Bob Moor'"),
        ("What is the favourite colour of Ann Lee and Bob Moor?", "asks in unknown words"),
        ("How did the lives and the pets of Ann Lee and Bob Moor compare?", "asks in unknown"),
        ("How did the health and death of Ann Lee and Bob Moor differ?", "asks about"),
        ("How did the careers and deaths of Ann Lee and Bob Moor differ?", "asks about"),
        ("How did the families and deaths of Ann Lee and Bob Moor differ?", "asks about"),
        ("How were Ann Lee and Bob Moor related?", "asks in unknown words"),
        ("Did Ann Lee and Bob Moor live?", "does not open"),
        ("Ann Lee and Bob Moor had a life?", "does not open"),
        ("How, in the many books that people have read of them over the years, did Ann Lee and Bob "
         "Moor live their lives?", "is longer than 20 words"),
        ("How did Ann Lee, who died in pain, and Bob Moor live?", "breaks off"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_general_question(question: str, reason: str) -> None:
    fault = find_fault(question, "general", (CAUSE, PARTY))
    assert fault.startswith(reason) and bool(fault) is bool(reason), fault


WORDS = (
    "what which who whom when where how as of for in and or , was did does were the each both them "
    "two they he she her his it born die job party of-age"
).split()


@given(st.lists(st.sampled_from([*WORDS, "Ann Lee", "Bob Moor", "Ann Lee's"]), max_size=14))
def test_any_order_of_words_is_read(words: list[str]) -> None:
    text = " ".join(words).replace(" ,", ",") + "?"
    for form in ("specific", "general"):
        asking = QuestionToCheck(text, GOLD, SHOWN, LINK, form)
        (found,) = CHECK.check([asking])
        # Neither of the two names can be left out.
        named = "Ann Lee" in text and "Bob Moor" in text
        assert named or found.find_fault(asking) is not None


PARENTS = (of_bob("father", "Tom Moor"), of_bob("mother", "Eve Hill"))
JOBS = (of_ann("occupation", "judge"), of_ann("employer", "city of Oslo"))


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("Where were Ann Lee and Bob Moor born?", (BIRTH, MORE)),
        ("Which party was Bob Moor in, and where were he and Ann Lee born?", (PARTY, BIRTH, MORE)),
        ("What was the birthplace of each of them, Ann Lee and Bob Moor?", (BIRTH, MORE)),
        ("Which party was Bob Moor in, what did Ann Lee die of, and where was each of them born?",
         (PARTY, CAUSE, BIRTH, MORE)),
        ("Who were the parents of Bob Moor, and where was Ann Lee born?", (*PARENTS, BIRTH)),
        ("Who did Ann Lee work for and as what, and which party was Bob Moor in?", (*JOBS, PARTY)),
        ("What were the place and cause of death of Ann Lee, and which party was Bob Moor in?",
         (CAUSE, of_ann("place of death", "Rome"), PARTY)),
        ("What job and employer did Ann Lee have, and which party was Bob Moor in?",
         (*JOBS, PARTY)),
    ],
)  # fmt: skip
def test_one_clause_asks_for_several_facts(question: str, gold: tuple[Triple, ...]) -> None:
    assert find_fault(question, gold=gold) == ""


@pytest.mark.parametrize(
    ("clause", "is_statement"),
    [
        ("where Ann Lee was born", True),
        ("where she was born", True),
        ("what Ann Lee's birthplace was", True),
        ("which town Ann Lee did come from", True),
        ("where was Ann Lee born", False),
        # The entity belongs to the question word.
        ("which of Ann Lee's places was her birthplace", False),
        ("what birthplace of Ann Lee's is known", False),
        ("which town was the birthplace of Ann Lee", False),
    ],
)
def test_the_order_of_a_statement_is_none_of_a_question(clause: str, is_statement: bool) -> None:
    fault = find_fault(f"Which party was Bob Moor in, what did Ann Lee die of, and {clause}?")
    told = f"has the order of a statement: {clause!r}"
    assert fault.startswith("has the order of a statement") is is_statement, fault
    assert not is_statement or fault == told


def test_a_choice_asks_for_its_fact_and_is_no_yes_or_no() -> None:
    manner = of_ann("manner of death", "natural causes")
    text = "Which party was Bob Moor in, what did Ann Lee die of, and was {}?"
    gold = (PARTY, CAUSE, manner)
    assert find_fault(text.format("her death natural or violent"), gold=gold) == ""
    assert find_fault(text.format("it a natural or a violent death"), gold=gold) == ""
    told = find_fault(text.format("her death natural"), gold=gold)
    assert told.startswith("can be answered by yes or no")
    told = find_fault(text.format("she happy or sad"), gold=gold)
    assert told.startswith("can be answered by yes or no")


def test_a_clause_that_may_mean_either_of_two_gold_facts_is_open() -> None:
    posts = (of_bob("position held", "mayor"), of_bob("position played on team", "goalkeeper"))
    told = find_fault("What was Bob Moor's position?", gold=posts)
    assert told == "asks in unknown words: what was Bob Moor's position"
    both = "What position did Bob Moor play, and what public office did he hold?"
    assert find_fault(both, gold=posts) == ""


def test_a_theme_without_gold_facts_is_no_unknown_word() -> None:
    families = "How did the families of Ann Lee and Bob Moor compare?"
    assert find_fault(families, "general") == "asks about what no gold fact has: families"
    gold = (of_bob("child", "Eve Hill"), of_ann("sibling", "Tom Moor"))
    assert find_fault(families, "general", gold) == ""
    weather = "How did the weather of Ann Lee and Bob Moor compare?"
    assert find_fault(weather, "general").startswith("asks in unknown words")


def test_who_taught_whom_is_no_matter_of_words_alone() -> None:
    teacher, pupil = of_bob("student of", "Tom Moor"), of_bob("student", "Eve Hill")
    assert find_fault("Who taught Bob Moor?", gold=(teacher,)) == ""
    assert find_fault("Whom did Bob Moor teach?", gold=(pupil,)) == ""
    for question, gold in (("Who taught Bob Moor?", pupil), ("Whom did Bob Moor teach?", teacher)):
        assert find_fault(question, gold=(gold,)).startswith("asks for what is no gold")


def test_a_link_that_is_gold_is_asked_for() -> None:
    party, gold = "which party was Bob Moor a member of?", (LINK, PARTY)
    assert find_fault(f"Who was Bob Moor to Ann Lee, and {party}", gold=gold) == ""
    assert find_fault(f"How was Ann Lee related to Bob Moor, and {party}", gold=gold) == ""
    assert find_fault(f"Who was the father of Ann Lee, and {party}", gold=gold) == ""
    told = find_fault(f"Who was Ann Lee's uncle, and {party}", gold=gold)
    assert told.startswith("asks in unknown words"), told
    assert find_fault("Which party was Ann Lee's father Bob Moor a member of?", gold=gold) == (
        "does not ask for its facts: father of Ann Lee"
    )


def test_pronouns_mean_whom_they_can_mean() -> None:
    facts, text = (LINK, CAUSE, PARTY), "What was Bob Moor to Ann Lee, {}"
    told = text.format("which party was he in, and what did she die of?")
    exchanged = text.format("which party was she in, and what did he die of?")
    assert find_fault(told, gold=facts) == ""
    assert find_fault(exchanged, gold=facts).startswith("asks for what is no gold")
    # Where the graph has no sex, either may be "she", but not both "she" and "he".
    link = Triple("Q1", "Ann Lee", "P26", "spouse", "Bob Moor", "Q2")
    unknown = (link, *(t for t in SHOWN[1:] if t.relation != "sex or gender"))
    for question, is_right in (
        (told, True),
        (exchanged, True),
        (text.format("which party was she in, and what did she die of?"), False),
    ):
        asking = QuestionToCheck(question, (link, *facts[1:]), unknown, link)
        (found,) = CHECK.check([asking])
        assert (found.find_fault(asking) is None) is is_right, question


def test_a_pronoun_that_none_of_the_people_can_be_is_refused() -> None:
    men = tuple(Triple(t.qid, t.name, t.pid, t.relation, "male") for t in SHOWN[-2:])
    text = "Which party was Bob Moor in, what did Ann Lee die of, and where was {} born?"
    for pronoun, reason in (("he", ""), ("she", "says 'she', which is none of its people")):
        asking = QuestionToCheck(text.format(pronoun), GOLD, (*SHOWN[:-2], *men), LINK)
        (found,) = CHECK.check([asking])
        assert (found.find_fault(asking) or "") == reason


def test_a_father_is_male_also_where_the_graph_has_no_sex() -> None:
    known = tuple(t for t in SHOWN if t.relation != "sex or gender")
    text = "What was Bob Moor to Ann Lee, which party was {} in, and what did {} die of?"
    for one, other, is_right in (("he", "she", True), ("she", "he", False)):
        asking = QuestionToCheck(text.format(one, other), (LINK, CAUSE, PARTY), known, LINK)
        (found,) = CHECK.check([asking])
        assert (found.find_fault(asking) is None) is is_right


def test_a_pronoun_of_the_known_sex_may_mean_the_one_of_unknown_sex() -> None:
    known = tuple(t for t in SHOWN if t.relation != "sex or gender")  # Bob Moor is a father
    text = "What did Ann Lee die of, where was {} born, and which party was Bob Moor in?"
    for pronoun in ("he", "she"):
        asking = QuestionToCheck(text.format(pronoun), GOLD, known, LINK)
        (found,) = CHECK.check([asking])
        assert found.find_fault(asking) is None
    text = "Which party was Bob Moor in, what did Ann Lee die of, and where was his daughter born?"
    wrong = "Which party was Bob Moor in, where was she born, and what did she die of?"
    for question, fault in ((text, ""), (wrong, "does not name 'Ann Lee'")):
        asking = QuestionToCheck(question, GOLD, known, LINK)
        (found,) = CHECK.check([asking])
        assert (found.find_fault(asking) or "").startswith(fault)


@pytest.mark.parametrize("ask", [
    "what was the link between {both}", "in what way were {both} connected",
    "how were {both} related to each other", "in what relationship did {both} stand",
    "what connection existed between {both}", "what tied {both} together", "what united {both}",
    "how did the paths of {both} cross", "by what tie were {both} joined",
    "what did {both} have to do with one another", "what brought {both} together",
    "how was Bob Moor associated with Ann Lee", "what role did Bob Moor play for Ann Lee",
    "in what capacity was Bob Moor linked to Ann Lee", "how did Bob Moor stand to Ann Lee",
    "what was Bob Moor's part in relation to Ann Lee",
])  # fmt: skip
def test_ways_to_ask_what_connects_two_people(ask: str) -> None:
    gold = (LINK, BIRTH, PARTY)
    facts = "Where was Ann Lee born, which party was Bob Moor a member of, and"
    for both in ("Ann Lee and Bob Moor", "they", "the two", "the two people"):
        text = ask.format(both="them" if both == "they" and "between" in ask else both)
        assert find_fault(f"{facts} {text}?", gold=gold) == ""
        # Where the link is no gold, it is asked for beyond.
        assert find_fault(f"{facts} {text}?", gold=gold[1:]).startswith("asks for what is no gold")


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("How did the lives of Ann Lee and Bob Moor unfold?", ""),
        ("What is known about Ann Lee and Bob Moor?", "asks in unknown words"),
        ("Who are Ann Lee and Bob Moor?", "asks in unknown words"),
        ("What lives did Ann Lee and Bob Moor have, and what were their lives?", "asks twice"),
        ("How did the marriage of Ann Lee and Bob Moor shape their lives?", "states a premise"),
        ("How did the friendship between Ann Lee and Bob Moor shape their lives?", "states a"),
        ("Which of Ann Lee and Bob Moor lived longer, and how did life begin?", "asks for a comp"),
        ("Who has had a better life, Ann Lee or Bob Moor?", "asks for a comparison"),
        ("How many lives did Ann Lee and Bob Moor have?", "asks for a number"),
        ("What does the graph say of the lives of Ann Lee and Bob Moor?", "talks of a text"),
    ],
)
def test_general_questions_are_no_comparison_and_state_no_bond(question: str, fault: str) -> None:
    reason = find_fault(question, "general")
    assert reason.startswith(fault) and bool(reason) == bool(fault), reason


def test_a_marriage_is_stated_of_spouses_alone() -> None:
    married = fact("Q1", "Ann Lee", "spouse", "Bob Moor", "Q2")
    text = "How did the marriage of Ann Lee and Bob Moor and their lives unfold?"
    asking = QuestionToCheck(text, GOLD, (married, *GOLD), married, "general")
    (found,) = CHECK.check([asking])
    assert "premise" not in (found.find_fault(asking) or "")


def test_of_two_facts_a_clause_asks_for_the_one_that_no_other_clause_does() -> None:
    place, employer = of_ann("work location", "Bergen"), of_ann("employer", "Oslo Bank")
    for text, fault in (
        ("Where did Ann Lee work, and who employed her?", ""),
        ("Who employed Ann Lee, and in which city did she work?", ""),
        ("Where did Ann Lee work?", "asks in unknown words"),
    ):
        asking = QuestionToCheck(text, (place, employer), (place, employer))
        (found,) = CHECK.check([asking])
        reason = found.find_fault(asking) or ""
        assert reason.startswith(fault) and bool(reason) == bool(fault), reason


def test_one_fact_is_not_asked_for_in_two_wordings() -> None:
    twice = "what was the cause of her death, where was she born, and which party was Bob Moor in?"
    assert find_fault(f"What did Ann Lee die of, {twice}").startswith("asks twice")


def test_a_shared_surname_may_be_said_once() -> None:
    known = Triple("Q2", "Bob Lee", "P1", "member of political party", "Whigs")
    link = fact("Q1", "Ann Lee", "father", "Bob Lee", "Q2")
    text = "How did the politics and the death of Ann and Bob Lee differ?"
    asking = QuestionToCheck(text, (CAUSE, known), (link, CAUSE, known), link, "general")
    (found,) = CHECK.check([asking])
    assert found.find_fault(asking) is None


@pytest.mark.parametrize(
    "title", ["Where Eagles Dare", "Who's Afraid of Virginia Woolf?", "Guards! Guards!", "Dr. No",
              "What's Up, Doc?", "When We Were Kings", "The Girl who Never Played"]
)  # fmt: skip
def test_words_and_marks_of_a_title_are_none_of_the_question(title: str) -> None:
    genre, who = fact("Q1", title, "genre", "drama"), fact("Q1", title, "director", "Ann Lee")
    for text, fault in (
        ("What was {}'s genre, and who was its director?", ""),
        ("Who was {}'s director, and what was {}'s genre?", ""),
        ("What was the genre of {}, and who was the director of {}?", ""),
        ("What was {}'s genre?", "does not ask for its facts: director"),
        ("What was {}'s genre? Who was its director?", "has more than one question mark"),
        ("What was {}'s genre. Who was its director?", "is not one sentence"),
        ("What was {}'s genre, and who was not its director?", "denies something: 'not'"),
    ):
        asking = QuestionToCheck(text.replace("{}", title), (genre, who), (genre, who))
        (found,) = CHECK.check([asking])
        reason = found.find_fault(asking) or ""
        assert reason.startswith(fault) and bool(reason) == bool(fault), (text, reason)


def test_who_or_what_is_one_opener() -> None:
    ally = of_ann("ally of", "Sweden")
    asking = QuestionToCheck(
        "Where was Ann Lee born, and who or what was she an ally of?", (BIRTH, ally), (*SHOWN, ally)
    )
    (found,) = CHECK.check([asking])
    assert found.find_fault(asking) is None
