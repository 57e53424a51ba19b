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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from citeforge.evaluator.measures.declared import COUNT, SHORT_ANSWERS, Group, Measure
from citeforge.evaluator.measures.results import Results
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

N = TypeVar("N", float, Floats)


class CellNumbers(NamedTuple, Generic[N]):
    """Values in one cell: numbers of one answer, or arrays (runs, queries) of all answers.

    Attributes:
        precision: relevant among the distinct cited passages; 0 when nothing is cited.
        recall: cited among the relevant passages; NaN without any.
        em: 1 when a gold answer is part of the output, else 0; without gold answers NaN in
            ``strict`` and 0 in ``reference``.
        cited_relevant: distinct relevant passages cited.
        distinct: distinct passages cited.
        relevant_sum: probabilities of citation tokens of relevant passages, summed.
        relevant_n: number of such tokens.
        other_sum: the same of the other passages (``reference``: of every other number).
        other_n: their number.
    """

    precision: N
    recall: N
    em: N
    cited_relevant: N
    distinct: N
    relevant_sum: N
    relevant_n: N
    other_sum: N
    other_n: N


Column = Callable[[CellNumbers[Floats]], Floats]
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
    columns: Mapping[str, CellNumbers[Floats]]
    are_paired: bool
    has_gold: bool

    def scores(self, context: str, select_score: Column) -> Floats:
        """Get a score of the answers to a context set: (runs, queries), or their mean over runs."""
        values = select_score(self.columns[context])
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
class InCell:
    """What measures of each cell by itself are handed: all answers, and the cell's context set."""

    cells: Cells
    context: str

    def values(self, select_score: Column) -> Floats:
        """Get one score of the answers in this experimental condition, shape (runs, queries)."""
        return self.cells.scores(self.context, select_score)

    def mean(self, select_score: Column) -> Sample:
        """Average one score of the answers in this experimental condition over queries."""
        return mean_sample(self.values(select_score))


@dataclass(frozen=True)
class BetweenCells:
    """What measures of differences are handed: all answers, and the two cells to compare."""

    cells: Cells
    pair: OriginComparison

    def values(self, select_score: Column, *used: Cell) -> list[Floats]:
        """Get one score of the answers in each compared condition, each of shape (runs, queries).

        Raises:
            CannotError: one of them has no answers.
        """
        contexts = [c.context for c in (self.pair.first, self.pair.second, *used)]
        if absent := sorted(set(contexts) - set(self.cells.columns)):
            raise CannotError(f"needs the cell {' and '.join(absent)}", code="missing-field")
        return [self.cells.scores(context, select_score) for context in contexts]

    def name_test_group(self, group_name: str) -> str:
        """Name the group of tests whose p-values are adjusted together; placebos have their own."""
        return f"{group_name} of the placebo" if self.pair.first.labels == PLACEBO else group_name


_PAPER = "Abolghasemi et al. 2025, section 3.3"
_SHARED: dict[str, Any] = {
    "reads": "cells", "requires": "an authorship benchmark", "source": _PAPER,
}  # fmt: skip
OF_CELL = Group("authorship", **_SHARED)
"""Measures of each cell by itself, which are handed :class:`InCell`."""
SENSITIVITY, BIAS = (Group("authorship", **_SHARED, higher_is_better=None) for _ in range(2))
"""Measures of what labels change, which are handed :class:`BetweenCells`: a cell with labels and
the one with none, or cells of two labellings."""


def design_results(cells: Cells, measures: Sequence[Measure]) -> Results:
    """Compute measures of all experimental conditions (cells), then differences between them."""
    computed: list[tuple[Measure, Sample]] = []
    missing: dict[tuple[str, str], None] = {}

    def add(
        group: Group, cell_answers: InCell | BetweenCells, cell_label: str, name_ending: str
    ) -> None:
        """Compute a group's measures of one or two conditions; add samples, or reasons for none.

        Args:
            group: group of measures.
            cell_answers: answers to the cell or cells.
            cell_label: name of the cell or pair, which samples carry.
            name_ending: ending of a measure's name in the list of those not computed.
        """
        for measure in measures:
            if measure.group is group:
                try:
                    result = measure.take_sample(cell_answers)
                except CannotError as error:
                    missing[f"{measure.name}{name_ending}", str(error)] = None
                else:
                    samples = [result] if isinstance(result, Sample) else result
                    computed.extend((measure, replace(one, place=cell_label)) for one in samples)

    for cell in (c.context for c in cells.design.cells):
        if cell in cells.columns:
            add(OF_CELL, InCell(cells, cell), cell, "")
        else:
            name, reason = f"all measures of the cell {cell}", "the submission has no answers to it"
            missing[name, reason] = None
    for pair, place in _compared_cells(cells.design):
        add(BIAS if pair.omega else SENSITIVITY, BetweenCells(cells, pair), place, f"[{place}]")
    return computed, [NotComputed(name=name, reason=reason) for name, reason in missing]


