"""How a measure's value of one answer comes about, where that can be told in one line."""

import math
from collections.abc import Callable

from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.scores import AnswerDetail

Line = tuple[str, float]
"""Arithmetic in words, and what it comes to on the raw scale."""


def arithmetic(measure: str, answer: AnswerDetail, value: float | None) -> str | None:
    """The arithmetic of a value; None where it is not known, or does not give that very value.

    Args:
        measure: name of a measure.
        answer: what was scored.
        value: raw value of the measure for this answer.
    """
    rule = _RULES.get(measure)
    if rule is None or value is None or answer.is_missing:
        return None
    found = rule(answer)
    return found[0] if found and math.isclose(found[1], value, abs_tol=1e-9) else None


def _cited(answer: AnswerDetail) -> tuple[set[int], int]:
    """Distinct passages cited, and citations of passages that were not shown."""
    return answer.all_cited, answer.all_wrong


def _relevant(answer: AnswerDetail) -> set[int]:
    return {i for i, p in enumerate(answer.passages) if p.label == RELEVANT}


def _precision(answer: AnswerDetail) -> Line | None:
    inside, outside = _cited(answer)
    hits, n = len(inside & _relevant(answer)), len(inside) + outside
    return (f"{hits} relevant of {n} cited = {hits}/{n}", hits / n) if n else None


def _recall(answer: AnswerDetail) -> Line | None:
    inside, _ = _cited(answer)
    relevant = _relevant(answer)
    hits, n = len(inside & relevant), len(relevant)
    return (f"{hits} cited of {n} relevant = {hits}/{n}", hits / n) if n else None


def _f1(answer: AnswerDetail) -> Line | None:
    p, r = _precision(answer), _recall(answer)
    if p is None or r is None:
        return None
    if p[1] + r[1] == 0:
        return "precision and recall are 0, and so is their harmonic mean", 0.0
    text = f"2 · {p[1]:.3f} · {r[1]:.3f} / ({p[1]:.3f} + {r[1]:.3f})"
    return text, 2 * p[1] * r[1] / (p[1] + r[1])


def _supported(answer: AnswerDetail) -> Line | None:
    n = len(answer.statements)
    if not n or any(s.supported is None for s in answer.statements):
        return None
    hits = sum(s.supported is True for s in answer.statements)
    return f"{hits} supported of {n} statements = {hits}/{n}", hits / n


_RULES: dict[str, Callable[[AnswerDetail], Line | None]] = {
    "CiteP": _precision,
    "CiteR": _recall,
    "CiteF1": _f1,
    "CiteF1@query": _f1,
    "ALCE.CitRec": _supported,
    "NLI.rec": _supported,
}
