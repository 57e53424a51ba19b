"""``report --robustness``, declared without its code."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.evaluator.reports.plots.plot import Plot
from citeforge.schemas.scores import ScoreFile


def _write(
    files: Sequence[ScoreFile], ending: str, title: str | None, measures: Sequence[str]
) -> bytes:
    from citeforge.plugins.plots.robustness.orders import robustness
    from citeforge.plugins.plots.robustness.writing import WRITERS

    return WRITERS[ending](robustness(files, measures), title)


def _draw(files: Sequence[ScoreFile], measure: str) -> Figure:
    from citeforge.plugins.plots.robustness.drawing import ranks_figure
    from citeforge.plugins.plots.robustness.orders import robustness

    return ranks_figure(robustness(files))


ROBUSTNESS = Plot(
    "robustness", "ranks of systems under every definition of citation quality",
    "two systems or more, scored by two definitions or more", _draw,
    page_measures=lambda files, main: (), write=_write,
)  # fmt: skip