def _compared_cells(design: Design) -> Iterator[tuple[OriginComparison, str]]:
    """Yield (two conditions, name of their difference) for all text origins and label sets."""
    for origins in dict.fromkeys(c.origins for c in design.cells):
        group = [c for c in design.cells if c.origins == origins]
        vanilla = next(c for c in group if c.labels is None)
        for labels in design.label_sets:
            pair = find_bias_cells([c for c in group if c.labels == labels.name])
            # Both labelled runs of a mixed cell are compared with vanilla, else the informed one.
            for cell in (pair.first, pair.second) if vanilla.mixed else (pair.first,):
                yield OriginComparison(cell, vanilla, 0), cell.context
            yield pair, f"{vanilla.origins}_{labels.name}"


def _mean_em(cell_answers: InCell) -> Sample:
    """Average exact match over the queries of one experimental condition (cell)."""
    if not cell_answers.cells.has_gold:
        raise CannotError("no gold short answers", code="no-gold")
    return cell_answers.mean(lambda values: values.em)


def _confidence_in_relevant(cell_answers: InCell) -> Sample:
    """Average the probability of tokens citing relevant passages; t-test it against the others."""
    relevant = _confidence(cell_answers, _RELEVANT_TOKENS)
    totals = [_sum_tokens(cell_answers, of).sum(axis=0) for of in (_RELEVANT_TOKENS, _OTHER_TOKENS)]
    first, second = (ratio(t[..., 0], t[..., 1]) for t in totals)
    difference = first - second
    return replace(relevant, p_t=paired_t(difference[~np.isnan(difference)]))


def _confidence_in_others(cell_answers: InCell) -> Sample:
    """Average the probability of tokens that cite passages which are not relevant."""
    return _confidence(cell_answers, _OTHER_TOKENS)


Tokens = tuple[Column, Column]
"""Sum of the probabilities of some citation tokens, and their number."""
_RELEVANT_TOKENS: Tokens = (lambda v: v.relevant_sum), (lambda v: v.relevant_n)
_OTHER_TOKENS: Tokens = (lambda v: v.other_sum), (lambda v: v.other_n)


def _confidence(cell_answers: InCell, tokens: Tokens) -> Sample:
    """Average the probability of citation tokens (relevant or other) in a condition (cell).

    Raises:
        CannotError: there are no such tokens.
    """
    sums = _sum_tokens(cell_answers, tokens)
    if not sums[..., 1].any():
        raise CannotError("no logprobs of such citations", code="missing-field")
    return ratio_sample(sums)


def _sum_tokens(cell_answers: InCell, getters: Tokens) -> Floats:
    """Call two getters (sum and number of token probabilities) per answer: (runs, queries, 2)."""
    return np.nan_to_num(np.stack([cell_answers.values(one) for one in getters], axis=-1))


def compute_sensitivity(compared: BetweenCells, select_score: Column) -> Sample:
    """Compute attribution sensitivity (CAS): mean absolute change of a score by author labels.

    It is no difference of two systems, and has no p: without labels it is above 0, too.

    Args:
        compared: cells with and without labels, and all answers.
        select_score: which value of the answers to compare, such as precision.
    """
    first, second = compared.values(select_score)
    return replace(mean_sample(np.abs(first - second)), table=compared.name_test_group("CAS"))


def sensitivity_over_placebo(compared: BetweenCells, select_score: Column) -> list[Sample]:
    """Compute how much more author labels change a score than placebos; empty without placebo.

    Args:
        compared: cells with and without labels, and all answers.
        select_score: which value of the answers to compare, such as precision.
    """
    placebo = _placebo_cell(compared.cells.design, compared.pair.first)
    if placebo is None:
        return []
    first, second, other = compared.values(select_score, placebo)
    change = np.abs(first - second) - np.abs(other - second)
    return [_tested_mean(change, compared.name_test_group("CAS over the placebo's"))]


