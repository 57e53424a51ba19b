"""Sentences that a model adds to a seed: its marks, its facts, and the tokens of a reply."""

import pytest

from citeforge.builders.kalma import check
from citeforge.builders.kalma.asking import TASKS, request
from citeforge.builders.kalma.check import Extension, ExtensionCheck
from citeforge.builders.kalma.mentions import marker
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import load_domain
from citeforge.schemas.benchmarks.kg import Triple

FAMILY = {"Q1": "Hans Albert Einstein", "Q2": "Albert Einstein", "Q3": "Mileva Maric"}
LINK = Triple("Q1", FAMILY["Q1"], "P22", "father", "Albert Einstein", "Q2")
BEFORE = "Hans Albert Einstein's father is Albert Einstein [Q1, father: Albert Einstein]."


def added(sentence: str, triple: Triple) -> str | None:
    pool = [LINK, triple, Triple("Q2", FAMILY["Q2"], "P551", "residence", "Ulm")]
    checker = ExtensionCheck(load_domain("people"), SentenceSegmenter())
    said = sentence.replace("[]", marker(triple))
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
    reply = seed.replace("[]", marker(movement))
    found = check.misplaced(reply, [LINK, movement], LINK)
    assert (found or "").startswith(reason or "") and (found is None) == (reason is None)


def test_marks_of_a_model_on_somebody_elses_fact_are_refused() -> None:
    born = Triple("Q1", FAMILY["Q1"], "P19", "place of birth", "Ulm")
    text = "Hans Albert Einstein's father, Albert Einstein, was born in Ulm"
    his = Triple("Q2", FAMILY["Q2"], "P19", "place of birth", "Ulm")
    pool = [LINK, born, his]
    found = check.misplaced(f"{text} {marker(born)}.", pool, LINK)
    assert found == "says 'Ulm' of somebody else"
    assert check.misplaced(f"{text} {marker(his)}.", pool, LINK) is None


def test_tokens_of_a_writer_are_bounded() -> None:
    plain, paragraph = {"plain": "x" * 1000}, {"paragraph": "x" * 1000}
    sizes = {t: request(t, {**plain, **paragraph, "fact": "", "marker": "", "graphs": []}, 0, 0)
             for t in TASKS}  # fmt: skip
    assert {t: r.params["max_tokens"] for t, r in sizes.items()} == {
        "seed": 80, "annotate": 160 + 500, "extend": 120 + 500, "general": 100, "specific": 200,
    }  # fmt: skip
