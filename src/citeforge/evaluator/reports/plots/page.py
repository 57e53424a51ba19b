"""The plots as a part of a page: inlined drawings, buttons to save them, nothing from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, select_autoescape

from citeforge.evaluator.reports.plots import palette
from citeforge.evaluator.reports.plots.choose import page_figures
from citeforge.evaluator.reports.plots.drawing import drawn, hindrance, start_drawing, unchecked
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.schemas.errors import MissingExtraError
from citeforge.schemas.extras import EXTRAS
from citeforge.schemas.scores import ScoreFile

TEMPLATES = Path(__file__).parent.parent / "templates"


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


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


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
    environment = Environment(
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined, trim_blocks=True,
    )  # fmt: skip
    template = environment.from_string((TEMPLATES / "figures.html.j2").read_text("utf-8"))
    html = template.render(figures=figures, missing=missing)
    css = palette.css() + (TEMPLATES / "figures.css").read_text("utf-8")
    return PlotPart(html, css, {f"csv-{f.name}": f.csv for f in figures})
