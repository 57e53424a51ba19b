"""A figure: what it shows in words, its data, and its drawing; and what a plot declares."""

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from citeforge.engines.io.report_table import Table
from citeforge.plugins.plots import palette
from citeforge.schemas.errors import InputError, extras_named
from citeforge.schemas.scores import ScoreFile

WIDTH, BESIDE_NAMES = 300, 220
"""Of a frame, in pixels: with numbers, and with names of systems on its left. A drawing is little
wider than a phone, so that its words stay readable where it is made smaller."""
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""Words are equally wide in all of these but the last."""
_ADDRESSES = 80
"""GiB of addresses that V8, inside vl-convert, sets apart; with fewer it ends the whole process."""
_UNUSED = re.compile(
    r' (?:role|aria-roledescription|aria-hidden|class|pointer-events)="[^"]*"'
    r'| opacity="1"| xmlns:xlink="[^"]*"'
)
_HIDDEN = re.compile(r'<path [^>]*display="none"[^>]*/>')
"""Names and roles of a drawing's parts, and its invisible parts: readers get one picture."""


Rows = Sequence[dict[str, Any]]
"""What a chart draws, field by field."""


@dataclass(frozen=True)
class Figure:
    """A plot of score files.

    Attributes:
        name: for file names and links, such as ``intervals-CiteF1``.
        title: says what is seen.
        alt: for those who do not see it.
        note: how it is to be read.
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
        """Drawing as SVG, in colours for white paper.

        Raises:
            MissingExtraError: the extra ``report`` is not installed.
        """
        return to_svg(self.spec)

    @property
    def csv(self) -> str:
        """The data as CSV; no cell starts a formula."""
        return Table(self.columns, self.rows).csv()

    def names(self, measure: str) -> bool:
        """Whether the title, description or columns name a measure."""
        words = " ".join([self.title, self.alt, *self.columns])
        return _pattern_of(measure).search(words) is not None

    def renamed(self, measure: str, name: str) -> "Figure":
        """Replace the name of a measure in all texts of the figure."""

        def words(text: str) -> str:
            """Replace the name in one text."""
            return _pattern_of(measure).sub(name, text)

        return replace(
            self,
            title=words(self.title),
            alt=words(self.alt),
            note=words(self.note),
            columns=tuple(map(words, self.columns)),
            spec=json.loads(words(json.dumps(self.spec, ensure_ascii=False))),
        )

    def inline(self) -> str:
        """Drawing as SVG for a page: with its CSS colours, unique ids and an ARIA label."""
        svg = palette.with_variables(self.svg)
        svg = re.sub(r"<[^>]*>", lambda m: _UNUSED.sub("", m.group()), _HIDDEN.sub("", svg))
        own_id = re.sub(r"[^A-Za-z0-9]+", "-", self.name)
        svg = re.sub(r'(id="|url\(#)', rf"\g<1>{own_id}-", svg)
        label = self.alt.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)

    def content(self, form: str) -> bytes:
        """Write the drawing as ``svg``, ``png`` (at double size) or ``pdf``, or its data as CSV.

        The bytes are equal in every run.
        """
        if form == "csv":
            return self.csv.encode()
        if form == "svg":
            return (self.svg + "\n").encode()
        import vl_convert

        if form == "pdf":
            return _sort_pdf(vl_convert.svg_to_pdf(self.svg))
        return bytes(vl_convert.svg_to_png(self.svg, scale=2))


def hindrance() -> str | None:
    """Reason why this process cannot draw (too little address space); None where it can."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= _ADDRESSES << 30:
        return None
    return (
        f"drawing needs {_ADDRESSES} GiB of address space (not of memory), and the limit is "
        f"{limit / (1 << 30):.1f}; run `ulimit -v unlimited` first"
    )


def to_svg(spec: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification as SVG.

    Raises:
        InputError: the process may not have as many addresses as it takes.
        MissingExtraError: the extra ``report`` is not installed.
    """
    with extras_named():
        import vl_convert
    problem = hindrance()
    if problem is not None:
        raise InputError(problem, code="out-of-memory")
    return str(vl_convert.vegalite_to_svg(spec))


def _sort_pdf(pdf: bytes) -> bytes:
    """Sort the resources in a PDF, whose order changes from run to run.

    Sorting their lines moves nothing else in the file.
    """
    lines = re.compile(rb"(?:^ +/[A-Za-z]+\d+ \d+ 0 R\n)+", re.MULTILINE)
    return lines.sub(lambda m: b"".join(sorted(m.group().splitlines(keepends=True))), pdf)


def _pattern_of(measure: str) -> re.Pattern[str]:
    """Make a pattern that finds a measure's name, but not as a part of a longer one."""
    return re.compile(rf"(?<![\w.]){re.escape(measure)}(?![\w@])")


def altair() -> Any:
    """Import Altair and give the module.

    Raises:
        MissingExtraError: the extra ``report`` is not installed.
    """
    with extras_named():
        import altair as found
        import vl_convert as _  # noqa: F401
    return found


def values(rows: Rows) -> Any:
    """Make inline Altair data of rows."""
    return altair().Data(values=list(rows))


def figure_of(
    name: str, title: str, words: str, note: str, columns: Mapping[str, str], rows: Rows, chart: Any
) -> Figure:
    """Make a figure of an Altair chart, its texts and the rows that it shows.

    Args:
        name: what its file is called.
        title: says what is seen.
        words: what else is seen, for the description.
        note: how to read it.
        columns: heads of the table to fields of the rows.
        rows: what is drawn.
        chart: Altair's.
    """
    cells = tuple(tuple(row[field] for field in columns.values()) for row in rows)
    spec = finished(chart, title)
    return Figure(name, title, f"{title}. {words}", note, tuple(columns), cells, spec)


def finished(chart: Any, title: str) -> dict[str, Any]:
    """Give a chart our title, fonts and colours; return its Vega-Lite specification."""
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


def main_alone(files: Sequence[ScoreFile], main: str) -> Sequence[str]:
    """List the main measure alone, as measures that a page plots."""
    return (main,)


@dataclass(frozen=True)
class Plot:
    """A plot of score files.

    Attributes:
        name: as ``--plot`` takes it.
        shows: what it shows, in one line.
        needs: what score files must hold, for who asks for it without.
        make: called with score files, the best first, and the name of a measure; gives a figure, or
            None where the files do not hold what it shows.
        rank: place among the plots of a page, from the lowest.
        page_measures: called with score files and their main measure; gives the measures of which a
            page has the plot.
        write: writes what it shows in any format: (score files, format, title or None, measures or
            families) to the content of a file; None where it is a picture alone.
        of_cells: whether it shows scores of authorship benchmarks, whose pages have no other plots.
    """

    name: str
    shows: str
    needs: str
    make: Callable[[Sequence[ScoreFile], str], Figure | None]
    rank: int = 1000
    page_measures: Callable[[Sequence[ScoreFile], str], Sequence[str]] = main_alone
    of_cells: bool = False
    write: Callable[[Sequence[ScoreFile], str, str | None, Sequence[str]], bytes] | None = None
