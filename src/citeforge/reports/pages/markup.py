"""Parts of pages: templates, style sheets, scripts, JSON inside of pages, the section of plots."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from citeforge.engines.markdown import markdown_code, markdown_text
from citeforge.reports.pages import palette
from citeforge.reports.pages.figure import Figure, drawing_problem
from citeforge.schemas.errors import EXTRAS, MissingExtraError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TEMPLATES = Path(__file__).parent / "templates"


@cache
def page_templates(folder: Path) -> Environment:
    """Load a folder's page templates, once; they escape texts, and fail on missing values.

    They may extend ``page.html.j2`` of reports. ``page_css`` is the style of every page, and
    ``wide_tables`` a script for its end, which notes which tables have to be scrolled.
    """
    templates = Environment(
        loader=FileSystemLoader([folder, _TEMPLATES]), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {"markdown_text": markdown_text, "markdown_code": markdown_code}
    templates.globals["wide_tables"] = read_assets("wide_tables.js")
    templates.globals["page_css"] = read_assets("page.css")
    return templates


def script_json(value: Any) -> str:
    """Convert a value to JSON that cannot end the script element around it."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def render_markup(template: str, **values: Any) -> str:
    """Fill in a template of a page, or of a section of a page."""
    return page_templates(_TEMPLATES).get_template(template).render(values)


def read_assets(*names: str) -> str:
    """Read style sheets or scripts by file name, and join their texts."""
    return "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def markdown_parser() -> "MarkdownIt":
    """Make a Markdown parser for untrusted text: its HTML stays text, and no image is loaded.

    Raises:
        ModuleNotFoundError: the extra ``markdown`` is not installed.
    """
    from markdown_it import MarkdownIt  # not needed for reports

    return MarkdownIt("js-default").disable(["image", "linkify", "replacements", "smartquotes"])


def render_markdown(text: str) -> str:
    """Render untrusted Markdown as HTML, its tables in frames that scroll."""
    return frame_tables(markdown_parser().render(text))


def frame_tables(html: str) -> str:
    """Put the tables of rendered Markdown into frames that scroll."""
    box = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    return html.replace("<table>", box).replace("</table>", "</table></div>")


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
