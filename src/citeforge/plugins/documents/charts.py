"""Read the charts of presentations as tables, with their titles."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from citeforge.engines.shown import show_significant

_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
"""Parts of a number's format that are text, colours or languages."""
_DATE = re.compile(r"[yd]|mmm", re.IGNORECASE)
"""Letters of a number's format that show a date."""
_FIRST_DAY, _END = 61, 2_958_466
"""Days that Excel counts as the calendar does: from March 1900 to the end of 9999."""


def read_chart(chart: Any) -> tuple[list[str], list[list[str]]]:
    """Read a PowerPoint chart: (its titles, table rows of its plots).

    A row of names comes first: the title of the category axis, and the series. Plots without
    categories, such as scatter plots, have no rows.
    """
    chart_xml = chart.element
    titles = map(_title_text, chart_xml.xpath("./c:chart/c:title | .//c:valAx/c:title"))
    of_categories = map(_title_text, chart_xml.xpath(".//c:catAx/c:title | .//c:dateAx/c:title"))
    corner = next(filter(None, of_categories), "")
    rows = [row for plot in chart.plots for row in _plot_rows(plot, chart_xml, corner)]
    return list(filter(None, titles)), rows


def _title_text(title: Any) -> str:
    """Get the text of a chart's or axis's title element."""
    return " ".join("".join(title.xpath(".//a:t/text() | .//c:v/text()")).split())


def _plot_rows(plot: Any, chart_xml: Any, corner_text: str) -> Iterator[list[str]]:
    """Yield a chart's plot as table rows: ``corner_text`` and series names, then categories."""
    labels = _category_labels(plot, chart_xml)
    if not labels:
        return
    columns = [labels, *map(_series_values, plot.series)]
    yield [corner_text, *(series.name for series in plot.series)]
    for n in sorted(set[int]().union(*columns)):
        yield [column.get(n, "") for column in columns]


def _series_values(series: Any) -> dict[int, str]:
    """Map category numbers to a chart series' values as text."""
    points = series._element.xpath("./c:val//c:pt")
    return {point.idx: _show_cell(point.v.text or "") for point in points}


def _category_labels(plot: Any, chart_xml: Any) -> dict[int, str]:
    """Map category numbers of a chart's plot to labels; nested labels are joined by commas."""
    categories = plot.categories
    labels = {
        category.idx: ", ".join(filter(None, path))
        for category, path in zip(categories, categories.flattened_labels, strict=True)
    }
    numbers = ".//c:cat/c:numRef/c:numCache"
    if not chart_xml.xpath(numbers):
        return labels
    codes = chart_xml.xpath(f"{numbers}/c:formatCode/text() | .//c:dateAx/c:numFmt/@formatCode")
    is_date = any(_DATE.search(_QUOTED.sub("", str(code))) for code in codes)
    since_1904 = bool(chart_xml.xpath("./c:date1904[not(@val='0' or @val='false')]"))
    return {n: _show_cell(text, is_date, since_1904) for n, text in labels.items()}


def _show_cell(text: str, is_date: bool = False, since_1904: bool = False) -> str:
    """Format a cached Excel value as text: a date, a number without exponent, or unchanged.

    A number has the 15 digits that Excel computes with.
    """
    try:
        value = float(text)
    except ValueError:  # #N/A
        return text
    days = value + 1462 * since_1904  # days from 1900 to 1904 by Excel's count
    if not is_date or not _FIRST_DAY <= days < _END:
        return f"{Decimal(show_significant(value, 15)):f}"
    moment = datetime(1899, 12, 30) + timedelta(seconds=round(days * 86_400))
    return moment.isoformat(" ") if days % 1 else moment.date().isoformat()
