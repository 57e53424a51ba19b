"""ROUGE-Lsum, by rouge-score."""

from collections.abc import Sequence
from typing import Any

from citeforge.evaluator.measures.script_words import (
    LATIN,
    choose_tokenizer,
    list_choices,
    load_tokenizer,
)
from citeforge.evaluator.submissions.tools import CannotError


class _ScriptTokenizer:
    """Tokeniser for rouge-score of a script that its own, for Latin letters, does not read."""

    def __init__(self, name: str) -> None:
        """Load one of sacreBLEU's tokenisers."""
        self._tokenize = load_tokenizer(name)

    def tokenize(self, text: str) -> list[str]:
        """Cut a text into words in lower case, without punctuation."""
        words = self._tokenize(text.lower()).split()
        return [word for word in words if any(c.isalnum() for c in word)]


class RougeScorers:
    """Scorers of rouge-score for ROUGE-Lsum, one for each tokeniser."""

    def __init__(self, stemmer: bool, by_script: bool) -> None:
        """Prepare to make rouge-score scorers, one for each tokeniser.

        Args:
            stemmer: whether English words are stemmed.
            by_script: whether the script of the gold texts decides on a tokeniser, or always
                rouge-score's own is used.

        Raises:
            CannotError: rouge-score is not installed.
        """
        try:
            from rouge_score.rouge_scorer import RougeScorer
        except ImportError as error:
            raise CannotError(
                "needs rouge-score: pip install 'citeforge[scores]'", code="missing-extra"
            ) from error
        self._make, self._stemmer, self._by_script = RougeScorer, stemmer, by_script
        self._scorers: dict[str, Any] = {}

    @property
    def choices(self) -> tuple[str, ...]:
        """Tokenisers used, for signatures; empty while all gold texts were Latin."""
        return list_choices(self._scorers)

    def get(self, gold: Sequence[str]) -> Any:
        """Get the ``RougeScorer`` for the script of gold texts; each is made once."""
        name = choose_tokenizer(gold) if self._by_script else LATIN
        if name not in self._scorers:
            own = None if name == LATIN else _ScriptTokenizer(name)
            self._scorers[name] = self._make(
                ["rougeLsum"], use_stemmer=self._stemmer, tokenizer=own
            )
        return self._scorers[name]


def rouge_lsum(output: str, references: Sequence[str], scorer: Any) -> tuple[float, float, float]:
    """Compute ROUGE-Lsum P, R and F against the reference with the best F; 0 if there is none."""
    scores = (scorer.score(reference, output)["rougeLsum"] for reference in references)
    best = max(scores, key=lambda s: s.fmeasure, default=None)
    return (best.precision, best.recall, best.fmeasure) if best and best.fmeasure else (0.0,) * 3
