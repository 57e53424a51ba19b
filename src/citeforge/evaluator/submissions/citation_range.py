"""Signs in a submission's citations that it was made on another build of the benchmark."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from citeforge.evaluator.submissions.finding import Finding
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.submission import SubmissionLine

_SHARE_BEYOND = 0.2
"""Share of the answers that cite, from which on citations beyond the context are no slips."""
_MOST_ANSWERS = 20_000
"""Answers of a submission that are looked at: more would tell no more, and cost time."""
_FEWEST_ANSWERS = 3
"""Minimum number of answers (or passages) for the check."""
_LOG_CHANCE = math.log(1e-9)
"""Chance below which it is no accident that the last passages are never cited."""


@dataclass
class CitationRange:
    """Range of the citations of all answers, compared with the passages shown.

    Context sets of two builds may have the same names and queries. Where the header does not tell
    the builds apart, answers that were made with more passages cite beyond these, and answers that
    were made with fewer never cite the last ones.
    """

    _n_answers: int = 0
    _n_citing: int = 0
    _n_beyond: int = 0
    _sizes: Counter[int] = field(default_factory=Counter)
    _farthest: int = 0

    def observe(self, answer: SubmissionLine, grammar: Grammar, n_shown: int) -> None:
        """Record which of the shown passages an answer cites; only the first 20,000 are read."""
        self._n_answers += 1
        if self._n_answers <= _MOST_ANSWERS and answer.passages is None:
            inside, outside, _ = grammar.cited(answer.output, n_shown)
            self.add((position + 1 for position in inside), outside, n_shown)

    def add(self, cited_positions: Iterable[int], n_beyond: int, n_shown: int) -> None:
        """Count an answer by the positions it cites and its citations beyond the passages shown.

        Args:
            cited_positions: 1-based positions of the distinct passages cited.
            n_beyond: distinct citations of what was not shown.
            n_shown: number of passages shown; 0 where positions mean nothing.
        """
        cited = set(cited_positions)
        if not cited and not n_beyond:
            return
        self._n_citing += 1
        self._n_beyond += n_beyond > 0
        if n_shown and cited:
            self._sizes[n_shown] += len(cited)
            self._farthest = max(self._farthest, *cited)

    def warnings(self, cited_noun: str = "passages") -> list[Finding]:
        """Warn if the citations suggest that another build of the benchmark was answered."""
        texts = []
        if self._n_beyond >= max(_FEWEST_ANSWERS, _SHARE_BEYOND * self._n_citing):
            texts.append(
                f"{self._n_beyond:,} of {self._n_citing:,} answers with citations cite "
                f"{cited_noun} that this benchmark does not show: were they made on another "
                "build of it?"
            )
        wider = {size: n for size, n in self._sizes.items() if size > self._farthest}
        # Chance that citations spread over all passages would miss the last ones altogether.
        missed = sum(n * math.log(self._farthest / size) for size, n in wider.items())
        if self._farthest >= _FEWEST_ANSWERS and missed < _LOG_CHANCE:
            texts.append(
                f"none of {sum(self._sizes.values()):,} citations goes beyond passage "
                f"{self._farthest}, though up to {max(wider)} are shown: were the answers made "
                f"with {self._farthest} passages?"
            )
        return [Finding("wrong-benchmark", text) for text in texts]
