"""RAGE's measures (METRICS section 1), one answer at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from citeforge.schemas.grammar import Grammar, without_markers
from citeforge.schemas.marks import read_number
from citeforge.schemas.text import contains_answer, normalise_answer

_REFERENCE = re.compile(r"\[(\d+)\]")
_PLAIN = re.compile(r"\[\d{1,3}\]")
# What may follow a marker that takes the space before it along, as in `without_markers`.
_TAKES_SPACE = " \t\n.,;:!?)["


class Answer(NamedTuple):
    """What the measures of one answer are.

    ``recall`` is NaN without a relevant passage in the context, ``short_em`` without short answers.
    """

    precision: float
    recall: float
    distinct: int
    length: int
    short_em: float
    n_out_of_range: int
    n_unparsed: int


Scorer = Callable[[str, int, frozenset[int], dict[int, list[str]]], Answer]
"""(output, passages shown, positions of relevant ones, their short answers) to measures."""


def worst(relevant: frozenset[int], answers: dict[int, list[str]]) -> Answer:
    """What a missing answer scores."""
    recall = 0.0 if relevant else math.nan
    return Answer(0.0, recall, 0, 0, 0.0 if answers else math.nan, 0, 0)


def strict_scorer(grammar: Grammar) -> Scorer:
    """Our definitions: out-of-range citations count as cited and wrong; no citation scores 0."""

    def score(
        output: str, n_docs: int, relevant: frozenset[int], answers: dict[int, list[str]]
    ) -> Answer:
        inside, outside, unparsed = grammar.cited(output, n_docs)
        distinct = len(inside) + outside
        hits = len(inside & relevant)
        short_em = math.nan
        if answers:
            text = normalise_answer(_text(output, n_docs, grammar))
            short_em = float(any(contains_answer(text, found) for found in answers.values()))
        return Answer(
            hits / distinct if distinct else 0.0,
            hits / len(relevant) if relevant else math.nan,
            distinct,
            len(_text(output, n_docs, grammar).split()),
            short_em,
            outside,
            unparsed,
        )

    return score


def _text(output: str, n_docs: int, grammar: Grammar) -> str:
    """The output without markers; the short way gives the same words as the long one."""
    marks = output.count("[")
    if not grammar.needs_care(output):
        pieces = []
        at = 0
        for marker in _PLAIN.finditer(output) if marks else ():
            piece = output[at : marker.start()]
            at = marker.end()
            following = output[at : at + 1]
            if not following or following in _TAKES_SPACE:
                piece = piece.rstrip(" \t")
            pieces.append(piece)
        if len(pieces) == marks:
            return "".join([*pieces, output[at:]])
    return without_markers(output, grammar.parse(output, n_docs).markers)


def reference_scorer(grammar: Grammar) -> Scorer:
    """What rage_toolkit 0.0.2 computes: only ``[n]``, out-of-range ones dropped before counting."""

    def score(
        output: str, n_docs: int, relevant: frozenset[int], answers: dict[int, list[str]]
    ) -> Answer:
        found = {read_number(n) for n in _REFERENCE.findall(output)}
        cited = {n - 1 for n in found if 0 < n <= n_docs}
        hits = cited & relevant
        short_em = math.nan
        supported = [answers[position] for position in hits if position in answers]
        if supported:
            short_em = float(any(a in output for group in supported for a in group))
        return Answer(
            len(hits) / len(cited) if cited else 0.0,
            len(hits) / len(relevant) if relevant else math.nan,
            len(cited),
            len(output.split(" ")),
            short_em,
            len(found) - len(cited),
            0,
        )

    return score
