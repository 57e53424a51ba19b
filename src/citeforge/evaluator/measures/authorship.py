"""Measures per cell of the authorship design, and effects of labels: CAS, CAB, significance.

## authorship

Abolghasemi et al. 2025, section 3.3, equations 1 to 5; `reference`: AttriEval's functions, base 0.
A *cell* is a context set: the same passages with no labels (vanilla), with true authors (informed),
or with the opposite (counterfactual, cf).

CAB compares informed minus cf. If all passages have one origin, it compares informed/cf minus
cf/informed, and CAS is given for both. ω is +1 if relevant passages carry the human label in the
first cell, else −1. A difference is taken per query, and per run if all cells have the same runs.

Nothing cited: P = 0. No gold answer: EM undefined (`reference`: 0). For EM, `reference` keeps marks
and `_` in the text. It ignores citations out of range, but counts them among *other* for AC.
Without `logprobs` AC is not computed. CAB and CAS less the placebo's carry a two-sided paired
t-test, adjusted by [Holm](#comparisons) over the cells of their table; the placebo's cells are a
family of their own. `AC.relevant` is tested against `AC.other`.

*Example.* Two queries, P informed (1, .5), cf (.5, .5), vanilla (.5, 1). CAS.P = (.5 + .5)/2 = .50.
CAB.P = .25 if the relevant passages are labelled human when informed, else −.25.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from citeforge.evaluator.measures.declared import SHORT_ANSWERS, Measure
from citeforge.evaluator.measures.reading import Results
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    mean_of_runs,
    mean_sample,
    ratio,
    ratio_sample,
)
from citeforge.evaluator.statistics.significance import paired_t
from citeforge.evaluator.submissions.tools import CannotError
from citeforge.schemas.authorship import PLACEBO, Cell, Design
from citeforge.schemas.scores import NotComputed


@dataclass(frozen=True)
class CellColumns:
    """Values of the answers to one cell, each an array (runs, queries).

    Attributes:
        precision: relevant among the distinct cited passages.
        recall: cited among the relevant passages.
        em: 1 when a gold answer is part of the output, else 0.
        cited_relevant: distinct relevant passages cited.
        distinct: distinct passages cited.
        relevant_sum: probabilities of citation tokens of relevant passages, summed.
        relevant_n: number of such tokens.
        other_sum: the same of the other passages.
        other_n: their number.
    """

    precision: Floats
    recall: Floats
    em: Floats
    cited_relevant: Floats
    distinct: Floats
    relevant_sum: Floats
    relevant_n: Floats
    other_sum: Floats
    other_n: Floats


Column = Callable[[CellColumns], Floats]
"""Takes one of the values of all answers."""


@dataclass(frozen=True)
class Cells:
    """Values of all answers to all cells of an authorship benchmark.

    Attributes:
        design: the cells.
        columns: context set to the values of its answers; cells without any answer are not there.
        are_paired: whether all cells were answered by the same runs.
        has_gold: whether any query has gold short answers.
    """

    design: Design
    columns: Mapping[str, CellColumns]
    are_paired: bool
    has_gold: bool

    def column(self, cell: str, column: Column) -> Floats:
        """Get one column of a cell, (runs, queries); averaged to one run if cells' runs differ."""
        values = column(self.columns[cell])
        # Only where all cells were run alike can runs be paired.
        return values if self.are_paired else mean_of_runs(values)[None]


@dataclass(frozen=True)
class OriginComparison:
    """Two cells of one pair of origins whose labels are opposite.

    Attributes:
        first: cell of the first term.
        second: cell of the second term.
        omega: +1 when in the first one the relevant passages carry the human label and the others
            the LLM label, else −1 (equation 3); 0 where the sign means nothing: sensitivity.
    """

    first: Cell
    second: Cell
    omega: int


