"""Gold answers as Attributed-IR's correctness measures see them."""

from __future__ import annotations

from collections.abc import Iterator

from citeforge.evaluator.measures.attributed_ir.answers import without_reference_marks
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.package.items import GoldRows
from citeforge.schemas.citations.grammar import without_markers


def gold_texts(gold: GoldRows, inputs: Inputs) -> list[str]:
    """Gold answers without their markers, in order."""
    texts = [g.text or "" for g in gold.answers]
    if inputs.protocol == "reference":
        return [without_reference_marks(t) for t in texts]
    return [without_markers(t, inputs.grammar.parse(t, 1 << 30).markers) for t in texts]


def gold_answers(inputs: Inputs, single: bool) -> Iterator[tuple[int, AnswerItem, list[str]]]:
    """(run, item, gold texts) of every item: all gold answers, or only the single one.

    Raises:
        CannotError: no query has any.
    """
    has_gold = False
    for run, item in inputs.items():
        gold = inputs.gold[item.row]
        if single:
            gold = GoldRows(() if gold.single is None else (gold.single,))
        texts = gold_texts(gold, inputs)
        has_gold = has_gold or bool(texts)
        yield run, item, texts
    if not has_gold:
        raise CannotError("needs gold answers")
