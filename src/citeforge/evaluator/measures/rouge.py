"""ROUGE-Lsum, by rouge-score."""

from collections.abc import Sequence
from typing import Any

from citeforge.evaluator.measures.declared import CannotError


def rouge_scorer(stemmer: bool) -> Any:
    """Make rouge-score's scorer for ROUGE-Lsum.

    Raises:
        CannotError: rouge-score is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise CannotError(
            "needs rouge-score: pip install 'citeforge[scores]'", code="missing-extra"
        ) from error
    return RougeScorer(["rougeLsum"], use_stemmer=stemmer)


def rouge_lsum(output: str, references: Sequence[str], scorer: Any) -> tuple[float, float, float]:
    """Compute ROUGE-Lsum P, R and F against the reference with the best F; 0 if there is none."""
    scores = (scorer.score(reference, output)["rougeLsum"] for reference in references)
    best = max(scores, key=lambda s: s.fmeasure, default=None)
    return (best.precision, best.recall, best.fmeasure) if best and best.fmeasure else (0.0,) * 3