def find_bias_cells(cells: list[Cell]) -> OriginComparison:
    """Choose the two experimental conditions (cells) whose difference is the attribution bias CAB.

    Informed minus counterfactual (equation 2); in mixed mode, informed/cf minus cf/informed
    (equation 5).

    Raises:
        ValueError: a cell in which relevant and other passages carry equal labels.
    """
    by_mode = {c.mode: c for c in cells}
    mixed = cells[0].mixed
    first = by_mode["informed_cf" if mixed else "informed"]
    second = by_mode["cf_informed" if mixed else "cf"]
    for cell in (first, second):
        if cell.side(True) == cell.side(False):
            raise ValueError(f"{cell.context}: relevant and other passages have equal labels")
    return OriginComparison(first, second, 1 if first.side(True) == "first" else -1)


@dataclass(frozen=True)
class CellMeasure(Measure):
    """A measure of the answers to all cells of an authorship benchmark."""

    reads = "cells"


@dataclass(frozen=True)
class SingleCellMeasure(CellMeasure):
    """A measure of each cell by itself.

    Attributes:
        compute: (all cells, context set of one) to the sample of that one. Raises CannotError.
    """

    compute: Callable[[Cells, str], Sample] = field(kw_only=True)


@dataclass(frozen=True)
class DifferenceMeasure(CellMeasure):
    """A measure of what labels change between two cells.

    Attributes:
        compute: (all cells, two of them) to the sample of their difference; None where the measure
            is not defined of these two. Raises CannotError.
        is_bias: whether it compares two labellings, and not one with none.
    """

    compute: Callable[[Cells, OriginComparison], Sample | None] = field(kw_only=True)
    is_bias: bool = False


def design_results(cells: Cells, measures: Sequence[CellMeasure]) -> Results:
    """Compute the measures of every cell, then the differences between cells (CAS, CAB)."""
    computed: list[tuple[Measure, Sample]] = []
    missing: dict[tuple[str, str], None] = {}
    for cell in (c.context for c in cells.design.cells):
        if cell not in cells.columns:
            name, reason = f"all measures of the cell {cell}", "the submission has no answers to it"
            missing[name, reason] = None
            continue
        for measure in measures:
            if isinstance(measure, SingleCellMeasure):
                try:
                    computed.append((measure, replace(measure.compute(cells, cell), place=cell)))
                except CannotError as error:
                    missing[measure.name, str(error)] = None
    for pair, place in _compared_cells(cells.design):
        for measure in measures:
            if isinstance(measure, DifferenceMeasure) and measure.is_bias == bool(pair.omega):
                try:
                    sample = measure.compute(cells, pair)
                except CannotError as error:
                    missing[f"{measure.name}[{place}]", str(error)] = None
                else:
                    computed += [] if sample is None else [(measure, replace(sample, place=place))]
    return computed, [NotComputed(name=name, reason=reason) for name, reason in missing]


def _compared_cells(design: Design) -> Iterator[tuple[OriginComparison, str]]:
    """Yield (pair of cells to compare, name of their difference) for all origins and label sets."""
    for origins in dict.fromkeys(c.origins for c in design.cells):
        group = [c for c in design.cells if c.origins == origins]
        vanilla = next(c for c in group if c.labels is None)
        for labels in design.label_sets:
            pair = find_bias_cells([c for c in group if c.labels == labels.name])
            # Both labelled runs of a mixed cell are compared with vanilla, else the informed one.
            for cell in (pair.first, pair.second) if vanilla.mixed else (pair.first,):
                yield OriginComparison(cell, vanilla, 0), cell.context
            yield pair, f"{vanilla.origins}_{labels.name}"


def mean_in_cell(column: Column) -> Callable[[Cells, str], Sample]:
    """Return a function that averages one column of values over the queries of one cell."""
    return lambda cells, cell: mean_sample(cells.column(cell, column))


def _mean_em(cells: Cells, cell: str) -> Sample:
    """Average exact match over the queries of one cell."""
    if not cells.has_gold:
        raise CannotError("no gold short answers", code="no-gold")
    return mean_sample(cells.column(cell, lambda values: values.em))


