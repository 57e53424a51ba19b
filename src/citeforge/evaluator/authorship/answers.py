"""What one answer in one cell is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from citeforge.evaluator.statistics import Floats
from citeforge.schemas.grammar import Grammar, without_markers
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.text import normalise_em

_REFERENCE = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Values:
    """Raw values of one answer.

    Attributes:
        precision: relevant among the distinct cited passages; 0 when nothing is cited.
        recall: cited among the relevant passages; NaN without any.
        em: 1 when a gold answer is part of the output, else 0; NaN without gold answers.
        cited_relevant: distinct relevant passages cited.
        cited_total: distinct passages cited.
        relevant_sum: probabilities of citation tokens of relevant passages, summed.
        relevant_n: number of such tokens.
        other_sum: the same of the other passages.
        other_n: their number.
        unparsed: marks that could not be read.
        out_of_range: distinct citations of passages that were not shown.
    """

    precision: float = 0.0
    recall: float = 0.0
    em: float = math.nan
    cited_relevant: float = 0.0
    cited_total: float = 0.0
    relevant_sum: float = 0.0
    relevant_n: float = 0.0
    other_sum: float = 0.0
    other_n: float = 0.0
    unparsed: float = 0.0
    out_of_range: float = 0.0


COLUMNS = tuple(f.name for f in fields(Values))


def measure_strict(
    answer: SubmissionLine,
    grammar: Grammar,
    n_docs: int,
    relevant: frozenset[int],
    gold: Sequence[str],
) -> Values:
    """Our definitions: citations out of range count as cited and wrong; markers are no text.

    Args:
        answer: line of the submission.
        grammar: citation grammar with the benchmark's index base.
        n_docs: passages shown.
        relevant: 0-based positions of the relevant ones.
        gold: short answers of the query; empty where there are none.
    """
    inside, outside, unparsed = grammar.cited(answer.output, n_docs)
    markers = grammar.parse(answer.output, n_docs).markers
    em = math.nan
    if gold:
        text = normalise_em(without_markers(answer.output, markers))
        em = float(any(n and n in text for n in map(normalise_em, gold)))
    positions = _token_positions(answer, [m.numbers for m in markers if not m.is_na], grammar.base)
    return _values(inside, outside, relevant, em, _confidence(answer, positions, n_docs, relevant),
                   unparsed)  # fmt: skip


def measure_reference(
    answer: SubmissionLine,
    grammar: Grammar,
    n_docs: int,
    relevant: frozenset[int],
    gold: Sequence[str],
) -> Values:
    """What AttriEval's functions compute: ``[n]`` alone, from 0; out of range is ignored."""
    found = {int(n) for n in _REFERENCE.findall(answer.output)}
    inside = {n for n in found if n < n_docs}
    em = math.nan
    if gold:
        text = normalise_em(answer.output)
        em = float(any(normalise_em(g) in text for g in gold))
    positions = [_plain_number(t.token) for t in answer.logprobs or ()]
    confidence = _confidence(answer, positions, n_docs, relevant)
    return _values(inside, 0, relevant, em, confidence, 0)


def worst(relevant: frozenset[int], gold: Sequence[str]) -> Values:
    """What a missing answer scores."""
    return Values(recall=0.0 if relevant else math.nan, em=0.0 if gold else math.nan)


def _values(
    inside: set[int],
    outside: int,
    relevant: frozenset[int],
    em: float,
    confidence: tuple[float, float, float, float],
    unparsed: int,
) -> Values:
    hits, total = len(inside & relevant), len(inside) + outside
    return Values(
        hits / total if total else 0.0,
        hits / len(relevant) if relevant else math.nan,
        em,
        hits,
        total,
        *confidence,
        unparsed,
        outside,
    )


def _token_positions(
    answer: SubmissionLine, marks: Sequence[tuple[int, ...]], base: int
) -> list[int | None]:
    """0-based position that each token of ``logprobs`` cites; None when that is not clear.

    A mark with one number says it itself, also where its digits are several tokens.
    """
    found: list[int | None] = []
    for token in answer.logprobs or ():
        numbers = marks[token.index] if 0 <= token.index < len(marks) else ()
        number = numbers[0] if len(numbers) == 1 else _plain_number(token.token)
        found.append(None if number is None else number - base)
    return found


def _plain_number(token: str) -> int | None:
    digits = token.strip(" [],")
    return int(digits) if digits.isdecimal() and len(digits) < 10 else None


def _confidence(
    answer: SubmissionLine,
    positions: Sequence[int | None],
    n_docs: int,
    relevant: frozenset[int],
) -> tuple[float, float, float, float]:
    """Summed probabilities and number of citation tokens: relevant passages, then the others."""
    sums = [0.0, 0.0, 0.0, 0.0]
    for token, position in zip(answer.logprobs or (), positions, strict=True):
        if position is None or not 0 <= position < n_docs:
            continue
        side = 0 if position in relevant else 2
        sums[side] += min(1.0, math.exp(min(0.0, token.logprob)))
        sums[side + 1] += 1
    return sums[0], sums[1], sums[2], sums[3]


@dataclass
class CellRuns:
    """Answers of one cell.

    Attributes:
        n_queries: queries of the benchmark.
        runs: run number to values, shape (queries, columns), NaN where no answer was read.
        seen: run number to rows that have an answer.
    """

    n_queries: int
    runs: dict[int, Floats] = field(default_factory=dict)
    seen: dict[int, set[int]] = field(default_factory=dict)

    def put(self, run: int, row: int, values: Values) -> None:
        """Keep the values of one answer."""
        if run not in self.runs:
            self.runs[run] = np.full((self.n_queries, len(COLUMNS)), np.nan)
            self.seen[run] = set()
        self.runs[run][row] = [getattr(values, name) for name in COLUMNS]
        self.seen[run].add(row)

    def column(self, name: str, runs: Sequence[int]) -> Floats:
        """Values of one column, shape (runs, queries)."""
        at = COLUMNS.index(name)
        return np.stack([self.runs[r][:, at] for r in runs])
