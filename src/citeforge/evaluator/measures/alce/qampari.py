"""Precision and recall of lists of answers (ALCE on QAMPARI)."""

from __future__ import annotations

from functools import partial

from citeforge.evaluator.measures.alce.answers import ALCE, alce_text, answer_part, split_list
from citeforge.evaluator.measures.columns import means_by_answer
from citeforge.evaluator.measures.declared import percent
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.tools import Tools
from citeforge.schemas.text import normalise_answer

LISTS = "answer lists (QAMPARI)"


def qampari_of(item: AnswerItem, inputs: Inputs) -> tuple[float, ...] | None:
    """QAMPARI's P, R, R5, F1 and F1-5 of list items, and their number; None without answer lists.

    R5 is min(5, hits) / min(5, number of gold answers).
    """
    gold = inputs.gold[item.row].answer_lists
    answers = [{normalise_answer(a) for a in g.aliases} for g in gold]
    if not answers:
        return None
    text = answer_part(alce_text(item, inputs), inputs)
    is_reference = inputs.protocol == "reference"
    parts = text.rstrip().rstrip(".").rstrip(",").split(",") if is_reference else split_list(text)
    listed = [normal for part in parts if (normal := normalise_answer(part))]
    everything = set().union(*answers)
    precision = sum(p in everything for p in listed) / len(listed) if listed else 0.0
    hits = sum(any(a in listed for a in aliases) for aliases in answers)
    recall = hits / len(answers)
    recall5 = min(5, hits) / min(5, len(answers))
    f1s = _f1(precision, recall), _f1(precision, recall5)
    return precision, recall, recall5, *f1s, float(len(listed))


def _f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


lists = means_by_answer(
    [f"QAMPARI.{name}" for name in ("P", "R", "R5", "F1", "F1-5", "NumPreds")], qampari_of, LISTS
)
"""All scores of the lists, and their lengths."""


def options(tools: Tools, protocol: str) -> str | None:
    """What moves these scores besides the data."""
    return "cot" if tools.options.cot else None


_listed = partial(percent, family="alce", needs=LISTS, source=ALCE, compute=lists, options=options)
MEASURES = (
    _listed("QAMPARI.P", definition="list items that are gold answers"),
    _listed("QAMPARI.R", definition="gold answers among the list items"),
    _listed("QAMPARI.R5", definition="min(5, hits) / min(5, gold answers)"),
    _listed("QAMPARI.F1", definition="harmonic mean of P and R of one answer"),
    _listed("QAMPARI.F1-5", definition="harmonic mean of P and R5 of one answer"),
)
