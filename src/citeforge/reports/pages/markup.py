"""Parts of report pages: templates, style sheets, scripts, and the section of plots."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from citeforge.reports.markup import page_templates
from citeforge.reports.pages import palette
from citeforge.reports.pages.figure import Figure, drawing_problem
from citeforge.schemas.errors import EXTRAS, MissingExtraError

_TEMPLATES = Path(__file__).parent / "templates"


def render_markup(template: str, **values: Any) -> str:
    """Fill in a template of a page, or of a section of a page."""
    return page_templates(_TEMPLATES).get_template(template).render(values)


def read_assets(*names: str) -> str:
    """Read style sheets or scripts by file name, and join their texts."""
    return "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)


@dataclass(frozen=True)
class PlotPart:
    """The section of plots of a page, with its style rules and data.

    Attributes:
        html: the section; empty without plots.
        css: style rules, with colours for light and dark mode.
        tables: chunks with the plots' data as CSV, by name.
    """

    html: str
    css: str
    tables: dict[str, str]


def plots_part(figures: Iterable[Figure]) -> PlotPart:
    """Make a page's section of plots; without the extra ``report`` it says what to install."""
    missing, made = "", list[Figure]()
    absent = next((m for m in ("altair", "vl_convert") if find_spec(m) is None), None)
    if absent:
        missing = f"There are no plots: {MissingExtraError(absent, *EXTRAS[absent])}"
    elif (problem := drawing_problem()) is not None:
        missing = f"There are no plots: {problem}"
    else:
        made = list(figures)
    if not (missing or made):
        return PlotPart("", "", {})
    html = render_markup("figures.html.j2", figures=made, missing=missing)
    css = palette.css() + read_assets("figures.css")
    return PlotPart(html, css, {f"csv-{f.name}": f.csv for f in made})
