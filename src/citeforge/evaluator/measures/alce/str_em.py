"""Short answers that stand in the output (ALCE on ASQA)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from citeforge.evaluator.measures.alce.answers import ALCE, alce_text
from citeforge.evaluator.measures.columns import means_by_answer
from citeforge.evaluator.measures.declared import percent
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.schemas.text import normalise_answer


def exact_presence(text: str, answers: Sequence[str]) -> bool:
    """Whether some normalised short answer stands in the normalised text.

    As in ALCE's code, an answer that normalises to nothing counts as present.
    """
    normalised = normalise_answer(text)
    return any(normalise_answer(answer) in normalised for answer in answers)


def str_em_of(item: AnswerItem, inputs: Inputs) -> tuple[float, float] | None:
    """(StrEM, StrHit) of one answer: share of its qa_pairs that are answered, and whether all of
    them are; None without qa_pairs."""
    pairs = inputs.gold[item.row].qa_pairs
    if not pairs:
        return None
    text = alce_text(item, inputs)
    hits = [exact_presence(text, pair.aliases) for pair in pairs]
    return sum(hits) / len(hits), float(all(hits))


_PAIRS = "qa_pairs (ASQA)"
_str = partial(
    percent, family="alce", needs=_PAIRS, source=ALCE,
    compute=means_by_answer(("ALCE.StrEM", "ALCE.StrHit"), str_em_of, _PAIRS),
)  # fmt: skip
MEASURES = (
    _str("ALCE.StrEM", definition="qa_pairs with a short answer in the output"),
    _str("ALCE.StrHit", definition="outputs with a short answer of every qa_pair"),
)
