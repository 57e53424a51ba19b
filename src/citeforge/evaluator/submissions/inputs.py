"""Inputs of answer-by-answer measures: each answer with its passages and its gold."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, TypeVar, cast

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats, Sample
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, OWN, Benchmark
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.tools import (
    CannotError,
    Need,
    ScoringTools,
    UndeclaredError,
)
from citeforge.package.items import GoldRows, Passage
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.submission import (
    CitedFact,
    CitedSentence,
    CitedSpan,
    ReportLine,
    SubmissionLine,
)

T = TypeVar("T")
AnswerKey = tuple[int, int]
"""(run, row of the query)."""
NO_PASSAGES = "no passages were shown"
"""Why measures of citations are not computed for closed-book systems."""


class SharedResults(ABC):
    """Answers with the results that several of their measures share, each computed once.

    Attributes:
        tools: has the judge, each repeat of which has results of its own.
    """

    tools: ScoringTools

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Shape of arrays of values per answer: (runs, queries)."""

    @property
    def protocol(self) -> str:
        """Scoring protocol: ``strict`` or ``reference``."""
        return self.tools.options.protocol

    @cached_property
    def _results(self) -> dict[tuple[object, int], object]:
        """Stored results, or errors, of shared functions, by (function, repeat of the judge)."""
        return {}

    def limited_to(self, needs: Collection[Need]) -> Self:
        """Copy the answers with only the tools that a measure declares; share stored results."""
        limited = copy(self)
        limited.tools = self.tools.limited_to(needs)
        limited._results = self._results
        return limited

    def once(self, function: Callable[[Self], T], is_judged: bool = True) -> T:
        """Call a function of the answers once (per judge repeat if judged); reuse its result.

        Args:
            function: computes what is shared.
            is_judged: whether it asks the judge, so that each repeat has a result of its own.
        """
        judge = self.tools.judge if is_judged else None
        key = function, 0 if judge is None else judge.repeat
        if key not in self._results:
            try:
                self._results[key] = function(self)
            except UndeclaredError:
                raise  # another measure may declare what this one does not
            except CiteforgeError as error:  # models that cannot be loaded are not tried again
                self._results[key] = error
        result = self._results[key]
        if isinstance(result, CiteforgeError):
            raise result
        return cast("T", result)


@dataclass(frozen=True)
class AnswerItem:
    """One answer.

    Attributes:
        row: row of its query in the benchmark.
        query: text of the query.
        output: what the system wrote; empty for a missing answer.
        passages: what it was shown, in order.
        is_missing: whether the submission has no such line.
        gold: gold rows of its query.
        spans: which words are cited for, where the system says.
        sentences: the system's own sentences; None where it does not set them off.
        facts: what is cited for what, where that was read elsewhere.
    """

    row: int
    query: str
    output: str
    passages: tuple[Passage, ...]
    is_missing: bool = False
    gold: GoldRows = field(default_factory=GoldRows)
    spans: tuple[CitedSpan, ...] = ()
    sentences: tuple[CitedSentence, ...] | None = None
    facts: tuple[CitedFact, ...] | None = None

    @property
    def n_passages(self) -> int:
        """Number of passages that were shown for this answer."""
        return len(self.passages)