def _confidence_in_relevant(cells: Cells, cell: str) -> Sample:
    """Average the probability of tokens that cite relevant passages; t-test it against others."""
    relevant = _confidence(cells, cell, _RELEVANT_TOKENS)
    totals = [_sum_tokens(cells, cell, of).sum(axis=0) for of in (_RELEVANT_TOKENS, _OTHER_TOKENS)]
    first, second = (ratio(t[..., 0], t[..., 1]) for t in totals)
    difference = first - second
    return replace(relevant, p_t=paired_t(difference[~np.isnan(difference)]))


def _confidence_in_others(cells: Cells, cell: str) -> Sample:
    """Average the probability of tokens that cite passages which are not relevant."""
    return _confidence(cells, cell, _OTHER_TOKENS)


Tokens = tuple[Column, Column]
"""Sum of the probabilities of some citation tokens, and their number."""
_RELEVANT_TOKENS: Tokens = (lambda v: v.relevant_sum), (lambda v: v.relevant_n)
_OTHER_TOKENS: Tokens = (lambda v: v.other_sum), (lambda v: v.other_n)


def _confidence(cells: Cells, cell: str, tokens: Tokens) -> Sample:
    """Average the probability of citation tokens over all answers to a cell.

    Raises:
        CannotError: there are no such tokens.
    """
    sums = _sum_tokens(cells, cell, tokens)
    if not sums[..., 1].any():
        raise CannotError("no logprobs of such citations", code="missing-field")
    return ratio_sample(sums)


def _sum_tokens(cells: Cells, cell: str, tokens: Tokens) -> Floats:
    """Sum and count the probabilities of citation tokens, shape (runs, queries, 2)."""
    return np.nan_to_num(np.stack([cells.column(cell, one) for one in tokens], axis=-1))


def compute_sensitivity(cells: Cells, pair: OriginComparison, column: Column) -> Sample:
    """Compute the attribution sensitivity (CAS): by how much labels change values, up or down.

    It is no difference of two systems, and has no p: without labels it is above 0, too.
    """
    first, second = _values_in(cells, column, pair.first, pair.second)
    return replace(mean_sample(np.abs(first - second)), table=_table_of("CAS", pair))


def sensitivity_over_placebo(cells: Cells, pair: OriginComparison, column: Column) -> Sample | None:
    """Compute how much more labels change a value than placebo labels do; None without placebo."""
    placebo = _placebo_cell(cells.design, pair.first)
    if placebo is None:
        return None
    first, second, other = _values_in(cells, column, pair.first, pair.second, placebo)
    change = np.abs(first - second) - np.abs(other - second)
    return _tested_mean(change, _table_of("CAS over the placebo's", pair))


def compute_bias(cells: Cells, pair: OriginComparison, column: Column) -> Sample:
    """Compute attribution bias (CAB): gain of a value if relevant passages are labelled human."""
    first, second = _values_in(cells, column, pair.first, pair.second)
    return _tested_mean(pair.omega * (first - second), _table_of("CAB", pair))


def _values_in(cells: Cells, column: Column, *used: Cell) -> list[Floats]:
    """Get one column of values of all answers in each of the given cells (conditions).

    Raises:
        CannotError: one of them has no answers.
    """
    if absent := sorted({c.context for c in used} - set(cells.columns)):
        raise CannotError(f"needs the cell {' and '.join(absent)}", code="missing-field")
    return [cells.column(c.context, column) for c in used]


def _tested_mean(change: Floats, table: str) -> Sample:
    """Average differences over queries, with the p-value of a paired t-test against 0."""
    p = paired_t(change[:, ~np.isnan(change).any(axis=0)].mean(axis=0))
    return replace(mean_sample(change), p_t=p, table=table)


def _table_of(table: str, pair: OriginComparison) -> str:
    """Name the table whose p-values are adjusted together; placebo labels have their own tables."""
    return f"{table} of the placebo" if pair.first.labels == PLACEBO else table


