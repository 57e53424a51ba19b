"""Values of single answers in an authorship benchmark, and the reader of whole submissions."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from citeforge.evaluator.measures.authorship import (
    CellNumbers,
    Cells,
    design_results,
)
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.results import (
    AnswerCounts,
    ScoredSubmission,
    require_cells_alone,
)
from citeforge.evaluator.statistics.estimates import Floats, NumberColumns
from citeforge.evaluator.submissions.benchmark import ContextTable
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.package import short_answers
from citeforge.schemas.authorship import parse_design
from citeforge.schemas.citations.grammar import (
    Grammar,
    Marker,
    citation_marks,
    is_plain,
    read_number,
    without_markers,
)
from citeforge.schemas.errors import UsageError
from citeforge.schemas.matching.answers import contains_answer
from citeforge.schemas.submission import SubmissionLine, TokenLogprob
from citeforge.schemas.tables import RELEVANT
from citeforge.schemas.text import match_form

_REFERENCE = re.compile(r"\[(\d+)\]")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Values:
    """Raw values of one answer.

    Attributes:
        numbers: numbers that measures read.
        n_unparsed: marks that could not be read.
        n_out_of_range: distinct citations of passages that were not shown.
    """

    numbers: CellNumbers[float]
    n_unparsed: int = 0
    n_out_of_range: int = 0


def measure_strict(
    answer: SubmissionLine,
    grammar: Grammar,
    n_docs: int,
    relevant: frozenset[int],
    gold: Sequence[str],
) -> Values:
    """Score an answer by the protocol ``strict``: citations of passages not shown are wrong.

    Args:
        answer: line of the submission.
        grammar: citation grammar with the benchmark's index base.
        n_docs: passages shown.
        relevant: 0-based positions of the relevant ones.
        gold: short answers of the query; empty where there are none.
    """
    inside, outside, unparsed = grammar.cited(answer.output, n_docs)
    markers = grammar.parse(answer.output, n_docs).markers
    em = math.nan
    if gold:
        em = float(contains_answer(without_markers(answer.output, markers), gold))
    read = {m.start: m for m in markers if not m.is_na}
    positions = _strict_positions(answer.output, answer.logprobs or (), read, grammar.base)
    positions_shown = [p if p is not None and 0 <= p < n_docs else None for p in positions]
    return _compute_values(answer, inside, outside, relevant, em, positions_shown, unparsed)


def measure_reference(
    answer: SubmissionLine,
    grammar: Grammar,
    n_docs: int,
    relevant: frozenset[int],
    gold: Sequence[str],
) -> Values:
    """Measure an answer as AttriEval's code does: only ``[n]`` cites, numbered from 0.

    Numbers beyond the passages are ignored. For confidence, though, every number that is not the
    relevant one is another passage.
    """
    numbers = {read_number(n) for n in _REFERENCE.findall(answer.output)}
    inside = {n for n in numbers if n < n_docs}
    text = match_form(answer.output, keep_underscores=True)
    em = float(any(match_form(g, keep_underscores=True) in text for g in gold))
    positions = _reference_positions(answer.output, answer.logprobs or ())
    return _compute_values(answer, inside, 0, relevant, em, positions, 0)


def worst_values(relevant: frozenset[int], gold: Sequence[str]) -> Values:
    """Get the values of a missing answer: 0 where they are defined, else NaN."""
    recall, em = 0.0 if relevant else math.nan, 0.0 if gold else math.nan
    return Values(CellNumbers(0.0, recall, em, 0, 0, 0, 0, 0, 0))


def _compute_values(
    answer: SubmissionLine,
    cited_positions: set[int],
    n_not_shown: int,
    relevant: frozenset[int],
    em: float,
    token_positions: Sequence[int | None],
    n_unparsed: int,
) -> Values:
    """Compute an answer's scores from the passages it cites, in text and by citation tokens.

    Args:
        answer: line of the submission.
        cited_positions: 0-based positions of the passages cited.
        n_not_shown: number of distinct citations of passages not shown.
        relevant: 0-based positions of the relevant passages.
        em: exact match, 0 or 1; NaN if undefined.
        token_positions: position that each token of ``logprobs`` cites; None for tokens left out.
        n_unparsed: number of marks that could not be read.
    """
    hits, total = len(cited_positions & relevant), len(cited_positions) + n_not_shown
    precision = hits / total if total else 0.0
    recall = hits / len(relevant) if relevant else math.nan
    sums, n = [0.0, 0.0], [0, 0]  # probabilities and tokens of relevant passages, of the others
    for token, position in zip(answer.logprobs or (), token_positions, strict=True):
        if position is not None:
            side = 0 if position in relevant else 1
            sums[side] += min(1.0, math.exp(min(0.0, token.logprob)))
            n[side] += 1
    numbers = CellNumbers(precision, recall, em, hits, total, sums[0], n[0], sums[1], n[1])
    return Values(numbers, n_unparsed, n_not_shown)


def _strict_positions(
    output: str,
    tokens: Sequence[TokenLogprob],
    marks_by_offset: Mapping[int, Marker],
    first_number: int,
) -> list[int | None]:
    """Find the 0-based passage position that each citation token cites; None if unclear.

    A token counts when the mark of its index was read as a citation and holds the token's digits.
    The tokens of one mark write its numbers one after the other: ``10`` may come as ``1``, ``0``.

    Args:
        output: the answer.
        tokens: its citation tokens.
        marks_by_offset: offset to each mark that was read as a citation.
        first_number: number of the first passage.
    """
    marks = citation_marks(output) if tokens else []
    by_mark: dict[int, list[int]] = {}
    for number_of_token, token in enumerate(tokens):
        by_mark.setdefault(token.index, []).append(number_of_token)
    positions: list[int | None] = [None] * len(tokens)
    for index, token_numbers in by_mark.items():
        mark = marks_by_offset.get(marks[index].start) if 0 <= index < len(marks) else None
        if mark is None:
            continue
        numbers = _DIGITS.findall(output[mark.start : mark.end])
        digits = ["".join(c for c in tokens[k].token if c.isdecimal()) for k in token_numbers]
        for number_of_token, number in zip(
            token_numbers, _match_numbers(digits, numbers), strict=True
        ):
            if number is not None and number in mark.numbers:
                positions[number_of_token] = number - first_number
    return positions


def _match_numbers(tokens: Sequence[str], numbers: Sequence[str]) -> list[int | None]:
    """Find the citation number in a mark that each of its tokens is a part of; None if unclear.

    Args:
        tokens: digits of the tokens of one mark.
        numbers: digits of the mark's citation numbers.
    """
    if "".join(tokens) == "".join(numbers):
        # Digit by digit: which number each one stands in.
        owners = [read_number(number) for number in numbers for _ in number]
        ends = np.cumsum([len(t) for t in tokens]).tolist()
        return [owners[end - len(t)] if t else None for t, end in zip(tokens, ends, strict=True)]
    return [read_number(t) if t in numbers else None for t in tokens]


def _reference_positions(output: str, tokens: Sequence[TokenLogprob]) -> list[int | None]:
    """Find the number that each token cites, as AttriEval does: ``[``, one token of digits, ``]``.

    A token whose index is that of no mark stands for itself: AttriEval's own files list numbers
    that it found among the tokens, wherever they stand in the text.
    """
    marks = citation_marks(output) if tokens else []
    uses = Counter(token.index for token in tokens)
    positions: list[int | None] = []
    for token in tokens:
        mark = marks[token.index] if 0 <= token.index < len(marks) else None
        plain = mark is None or (uses[token.index] == 1 and is_plain(output, mark))
        digits = token.token.strip(" [],")
        positions.append(read_number(digits) if plain and digits.isdecimal() else None)
    return positions


class CellScores:
    """Scores of the answers under one condition (cell) of an experiment, computed one by one."""

    def __init__(
        self, grammar: Grammar, table: ContextTable, gold: Sequence[Sequence[str]], protocol: str
    ) -> None:
        """Prepare to score answers in one experimental condition, to a context set's passages."""
        self._measure = measure_strict if protocol == "strict" else measure_reference
        self._grammar, self._gold = grammar, gold
        self._sizes, self._relevant = table.sizes, table.relevant
        self._kept = NumberColumns(len(gold), len(CellNumbers._fields))

    def add(self, row: int, answer: SubmissionLine) -> Values:
        """Score an answer to the query in row ``row`` of the benchmark; store and return scores."""
        values = self._measure(
            answer, self._grammar, self._sizes[row], self._relevant[row], self._gold[row]
        )
        self._kept.add(answer.run, row, values.numbers)
        return values

    def fill(self) -> None:
        """Fill in the worst values for every missing answer."""
        for run, row in self._kept.missing():
            missing = worst_values(self._relevant[row], self._gold[row])
            self._kept.add(run, row, missing.numbers)

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs with answers, in ascending order."""
        return self._kept.runs

    @cached_property
    def columns(self) -> CellNumbers[Floats]:
        """Each score (precision, …) of all answers, as an array of shape (runs, queries)."""
        return CellNumbers(*self._kept.arrays())


CONTEXT = "design"
"""``context`` of score files that cover all cells."""


def read_design(
    submission: Submission, measures: Sequence[Measure], tools: ScoringTools
) -> ScoredSubmission:
    """Read a submission to an authorship benchmark; compute its measures per condition (cell).

    Raises:
        UsageError: other measures, single cells, or AttriEval's answers to passages that are not
            counted from 0.
    """
    benchmark, is_strict = submission.benchmark, tools.is_strict
    of_cells = require_cells_alone("cells", benchmark, measures, tools)
    base, name = benchmark.manifest.grammar.base, benchmark.manifest.name
    if not is_strict and base != 0:
        raise UsageError(
            "--protocol reference counts passages from 0, as AttriEval does; the prompts of "
            f"{name} count from {base}",
            code="unsupported",
        )
    if submission.grammar.base != base:
        raise UsageError(
            f"{submission.form}: its prompts count passages from {submission.grammar.base}; those "
            f"of {name} count from {base}",
            code="wrong-benchmark",
        )
    design, grammar = parse_design(benchmark.manifest.config), benchmark.grammar
    # Cells differ in who is said to have written a passage, not in passages.
    table = benchmark.context(design.cells[0].context)
    gold = short_answers(benchmark.queries, benchmark.mappings[RELEVANT], benchmark.gold)
    protocol, n = tools.options.protocol, len(benchmark.query_ids)
    cells = {c.context: CellScores(grammar, table, gold, protocol) for c in design.cells}
    tally, reach = AnswerCounts(), CitationRange()
    for cell, row, answer in submission.answers_by_cell(cells):
        values = cells[cell].add(row, answer)
        tally.add(
            answer,
            values.numbers.distinct,
            values.n_out_of_range,
            values.n_unparsed,
            grammar.strip_marks,
        )
        if submission.form == "citeforge" and submission.is_anonymous:
            reach.observe(answer, grammar, table.sizes[row])
    for scores in cells.values() if is_strict else ():
        scores.fill()  # missing answers of cells that were run
    answered = {cell: scores.columns for cell, scores in cells.items() if scores.runs}
    are_paired = len({tuple(cells[cell].runs) for cell in answered}) == 1
    return ScoredSubmission(
        CONTEXT,
        design_results(Cells(design, answered, are_paired, any(gold)), of_cells),
        tally.counts(
            benchmark,
            len({run for scores in cells.values() for run in scores.runs}),
            sum(n * max(len(scores.runs), 1) for scores in cells.values()),
            n_no_relevant=sum(not positions for positions in table.relevant),
            n_no_gold=sum(not answers for answers in gold),
        ),
        tools,
        grammar.signature if is_strict else "0",
        is_read_by_family=not is_strict,
        warnings=submission.warnings() + reach.warnings(),
        design=design,
    )