@dataclass
class Inputs(SharedResults):
    """A submission, ready to be measured.

    Attributes:
        benchmark: what it answers.
        runs: one list per run; ``strict`` has one item per query, ``reference`` one per line.
        grammar: citation grammar.
        task: ``asqa``, ``qampari``, ``eli5``, or an empty string.
        tools: judge, segmenter and models.
        names: what files of assessments may call the system: its name, its file's.
        beside: other context sets to the same system's answers to them, where a measure needs them.
        scored: names of the measures that were computed, to their samples.
    """

    benchmark: Benchmark
    runs: Sequence[Sequence[AnswerItem]]
    grammar: Grammar
    task: str
    tools: ScoringTools = field(default_factory=ScoringTools)
    names: tuple[str, ...] = ("the system",)
    beside: "Mapping[str, Inputs]" = field(default_factory=dict)
    scored: dict[str, Sample] = field(default_factory=dict)

    @property
    def query_ids(self) -> list[str]:
        """Ids of the benchmark's queries, in order."""
        return self.benchmark.query_ids

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of arrays of values per answer: (runs, queries)."""
        return len(self.runs), len(self.query_ids)

    def column(self, values: dict[tuple[int, int], float]) -> Floats:
        """Turn values by (run, query row) into an array (runs, queries); NaN for those without."""
        array = np.full(self.shape, np.nan)
        for (run, row), value in values.items():
            array[run, row] = value
        return array

    def require_passages(self) -> None:
        """Raise an error if no answer was shown any passage, so that citations mean nothing.

        Raises:
            CannotError: no answer has a passage.
        """
        if not any(item.n_passages for _, item in self.items()):
            raise CannotError(NO_PASSAGES, code="missing-field")

    def items(self) -> Iterator[tuple[int, AnswerItem]]:
        """Yield (run, answer) for every answer."""
        for run, items in enumerate(self.runs):
            for item in items:
                yield run, item


class ItemCollector:
    """Collects answers with what they were shown.

    Attributes:
        runs: number of a run to its answers, by row of their queries.
    """

    def __init__(
        self, benchmark: Benchmark, context: str, grammar: Grammar, tools: ScoringTools
    ) -> None:
        """Prepare to collect answers together with the passages that a context set shows.

        Args:
            benchmark: what is answered.
            context: context set.
            grammar: citation grammar with the submission's index base.
            tools: judge, segmenter and models.
        """
        self._benchmark, self._grammar, self._tools = benchmark, grammar, tools
        self._texts: list[str] = benchmark.queries["text"].to_pylist()
        self._context_passages: list[tuple[Passage, ...]] = [() for _ in self._texts]
        if context not in (OWN, CLOSED_BOOK):
            self._context_passages = [item.passages for item in benchmark.items(context)]
        self.runs: dict[int, dict[int, AnswerItem]] = {}

    def add(self, row: int, answer: SubmissionLine) -> AnswerItem:
        """Store an answer to the query in this row, with the passages it was shown and its gold."""
        passages = self._context_passages[row]
        if answer.passages is not None:
            passages = tuple(
                Passage(p.docid or "", p.title, p.text, url=p.url) for p in answer.passages
            )
        item = AnswerItem(
            row, self._texts[row], answer.output, passages,
            gold=self._benchmark.gold_rows[row], spans=tuple(answer.spans or ()),
            sentences=None if answer.sentences is None else tuple(answer.sentences),
            facts=answer.facts if isinstance(answer, ReportLine) else None,
        )  # fmt: skip
        self.runs.setdefault(answer.run, {})[row] = item
        return item

    def inputs(
        self, system_names: tuple[str, ...], provided: ProvidedPassages | None = None
    ) -> Inputs:
        """Build the measures' inputs from all answers, with passages of their own (``provided``).

        In ``strict`` there is one for every query; missing ones are empty, and score the worst
        value.

        Args:
            system_names: what files of assessments may call the system.
            provided: the passages of all answers; None where these are the benchmark's.
        """
        if provided is not None:
            self._fill(provided)
        benchmark, runs = self._benchmark, [self.runs[number] for number in sorted(self.runs)]
        if self._tools.is_strict:
            runs = [
                {row: run.get(row) or self._missing(row) for row in range(len(self._texts))}
                for run in runs
            ]
        items = [list(run.values()) for run in runs]
        return Inputs(
            benchmark, items, self._grammar, benchmark.data_set, self._tools, names=system_names
        )

    def _fill(self, provided: ProvidedPassages) -> None:
        """Add corpus texts to answers' own passages without text; clear docids with other texts."""
        passages = [p for run in self.runs.values() for item in run.values() for p in item.passages]
        bare = {p.id for p in passages if p.id and not p.text}
        texts = self._benchmark.texts(bare) if bare else {}

        def complete(passage: Passage) -> Passage:
            """Add the corpus's title and text, or remove the id if the passage's text differs."""
            if passage.id and provided.has_other_text(passage):
                return replace(passage, id="")
            if passage.text or passage.id not in texts:
                return passage
            title, text = texts[passage.id]
            return Passage(passage.id, passage.title or title, text)

        for run in self.runs.values():
            for row, item in run.items():
                run[row] = replace(item, passages=tuple(map(complete, item.passages)))

    def _missing(self, row: int) -> AnswerItem:
        """Make an empty answer for a query that was not answered."""
        gold = self._benchmark.gold_rows[row]
        return AnswerItem(row, self._texts[row], "", self._context_passages[row], True, gold)
