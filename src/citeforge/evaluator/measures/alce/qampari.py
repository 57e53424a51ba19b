"""Precision and recall of lists of answers (ALCE on QAMPARI)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from citeforge.evaluator.measures.alce.answers import ALCE, alce_text, answer_part, split_list
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import mean_of_defined
from citeforge.evaluator.measures.declared import Found, Measure, percent
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.tools import Tools
from citeforge.package.items import GoldRows
from citeforge.schemas.text import normalise_answer

LISTS = "answer lists (QAMPARI)"


class Qampari(NamedTuple):
    """List scores of one answer."""

    precision: float
    recall: float
    recall5: float
    f1: float
    f1_5: float
    n_items: float


def qampari_of(item: AnswerItem, gold: GoldRows, inputs: Inputs) -> Qampari | None:
    """QAMPARI's precision and recall of list items; None without answer lists.

    Recall-5 is min(5, hits) / min(5, number of gold answers).
    """
    answers = [{normalise_answer(a) for a in g.aliases} for g in gold.answer_lists]
    if not answers:
        return None
    if inputs.protocol == "reference":
        text = answer_part(alce_text(item, inputs), inputs)
        parts = [normalise_answer(x) for x in text.rstrip().rstrip(".").rstrip(",").split(",")]
    else:
        parts = [
            normalise_answer(x) for x in split_list(answer_part(alce_text(item, inputs), inputs))
        ]
    found = [p for p in parts if p]
    everything = set().union(*answers)
    precision = sum(p in everything for p in found) / len(found) if found else 0.0
    hits = sum(any(a in found for a in aliases) for aliases in answers)
    recall = hits / len(answers)
    recall5 = min(5, hits) / min(5, len(answers))
    f1, f1_5 = _f1(precision, recall), _f1(precision, recall5)
    return Qampari(precision, recall, recall5, f1, f1_5, len(found))


def _f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


def lists(inputs: Inputs, wanted: Sequence[Measure]) -> Found:
    """All scores of the lists, and their lengths."""
    rows = {
        (run, item.row): qampari_of(item, inputs.gold[item.row], inputs)
        for run, item in inputs.items()
    }
    known = {k: v for k, v in rows.items() if v is not None}
    if not known:
        raise CannotError(f"needs {LISTS}")
    names = ("P", "R", "R5", "F1", "F1-5", "NumPreds")
    for at, name in enumerate(names):
        values = {k: v[at] for k, v in known.items()}
        yield mean_of_defined(inputs, f"QAMPARI.{name}", values)


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
