"""The plots as a part of a page: inlined drawings, buttons to save them, nothing from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain

from citeforge.evaluator.reports.markup import render_markup, text_of
from citeforge.evaluator.reports.plots import palette
from citeforge.evaluator.reports.plots.choose import page_figures
from citeforge.evaluator.reports.plots.drawing import drawn, hindrance, start_drawing, unchecked
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.schemas.errors import MissingExtraError
from citeforge.schemas.extras import EXTRAS
from citeforge.schemas.scores import ScoreFile


@dataclass(frozen=True)
class PlotPart:
    """What a page holds of its plots.

    Attributes:
        html: the section; empty without plots.
        css: its rules, with both sets of colours.
        tables: chunks with the plots' data as CSV, by name.
    """

    html: str
    css: str
    tables: dict[str, str]


def plots_part(
    files: Sequence[ScoreFile], more: Callable[[], Sequence[Figure]] | None = None
) -> PlotPart:
    """The plots of score files; without the extra ``report``, what to install.

    Args:
        files: score files; none for the others alone.
        more: makes further plots, which come last; None for no more.
    """
    if not files and more is None:
        return PlotPart("", "", {})
    missing, figures = "", list[Figure]()
    absent = next((m for m in ("altair", "vl_convert") if find_spec(m) is None), None)
    if absent:
        missing = f"There are no plots: {MissingExtraError(absent, *EXTRAS[absent])}"
    elif (problem := hindrance()) is not None:
        missing = f"There are no plots: {problem}"
    else:
        start_drawing()
        with unchecked():
            figures = drawn(chain(page_figures(files) if files else (), more() if more else ()))
    if not (missing or figures):
        return PlotPart("", "", {})
    html = render_markup("figures.html.j2", figures=figures, missing=missing)
    css = palette.css() + text_of("figures.css")
    return PlotPart(html, css, {f"csv-{f.name}": f.csv for f in figures})
