"""The plots as a part of a page: inlined drawings, buttons to save them, nothing from outside."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec

from citeforge.plugins.plots.charts import palette
from citeforge.plugins.plots.figure import Figure, hindrance
from citeforge.plugins.plots.markup import render_markup, text_of
from citeforge.schemas.errors import MissingExtraError
from citeforge.schemas.extras import EXTRAS


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


def plots_part(figures: Iterable[Figure]) -> PlotPart:
    """Plots; without the extra ``report``, what to install."""
    missing, made = "", list[Figure]()
    absent = next((m for m in ("altair", "vl_convert") if find_spec(m) is None), None)
    if absent:
        missing = f"There are no plots: {MissingExtraError(absent, *EXTRAS[absent])}"
    elif (problem := hindrance()) is not None:
        missing = f"There are no plots: {problem}"
    else:
        made = list(figures)
    if not (missing or made):
        return PlotPart("", "", {})
    html = render_markup("figures.html.j2", figures=made, missing=missing)
    css = palette.css() + text_of("figures.css")
    return PlotPart(html, css, {f"csv-{f.name}": f.csv for f in made})
