"""Seemingly relevant passages out of somebody's ranking, not by embeddings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from citeforge.builders.rage.exclusions import Exclusions
from citeforge.builders.rage.mining import Mined
from citeforge.builders.rage.screening import FINE, Screen
from citeforge.engines.io.corpus import find_rows
from citeforge.engines.retrieval.records import Rankings
from citeforge.schemas.recipes.rage import Mining


class RankedCandidates:
    """The best ranked passages of every query that are not relevant.

    Attributes:
        dropped: verdicts on candidates that were passed over for their text.
        above: none: limits are about cosines.
    """

    def __init__(
        self, corpus: list[Path], rankings: Rankings, exclusions: Exclusions, mining: Mining
    ) -> None:
        """Take them in.

        Args:
            corpus: Parquet files.
            rankings: of all queries, in the order of ``exclusions``; passages of the corpus.
            exclusions: what may not stand as a negative.
            mining: how many, and which are passed over.
        """
        self.dropped: Counter[int] = Counter()
        self.above: Counter[str] = Counter()
        self._screen = Screen(corpus, exclusions, mining)
        self._corpus, self._rankings = corpus, rankings
        self._exclusions, self._mining = exclusions, mining

    def mine(self) -> list[list[Mined]]:
        """Up to ``mining.seemingly_relevant`` passages for each query, best first; the score is
        the ranking's, the rank counts candidates that are no exclusions."""
        names = list({r.docid for row in self._rankings.values() for r in row})
        positions, rows = find_rows(self._corpus, "_id", pa.array(names, pa.string()))
        at = {names[i]: p for p, i in zip(positions.tolist(), rows.tolist(), strict=True)}
        open_ = [
            [(at[r.docid], r.score) for r in row if at[r.docid] not in forbidden]
            for row, forbidden in zip(
                self._rankings.values(), self._exclusions.forbidden, strict=True
            )
        ]
        return [self._best(row, candidates) for row, candidates in enumerate(open_)]

    def _best(self, row: int, candidates: list[tuple[int, float]]) -> list[Mined]:
        mining = self._mining
        ranks = list(enumerate(candidates, 1))[mining.skip_top :]
        best: list[Mined] = []
        step = max(mining.seemingly_relevant, 1)
        for start in range(0, len(ranks), step):
            block = ranks[start : start + step]
            for (rank, (position, score)), verdict in zip(
                block, self._verdicts(row, [p for _, (p, _) in block]), strict=True
            ):
                if len(best) == mining.seemingly_relevant:
                    return best
                if verdict != FINE:
                    self.dropped[verdict] += 1
                else:
                    best.append(Mined(position, score, rank))
        return best

    def _verdicts(self, row: int, positions: list[int]) -> list[int]:
        rows = np.full(len(positions), row, np.int64)
        verdicts: list[int] = self._screen.verdicts(rows, np.array(positions, np.int64)).tolist()
        return verdicts
