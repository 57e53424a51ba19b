"""All plots by name, and the choice of plots for score files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.pages.charts import entries, entry
from citeforge.evaluator.pages.figure import Figure, Plot
from citeforge.evaluator.pages.forest_chart import bias, intervals, slices
from citeforge.evaluator.pages.people_chart import calibration, labelled_measures
from citeforge.evaluator.pages.queries_chart import (
    CITATIONS,
    POSITION,
    answer_lengths,
    best_differences,
    by_property,
    distribution,
)
from citeforge.evaluator.pages.robustness import compare_definitions
from citeforge.evaluator.pages.robustness_report import ranks_figure
from citeforge.evaluator.pages.scatter_chart import PAIRS, cost, precision_recall
from citeforge.evaluator.rows import (
    is_trivial,
    main_measure,
    marked_name,
    of_cells,
    trivial_lines,
)
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.scores import ScoreFile

_MOST_INTERVALS = 4
"""Most measures whose intervals a page draws; its table has the others."""
_MOST_CALIBRATIONS = 2
"""Most measures whose calibration a page draws."""


def _precision_recall(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw precision against recall: for the measure's own pair, else the first with values."""
    pairs = sorted(PAIRS, key=lambda pair: measure not in pair)
    figures = (precision_recall(files, *pair) for pair in pairs)
    return next((f for f in figures if f is not None), None)


def _main_and_shares(files: Sequence[ScoreFile], main: str) -> list[str]:
    """List the main measure, then the first few other measures that are shares (0–100)."""
    names = dict.fromkeys(m.name for f in files for m in f.measures)
    return [main, *[n for n in names if n != main and _is_share(n)][: _MOST_INTERVALS - 1]]


_DECLARED = (
    Plot("intervals", "no system has values of the measure", intervals, _main_and_shares),
    Plot(
        "bias", "scores of an authorship benchmark are needed", bias,
        lambda files, main: ("CAB.P", "CAB.R"), of_cells=True,
    ),
    Plot(
        "precision-recall",
        "no system has both measures of a pair: " + "; ".join(", ".join(pair) for pair in PAIRS),
        _precision_recall,
        lambda some, _: [p for p, r in PAIRS if any(entry(f, p) and entry(f, r) for f in some)],
    ),
    Plot("slices", "score with --by FIELD", slices),
    Plot(
        "calibration", "score with --labels", calibration,
        lambda files, main: labelled_measures(files)[:_MOST_CALIBRATIONS],
    ),
    Plot(
        "differences", "two systems are needed that were scored on the same queries",
        best_differences,
    ),
    Plot("distribution", "no system has values of the measure", distribution),
    Plot(
        "position", "score with --details, on a benchmark whose passages are labelled",
        partial(by_property, POSITION),
    ),
    Plot("citations", "score with --details", partial(by_property, CITATIONS)),
    Plot("cost", 'two submissions are needed whose headers say "cost" (US dollars)', cost),
    Plot("length", "score with --details", lambda files, measure: answer_lengths(files)),
    Plot(
        "robustness", "two systems or more, scored by two definitions or more",
        lambda files, measure: ranks_figure(compare_definitions(files)),
        page_measures=lambda files, main: (),
    ),
)  # fmt: skip
PLOTS = {one.name: one for one in _DECLARED}
"""All plots by name, in the order of a page."""


def find_plot(name: str) -> Plot:
    """Look up a plot by name.

    Raises:
        UnknownValueError: no such plot.
    """
    if name not in PLOTS:
        raise UnknownValueError("plot", name, PLOTS)
    return PLOTS[name]


def plot(files: Sequence[ScoreFile], name: str, measure: str | None = None) -> Figure:
    """Draw the named plot from score files.

    Args:
        files: score files.
        name: a key of :data:`PLOTS`.
        measure: measure to draw; None for :func:`main_measure`.

    Raises:
        UnknownValueError: no such plot, or no file has the measure.
        UsageError: the files do not contain the data of the plot.
        MissingExtraError: the extra ``report`` is not installed.
    """
    one = find_plot(name)
    names = list(dict.fromkeys(m.name for f in files for m in f.measures))
    if measure is not None and measure not in names:
        raise UnknownValueError("measure", measure, names)
    figure = one.make(_best_first(files), measure or main_measure(files))
    if figure is None:
        raise UsageError(f"--plot {name}: {one.needs}", code="not-computed")
    return _mark_trivial(figure, files)


def page_figures(files: Sequence[ScoreFile]) -> Iterator[Figure]:
    """Draw all plots of a report page that the score files allow, in the order of PLOTS."""
    main = main_measure(files)
    if not main:
        return
    files = _best_first(files)
    for one in PLOTS.values():
        if one.of_cells == of_cells(files):
            figures = (one.make(files, measure) for measure in one.page_measures(files, main))
            yield from (_mark_trivial(figure, files) for figure in figures if figure is not None)


def _mark_trivial(figure: Figure, files: Sequence[ScoreFile]) -> Figure:
    """Mark in a figure's texts the measures that any citation satisfies (trivial ones)."""
    for name in {m.name for f in files for m in f.measures if is_trivial(f, m.name)}:
        if figure.mentions(name):
            note = f"{figure.note} {'; '.join(trivial_lines(files, [name]))}.".strip()
            marked = figure.rename_measure(name, marked_name(files, name))
            figure = replace(marked, note=note)
    return figure


def _best_first(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Sort score files by the main measure, best first, as the first ones get distinct colours.

    Files of authorship benchmarks, which have no main measure, keep their order.
    """
    if of_cells(files):
        return list(files)
    best = [file for file, _ in entries(files, main_measure(files))]
    return best + [file for file in files if not any(file is b for b in best)]


def _is_share(name: str) -> bool:
    """Whether a measure is a share, shown from 0 to 100."""
    measure = find_measure(name.partition("[")[0])
    return measure is not None and measure.scale == 100
