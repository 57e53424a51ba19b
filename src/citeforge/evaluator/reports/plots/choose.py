"""Which plots score files have, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from citeforge.engines import plugins
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.reports.plots.bias import bias, of_cells
from citeforge.evaluator.reports.plots.common import entries, entry
from citeforge.evaluator.reports.plots.drawing import unchecked
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.evaluator.reports.plots.intervals import intervals
from citeforge.evaluator.reports.plots.people import calibration, corrected, corrected_measures
from citeforge.evaluator.reports.plots.plot import Plot
from citeforge.evaluator.reports.plots.scatter import PAIRS, cost, precision_recall
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.scores import ScoreFile

_PREFERRED = ("CiteF1@query", "CiteF1", "ALCE.CitF1", "ALCE.CitRec", "NLI.F1", "NLI.rec",
              "KaLMA.F1@micro", "AutoAIS.cit", "ROUGE-Lsum.F", "BLEU")  # fmt: skip
_IN_PAGE = 4
"""Measures whose intervals a page draws; the table has the others."""
_CORRECTED_IN_PAGE = 2
"""Measures whose corrected values and calibration a page draws."""


def main_measure(files: Sequence[ScoreFile]) -> str:
    """The measure that tells most in one number, of those that all files have.

    Returns:
        Its name; the first file's first measure where they share none, empty without measures.
    """
    shared = set.intersection(*({m.name for m in f.measures} for f in files))
    for name in _PREFERRED:
        if name in shared:
            return name
    named = [m.name for m in files[0].measures]
    return next((n for n in named if n in shared), named[0] if named else "")


def _precision_recall(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Of the measure's own pair, else of the first that there is."""
    pairs = sorted(PAIRS, key=lambda pair: measure not in pair)
    found = (precision_recall(files, *pair) for pair in pairs)
    return next((f for f in found if f is not None), None)


def _main_and_shares(files: Sequence[ScoreFile], main: str) -> list[str]:
    names = dict.fromkeys(m.name for f in files for m in f.measures)
    return [main, *[n for n in names if n != main and _is_share(n)][: _IN_PAGE - 1]]


def _precisions(files: Sequence[ScoreFile], main: str) -> list[str]:
    """Precision of each pair that some system has."""
    return [p for p, r in PAIRS if any(entry(f, p) and entry(f, r) for f in files)]


_CORE = (
    Plot(
        "intervals", "values with intervals, and the ranks that systems may have",
        "no system has values of the measure", intervals, 10, _main_and_shares,
    ),
    Plot(
        "precision-recall", "precision against recall of each system",
        "no system has both measures of a pair: " + "; ".join(", ".join(pair) for pair in PAIRS),
        _precision_recall, 20, _precisions,
    ),
    Plot(
        "corrected", "values corrected by labels of people, beside the judge's",
        "score with --labels, or on a benchmark with a calibration of the judge", corrected, 30,
        lambda files, main: corrected_measures(files)[:_CORRECTED_IN_PAGE],
    ),
    Plot(
        "calibration", "what people find in answers, by what the judge finds",
        "score with --labels", calibration, 40,
        lambda files, main: corrected_measures(files, labelled=True)[:_CORRECTED_IN_PAGE],
    ),
    Plot(
        "cost", "score against what the answers cost",
        'two submissions are needed whose headers say "cost" (US dollars)', cost, 90,
    ),
    Plot(
        "bias", "citation bias towards an author, beside that of the placebo",
        "scores of an authorship benchmark are needed", bias, 10,
        lambda files, main: ("CAB.P", "CAB.R"), of_cells=True,
    ),
)  # fmt: skip


def plots() -> dict[str, Plot]:
    """All plots by name, as pages show them: the core's, then those of plugins."""
    found = {p.name: p for p in _CORE}
    for value, origin in plugins.found("plots"):
        if not isinstance(value, Plot):
            plugins.warn(f"{origin}: {value!r} is no plot")
        elif found.setdefault(value.name, value) is not value:
            plugins.warn(f"{origin}: there is a plot {value.name!r} already")
    return dict(sorted(found.items(), key=lambda item: item[1].rank))


def plot(files: Sequence[ScoreFile], name: str, measure: str | None = None) -> Figure:
    """One plot.

    Args:
        files: score files.
        name: a key of :func:`plots`.
        measure: what it shows; None for :func:`main_measure`.

    Raises:
        UnknownValueError: no such plot, or no file has the measure.
        UsageError: the files do not hold what it shows.
        InputError: it comes with a plugin that this installation lacks.
        MissingExtraError: the extra ``report`` is not installed.
    """
    listed = plots()
    if name not in listed:
        plugins.require_whole("plots", name, f"the plot {name!r}")
        raise UnknownValueError("plot", name, listed)
    known = list(dict.fromkeys(m.name for f in files for m in f.measures))
    if measure is not None and measure not in known:
        raise UnknownValueError("measure", measure, known)
    with unchecked():
        found = listed[name].make(_best_first(files), measure or main_measure(files))
    if found is None:
        raise UsageError(f"--plot {name}: {listed[name].needs}")
    return found


def whole_report(
    name: str,
) -> Callable[[Sequence[ScoreFile], str, str | None, Sequence[str]], bytes] | None:
    """What writes a plot's report in any format; None for a plot that is a picture alone.

    Raises:
        InputError: it comes with a plugin that this installation lacks.
    """
    found = plots().get(name)
    if found is None:
        plugins.require_whole("plots", name, f"the plot {name!r}")
    return None if found is None else found.write


def page_figures(files: Sequence[ScoreFile]) -> Iterator[Figure]:
    """The plots of a report, the most telling first."""
    main = main_measure(files)
    if not main:
        return
    files = _best_first(files)
    for one in plots().values():
        if one.of_cells == of_cells(files):
            figures = (one.make(files, measure) for measure in one.page_measures(files, main))
            yield from (figure for figure in figures if figure is not None)


def _best_first(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """By the main measure: the first ones, which most plots are of, differ in colour. Cells of an
    authorship benchmark have no main one."""
    if of_cells(files):
        return list(files)
    best = [file for file, _ in entries(files, main_measure(files))]
    return best + [file for file in files if not any(file is b for b in best)]


def _is_share(name: str) -> bool:
    found = find_measure(name.partition("[")[0])
    return found is not None and found.scale == 100
