"""Candidates that are no negatives by their text: it holds an answer, or a relevant passage's."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citeforge.builders.rage.exclusions import Exclusions
from citeforge.engines.io.corpus import take_rows
from citeforge.engines.text.overlap import Shingles, shared, shingles
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.text import contains_answer, normalise_answer

FINE, ANSWER, PIECE = 0, 1, 2
"""What a screen says of a candidate."""
WORDS = {ANSWER: "contain an answer", PIECE: "share text with a relevant passage"}
"""The same in counts."""


@dataclass
class Screen:
    """Looks at the texts of candidates.

    Texts are read, and cut into shingles, once a call; those of relevant passages once in all.

    Attributes:
        corpus: Parquet files.
        exclusions: relevant passages and gold answers of each query.
        mining: what is looked for.
    """

    corpus: list[Path]
    exclusions: Exclusions
    mining: Mining
    _relevant: dict[int, list[Shingles]] = field(default_factory=dict)

    @property
    def looks(self) -> bool:
        """Whether anything is looked for."""
        return self.mining.exclude_answers or self.mining.exclude_contained

    def verdicts(
        self, rows: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int8]:
        """FINE, ANSWER or PIECE for each (query row, corpus position) pair; answers come first."""
        verdicts = np.zeros(len(rows), np.int8)
        if not self.looks or not len(rows):
            return verdicts
        unique, inverse = np.unique(positions, return_inverse=True)
        texts: list[str] = take_rows(self.corpus, unique, ["text"])["text"].to_pylist()
        pairs = list(zip(rows.tolist(), inverse.tolist(), strict=True))
        if self.mining.exclude_answers:
            forms = [normalise_answer(t) for t in texts]
            for i, (row, at) in enumerate(pairs):
                if contains_answer(forms[at], self.exclusions.answers[row]):
                    verdicts[i] = ANSWER
        if self.mining.exclude_contained:
            self._learn(sorted({row for row, _ in pairs}))
            cut = [shingles(t) for t in texts]
            least = self.mining.contained
            assert least is not None
            for i, (row, at) in enumerate(pairs):
                if verdicts[i] == FINE and any(
                    shared(cut[at], own) >= least for own in self._relevant[row]
                ):
                    verdicts[i] = PIECE
        return verdicts

    def _learn(self, rows: list[int]) -> None:
        """Shingles of the relevant passages of some queries."""
        new = [row for row in rows if row not in self._relevant]
        pairs = [(row, p) for row in new for p in self.exclusions.relevant[row]]
        self._relevant.update((row, []) for row in new)
        if not pairs:
            return
        unique, inverse = np.unique([p for _, p in pairs], return_inverse=True)
        texts = take_rows(self.corpus, unique.astype(np.int64), ["text"])["text"].to_pylist()
        cut = [shingles(t) for t in texts]
        for (row, _), at in zip(pairs, inverse.tolist(), strict=True):
            self._relevant[row].append(cut[at])


def note_screened(counts: dict[str, int], what: str, dropped: Counter[int], mining: Mining) -> None:
    """Tell how many candidates a screen kept out, also where that is none."""
    rules = {ANSWER: mining.exclude_answers, PIECE: mining.exclude_contained}
    for verdict, words in WORDS.items():
        if rules[verdict]:
            counts[f"{what} candidates dropped: {words}"] = dropped[verdict]


def note_above(counts: dict[str, int], above: Counter[str], mining: Mining) -> None:
    """Tell how many candidates were above each limit that was set."""
    limits = {
        "--max-score": mining.max_score,
        "--margin": mining.margin,
        "--relative-margin": mining.relative_margin,
    }
    for option, value in limits.items():
        if value is not None:
            counts[f"seemingly relevant candidates dropped: above {option}"] = above[option]
