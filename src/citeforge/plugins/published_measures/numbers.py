"""Measures of whether the numbers of an answer are in its sources, read without a judge.

## numbers

Ours. A number is a number in digits or (English) words, a rank, share, amount of money, year, date
or range. It is found if a passage has the same value in any spelling ("3.5 bn", "3,500 million";
"12th", "12"; "5 March 2019", "2019-03-05"), and not only with another unit (kg and kilogram are
one; metres and feet are two, and are not converted). A date in a passage has its year; of a range
both ends are enough.

*Example.* "It is 310 m high [1]. It opened in 1937 and cost $3.5 bn [2]." Passage 1 has "310
metres", passage 2 "1937", passage 3 "3,500 million dollars": Numbers = 2/3, Numbers.Shown = 3/3.

It misses a right number of something else: "born 1937" is found where a bridge opened in 1937.
Words that may be no number ("one") are not looked for, nor is the sign of "fell by 5 %".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citeforge.evaluator.measures.declared import COUNT, per_answer
from citeforge.evaluator.measures.handed import Answer
from citeforge.evaluator.measures.judging import premise
from citeforge.evaluator.submissions.tools import Need
from citeforge.plugins.published_measures.quantities import Quantities, Quantity, read_quantities

_LABEL = re.compile(r"\A\d{1,3}[.)]\s")
"""Number of a list item."""


@dataclass(frozen=True)
class NumberCounts:
    """Numbers of one answer.

    Attributes:
        cited: numbers that are in a passage that their statement cites.
        shown: numbers that are in a passage that was shown.
        total: all of them; 1 for a missing answer, of which nothing is found.
        written: all that the answer has.
    """

    cited: int
    shown: int
    total: int
    written: int


@per_answer(
    "numbers", needs=(Need.STATEMENTS, Need.PASSAGES), source="ours", reads_labels=False,
    missing=NumberCounts(0, 0, 1, 0),
)  # fmt: skip
def numbers(answer: Answer) -> NumberCounts:
    """Count an answer's numbers (quantities), and those in its cited and shown passages.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    statements = [
        (read_quantities(_LABEL.sub("", s.text), only_sure=True), s) for s in answer.statements
    ]
    if not any(found for found, _ in statements):
        return NumberCounts(0, 0, 0, 0)
    every = Quantities(premise(answer.passages, range(answer.n_passages), strict=True))
    return count_found(every, (
        (found, Quantities(premise(answer.passages, statement.cited, strict=True)))
        for found, statement in statements
    ))  # fmt: skip


def count_found(
    shown_numbers: Quantities, statements: Iterable[tuple[Sequence[Quantity], Quantities]]
) -> NumberCounts:
    """Count an answer's numbers that its cited passages have, and that the shown ones have.

    Args:
        shown_numbers: numbers of all that was shown.
        statements: numbers of each statement, with the numbers of what it cites.
    """
    cited = shown = total = 0
    for found, own in statements:
        cited += sum(quantity in own for quantity in found)
        shown += sum(quantity in shown_numbers for quantity in found)
        total += len(found)
    return NumberCounts(cited, shown, total, total)


MEASURES = (
    numbers.measure(
        "Numbers", "numbers of an answer that the passages cited for them have",
        mean=lambda n: n.cited / n.total if n.total else None,
        formula="numbers found in a passage that their statement cites ÷ numbers",
        edge_cases="no number: undefined; a statement without a citation: not found"),
    numbers.measure(
        "Numbers.Shown", "numbers of an answer that a passage shown has",
        mean=lambda n: n.shown / n.total if n.total else None,
        formula="the same in any passage shown; the rest is invented, or known otherwise",
        edge_cases="no number: undefined"),
    numbers.measure(
        "Numbers.Count", "numbers per answer", mean=lambda n: n.written, **COUNT,
        formula="numbers of an answer"),
)  # fmt: skip
