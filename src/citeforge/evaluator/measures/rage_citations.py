"""RAGE's measures (docs/measures/rage.md), from a few numbers per answer.

## rage

Penzkofer & Baumann 2024, section 3.2; reward: section 4.3; `reference`: rage_toolkit 0.0.2. For one
answer let `D` be the distinct passages that it cites and `R` the relevant passages shown.

*Example.* Six passages, 1 to 3 relevant. "A [1]. B [2][5]. C [9]." cites 1, 2, 5 and 9: CiteP =
2/4, CiteR = 2/3. Under `reference` 9 is dropped: CiteP = 2/3. A second answer "A [3]." has 1/1 and
1/3. Under `strict` the means are 3/4 and 1/2, so CiteF1 = 2 · 3/4 · 1/2 / (5/4) = .60; CiteF1@query
= (4/7 + 1/2) / 2 = .54.

If answers bring their own passages, `R` holds those whose docid the benchmark calls relevant.
`strict` ignores a docid whose text differs from the corpus. What a retriever missed is measured by
[retrieval](#retrieval).

The reward for [training](training.md) is `Reward`, with `CiteP` in place of an undefined `CiteR`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from citeforge.evaluator.measures.declared import (
    COUNT,
    SCRIPTS,
    SHORT_ANSWERS,
    CitationQuality,
    Group,
)
from citeforge.evaluator.measures.script_words import count_text_words, length_option
from citeforge.evaluator.statistics.estimates import (
    Floats,
    NumberColumns,
    Sample,
    harmonic,
    harmonic_sample,
    mean_sample,
)
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.evaluator.submissions.inputs import SharedResults
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.tools import CannotError, ScoringTools
from citeforge.schemas.citations.grammar import TAKES_SPACE, Grammar, read_number
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.submission import SubmissionLine

_REFERENCE = re.compile(r"\[(\d+)\]")
_PLAIN = re.compile(r"\[\d{1,3}\]")


N = TypeVar("N", float, Floats)


class RageNumbers(NamedTuple, Generic[N]):
    """Values of all RAGE measures: numbers of one answer, or arrays (runs, queries) of all.

    ``recall`` is NaN without a relevant passage in the context, ``short_em`` without short answers
    to search for; ``n_answerable`` counts the relevant passages shown that have short answers.
    """

    precision: N
    recall: N
    distinct: N
    length: N
    short_em: N
    n_answerable: N


@dataclass(frozen=True, slots=True)
class AnswerValues:
    """Values of all RAGE measures for one answer, and numbers of its faulty citations."""

    numbers: RageNumbers[float]
    n_out_of_range: int
    n_unparsed: int


def worst_values(relevant: frozenset[int], answers: dict[int, list[str]]) -> AnswerValues:
    """Get a missing answer's scores: 0, or NaN without relevant passages or short answers."""
    recall = 0.0 if relevant else math.nan
    short_em = 0.0 if answers else math.nan
    return AnswerValues(RageNumbers(0.0, recall, 0, 0, short_em, len(answers)), 0, 0)


def score_strict(
    grammar: Grammar, output: str, n_docs: int, relevant: frozenset[int],
    answers: dict[int, list[str]],
) -> AnswerValues:  # fmt: skip
    """Score one answer by ``strict``: out-of-range citations are wrong, no citation scores 0.

    Args:
        grammar: reads its citations.
        output: what the system wrote.
        n_docs: number of passages shown.
        relevant: positions of the relevant ones.
        answers: short answers of relevant passages, by position.
    """
    inside, outside, unparsed = grammar.cited(output, n_docs)
    text, short_em = _strip_markers(output, n_docs, grammar), math.nan
    if answers:
        short_em = float(any(map(AnswerText(text).contains_any, answers.values())))
    shares = _shares(inside, len(inside) + outside, relevant)
    n_words = count_text_words(text)
    numbers = RageNumbers(*shares, n_words, short_em, len(answers))
    return AnswerValues(numbers, outside, unparsed)


def _shares(
    cited_positions: set[int], n_cited: int, relevant: frozenset[int]
) -> tuple[float, float, int]:
    """Compute (precision, recall, ``n_cited``) of citations; recall is NaN if undefined."""
    hits = len(cited_positions & relevant)
    recall = hits / len(relevant) if relevant else math.nan
    return hits / n_cited if n_cited else 0.0, recall, n_cited


