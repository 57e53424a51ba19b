"""Clauses in unknown words are read by their nearest wording, within what is certain."""

from pathlib import Path

import pytest

from citeforge.builders.kalma import question_nearest
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.question_nearest import LEAST_COSINE, resolve_embedder
from citeforge.kg.domain import load_domain
from citeforge.schemas.kg import Triple
from stand_ins import RuleEmbedder

LINK = Triple("Q1", "Ann Lee", "P22", "father", "Bob Moor", "Q2")
FAITH = Triple("Q1", "Ann Lee", "P140", "religion", "Islam")
PARTY = Triple("Q2", "Bob Moor", "P102", "member of political party", "Whigs")
OPEN = "to which god did X pray"


def embedder(cosine: float) -> RuleEmbedder:
    """Vectors in the plane: unknown words have a given cosine with one wording of religion."""
    near = (cosine, (1 - cosine**2) ** 0.5)
    known = {"what was X's faith": (1.0, 0.0)}
    return RuleEmbedder(lambda text: known.get(text, near if "pray" in text else (0.0, -1.0)))


def find_fault(folder: Path, model: RuleEmbedder, question: str, *gold: Triple) -> str:
    check = QuestionCheck(load_domain("people"))
    check.compare_with(model, folder)
    asking = QuestionToCheck(question, gold, (LINK, FAITH, PARTY), LINK)
    (found,) = check.check([asking])
    return found.find_fault(asking) or ""


PRAYED = "Which party was Bob Moor in, and to which god did Ann Lee pray?"


@pytest.mark.parametrize(
    ("cosine", "question", "reason"),
    [
        (LEAST_COSINE + 0.01, PRAYED, ""),
        (LEAST_COSINE - 0.01, PRAYED, "asks in unknown words: to which god did Ann Lee pray"),
        # It is near "what", and asks when, of somebody else, or how many.
        (0.99, PRAYED.replace("to which god", "when to a god"), "asks in unknown words"),
        (0.99, PRAYED.replace("Ann Lee pray", "Ann Lee's father pray"), "asks in unknown words"),
        (0.99, PRAYED.replace("Ann Lee pray", "Ann Lee's friend pray"), "asks in unknown words"),
        (0.99, PRAYED.replace("to which god", "to how many gods"), "asks for a number"),
    ],
)  # fmt: skip
def test_a_clause_near_a_wording_of_a_gold_fact_asks_for_it(
    tmp_path: Path, cosine: float, question: str, reason: str
) -> None:
    fault = find_fault(tmp_path, embedder(cosine), question, FAITH, PARTY)
    assert fault.startswith(reason) and bool(fault) is bool(reason), fault


def test_what_is_no_gold_stays_open(tmp_path: Path) -> None:
    fault = find_fault(tmp_path, embedder(0.99), PRAYED, PARTY, LINK)
    assert fault.startswith("asks in unknown words"), fault


def test_nothing_is_embedded_where_the_rules_are_enough(tmp_path: Path) -> None:
    model = embedder(0.99)
    known = "Which party was Bob Moor in, and what was Ann Lee's faith?"
    assert find_fault(tmp_path, model, known, FAITH, PARTY) == ""
    assert model.asked == []
    assert find_fault(tmp_path, model, PRAYED, FAITH, PARTY) == ""
    assert model.asked.count(OPEN) == 1 and model.asked.count("what was X's faith") == 1
    # Wordings are embedded once per folder; another check reads their vectors.
    assert find_fault(tmp_path, model, PRAYED, FAITH, PARTY) == ""
    assert model.asked.count("what was X's faith") == 1


def test_auto_is_the_embedded_one_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for found, name in ((object(), "offline"), (None, None)):
        monkeypatch.setattr(question_nearest, "find_spec", lambda _, found=found: found)
        assert resolve_embedder("auto") == name
    assert resolve_embedder("none") is None
    assert resolve_embedder("BAAI/bge-small-en") == "BAAI/bge-small-en"
