"""Each acceptance check of twins, on rewrites written here."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citeforge.builders.authorship.checks import Checker, SourcePassage, compare_texts
from citeforge.builders.authorship.facts import (
    Entities,
    find_implied_numbers,
    missing_quotations,
    months_in_text,
    numbers_in_text,
)
from citeforge.engines.judge.session import JudgeSession
from citeforge.schemas.recipes.twins import Thresholds
from conftest_evaluator import Facts

HUMAN = (
    "The Humber Bridge near Kingston upon Hull opened in 1981. Its main span of 1,410 metres was "
    "the longest of any suspension bridge until 1998."
)
TWIN = (
    "Near Kingston upon Hull the Humber Bridge was opened in 1981. Until 1998 no suspension bridge "
    "had a longer main span than its 1,410 metres."
)
ENTITIES = Entities()


def failed(human: str, twin: str, **passage: object) -> dict[str, str]:
    checker = Checker(Thresholds(), ENTITIES)
    report = checker.check([(SourcePassage("p", "", human, **passage), twin)])[0]  # type: ignore[arg-type]
    assert report.accepted == (not report.failed)
    return report.failed


def test_a_good_twin_passes() -> None:
    assert failed(HUMAN, TWIN) == {}


# (what is done to the good twin, the check that must fail)
BAD = [
    (lambda t: " ".join(t.split()[:12]), "length"),
    (lambda t: f"{t} {t}", "length"),
    (lambda t: HUMAN, "copy"),
    (lambda t: HUMAN.upper(), "copy"),
    (lambda t: HUMAN.replace(",", ""), "copy"),
    (lambda t: f"Here is a paraphrase: {t}", "preamble"),
    (lambda t: f"Sure! {t}", "preamble"),
    (lambda t: f"Paraphrased passage: {t}", "preamble"),
    (lambda t: t.replace("Humber Bridge", "**Humber Bridge**"), "markdown"),
    (lambda t: f"# Bridge\n{t}", "markdown"),
    (lambda t: f"- {t}", "markdown"),
    (lambda t: t.replace("1981", "1982"), "numbers"),
    (lambda t: t.replace("1,410 metres", "great length"), "numbers"),
    (lambda t: t.replace("Until 1998", "Until 1998, for 18 years,"), "numbers"),
    (lambda t: t.replace("was opened in", "was opened in July"), "dates"),
    (lambda t: t.replace("Kingston upon Hull", "a port"), "entities"),
]


@pytest.mark.parametrize(("change", "name"), BAD)
def test_each_fault_is_named(change, name: str) -> None:  # type: ignore[no-untyped-def]
    assert name in failed(HUMAN, change(TWIN))


def test_the_writing_of_numbers_may_change_but_not_their_value() -> None:
    assert failed(HUMAN, TWIN.replace("1,410", "1410")) == {}
    seven = "Snow White lived there with 7 dwarfs, who dug for gold in the mountains every day."
    words = "With seven dwarfs, who went digging for gold in the mountains daily, lived Snow White."
    assert "numbers" not in failed(seven, words)
    assert "numbers" in failed(seven, words.replace("seven", "eight"))


def test_numbers_and_months() -> None:
    assert numbers_in_text("1,642 m, 3.5 %, 1990s, 3rd, 007").required == {
        "1642", "3.5", "1990s", "3", "7",
    }  # fmt: skip
    assert numbers_in_text("twelve, second").allowed == {"12", "2"}
    assert numbers_in_text("twelve, second").required == {"12"}
    assert months_in_text("on 12 May 1990; Sept. 3; he may march in august") == {
        "may", "september", "august",
    }  # fmt: skip


def test_quotations_must_stay_word_for_word() -> None:
    human = 'He called it “a small step” and wrote "so it goes" below.'
    assert missing_quotations(human, 'Below it he wrote "so it goes"; it was "a small step".') == []
    assert missing_quotations(human, "He called it a little step; so it goes.") == ["a small step"]


def test_marks_of_nested_quotations_are_no_quotation() -> None:
    human = 'He wrote that "non-("X")" read as the complement of "X" and "so it goes".'
    # ' read as the complement of ' is between two marks, of which the second one is an opening one.
    assert missing_quotations(human, "He wrote it.") == ["so it goes"]


def test_a_name_with_the_same_initials_is_another_name() -> None:
    assert ENTITIES.find_changes(
        "A map of Alfred Stead shows it.", "It is on Alfred Steed's map."
    ) == (
        ["Alfred Stead"],
        [],
    )
    raf, royal = "He joined the RAF in spring.", "In spring he joined the Royal Air Force."
    assert ENTITIES.find_changes(raf, royal) == ENTITIES.find_changes(royal, raf) == ([], [])


def test_the_rest_of_a_number_is_implied() -> None:
    # Of five films the first one leaves 5 - 1 = 4.
    human = (
        "It was the first in a series of five films that the studio made up to 1973 in the hills."
    )
    twin = (
        "In the hills the studio made four more films up to 1973 for this series of five of them."
    )
    assert "numbers" not in failed(human, twin)
    assert failed(human, twin.replace("four more", "three more"))["numbers"] == "adds '3'"


def test_a_score_implies_the_number_of_games() -> None:
    # 4 games won and 1 lost: 4 + 1 = 5.
    assert find_implied_numbers("They began with 4–1.") == {"5"}


def test_gold_answers_stay_where_they_were_and_go_nowhere_else() -> None:
    assert failed(HUMAN, TWIN, present=(("1981",),)) == {}
    other = TWIN.replace("Humber Bridge", "Bridge over the Humber")
    assert failed(HUMAN, other, present=(("Humber Bridge",),)) == {
        "answer": "lost the gold answer 'Humber Bridge'"
    }
    gained = TWIN.replace("had a longer", "in the world had a longer")
    assert failed(HUMAN, gained, absent=(("the world",),)) == {
        "answer": "gained the gold answer 'the world'"
    }
    # An answer that the passage never held is not asked of the twin.
    assert failed(HUMAN, TWIN, present=(("Verrazzano",),), absent=(("1981",),)) == {}


def test_another_language_is_noticed() -> None:
    german = (
        "Die Humber Bridge bei Kingston upon Hull wurde 1981 eröffnet. Ihre Hauptspannweite von "
        "1.410 Metern war bis 1998 die größte aller Hängebrücken."
    )
    assert failed(HUMAN, german)["language"] == "de instead of en"


def test_entailment_is_asked_both_ways_and_only_of_twins_that_pass_the_rest() -> None:
    judge = Facts()  # a text entails another when it has all its capital letters of A to F
    checker = Checker(Thresholds(), ENTITIES, JudgeSession(judge, None))
    pairs = [
        ("now A and B are said here again", "here again now B and A are being said"),
        ("now A and B are said here again", "here again now A and also it are said"),
        ("now A and B are said here again", "now A and B are said here again"),
        ("now A and B are said here # again", "here # again now B and A are being said"),
    ]
    reports = checker.check([(SourcePassage(str(i), "", h), t) for i, (h, t) in enumerate(pairs)])
    assert reports[0].failed == {}
    assert reports[1].failed == {"entailment": "twin to passage: not entailed"}
    assert set(reports[2].failed) == {"copy"}
    assert "the judge failed" in reports[3].failed["entailment"]
    assert len(judge.asked) == 3 * 2  # three pairs that pass the rest, both ways


def test_measures_by_hand() -> None:
    result = compare_texts("a b c d", "a b c e f")
    assert result.length_ratio == 5 / 4
    # "a b c d" (7 characters) to "a b c e f" (9): change one, add two.
    assert result.edit_similarity == pytest.approx(1 - 3 / 9, abs=1e-6)
    assert result.ngram_overlap == pytest.approx(1 / 3, abs=1e-6)  # of abc, bce, cef


def test_scripts_without_spaces_are_measured_by_signs() -> None:
    result = compare_texts("月は地球を回る。", "月は地球の周りを回る。")
    assert result.length_ratio == pytest.approx(10 / 7, abs=1e-6)
    assert result.edit_similarity == pytest.approx(7 / 10, abs=1e-6)  # three signs are added
    # Of the eight runs of three signs, 月は地, は地球 and を回る are in both.
    assert result.ngram_overlap == pytest.approx(3 / 8, abs=1e-6)


@given(st.text(max_size=300), st.text(max_size=300))
@example(":A0_", "")  # one word to a regular expression, two to spaCy
def test_any_two_texts_can_be_checked(human: str, twin: str) -> None:
    report = Checker(Thresholds(), ENTITIES).check([(SourcePassage("p", "", human), twin)])[0]
    assert 0 <= report.measured.edit_similarity <= 1
    assert 0 <= report.measured.ngram_overlap <= 1
    same = Checker(Thresholds(), ENTITIES).check([(SourcePassage("p", "", human), human)])[0]
    # A text against itself fails for being a copy (or for having no words), for nothing else.
    assert set(same.failed) <= {"copy", "length"}
    assert "copy" in same.failed


def test_a_passage_of_50_000_characters_is_checked() -> None:
    human = " ".join(f"Word number {i} stands here." for i in range(1900))
    assert len(human) > 50_000
    assert "copy" in failed(human, human)
