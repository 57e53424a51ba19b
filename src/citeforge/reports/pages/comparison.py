"""A comparison of systems as an HTML page."""

from citeforge.reports.comparison import ComparisonReport
from citeforge.reports.pages.markup import render_markup
from citeforge.reports.tables import difference_tables


def comparison_page(comparison: ComparisonReport, home_url: str = "") -> str:
    """Write a comparison of systems as one HTML page that loads nothing else.

    Args:
        comparison: differences and notes.
        home_url: address of a list of pages that it leads back to; empty for none.
    """
    return render_markup(
        "comparison.html.j2", tables=difference_tables(comparison.differences, has_bold=True),
        note=comparison.explanation, notes=comparison.notes, signatures=comparison.signatures,
        home=home_url,
    )  # fmt: skip
