"""Plots of reports, in the order of a page.

Each row's code is imported when the plot is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citeforge.engines.catalogue import Catalogue
from citeforge.schemas.catalogue import Row

if TYPE_CHECKING:
    from citeforge.reports.pages.figure import Figure
    from citeforge.schemas.scores import ScoreFile

MAIN_PLOT = "intervals"
ROBUSTNESS = "robustness"
_PAIRS = "no system has both measures of a pair, such as CiteP, CiteR"


def _select_main(files: Sequence[ScoreFile], main: str) -> Sequence[str]:
    """Select only the main measure of score files."""
    return (main,)


@dataclass(frozen=True)
class Plot(Row):
    """Declaration of a kind of plot.

    Attributes:
        missing: data that score files lack if nothing can be drawn, for the error.
        make: draws (score files, the best first; name of a measure) as a figure; returns None where
            the files do not contain its data.
        page_measures: selects, from (score files, their main measure), the measures that a page
            draws; the main measure by default.
        of_cells: whether it shows scores of authorship benchmarks, whose pages have no other plots.
    """

    missing: str
    make: Callable[[Sequence[ScoreFile], str], Figure | None]
    page_measures: Callable[[Sequence[ScoreFile], str], Sequence[str]] = _select_main
    of_cells: bool = False


def _intervals(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw a measure's value per system, with intervals."""
    from citeforge.reports.pages.forest_chart import intervals

    return intervals(files, measure)


def _select_shares(files: Sequence[ScoreFile], main: str) -> Sequence[str]:
    """Select the main measure, and the first few others that are shares."""
    from citeforge.reports.pages.forest_chart import main_and_shares

    return main_and_shares(files, main)


def _bias(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw each system's authorship bias (CAB) by author labels shown."""
    from citeforge.reports.pages.forest_chart import bias

    return bias(files, measure)


def _precision_recall(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw each system's precision against its recall."""
    from citeforge.reports.pages.scatter_chart import draw_first_pair

    return draw_first_pair(files, measure)


def _select_precisions(files: Sequence[ScoreFile], main: str) -> Sequence[str]:
    """Select the precision measures whose recall measure the files have, too."""
    from citeforge.reports.pages.scatter_chart import list_precisions

    return list_precisions(files)


def _slices(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw a measure's values on slices of the queries."""
    from citeforge.reports.pages.forest_chart import slices

    return slices(files, measure)


def _calibration(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the judge's mean values against those of human labels, per system."""
    from citeforge.reports.pages.people_chart import calibration

    return calibration(files, measure)


def _select_labelled(files: Sequence[ScoreFile], main: str) -> Sequence[str]:
    """Select the first two measures that human labels correct."""
    from citeforge.reports.pages.people_chart import labelled_measures

    return labelled_measures(files)[:2]


def _differences(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the differences per query between the two best systems."""
    from citeforge.reports.pages.queries_chart import best_differences

    return best_differences(files, measure)


def _distribution(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw histograms of a measure's values over queries, one per system."""
    from citeforge.reports.pages.queries_chart import distribution

    return distribution(files, measure)


def _position(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw scores by the position of the first relevant passage."""
    from citeforge.reports.pages.queries_chart import POSITION, by_property

    return by_property(POSITION, files, measure)


def _citations(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw scores by the number of citations."""
    from citeforge.reports.pages.queries_chart import CITATIONS, by_property

    return by_property(CITATIONS, files, measure)


def _cost(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw cost against score."""
    from citeforge.reports.pages.scatter_chart import cost

    return cost(files, measure)


def _length(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw histograms of answer lengths, one per system."""
    from citeforge.reports.pages.queries_chart import answer_lengths

    return answer_lengths(files)


def _robustness(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the systems' ranks by each definition of citation quality."""
    from citeforge.reports.pages.robustness import compare_definitions
    from citeforge.reports.pages.robustness_report import ranks_figure

    return ranks_figure(compare_definitions(files))


PLOTS: Catalogue[Plot, None] = Catalogue(
    "",
    "plot",
    Plot,
    (
        Plot(
            MAIN_PLOT, "", "values with simultaneous intervals of ranks",
            "no system has values of the measure", _intervals, _select_shares,
        ),
        Plot(
            "bias", "", "authorship: differences between author labels",
            "scores of an authorship benchmark are needed", _bias,
            lambda files, main: ("CAB.P", "CAB.R"), of_cells=True,
        ),
        Plot(
            "precision-recall", "", "precision against recall", _PAIRS, _precision_recall,
            _select_precisions,
        ),
        Plot("slices", "", "values by slice", "score with --by FIELD", _slices),
        Plot(
            "calibration", "", "errors of the judge", "score with --labels", _calibration,
            _select_labelled,
        ),
        Plot(
            "differences", "",
            "differences by query of the two best systems, or of one system and the first control",
            "two systems are needed that were scored on the same queries", _differences,
        ),
        Plot(
            "distribution", "", "distributions of values", "no system has values of the measure",
            _distribution,
        ),
        Plot(
            "position", "", "scores by position of the first relevant passage",
            "score with --details, on a benchmark whose passages are labelled", _position,
        ),
        Plot("citations", "", "scores by number of citations", "score with --details", _citations),
        Plot(
            "cost", "", "cost against score",
            'two submissions are needed whose headers say "cost" (US dollars)', _cost,
        ),
        Plot("length", "", "distributions of lengths", "score with --details", _length),
        Plot(
            ROBUSTNESS, "", "ranks by each definition of citation quality",
            "two systems or more, scored by two definitions or more", _robustness,
            lambda files, main: (),
        ),
    ),
)  # fmt: skip
