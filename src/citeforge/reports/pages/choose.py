"""Choice of plots for score files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from citeforge.evaluator.rows import is_trivial, main_measure, of_cells
from citeforge.reports.notes import marked_name, trivial_lines
from citeforge.reports.pages.charts import scores_best_first
from citeforge.reports.pages.figure import Figure
from citeforge.reports.pages.names import PLOTS
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.scores import ScoreFile


def plot(files: Sequence[ScoreFile], name: str, measure: str | None = None) -> Figure:
    """Draw the named plot from score files.

    Args:
        files: score files.
        name: a row of :data:`PLOTS`.
        measure: measure to draw; None for :func:`main_measure`.

    Raises:
        UnknownValueError: no such plot, or no file has the measure.
        UsageError: the files do not contain the data of the plot.
        MissingExtraError: the extra ``report`` is not installed.
    """
    one = PLOTS.get(name)
    names = list(dict.fromkeys(m.name for f in files for m in f.measures))
    if measure is not None and measure not in names:
        raise UnknownValueError("measure", measure, names)
    figure = one.make(_best_first(files), measure or main_measure(files))
    if figure is None:
        raise UsageError(f"--plot {name}: {one.missing}", code="not-computed")
    return _mark_trivial(figure, files)


def page_figures(files: Sequence[ScoreFile]) -> Iterator[Figure]:
    """Draw all plots of a report page that the score files allow, in the order of PLOTS."""
    main = main_measure(files)
    if not main:
        return
    files = _best_first(files)
    for one in PLOTS.all().values():
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
    best = [file for file, _ in scores_best_first(files, main_measure(files))]
    return best + [file for file in files if not any(file is b for b in best)]
