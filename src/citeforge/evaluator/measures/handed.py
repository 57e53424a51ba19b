"""What measures are handed: answers with what their ``needs`` name, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeVar

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.values import Value, judge_pair
from citeforge.evaluator.statements.attributed_ir import with_passages
from citeforge.evaluator.statements.protocols import (
    AnswerStatements,
    Evaluator,
    statements_of,
    text_of,
)
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs, SharedResults
from citeforge.evaluator.submissions.tools import CannotError, Need, UndeclaredError, Withheld


@dataclass(frozen=True, kw_only=True)
class Answer(AnswerItem):
    """One answer, as a measure is handed it.

    Attributes:
        run: number of its run, from 0.
        n_shown: number of passages shown, which is no secret.
        submission: all answers, with the tools that the measure is handed.
    """

    run: int
    n_shown: int
    submission: Answers = field(repr=False)

    @property
    def key(self) -> AnswerKey:
        """Key of the answer's results: its run, and the row of its query."""
        return self.run, self.row

    @property
    def n_passages(self) -> int:
        """Number of passages that the system was shown for this answer."""
        return self.n_shown

    @property
    def text(self) -> str:
        """Text of the answer without citation marks, by the rules of the protocol."""
        return text_of(self, self.submission, self.submission.evaluator)

    @property
    def statements(self) -> Sequence[CitedStatement]:
        """Statements of the answer, with the positions of the passages that each cites."""
        return self.submission.statements[self.key]


@dataclass
class Answers(Inputs):
    """All answers of a submission, as measures are handed them.

    Attributes:
        runs: one list per run.
        beside: other context sets to the answers to them, where they are handed over.
        benchmark: what they answer, where it is handed over.
        evaluator: whose rules ``reference`` reads answers by.
        read: reads the statements of all answers; None where they are not handed over.
        needs: what the measure declares.
    """

    runs: Sequence[Sequence[Answer]]
    beside: Mapping[str, Answers] = field(default_factory=dict)
    evaluator: Evaluator = "alce"
    read: Callable[[], AnswerStatements] | None = None
    needs: Collection[Need] = ()
    _whole: Benchmark = field(init=False, repr=False)

    @property
    def query_ids(self) -> list[str]:
        """Ids of the benchmark's queries, in order; every measure may read them."""
        return self._whole.query_ids

    @property
    def relevant_ids(self) -> list[list[str]]:
        """Ids of the relevant passages of each query, by its row.

        Raises:
            UndeclaredError: gold is not handed over.
            CannotError: the labels are hidden, and their half is not given.
        """
        if Need.GOLD not in self.needs:
            raise UndeclaredError(Need.GOLD)
        if self._whole.is_public_half:
            raise CannotError(self._whole.why_no_labels, code="hidden-gold")
        return self._whole.relevant_ids

    @cached_property
    def statements(self) -> dict[AnswerKey, list[CitedStatement]]:
        """Statements, with their citations, of each answer, by its key.

        Raises:
            CannotError: they cannot be read, or are not handed over.
        """
        if self.read is None:
            raise UndeclaredError(Need.STATEMENTS)
        return {key: statements for key, _, statements in self.read()}

    def __iter__(self) -> Iterator[Answer]:
        """Yield every answer."""
        return chain.from_iterable(self.runs)


R = TypeVar("R")
Asking = Generator[list[Pair], list[Value], R | None]
"""What a function returns that asks the judge about an answer before it returns a result."""


def hand_over(
    answers: SharedResults, needs: Collection[Need], evaluator: Evaluator
) -> SharedResults:
    """Copy answers with only the inputs that a measure declares; other inputs raise when used.

    Args:
        answers: of a submission.
        needs: what the measure declares.
        evaluator: whose rules ``reference`` reads answers by; Attributed-IR's leave out answers
            that were shown no passage.

    Raises:
        CannotError: there is no judge, or no answer with a passage for it to read.
    """
    if Need.JUDGE in needs:
        answers.tools.get_judge()
    if not isinstance(answers, Inputs):
        return answers.limited_to(needs)
    return _limit_inputs(answers, needs, evaluator)


def _limit_inputs(answers: Inputs, needs: Collection[Need], evaluator: Evaluator) -> Answers:
    """Copy answers about passages with only the inputs that a measure declares.

    Raises:
        CannotError: no answer has a passage that a judge could read.
    """
    if {Need.JUDGE, Need.PASSAGES} <= set(needs):  # what no passage can support is not wrong
        answers.require_passages()
    is_read = Need.STATEMENTS in needs
    no_contexts: Any = Withheld(Need.CONTEXTS)
    no_scores: Any = Withheld(Need.SCORES)
    if is_read and evaluator == "attributed_ir":
        answers = with_passages(answers)
    no_benchmark: Any = Withheld(Need.BENCHMARK)
    limited = Answers(
        answers.benchmark if Need.BENCHMARK in needs else no_benchmark, [], answers.grammar,
        answers.task, answers.tools.limited_to(needs),
        answers.names, no_contexts, answers.scored if Need.SCORES in needs else no_scores,
        evaluator, partial(statements_of, answers, evaluator) if is_read else None,
        needs,
    )  # fmt: skip
    limited._results, limited._whole = answers._results, answers.benchmark
    if Need.CONTEXTS in needs:
        limited.beside = {
            name: _limit_inputs(other, needs, evaluator) for name, other in answers.beside.items()
        }
    no_passages: Any = Withheld(Need.PASSAGES)
    no_gold: Any = Withheld(Need.GOLD)
    limited.runs = [
        [
            Answer(
                i.row, i.query, i.output, i.passages if Need.PASSAGES in needs else no_passages,
                i.is_missing, i.gold if Need.GOLD in needs else no_gold, i.spans, i.sentences,
                i.facts, run=run, n_shown=i.n_passages, submission=limited,
            )
            for i in items
        ]
        for run, items in enumerate(answers.runs)
    ]  # fmt: skip
    return limited


def compute_each(
    function: Callable[[Any], Any], answers: Any, missing_result: Any
) -> dict[AnswerKey, Any]:
    """Apply a function to each answer, asking the judge in batches; missing ones get a default.

    Args:
        function: an answer to its result, None where it is not defined; or yields pairs of texts
            before it returns, and gets a value for each.
        answers: as they are handed to it.
        missing_result: result of a missing answer where one is defined; None for the function's.
    """
    results: dict[AnswerKey, Any] = {}
    waiting: dict[AnswerKey, tuple[Generator[Any, Any, Any], Sequence[Value] | None]] = {}
    absent = set()
    for run, answer in answers.items():
        result, key = function(answer), (run, answer.row)
        results[key] = result
        absent |= {key} if answer.is_missing else set()
        if isinstance(result, Generator):
            waiting[key] = result, None
    while waiting:
        asked: dict[AnswerKey, list[Pair]] = {}
        for key, (generator, values) in waiting.items():
            try:
                asked[key] = list(generator.send(values))
            except StopIteration as end:
                results[key] = end.value
        judge = answers.tools.get_judge()
        judge.ask(pair for pairs in asked.values() for pair in pairs)
        waiting = {
            key: (waiting[key][0], [judge_pair(judge, pair) for pair in pairs])
            for key, pairs in asked.items()
        }
    if missing_result is not None:
        results |= {key: missing_result for key in absent if results[key] is not None}
    return {key: result for key, result in results.items() if result is not None}
