"""Answers that refuse to answer, by rules of all languages."""

from citeforge.engines.text.refusals import is_refusal
from citeforge.evaluator.submissions.inputs import AnswerItem
from citeforge.schemas.citations.grammar import Grammar, without_markers
from citeforge.schemas.refusals import EVERY_LANGUAGE, signed_detector

SIGNED_RULES = signed_detector(EVERY_LANGUAGE)
"""Rules of refusals in a score signature."""


def refuses(item: AnswerItem, grammar: Grammar) -> bool:
    """Whether an answer, read without its citation markers, refuses to answer."""
    markers = grammar.parse(item.output, item.n_passages).markers
    cites = any(not m.is_residue for m in markers)
    return is_refusal(without_markers(item.output, markers), EVERY_LANGUAGE, cites=cites)
