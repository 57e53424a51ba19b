"""Attributed-IR's measures (METRICS section 3; Djeddal et al. 2024, and their code)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures.alce import Claim, strict_claims
from citeforge.evaluator.measures.bounds import BOTH, Bounds, Value
from citeforge.evaluator.measures.correctness import air_output, single_gold
from citeforge.package.items import Gold
from citeforge.schemas.marks import read_number

MOST_CITATIONS = 7
MOST_STATEMENTS = 20
_BRACKET = r"\[\d+(?:,\s*\d+)*\]"
_MARK = re.compile(rf"{_BRACKET}(?:,\s{_BRACKET})*")  # brackets joined by commas are one mark
_NUMBER = re.compile(r"\d+")


def _numbers(text: str) -> list[int]:
    return [read_number(n) for mark in _MARK.findall(text) for n in _NUMBER.findall(mark)]


def claims_of(item: Item, inputs: Inputs) -> list[Claim]:
    """Statements with their citations, as the protocol reads them."""
    if inputs.protocol == "strict":
        return strict_claims(item, inputs)
    return _reference_claims(item, inputs)


def _reference_statements(item: Item, inputs: Inputs) -> list[tuple[str, list[int]]]:
    """Statements and the numbers they cite, as Attributed-IR's evaluator reads them.

    A mark that opens a sentence replaces the citations of the sentence before, unless that one was
    nothing but marks; it is no citation of its own sentence. A sentence that is one mark, or marks
    joined by commas, is no statement; other sentences of marks are statements without text.
    """
    assert inputs.tools.segmenter is not None
    output = air_output(item.output)
    found: dict[int, tuple[str, list[int]]] = {}
    for at, (start, end) in enumerate(inputs.tools.segmenter.split(output)):
        sentence = output[start:end]
        marks = _MARK.findall(sentence)
        own = sentence
        if marks and sentence.startswith(marks[0]):
            own = sentence[len(marks[0]) :]
            if at - 1 in found:
                found[at - 1] = (found[at - 1][0], _numbers(marks[0]))
        if not marks or ", ".join(marks) != sentence:
            text = _MARK.sub("", sentence).replace(" .", ".")
            found[at] = (text, _numbers(own))
    return list(found.values())


def _reference_claims(item: Item, inputs: Inputs) -> list[Claim]:
    """Citations de-duplicated and cut to seven before the range check; twenty statements at most.

    ``[0]`` is the last passage. A statement with a citation out of range is marked as skipped,
    which NLI heeds; AutoAIS looks at its other citations.
    """
    n = len(item.passages)
    claims = []
    for text, numbers in _reference_statements(item, inputs)[:MOST_STATEMENTS]:
        # The order of premises is that of a Python set, as in the evaluator.
        kept = list(set(numbers))[:MOST_CITATIONS]
        inside = tuple((number - 1) % n for number in kept if number <= n)
        n_wrong = len(kept) - len(inside)
        claims.append(Claim(text, inside, wrong=n_wrong, skipped=n_wrong > 0))
    return claims


@dataclass(frozen=True)
class AutoAis:
    """AutoAIS of one answer.

    Attributes:
        cited_all: over all statements, an uncited one counting 0.
        cited_only: over cited statements; 0 when there is none.
        passages: best shown passage of every statement.
    """

    cited_all: Value
    cited_only: Value
    passages: Value


def auto_ais(
    answers: list[tuple[Item, list[Claim]]], judge: JudgeSession, with_passages: bool
) -> list[AutoAis]:
    """AutoAIS of every answer; premises are passage texts without titles."""
    judge.ask(
        Pair(item.passages[c].text, claim.text)
        for item, claims in answers
        for claim in claims
        for c in (range(len(item.passages)) if with_passages else claim.cited)
    )
    return [_auto_ais(item, claims, judge, with_passages) for item, claims in answers]


def _auto_ais(item: Item, claims: list[Claim], judge: JudgeSession, with_passages: bool) -> AutoAis:
    def best(claim: Claim, positions: tuple[int, ...] | range) -> Bounds:
        low = high = False
        for position in positions:
            pair = Pair(item.passages[position].text, claim.text)
            decision = judge.ask([pair])[pair]
            if isinstance(decision, JudgeFailure):
                found = BOTH
            else:
                found = Bounds(decision.entailed, decision.entailed)
            low, high = low or found.low, high or found.high
        return Bounds(low, high)

    cited = [best(claim, claim.cited) for claim in claims]
    # Where a citation out of range skips a statement, wrong ones alone leave it uncited.
    only = [
        b
        for b, claim in zip(cited, claims, strict=True)
        if claim.cited or (claim.wrong and not claim.skipped)
    ]
    shown = [best(c, range(len(item.passages))) for c in claims] if with_passages else []
    return AutoAis(Value.mean(cited), Value.mean(only), Value.mean(shown))


def overlap(item: Item, gold: list[Gold], inputs: Inputs) -> tuple[float, float] | None:
    """(precision, recall) of cited passage ids against the gold answer's.

    No gold or no generated citation gives 0 and stays; ``reference``: a query whose gold answer is
    the empty string leaves.
    """
    answer = single_gold(gold)
    if inputs.protocol == "reference" and (answer is None or not answer.text):
        return None
    wanted = set(answer.citations) if answer is not None else set()
    if inputs.protocol == "reference":
        assert answer is not None
        quotes = inputs.benchmark.relevant_ids[item.row]
        marks = _numbers(answer.text or "")
        wanted = {quotes[n - 1] for n in marks if n <= len(quotes)} if quotes else set()
        generated, n_wrong = _reference_ids(item), 0
    else:
        inside, n_wrong, _ = inputs.grammar.cited(item.output, len(item.passages))
        generated = {item.passages[p].id for p in inside}
    size = len(generated) + n_wrong
    shared = len(wanted & generated)
    return (
        shared / size if size else 0.0,
        shared / len(wanted) if wanted else 0.0,
    )


def _reference_ids(item: Item) -> set[str]:
    """The published code compares a marker with 1 instead of the number of passages: only ``[1]``
    counts, and ``[0]``, which is the last passage."""
    numbers = [n for n in _numbers(air_output(item.output)) if n <= 1]
    return {item.passages[n - 1].id for n in numbers} if item.passages else set()
