"""Measures of all cells of the design, and what labels change: CAS, CAB, their significance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from citeforge.evaluator.measures.declared import Found, Measure, MeasureOf
from citeforge.evaluator.measures.reading import PerAnswerScores
from citeforge.evaluator.statistics.estimates import (
    Floats,
    mean_of_runs,
    mean_sample,
    ratio,
    ratio_sample,
)
from citeforge.evaluator.statistics.significance import paired_t
from citeforge.schemas.authorship import PLACEBO, Cell, Design


@dataclass(frozen=True)
class Cells:
    """Values of all answers to all cells of an authorship benchmark.

    Attributes:
        design: the cells.
        scores: context set to the numbers of its answers; cells without any answer are not there.
        has_gold: whether any query has gold short answers.
    """

    design: Design
    scores: Mapping[str, PerAnswerScores]
    has_gold: bool

    def column(self, cell: str, name: str) -> Floats:
        """Get a field of all answers in a cell, (runs, queries); one mean run where runs differ."""
        values = self.scores[cell].column(name)
        if len({tuple(k.runs) for k in self.scores.values()}) == 1:
            return values  # only where all cells were run alike can runs be paired
        return mean_of_runs(values)[None]


@dataclass(frozen=True)
class CellMeasure(MeasureOf[Cells]):
    """A measure of the answers to all cells of an authorship benchmark."""

    reads = "cells"


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


def comparison(cells: list[Cell]) -> OriginComparison:
    """Find the two cells whose difference is the bias CAB, for one label set and origins.

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


def design_samples(cells: Cells, measures: Sequence[Measure]) -> Found:
    """Compute the measures of every cell, then the differences between cells (CAS, CAB)."""
    yield from _cell_samples(cells, measures)
    yield from _difference_samples(cells, measures)


def _cell_samples(cells: Cells, measures: Sequence[Measure]) -> Found:
    """Compute the measures of single cells: Auth, Cited, AC."""
    for cell in (c.context for c in cells.design.cells):
        if cell not in cells.scores:
            yield f"all measures of the cell {cell}", "the submission has no answers to it"
            continue
        for measure in measures:
            if (column := measure.parameters.get("column")) == "em" and not cells.has_gold:
                yield measure.name, "no gold short answers"
            elif column is not None:
                sample = mean_sample(cells.column(cell, str(column)))
                yield measure.name, replace(sample, place=cell)
        for measure in measures:
            if (side := measure.parameters.get("side")) is not None:
                sums = _confidence(cells, cell, str(side))
                if not sums[..., 1].any():
                    yield measure.name, "no logprobs of such citations"
                    continue
                p = _confidence_test(cells, cell) if side == "relevant" else None
                yield measure.name, replace(ratio_sample(sums), place=cell, p_t=p)


def _confidence(cells: Cells, cell: str, side: str) -> Floats:
    """Sum and count the probabilities of citation tokens, shape (runs, queries, 2)."""
    columns = [cells.column(cell, f"{side}_{x}") for x in ("sum", "n")]
    return np.nan_to_num(np.stack(columns, axis=-1))


def _confidence_test(cells: Cells, cell: str) -> float:
    """Test confidence in relevant against other passages, over queries that cite both: p value."""
    totals = [_confidence(cells, cell, side).sum(axis=0) for side in ("relevant", "other")]
    relevant, other = (ratio(t[..., 0], t[..., 1]) for t in totals)
    difference = relevant - other
    return paired_t(difference[~np.isnan(difference)])


def _difference_samples(cells: Cells, measures: Sequence[Measure]) -> Found:
    """Compute sensitivity (CAS) and bias (CAB) of all origins and label sets."""
    design = cells.design
    for origins in dict.fromkeys(c.origins for c in design.cells):
        group = [c for c in design.cells if c.origins == origins]
        vanilla = next(c for c in group if c.labels is None)
        for labels in design.label_sets:
            pair = comparison([c for c in group if c.labels == labels.name])
            # Both labelled runs of a mixed cell are held against vanilla, else the informed one.
            for cell in (pair.first, pair.second) if vanilla.mixed else (pair.first,):
                compared = OriginComparison(cell, vanilla, 0)
                yield from _difference_between(cells, measures, compared, cell.context)
            place = f"{vanilla.origins}_{labels.name}"
            yield from _difference_between(cells, measures, pair, place)


