"""Passages that must not be negatives of a query, by position and by text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.rage.material import Material
from citeforge.engines.tables import find_rows, take_rows
from citeforge.engines.text.overlap import Shingles, shared, shingles
from citeforge.package.package import short_answers
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import UsageError
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.text import normalise_passages

FINE, ANSWER, PIECE = 0, 1, 2
"""Verdicts of the text rules on a candidate."""
_DROPPED = {ANSWER: "candidates_with_an_answer", PIECE: "candidates_sharing_text"}
"""Counts of the candidates with each verdict."""


@dataclass
class Exclusions:
    """Passages that must not be negatives of each query, by position and by text.

    Texts are read, and cut into shingles, once a call; those of relevant passages once in all.

    Attributes:
        corpus: Parquet files.
        mining: options of the mining, with the rules on texts.
        relevant: positions of the query's relevant passages, in the order of the judgements.
        forbidden: those; passages with the same normalised text as one of them; and, unless they
            are wanted, the query itself: passages with its id or its text.
        answers: gold short answers of the query; empty when they are not to be looked for.
        counts: how many passages each rule excluded.
    """

    corpus: list[Path]
    mining: Mining
    relevant: list[list[int]]
    forbidden: list[set[int]]
    answers: list[list[str]]
    counts: dict[str, int] = field(default_factory=dict)
    _shingles: dict[int, Shingles] = field(default_factory=dict)

    @property
    def reads_texts(self) -> bool:
        """Whether a rule that excludes negatives needs the texts of passages."""
        return self.mining.exclude_answers or self.mining.exclude_contained

    def classify(
        self, query_indexes: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int8]:
        """Classify (query, passage) pairs: FINE, ANSWER (has a gold one), PIECE (of relevant text).

        Args:
            query_indexes: number of the query of each pair.
            positions: corpus position of the passage of each pair.
        """
        verdicts = np.zeros(len(query_indexes), np.int8)
        if not self.reads_texts or not len(query_indexes):
            return verdicts
        unique, inverse = np.unique(positions, return_inverse=True)
        texts: list[str] = take_rows(self.corpus, unique, ["text"])["text"].to_pylist()
        pairs = list(zip(query_indexes.tolist(), inverse.tolist(), strict=True))
        if self.mining.exclude_answers:
            read = list(map(AnswerText, texts))
            for i, (row, at) in enumerate(pairs):
                if read[at].contains_any(self.answers[row]):
                    verdicts[i] = ANSWER
        if self.mining.exclude_contained:
            self._add_shingles({p for row, _ in pairs for p in self.relevant[row]})
            cut = [shingles(t) for t in texts]
            least = self.mining.contained
            for i, (row, at) in enumerate(pairs):
                if verdicts[i] == FINE and any(
                    shared(cut[at], self._shingles[p]) >= least for p in self.relevant[row]
                ):
                    verdicts[i] = PIECE
        return verdicts

    def _add_shingles(self, positions: set[int]) -> None:
        """Compute and cache the word n-grams (shingles) of passages at corpus positions."""
        if new := sorted(positions - self._shingles.keys()):
            texts = take_rows(self.corpus, np.array(new, np.int64), ["text"])["text"].to_pylist()
            self._shingles.update(zip(new, map(shingles, texts), strict=True))

    def count_dropped(self, label: str, dropped: Counter[int]) -> None:
        """Add to the build's counts how many candidate passages of a label each rule dropped.

        Args:
            label: label that the candidates were to get.
            dropped: verdict (ANSWER, PIECE) to the number of candidates.
        """
        rules = {ANSWER: self.mining.exclude_answers, PIECE: self.mining.exclude_contained}
        for verdict, name in _DROPPED.items():
            if rules[verdict]:
                self.counts[count_key(name, label)] = dropped[verdict]


def find_exclusions(material: Material) -> Exclusions:
    """Find, for each query, the passages that must not be mined as its negatives.

    Raises:
        UsageError: ``--exclude-answers`` without gold answers.
    """
    corpus, mining = material.corpus, material.recipe.mining
    queries, relevant = material.queries, material.relevant
    row_of = {name: row for row, name in enumerate(material.ids)}
    answers: list[list[str]] = [[] for _ in row_of]
    if mining.exclude_answers:
        answers = short_answers(queries, relevant, material.gold)
        if not any(answers):
            raise UsageError(
                f"--exclude-answers: {material.recipe.source} has no gold short answers",
                code="option-without-effect",
            )
    result = Exclusions(corpus, mining, [[] for _ in row_of], [set() for _ in row_of], answers)
    for name, position in zip(
        relevant["query-id"].to_pylist(), material.relevant_positions.tolist(), strict=True
    ):
        result.relevant[row_of[name]].append(position)
    for row, positions in enumerate(result.relevant):
        result.forbidden[row].update(positions)
    _exclude_equal_texts(result)
    if not mining.keep_self:
        _exclude_queries(queries, result)
    return result


def _exclude_equal_texts(exclusions: Exclusions) -> None:
    """Exclude, for each query, passages with the same text as one of its relevant passages."""
    unique = np.unique([p for positions in exclusions.relevant for p in positions]).astype(np.int64)
    if not len(unique):
        return
    texts = normalise_passages(
        pa.concat_arrays(take_rows(exclusions.corpus, unique, ["text"])["text"].chunks)
    )
    carriers = _find_all(
        exclusions.corpus, "text", texts, "looking for copies of relevant passages"
    )
    twins = dict(zip(unique.tolist(), carriers, strict=True))
    added = sum(
        _add_new(exclusions.forbidden[row], (p for r in relevant for p in twins[r]))
        for row, relevant in enumerate(exclusions.relevant)
    )
    exclusions.counts["negatives_of_equal_text"] = added


def _exclude_queries(queries: pa.Table, exclusions: Exclusions) -> None:
    """Exclude, for each query, passages that have the query's own text or id."""
    texts = normalise_passages(pa.concat_arrays(queries["text"].chunks))
    ids = pa.concat_arrays(queries["_id"].chunks)
    for column, values, noun in (("text", texts, "text"), ("_id", ids, "id")):
        stage = f"looking for the queries' own {noun}s"
        carriers = _find_all(exclusions.corpus, column, values, stage)
        added = sum(map(_add_new, exclusions.forbidden, carriers))
        exclusions.counts[count_key("negatives_that_are_the_query", noun)] = added


def _find_all(corpus: list[Path], column: str, values: pa.Array, stage: str) -> list[list[int]]:
    """Find the corpus positions at which a column has given values: one list per value.

    Args:
        corpus: Parquet files.
        column: ``_id`` or ``text``.
        values: values to look for; they may repeat.
        stage: description of the work, for the progress line.
    """
    distinct = values.unique()
    positions_of: list[list[int]] = [[] for _ in distinct]
    positions, indices = find_rows(corpus, column, distinct, stage)
    for position, index in zip(positions.tolist(), indices.tolist(), strict=True):
        positions_of[index].append(position)
    return [positions_of[i] for i in pc.index_in(values, value_set=distinct).to_pylist()]


def _add_new(forbidden: set[int], positions: Iterable[int]) -> int:
    """Add corpus positions to a query's excluded ones; return how many were new."""
    before = len(forbidden)
    forbidden.update(positions)
    return len(forbidden) - before