def _strip_markers(output: str, n_docs: int, grammar: Grammar) -> str:
    """Remove citation markers from an output; faster if these are only plain ``[n]``."""
    marks = output.count("[")
    if not grammar.needs_care(output):
        pieces = []
        at = 0
        for marker in _PLAIN.finditer(output) if marks else ():
            piece = output[at : marker.start()]
            at = marker.end()
            following = output[at : at + 1]
            if not following or following in TAKES_SPACE:
                piece = piece.rstrip(" \t")
            pieces.append(piece)
        if len(pieces) == marks:
            return "".join([*pieces, output[at:]])
    return grammar.strip_marks(output, n_docs)


def score_reference(
    output: str, n_docs: int, relevant: frozenset[int], answers: dict[int, list[str]]
) -> AnswerValues:
    """Score one answer as rage_toolkit 0.0.2: only ``[n]``, out-of-range ones are not counted."""
    numbers = {read_number(n) for n in _REFERENCE.findall(output)}
    cited = {n - 1 for n in numbers if 0 < n <= n_docs}
    short_em = math.nan
    supported = [answers[position] for position in cited & relevant if position in answers]
    if supported:
        short_em = float(any(a in output for group in supported for a in group))
    length, n_out_of_range = len(output.split(" ")), len(numbers) - len(cited)
    shares = _shares(cited, len(cited), relevant)
    return AnswerValues(RageNumbers(*shares, length, short_em, len(answers)), n_out_of_range, 0)