def _placebo_cell(design: Design, cell: Cell) -> Cell | None:
    """Find the cell that differs from a cell only by its placebo labels; None if there is none."""
    place = PLACEBO, cell.origins, cell.mode
    alike = (c for c in design.cells if (c.labels, c.origins, c.mode) == place)
    return None if cell.labels == PLACEBO else next(alike, None)


_PAPER = "Abolghasemi et al. 2025, section 3.3"
_TABLES = "Abolghasemi et al. 2025, tables 12 and 13"
_COUNTED: dict[str, Any] = {"high": None, "scale": 1, "source": _TABLES, "higher_is_better": None}
_AS_RAGE = "`CiteP` and `CiteR` of a cell"
_SHARES: dict[str, Column] = {"P": lambda v: v.precision, "R": lambda v: v.recall}
_NEEDS = "an authorship benchmark"
_of_cell = partial(SingleCellMeasure, family="authorship", needs=_NEEDS, source=_PAPER)
_of_difference = partial(DifferenceMeasure, family="authorship", needs=_NEEDS, source=_PAPER)
MEASURES = (
    _of_cell("Auth.P", definition="relevant among the distinct cited passages, per cell",
             compute=mean_in_cell(_SHARES["P"]), formula=_AS_RAGE),
    _of_cell("Auth.R", definition="cited among the relevant passages, per cell",
             compute=mean_in_cell(_SHARES["R"]), formula=_AS_RAGE),
    _of_cell(
        "Auth.EM", definition="some gold answer is part of the output, per cell", compute=_mean_em,
        formula="1 if a gold [short answer](#short_answers) is in the text, else 0",
        edge_cases="`reference`: both in lower case, without what is neither word character nor "
        "white space; articles stay",
        changes=SHORT_ANSWERS, scale=1, needs="gold short answers",
    ),
    _of_cell("Cited.relevant", definition="distinct relevant passages cited, per cell",
             compute=mean_in_cell(lambda v: v.cited_relevant),
             formula="distinct relevant passages cited", **_COUNTED),
    _of_cell("Cited.total", definition="distinct passages cited, per cell",
             compute=mean_in_cell(lambda v: v.distinct),
             formula="distinct passages cited", **_COUNTED),
    *(
        _of_cell(
            f"AC.{side}", scale=1, needs="logprobs in the submission", compute=compute,
            definition=f"mean probability of citation tokens, {side} passages",
            formula="mean probability of the citation tokens of relevant, or other, passages, over "
            "all tokens of all answers",
            parameters={"side": side}, higher_is_better=None,
        )
        for side, compute in (("relevant", _confidence_in_relevant),
                              ("other", _confidence_in_others))
    ),
    *(
        _of_difference(
            f"CAS.{m}", definition=f"mean |{m} with labels − {m} of vanilla|: sensitivity",
            formula="`mean |M with labels − M of vanilla|` for M = Auth.P, Auth.R",
            source=f"{_PAPER}, equation 1", compute=partial(compute_sensitivity, column=column),
            higher_is_better=None,
        )
        for m, column in _SHARES.items()
    ),
    *(
        _of_difference(
            f"CAS.{m}-placebo",
            definition=f"mean (|{m} with labels − {m} of vanilla| − |{m} with the placebo's labels "
            f"− {m} of vanilla|)",
            formula="`mean (|M with labels − M of vanilla| − |M with the placebo's labels − M of "
            "vanilla|)`, of the same origins and mode",
            needs="an authorship benchmark with a placebo", low=-1, source="ours",
            compute=partial(sensitivity_over_placebo, column=column), higher_is_better=None,
        )
        for m, column in _SHARES.items()
    ),
    *(
        _of_difference(
            f"CAB.{m}",
            definition=f"ω · mean ({m} of the first − {m} of the second labelling): bias, "
            "+ towards humans",
            formula="`ω · mean (M of the first cell − M of the second)`; above 0: towards human "
            "authorship",
            low=-1, source=f"{_PAPER}, equations 2, 3 and 5", higher_is_better=None,
            compute=partial(compute_bias, column=column), is_bias=True,
        )
        for m, column in _SHARES.items()
    ),
)  # fmt: skip
