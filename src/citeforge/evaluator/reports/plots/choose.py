"""Which plots score files have, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.reports.plots.answers import by_citations, by_position
from citeforge.evaluator.reports.plots.bias import bias, of_cells
from citeforge.evaluator.reports.plots.common import entries
from citeforge.evaluator.reports.plots.drawing import unchecked
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.evaluator.reports.plots.intervals import intervals
from citeforge.evaluator.reports.plots.people import calibration, corrected, corrected_measures
from citeforge.evaluator.reports.plots.queries import distribution, lengths, query_differences
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


def _intervals(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    return intervals(files, measure)


def _precision_recall(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Of the measure's own pair, else of the first that there is."""
    pairs = sorted(PAIRS, key=lambda pair: measure not in pair)
    found = (precision_recall(files, *pair) for pair in pairs)
    return next((f for f in found if f is not None), None)


def _differences(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Of the two best systems; the better one is the second."""
    best = [file for file, _ in entries(files, measure)]
    return query_differences(best[1], best[0], measure) if len(best) > 1 else None


PLOTS: dict[str, Callable[[Sequence[ScoreFile], str], Figure | None]] = {
    "intervals": _intervals,
    "precision-recall": _precision_recall,
    "differences": _differences,
    "distribution": distribution,
    "position": by_position,
    "citations": by_citations,
    "cost": cost,
    "corrected": corrected,
    "calibration": calibration,
    "bias": bias,
    "length": lambda files, _: lengths(files),
}
"""Plots by name: (score files, measure) to a figure, None where they do not hold what it shows."""


def plot(files: Sequence[ScoreFile], name: str, measure: str | None = None) -> Figure:
    """One plot.

    Args:
        files: score files.
        name: a key of :data:`PLOTS`.
        measure: what it shows; None for :func:`main_measure`.

    Raises:
        UnknownValueError: no such plot, or no file has the measure.
        UsageError: the files do not hold what it shows.
        MissingExtraError: the extra ``report`` is not installed.
    """
    if name not in PLOTS:
        raise UnknownValueError("plot", name, PLOTS)
    known = list(dict.fromkeys(m.name for f in files for m in f.measures))
    if measure is not None and measure not in known:
        raise UnknownValueError("measure", measure, known)
    with unchecked():
        found = PLOTS[name](_best_first(files), measure or main_measure(files))
    if found is None:
        raise UsageError(
            f"--plot {name}: {_NEEDS.get(name, 'no system has values of the measure')}"
        )
    return found


_NEEDS = {
    "precision-recall": "no system has both measures of a pair: "
    + "; ".join(", ".join(pair) for pair in PAIRS),
    "differences": "two systems are needed that were scored on the same queries",
    "position": "score with --details, on a benchmark whose passages are labelled",
    "citations": "score with --details",
    "length": "score with --details",
    "corrected": "score with --labels, or on a benchmark with a calibration of the judge",
    "calibration": "score with --labels",
    "bias": "scores of an authorship benchmark are needed",
    "cost": 'two submissions are needed whose headers say "cost" (US dollars)',
}


def page_figures(files: Sequence[ScoreFile]) -> Iterator[Figure]:
    """The plots of a report, the most telling first."""
    main = main_measure(files)
    if not main:
        return
    files = _best_first(files)
    if of_cells(files):
        for name in ("CAB.P", "CAB.R"):
            yield from _present(bias(files, name))
        return
    names = list(dict.fromkeys(m.name for f in files for m in f.measures))
    further = [n for n in names if n != main and _is_share(n)]
    for name in [main, *further[: _IN_PAGE - 1]]:
        yield from _present(intervals(files, name))
    for pair in PAIRS:
        yield from _present(precision_recall(files, *pair))
    for name in corrected_measures(files)[:_CORRECTED_IN_PAGE]:
        yield from _present(corrected(files, name))
    for name in corrected_measures(files, labelled=True)[:_CORRECTED_IN_PAGE]:
        yield from _present(calibration(files, name))
    for name in ("differences", "distribution", "position", "citations", "cost", "length"):
        yield from _present(PLOTS[name](files, main))


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


def _present(figure: Figure | None) -> Iterator[Figure]:
    if figure is not None:
        yield figure
