"""ROUGE-Lsum against gold answers (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from citeforge.evaluator.measures.attributed_ir.answers import against_gold, air_text
from citeforge.evaluator.measures.attributed_ir.gold import gold_answers
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import means_of_columns
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.statements.inputs import Inputs


class Rouge(NamedTuple):
    """ROUGE-Lsum of one answer against its best gold answer."""

    precision: float
    recall: float
    f: float


def rouge_lsum(output: str, references: Sequence[str], scorer: Any) -> Rouge:
    """Scores against the reference with the best F; zeros without references."""
    best = Rouge(0.0, 0.0, 0.0)
    for reference in references:
        result = scorer.score(reference, output)["rougeLsum"]
        if result.fmeasure > best.f:
            best = Rouge(result.precision, result.recall, result.fmeasure)
    return best


def rouge_scorer(stemmer: bool) -> Any:
    """rouge-score's scorer.

    Raises:
        CannotError: rouge-score is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise CannotError("needs rouge-score: pip install 'citeforge[scores]'") from error
    return RougeScorer(["rougeLsum"], use_stemmer=stemmer)


def rouge(inputs: Inputs, measures: Sequence[Measure], single: bool) -> Found:
    """Precision, recall and F against the best gold answer, or the single one."""
    scorer = rouge_scorer(stemmer=False)
    rows = {
        (run, item.row): rouge_lsum(air_text(item, inputs), texts, scorer)
        for run, item, texts in gold_answers(inputs, single)
        if texts
    }
    suffix = "@1gold" if single else ""
    return means_of_columns(inputs, [f"ROUGE-Lsum.{part}{suffix}" for part in "PRF"], rows)


MEASURES = (
    against_gold(
        "ROUGE-Lsum",
        rouge,
        (
            "ROUGE-Lsum {} of the best gold answer",
            "ROUGE-Lsum {} of the one gold answer, plain mean",
        ),
        needs="gold answers, rouge-score",
    ),
)
