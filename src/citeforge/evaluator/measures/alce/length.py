"""How long answers are, as ALCE counts it."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.evaluator.measures.alce.answers import ALCE, alce_text
from citeforge.evaluator.measures.alce.qampari import LISTS, lists, options
from citeforge.evaluator.measures.columns import mean_of_defined
from citeforge.evaluator.measures.declared import Found, Measure, count
from citeforge.evaluator.statements.inputs import Inputs


def length(inputs: Inputs, wanted: Sequence[Measure]) -> Found:
    """Words of every answer."""
    words = {
        (run, item.row): float(len(alce_text(item, inputs).split())) for run, item in inputs.items()
    }
    yield mean_of_defined(inputs, "ALCE.Length", words)


MEASURES = (
    count(
        "ALCE.Length", "alce", "words of the output without markers", source=ALCE, compute=length
    ),
    count(
        "QAMPARI.NumPreds", "alce", "list items of the output", needs=LISTS, source=ALCE,
        compute=lists, options=options,
    ),
)  # fmt: skip
