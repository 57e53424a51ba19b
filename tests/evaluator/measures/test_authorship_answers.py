"""One answer in one cell: exact match, the marks of log probabilities, odd numbers."""

import math
from pathlib import Path
from typing import get_args

import pytest

import citeforge as cf
from citeforge.engines.llm.records import LlmReply, Token
from citeforge.evaluator.measures import rage_citations as rage
from citeforge.evaluator.measures.authorship import CellNumbers
from citeforge.evaluator.measures.authorship_answers import (
    Values,
    measure_reference,
    measure_strict,
    worst_values,
)
from citeforge.schemas.citations.grammar import Grammar, citation_marks, read_number
from citeforge.schemas.recipes.command_options import Protocol
from citeforge.schemas.submission import SubmissionLine, TokenLogprob
from citeforge.systems.submission_writer import citation_logprobs

BOTH = (measure_strict, measure_reference)


def em(function, output: str, *gold: str) -> float:  # type: ignore[no-untyped-def]
    result: float = function(
        SubmissionLine("q", output), Grammar(0), 3, frozenset({1}), list(gold)
    ).numbers.em
    return result


@pytest.mark.parametrize("function", BOTH)
@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("It is Schindler’s List [0].", "Schindler's List"),
        ("It is Schindler's List [0].", "Schindler’s List"),
        ("The war of 1939-1945 [1].", "1939–1945"),
        ("It froze at 10°C.", "10C"),
        ("It froze at 10 C.", "10 °C"),
        ("„Der Prozess“ [2]", "«der prozess»"),
        ("¿Quién? ¡Él!", "quién él"),
        ("a\u00a0b\u2003c", "A  b\nc"),
    ],
)
def test_punctuation_of_every_script_is_no_word(function, output: str, gold: str) -> None:  # type: ignore[no-untyped-def]
    assert em(function, output, gold) == 1
    assert em(function, output, "something else") == 0


def test_a_range_is_no_number_of_all_its_digits() -> None:
    assert em(measure_strict, "The war of 1939–1945 [1].", "19391945") == 0
    assert em(measure_reference, "The war of 1939–1945 [1].", "19391945") == 1


def test_an_underscore_is_a_word_character_in_reference_alone() -> None:
    assert em(measure_strict, "Use snake_case.", "snakecase") == 1
    assert em(measure_reference, "Use snake_case.", "snakecase") == 0
    assert em(measure_reference, "Use snake_case.", "snake_case") == 1
    assert em(measure_strict, "Use snake_case.", "snake_case") == 1


def test_a_gold_answer_of_punctuation_alone() -> None:
    """Its form is empty, and the empty text is a part of every text: AttriEval finds it."""
    assert em(measure_reference, "", "!!!") == 1
    assert em(measure_strict, "anything", "!!!") == 0


def test_a_missing_answer_is_worth_nothing() -> None:
    assert worst_values(frozenset({1}), ["gold"]) == Values(CellNumbers(0, 0, 0, 0, 0, 0, 0, 0, 0))
    without = worst_values(frozenset(), [])
    assert (without.numbers.precision, without.numbers.distinct) == (0, 0)
    assert math.isnan(without.numbers.recall)
    assert math.isnan(without.numbers.em)
    missing = rage.worst_values(frozenset({1}), {1: ["gold"]})
    assert missing == rage.AnswerValues(rage.RageNumbers(0, 0, 0, 0, 0, 1), 0, 0)
    assert math.isnan(rage.worst_values(frozenset(), {}).numbers.recall)
    assert math.isnan(rage.worst_values(frozenset(), {}).numbers.short_em)


def answered(*pieces: tuple[str, float]) -> SubmissionLine:
    """A submission line as ``llm run`` writes it, from (token, probability) pairs."""
    answer = LlmReply(
        "".join(p for p, _ in pieces), logprobs=tuple(Token(p, math.log(x)) for p, x in pieces)
    )
    rows = [TokenLogprob(**row) for row in citation_logprobs(answer)]
    return SubmissionLine("q", answer.text, logprobs=rows)


def confidence(line: SubmissionLine, relevant: int, n_docs: int = 3, base: int = 0):  # type: ignore[no-untyped-def]
    v = measure_strict(line, Grammar(base), n_docs, frozenset({relevant}), []).numbers
    return pytest.approx((v.relevant_sum, v.relevant_n, v.other_sum, v.other_n))