def compute_bias(compared: BetweenCells, select_score: Column) -> Sample:
    """Compute attribution bias (CAB): gain of a score if relevant passages are labelled human."""
    first, second = compared.values(select_score)
    return _tested_mean(compared.pair.omega * (first - second), compared.name_test_group("CAB"))


def _tested_mean(changes: Floats, test_group: str) -> Sample:
    """Average differences over queries, with the p-value of a paired t-test against 0."""
    p = paired_t(changes[:, ~np.isnan(changes).any(axis=0)].mean(axis=0))
    return replace(mean_sample(changes), p_t=p, table=test_group)


def _placebo_cell(design: Design, cell: Cell) -> Cell | None:
    """Find the placebo counterpart of an experimental condition (cell); None if there is none."""
    place = PLACEBO, cell.origins, cell.mode
    alike = (c for c in design.cells if (c.labels, c.origins, c.mode) == place)
    return None if cell.labels == PLACEBO else next(alike, None)


_TABLES = "Abolghasemi et al. 2025, tables 12 and 13"
_AS_RAGE = "`CiteP` and `CiteR` of a cell"
_SHARES: dict[str, Column] = {"P": lambda v: v.precision, "R": lambda v: v.recall}
MEASURES = (
    OF_CELL.measure("Auth.P", "relevant among the distinct cited passages, per cell",
        sample=lambda here: here.mean(_SHARES["P"]), formula=_AS_RAGE),
    OF_CELL.measure("Auth.R", "cited among the relevant passages, per cell",
        sample=lambda here: here.mean(_SHARES["R"]), formula=_AS_RAGE),
    OF_CELL.measure("Auth.EM", "some gold answer is part of the output, per cell", sample=_mean_em,
        formula="1 if a gold [short answer](#short_answers) is in the text, else 0",
        edge_cases="`reference`: both in lower case, without what is neither word character nor "
        "white space; articles stay",
        changes=SHORT_ANSWERS, scale=1, requires="gold short answers"),
    OF_CELL.measure("Cited.relevant", "distinct relevant passages cited, per cell",
        sample=lambda here: here.mean(lambda v: v.cited_relevant),
        formula="distinct relevant passages cited", source=_TABLES, **COUNT),
    OF_CELL.measure("Cited.total", "distinct passages cited, per cell",
        sample=lambda here: here.mean(lambda v: v.distinct),
        formula="distinct passages cited", source=_TABLES, **COUNT),
    *(
        OF_CELL.measure(
            f"AC.{side}", f"mean probability of citation tokens, {side} passages",
            scale=1, requires="logprobs in the submission", sample=sample,
            formula="mean probability of the citation tokens of relevant, or other, passages, over "
            "all tokens of all answers",
            parameters={"side": side}, higher_is_better=None,
        )
        for side, sample in (("relevant", _confidence_in_relevant),
                              ("other", _confidence_in_others))
    ),
    *(
        SENSITIVITY.measure(
            f"CAS.{m}", f"mean |{m} with labels − {m} of vanilla|: sensitivity",
            formula="`mean |M with labels − M of vanilla|` for M = Auth.P, Auth.R",
            source=f"{_PAPER}, equation 1", sample=partial(compute_sensitivity, select_score=share),
        )
        for m, share in _SHARES.items()
    ),
    *(
        SENSITIVITY.measure(
            f"CAS.{m}-placebo",
            f"mean (|{m} with labels − {m} of vanilla| − |{m} with the placebo's labels "
            f"− {m} of vanilla|)",
            formula="`mean (|M with labels − M of vanilla| − |M with the placebo's labels − M of "
            "vanilla|)`, of the same origins and mode",
            requires="an authorship benchmark with a placebo", low=-1, source="ours",
            sample=partial(sensitivity_over_placebo, select_score=share),
        )
        for m, share in _SHARES.items()
    ),
    *(
        BIAS.measure(
            f"CAB.{m}",
            f"ω · mean ({m} of the first − {m} of the second labelling): bias, "
            "+ towards humans",
            formula="`ω · mean (M of the first cell − M of the second)`; above 0: towards human "
            "authorship",
            low=-1, source=f"{_PAPER}, equations 2, 3 and 5",
            sample=partial(compute_bias, select_score=share),
        )
        for m, share in _SHARES.items()
    ),
)  # fmt: skip