class RageScores(SharedResults):
    """RAGE values of all answers to frozen passages, or to their own, computed one by one.

    Of passages that an answer brings itself, those that the benchmark knows have labels.
    """

    def __init__(
        self, benchmark: Benchmark, grammar: Grammar, tools: ScoringTools,
        table: ContextTable | None, provided: ProvidedPassages | None,
    ) -> None:  # fmt: skip
        """Prepare to score answers on frozen passages (``table``) or their own ones (``provided``).

        Args:
            benchmark: its judgements say which passages are relevant.
            grammar: citation grammar with the submission's index base.
            tools: their options name the protocol.
            table: the frozen passages; None where answers bring their own.
            provided: the passages that answers bring; None where they are frozen.
        """
        self._grammar, self.tools = grammar, tools
        self._benchmark, self._table, self._provided = benchmark, table, provided
        self._kept = NumberColumns(len(benchmark.query_ids), len(RageNumbers._fields))
        self._relevant = (
            [frozenset(ids) for ids in benchmark.relevant_ids] if provided is not None else []
        )

    def add(self, row: int, answer: SubmissionLine) -> AnswerValues:
        """Score an answer to the query in row ``row`` of the benchmark; store and return scores."""
        ids = () if self._provided is None else self._provided.docids(answer)
        shown = self._shown_passages(row, ids)
        if self.tools.is_strict:
            values = score_strict(self._grammar, answer.output, *shown)
        else:
            values = score_reference(answer.output, *shown)
        self._kept.add(answer.run, row, values.numbers)
        return values

    def fill(self) -> None:
        """Fill in the worst values for every missing answer."""
        for run, row in self._kept.missing():
            self._kept.add(run, row, self._worst(row).numbers)

    def _worst(self, row: int) -> AnswerValues:
        """Get the scores of a missing answer to the query in this row."""
        ids = sorted(self._relevant[row]) if self._table is None else ()
        return worst_values(*self._shown_passages(row, ids)[1:])

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs with answers, in ascending order."""
        return self._kept.runs

    @property
    def shape(self) -> tuple[int, int]:
        """Number of runs, and number of queries."""
        return len(self.runs), len(self._benchmark.query_ids)

    @cached_property
    def columns(self) -> RageNumbers[Floats]:
        """Scores of all answers as arrays, one array for each score."""
        return RageNumbers(*self._kept.arrays())

    @property
    def labelled(self) -> RageNumbers[Floats]:
        """Scores of all answers, one array each; raises if the passages' relevance is unknown.

        Raises:
            CannotError: that is unknown.
        """
        if self._why_unlabelled:
            raise CannotError(self._why_unlabelled, code="no-relevant")
        return self.columns

    @cached_property
    def _why_unlabelled(self) -> str:
        """Reason why it is unknown which passages are relevant; empty if it is known."""
        if self._provided is not None:
            return self._provided.why_unlabelled()
        is_labelled = self._table is not None and self._table.is_labelled
        return "" if is_labelled else self._benchmark.why_no_labels

    def _shown_passages(
        self, row: int, ids: Sequence[str | None]
    ) -> tuple[int, frozenset[int], dict[int, list[str]]]:
        """Return number of passages shown, positions of relevant ones, and their short answers."""
        answers, query = self._benchmark.short_answers, self._benchmark.query_ids[row]
        if self._table is None:
            size, mine = len(ids), self._relevant[row]
            relevant = frozenset(i for i, name in enumerate(ids) if name in mine)
        else:
            size, relevant = self._table.sizes[row], self._table.relevant[row]
            ids = self._table.ids_of(row) if answers else ()
        if not answers:
            return size, relevant, {}
        short = {i: answers.get((query, ids[i] or "")) for i in sorted(relevant)}
        return size, relevant, {i: texts for i, texts in short.items() if texts is not None}


def _mean_precision(scores: RageScores) -> Sample:
    """Average CiteP over the queries."""
    return mean_sample(scores.labelled.precision)


def _mean_recall(scores: RageScores) -> Sample:
    """Average CiteR over the queries with a relevant passage."""
    return mean_sample(scores.labelled.recall)


def _mean_short_em(scores: RageScores) -> Sample:
    """Average ShortEM over the queries for which it is defined."""
    short_em = scores.labelled.short_em
    if np.isnan(short_em).all():
        raise CannotError(f"needs {_SHORT}", code="no-gold")
    return mean_sample(short_em)


_PAPER = "Penzkofer & Baumann 2024 (RAGE), section 3.2"
_SHORT = "short answers in mapping/relevant"
RAGE = Group("rage", source=_PAPER)
"""Measures that are handed :class:`RageScores`: numbers of answers, whose texts are not kept."""
_quality = partial(
    CitationQuality,
    reference="RAGE's code drops citations out of range and reads no marks but [1].",
)
_LABELS = "It asks whether passages are relevant to the question, not what they support"
_AS_RECALL = "undefined where `CiteR` is"
MEASURES = (
    RAGE.measure("CiteP", "relevant among the distinct cited passages",
        sample=_mean_precision, formula="`|D ∩ R| / |D|`",
        edge_cases="nothing cited: 0. `strict`: citations out of range are in `D`",
        citation_quality=_quality("precision", f"{_LABELS}.")),
    RAGE.measure("CiteR", "cited among the relevant passages shown",
        sample=_mean_recall, formula="`|D ∩ R| / |R|`",
        edge_cases="no relevant passage shown: undefined",
        citation_quality=_quality("recall", "It wants every relevant passage that was shown, "
        "so that what retrieval missed costs nothing.")),
    RAGE.measure("CiteF1", "harmonic mean of mean CiteP and mean CiteR",
        sample=lambda s: harmonic_sample(s.labelled.precision, s.labelled.recall),
        formula="no value of its own: harmonic mean of mean `CiteP` and mean `CiteR`",
        edge_cases="each mean over the queries that define it",
        citation_quality=_quality("both", f"{_LABELS}; means are taken first.")),
    RAGE.measure("CiteF1@query", "mean over queries of the harmonic mean of CiteP and CiteR",
        sample=lambda s: mean_sample(harmonic(s.labelled.precision, s.labelled.recall)),
        formula="harmonic mean of the answer's `CiteP` and `CiteR`", edge_cases=_AS_RECALL,
        citation_quality=_quality("both", f"{_LABELS}; each answer's own F1 enters the mean.")),
    RAGE.measure("ShortEM", "a short answer of a relevant passage stands in the output",
        sample=_mean_short_em, requires=_SHORT, changes=SHORT_ANSWERS,
        formula="1 if a [short answer](#short_answers) of a relevant passage shown is in the text, "
        "else 0",
        edge_cases="no short answers: undefined. `reference`: a case-sensitive search for the "
        "answers of *cited* relevant passages; none cited: undefined; an empty list of answers: 0",
        source="rage_toolkit 0.0.2"),
    RAGE.measure("Reward", "mean of CiteP and CiteR of one output",
        sample=lambda s: mean_sample((s.labelled.precision + s.labelled.recall) / 2),
        formula="`(CiteP + CiteR) / 2`", edge_cases=_AS_RECALL,
        source="Penzkofer & Baumann 2024 (RAGE), section 4.3"),
    RAGE.measure("Distinct", "distinct passages cited", formula="`|D|`", **COUNT,
        reads_labels=False, sample=lambda scores: mean_sample(scores.columns.distinct),
        edge_cases="missing answer: 0"),
    RAGE.measure("Length", "words of the output without markers",
        formula="words of the [text](#text)", changes=SCRIPTS, options=length_option,
        reads_labels=False, **COUNT, sample=lambda scores: mean_sample(scores.columns.length),
        edge_cases="missing answer: 0. `reference`: pieces between single spaces, marks "
        "included"),
)  # fmt: skip