@pytest.mark.parametrize("before", ["[2019]", "[NA]", "[see 4]", "[ NA ]", "[see](http://a.b/c) "])
def test_a_mark_outside_the_grammar_does_not_move_the_indices(before: str) -> None:
    """[1] is relevant and was written with probability .9, [2] is not, with .5."""
    first = [("[", 1.0), ("2019", 0.3), ("]", 1.0)] if before == "[2019]" else [(before, 0.3)]
    line = answered(("In ", 1.0), *first, (" so [", 1.0), ("1", 0.9), ("] or [", 1.0),
                    ("2", 0.5), ("].", 1.0))  # fmt: skip
    assert confidence(line, relevant=1) == (0.9, 1, 0.5, 1)
    assert confidence(line, relevant=2) == (0.5, 1, 0.9, 1)


def test_indices_count_what_may_be_a_mark() -> None:
    marks = citation_marks("[NA] [2019] [1] [0, 1] [x] 【2】")
    assert [m.numbers for m in marks] == [(2019,), (1,), (0, 1), (2,)]
    # A year is a citation where so many passages are shown.
    line = answered(("[", 1.0), ("2019", 0.7), ("]", 1.0))
    assert confidence(line, relevant=2019, n_docs=3000) == (0.7, 1, 0, 0)
    assert confidence(line, relevant=1) == (0, 0, 0, 0)


def test_lists_and_numbers_of_several_tokens() -> None:
    line = answered(("[", 1.0), ("1", 0.5), ("0", 0.7), (", ", 1.0), ("1", 0.9), ("]", 1.0))
    assert confidence(line, relevant=10, n_docs=12) == (0.5 + 0.7, 2, 0.9, 1)
    line = answered(("[", 1.0), ("1", 0.5), ("-", 1.0), ("3", 0.25), ("]", 1.0))
    assert confidence(line, relevant=3, n_docs=4) == (0.25, 1, 0.5, 1)
    line = answered(("[1", 0.5), ("]", 1.0))
    assert confidence(line, relevant=0, base=1) == (0.5, 1, 0, 0)


def test_tokens_that_do_not_fit_their_mark_are_no_citations() -> None:
    def line(*tokens: TokenLogprob) -> SubmissionLine:
        return SubmissionLine("q", "So [1] and [2].", logprobs=list(tokens))

    assert confidence(line(TokenLogprob(0, "2", 0.0)), relevant=1) == (0, 0, 0, 0)
    assert confidence(line(TokenLogprob(7, "1", 0.0)), relevant=1) == (0, 0, 0, 0)
    assert confidence(line(TokenLogprob(-1, "2", 0.0)), relevant=1) == (0, 0, 0, 0)
    assert confidence(line(TokenLogprob(1, " 2]", 0.0)), relevant=1) == (0, 0, 1, 1)


def test_reference_confidence_takes_single_tokens_between_brackets() -> None:
    """As AttriEval's search over ``[``, digits, ``]``; every other number is another passage."""

    def reference(line: SubmissionLine):  # type: ignore[no-untyped-def]
        v = measure_reference(line, Grammar(0), 3, frozenset({1}), []).numbers
        return pytest.approx((v.relevant_sum, v.relevant_n, v.other_sum, v.other_n))

    assert reference(answered(("[", 1.0), ("1", 0.5), ("]", 1.0))) == (0.5, 1, 0, 0)
    assert reference(answered(("[", 1.0), ("7", 0.5), ("]", 1.0))) == (0, 0, 0.5, 1)
    two = answered(("[", 1.0), ("1", 0.5), ("1", 0.5), ("]", 1.0))
    assert reference(two) == (0, 0, 0, 0)
    listed = answered(("[", 1.0), ("1", 0.5), (", ", 1.0), ("2", 0.5), ("]", 1.0))
    assert reference(listed) == (0, 0, 0, 0)
    beside = SubmissionLine("q", "No marks.", logprobs=[TokenLogprob(9, "1", math.log(0.5))])
    assert reference(beside) == (0.5, 1, 0, 0)


LONG = f"So it is [{'1' * 5000}] and [1]."


def test_a_number_of_five_thousand_digits_is_a_citation_of_nothing() -> None:
    assert read_number("0042") == 42
    assert read_number("1" * 5000) > 10**20
    for function in BOTH:
        result = function(SubmissionLine("q", LONG), Grammar(0), 3, frozenset({1}), [])
        assert (result.numbers.precision, result.numbers.recall) == (1, 1)
    answer = rage.score_reference(LONG, 3, frozenset({0}), {})
    assert (answer.numbers.precision, answer.numbers.recall, answer.n_out_of_range) == (1, 1, 1)


def test_no_family_falls_over_it(package: Path) -> None:
    rows = [{"query_id": f"q{i:02d}", "context": "mix", "output": LONG} for i in range(1, 4)]
    for protocol in get_args(Protocol):
        result = cf.score(
            rows, package, ["rage", "alce", "attributed_ir"], protocol=protocol, judge="lexical",
            segmenter="nupunkt",
        )  # fmt: skip
        assert {"CiteP", "ALCE.CitPrec", "NLI.prec"} <= {*result}
