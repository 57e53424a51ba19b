"""Figures (texts, data and drawing of a chart), and the record by which a plot is declared."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from citeforge.engines.posix import address_space_limit
from citeforge.engines.report_table import Table
from citeforge.engines.shown import show_number
from citeforge.reports.pages import palette
from citeforge.schemas.errors import InputError, extras_named

WIDTH, NARROW_WIDTH = 300, 220
"""Width of a frame in pixels: with numbers, or with names of systems, on its left. A drawing is
hardly wider than a phone, so that its words stay readable when it is scaled down."""
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""Words are equally wide in all of these fonts but the last."""
_ADDRESSES = 80
"""GiB of address space that V8, inside vl-convert, reserves; with less it ends the process."""
_UNUSED = re.compile(
    r' (?:role|aria-roledescription|aria-hidden|class|pointer-events)="[^"]*"'
    r'| opacity="1"| xmlns:xlink="[^"]*"'
)
_HIDDEN = re.compile(r'<path [^>]*display="none"[^>]*/>')
"""Names and roles of a drawing's parts, and invisible parts: screen readers get one picture."""


Rows = Sequence[dict[str, Any]]
"""Data of a chart: one object of fields per row."""


@dataclass(frozen=True)
class Figure:
    """A drawn plot of score files, with its texts and data.

    Attributes:
        name: for file names and links, such as ``intervals-CiteF1``.
        title: main finding.
        alt: description for readers who do not see the drawing.
        note: explanation of how to read it.
        columns: names of its data's columns, with units.
        rows: its data.
        spec: specification in Vega-Lite.
    """

    name: str
    title: str
    alt: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    spec: dict[str, Any]

    @cached_property
    def svg(self) -> str:
        """Plot as SVG, in colours for white paper.

        Raises:
            MissingExtraError: the extra ``report`` is not installed.
        """
        return to_svg(self.spec)

    @property
    def csv(self) -> str:
        """Data of the plot as CSV, safe for spreadsheets: no cell starts a formula."""
        return Table(self.columns, self.rows).csv()

    def mentions(self, measure: str) -> bool:
        """Whether the title, description or columns contain a measure's name."""
        words = " ".join([self.title, self.alt, *self.columns])
        return _name_pattern(measure).search(words) is not None

    def rename_measure(self, measure: str, name: str) -> "Figure":
        """Copy the figure with a measure's name replaced in all texts."""
        replace_name = partial(_name_pattern(measure).sub, name)
        return replace(
            self,
            title=replace_name(self.title),
            alt=replace_name(self.alt),
            note=replace_name(self.note),
            columns=tuple(map(replace_name, self.columns)),
            spec=json.loads(replace_name(json.dumps(self.spec, ensure_ascii=False))),
        )

    def to_inline_svg(self) -> str:
        """Convert the plot to SVG for a page: with CSS colours, unique ids and an ARIA label."""
        svg = palette.with_variables(self.svg)
        svg = re.sub(r"<[^>]*>", lambda m: _UNUSED.sub("", m.group()), _HIDDEN.sub("", svg))
        own_id = re.sub(r"[^A-Za-z0-9]+", "-", self.name)
        svg = re.sub(r'(id="|url\(#)', rf"\g<1>{own_id}-", svg)
        label = self.alt.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)

    def content(self, file_format: str) -> bytes:
        """Return the plot as ``svg``, ``png`` (at double size) or ``pdf``; or its data as CSV.

        The bytes are equal in every run.
        """
        if file_format == "csv":
            return self.csv.encode()
        if file_format == "svg":
            return (self.svg + "\n").encode()
        import vl_convert

        if file_format == "pdf":
            return _sort_pdf(vl_convert.svg_to_pdf(self.svg))
        return bytes(vl_convert.svg_to_png(self.svg, scale=2))


def drawing_problem() -> str | None:
    """Explain why this process cannot draw (too little address space); None if it can."""
    limit = address_space_limit()
    if limit is None or limit >= _ADDRESSES << 30:
        return None
    return (
        f"drawing needs {_ADDRESSES} GiB of address space (not of memory), and the limit is "
        f"{show_number(limit / (1 << 30), 1)}; run `ulimit -v unlimited` first"
    )


def to_svg(spec: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification as SVG.

    Raises:
        InputError: the process has too little address space.
        MissingExtraError: the extra ``report`` is not installed.
    """
    with extras_named():
        import vl_convert
    problem = drawing_problem()
    if problem is not None:
        raise InputError(problem, code="out-of-memory")
    return str(vl_convert.vegalite_to_svg(spec))


def _sort_pdf(pdf: bytes) -> bytes:
    """Sort the list of resources in a PDF, whose order changes from run to run.

    The sorted lines have the same total length, so that no other byte of the file moves.
    """
    lines = re.compile(rb"(?:^ +/[A-Za-z]+\d+ \d+ 0 R\n)+", re.MULTILINE)
    return lines.sub(lambda m: b"".join(sorted(m.group().splitlines(keepends=True))), pdf)


def _name_pattern(measure: str) -> re.Pattern[str]:
    """Make a pattern that finds a measure's name, but not inside a longer name."""
    return re.compile(rf"(?<![\w.]){re.escape(measure)}(?![\w@])")


def altair() -> Any:
    """Import Altair and vl-convert, and return the module ``altair``.

    Raises:
        MissingExtraError: the extra ``report`` is not installed.
    """
    with extras_named():
        import altair as found
        import vl_convert as _  # noqa: F401
    return found


def values(rows: Rows) -> Any:
    """Wrap rows (dictionaries) as the data of an Altair chart."""
    return altair().Data(values=list(rows))


def make_figure(
    name: str,
    title: str,
    findings: str,
    note: str,
    columns: Mapping[str, str],
    rows: Rows,
    chart: Any,
) -> Figure:
    """Make a figure from an Altair chart, its texts and its data.

    Args:
        name: name of its file.
        title: main finding.
        findings: further findings in words, for the description of the drawing.
        note: explanation of how to read it.
        columns: fields of the rows by title of their column in the CSV file.
        rows: data of the chart.
        chart: chart of Altair.
    """
    cells = tuple(tuple(row[field] for field in columns.values()) for row in rows)
    spec = style_chart(chart, title)
    return Figure(name, title, f"{title}. {findings}", note, tuple(columns), cells, spec)


def style_chart(chart: Any, title: str) -> dict[str, Any]:
    """Set a chart's title, fonts and colours; return its Vega-Lite specification."""
    lines = textwrap.wrap(title, 46) or [title]
    text: dict[str, Any] = {"labelColor": palette.SOFT, "titleColor": palette.FOREGROUND,
                            "labelLimit": 200, "titleLimit": 0}  # fmt: skip
    configured = chart.properties(
        title={"text": lines, "anchor": "start", "fontSize": 14, "fontWeight": "normal",
               "color": palette.FOREGROUND, "limit": 0, "frame": "bounds", "offset": 12},
        background=palette.GROUND,
    ).configure(
        font=_FONT, aria=False, padding=6,
        view={"stroke": palette.LINE},
        axis={**text, "gridColor": palette.LINE, "domainColor": palette.SOFT,
              "tickColor": palette.SOFT, "labelFontSize": 12, "titleFontSize": 12,
              "titleFontWeight": "normal", "gridOpacity": 0.6},
        legend={**text, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
                "symbolLimit": 100, "symbolOpacity": 1},
        header={**text, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    )  # fmt: skip
    return dict(configured.to_dict())
