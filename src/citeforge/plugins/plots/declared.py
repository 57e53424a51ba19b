"""What these plots declare."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.evaluator.reports.plots.common import are_comparable, entries
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.evaluator.reports.plots.plot import Plot
from citeforge.plugins.plots.answers import by_citations, by_position
from citeforge.plugins.plots.queries import distribution, lengths, query_differences
from citeforge.schemas.scores import ScoreFile


def _of_the_best_two(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """The better one is the second; a single system is compared with the first reference."""
    pairs = entries(files, measure)
    if not any(are_comparable(pairs)):
        return None
    (best, of_best), *others = pairs
    recipe = (of_best.signature, best.query_ids)
    other = next((f for f, e in others if (e.signature, f.query_ids) == recipe), None)
    return None if other is None else query_differences(other, best, measure)


DIFFERENCES = Plot(
    "differences", "differences of the two best systems, query by query",
    "two systems are needed that were scored on the same queries", _of_the_best_two, 50,
)  # fmt: skip
DISTRIBUTION = Plot(
    "distribution", "values of single queries, as histograms",
    "no system has values of the measure", distribution, 60,
)  # fmt: skip
POSITION = Plot(
    "position", "score by the position of the first relevant passage",
    "score with --details, on a benchmark whose passages are labelled", by_position, 70,
)  # fmt: skip
CITATIONS = Plot(
    "citations", "score by the number of passages that an answer cites",
    "score with --details", by_citations, 80,
)  # fmt: skip
LENGTH = Plot(
    "length", "words of answers, as histograms",
    "score with --details", lambda files, measure: lengths(files), 100,
)  # fmt: skip
