"""How long answers are, as ALCE counts it."""

from __future__ import annotations

from citeforge.evaluator.measures.alce.answers import ALCE, alce_text
from citeforge.evaluator.measures.alce.qampari import LISTS, lists, options
from citeforge.evaluator.measures.columns import means_by_answer
from citeforge.evaluator.measures.declared import count
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs


def words(item: AnswerItem, inputs: Inputs) -> tuple[float]:
    """Number of words of an answer."""
    return (float(len(alce_text(item, inputs).split())),)


MEASURES = (
    count(
        "ALCE.Length", "alce", "words of the output without markers", source=ALCE,
        compute=means_by_answer(("ALCE.Length",), words),
    ),
    count(
        "QAMPARI.NumPreds", "alce", "list items of the output", needs=LISTS, source=ALCE,
        compute=lists, options=options,
    ),
)  # fmt: skip