def _difference_between(
    cells: Cells, measures: Sequence[Measure], pair: OriginComparison, place: str
) -> Found:
    """Compute CAS, CAB, or CAS less the placebo's, between two cells, with its paired t-test."""
    for measure in measures:
        table = measure.parameters.get("table")
        if table not in (("CAB",) if pair.omega else ("CAS", _OVER_PLACEBO)):
            continue
        used = [pair.first, pair.second]
        if table == _OVER_PLACEBO:
            if (placebo := _placebo_cell(cells.design, pair.first)) is None:
                continue
            used.append(placebo)
        if absent := sorted({c.context for c in used} - set(cells.scores)):
            yield f"{measure.name}[{place}]", f"needs the cell {' and '.join(absent)}"
            continue
        column = str(measure.parameters["of"])
        first, second, *others = (cells.column(c.context, column) for c in used)
        change = pair.omega * (first - second) if pair.omega else np.abs(first - second)
        for other in others:
            change = change - np.abs(other - second)
        # CAS is no difference of two systems: without labels it is above 0, too.
        p = None
        if table != "CAS":
            p = paired_t(change[:, ~np.isnan(change).any(axis=0)].mean(axis=0))
        # The placebo is a control: its cells are a family of their own.
        adjusted = f"{table} of the placebo" if pair.first.labels == PLACEBO else str(table)
        yield measure.name, replace(mean_sample(change), place=place, p_t=p, table=adjusted)


_OVER_PLACEBO = "CAS over the placebo's"


def _placebo_cell(design: Design, cell: Cell) -> Cell | None:
    """Find the placebo cell of the same origins and mode; None for a placebo, or without one."""
    place = PLACEBO, cell.origins, cell.mode
    alike = (c for c in design.cells if (c.labels, c.origins, c.mode) == place)
    return None if cell.labels == PLACEBO else next(alike, None)


_PAPER = "Abolghasemi et al. 2025, section 3.3"
_TABLES = "Abolghasemi et al. 2025, tables 12 and 13"
_COUNTED: dict[str, Any] = {"high": None, "scale": 1, "source": _TABLES, "higher_is_better": None}
_AS_RAGE = "`CiteP` and `CiteR` of a cell"
_SHARES = {"P": "precision", "R": "recall"}
_of_cells = partial(
    CellMeasure, family="authorship", needs="an authorship benchmark", source=_PAPER,
    compute=design_samples,
)  # fmt: skip
MEASURES = (
    *(
        _of_cells(
            name, definition=f"{words}, per cell", parameters={"column": column}, formula=formula,
            **more,
        )
        for name, words, column, formula, more in (
            ("Auth.P", "relevant among the distinct cited passages", "precision", _AS_RAGE, {}),
            ("Auth.R", "cited among the relevant passages", "recall", _AS_RAGE, {}),
            ("Auth.EM", "some gold answer is part of the output", "em",
             "1 if a gold answer is part of the text, else 0. Both in lower case, without what is "
             "neither word character nor white space; articles stay",
             {"scale": 1, "needs": "gold short answers"}),
            ("Cited.relevant", "distinct relevant passages cited", "cited_relevant",
             "distinct relevant passages cited", _COUNTED),
            ("Cited.total", "distinct passages cited", "distinct", "distinct passages cited",
             _COUNTED),
        )
    ),
    *(
        _of_cells(
            f"AC.{side}", scale=1, needs="logprobs in the submission",
            definition=f"mean probability of citation tokens, {side} passages",
            formula="mean probability of the citation tokens of relevant, or other, passages, over "
            "all tokens of all answers",
            parameters={"side": side}, higher_is_better=None,
        )
        for side in ("relevant", "other")
    ),
    *(
        _of_cells(
            f"CAS.{m}", definition=f"mean |{m} with labels − {m} of vanilla|: sensitivity",
            formula="`mean |M with labels − M of vanilla|` for M = Auth.P, Auth.R",
            source=f"{_PAPER}, equation 1", parameters={"table": "CAS", "of": column},
            higher_is_better=None,
        )
        for m, column in _SHARES.items()
    ),
    *(
        _of_cells(
            f"CAS.{m}-placebo",
            definition=f"mean (|{m} with labels − {m} of vanilla| − |{m} with the placebo's labels "
            f"− {m} of vanilla|)",
            formula="`mean (|M with labels − M of vanilla| − |M with the placebo's labels − M of "
            "vanilla|)`, of the same origins and mode",
            needs="an authorship benchmark with a placebo", low=-1, source="ours",
            parameters={"table": _OVER_PLACEBO, "of": column}, higher_is_better=None,
        )
        for m, column in _SHARES.items()
    ),
    *(
        _of_cells(
            f"CAB.{m}",
            definition=f"ω · mean ({m} of the first − {m} of the second labelling): bias, "
            "+ towards humans",
            formula="`ω · mean (M of the first cell − M of the second)`; above 0: towards human "
            "authorship",
            low=-1, source=f"{_PAPER}, equations 2, 3 and 5", higher_is_better=None,
            parameters={"table": "CAB", "of": column},
        )
        for m, column in _SHARES.items()
    ),
)  # fmt: skip
