"""Comparison of two packages in every format of reports."""

from collections.abc import Callable
from pathlib import Path

from citeforge.engines.files import write_text
from citeforge.engines.markdown import markdown_text
from citeforge.engines.report_table import Table, comment
from citeforge.reports.package_changes import TITLE, list_changes, list_notes, summary_tables
from citeforge.reports.pages.formats import find_report_format
from citeforge.reports.pages.markup import render_markup
from citeforge.schemas.errors import UsageError
from citeforge.schemas.package_changes import PackageChanges


def changes_page(changes: PackageChanges) -> str:
    """Write a comparison of packages as one HTML page that loads nothing else."""
    return render_markup(
        "package_changes.html.j2", changes=changes, tables=list(summary_tables(changes)),
        notes=list_notes(changes),
    )  # fmt: skip


def _markdown(changes: PackageChanges) -> str:
    """Write a comparison of packages as Markdown."""
    parts = [f"# {markdown_text(TITLE.format(old=changes.old, new=changes.new))}"]
    for table in summary_tables(changes):
        parts += [f"## {markdown_text(table.title)}", table.markdown()]
    notes = [f"- {markdown_text(note)}" for note in list_notes(changes)]
    return "\n\n".join([*parts, *["\n".join(notes)] * bool(notes)]) + "\n"


def _latex(changes: PackageChanges) -> str:
    """Write a comparison of packages as LaTeX tables; notes are comments."""
    lines = [comment(TITLE.format(old=changes.old, new=changes.new))]
    for table in summary_tables(changes):
        lines += [comment(table.title), *table.latex()]
    return "\n".join([*lines, *map(comment, list_notes(changes))]) + "\n"


def _csv(changes: PackageChanges) -> str:
    """Write a comparison of packages as CSV, a line per row that differs."""
    rows = [(what, change, name) for what, change, names in list_changes(changes) for name in names]
    for one in changes.answers:
        rows += [(f"answers {one.context}", "as shown", query) for query in one.as_shown]
        rows += [
            (f"answers {one.context}", reason, query)
            for reason, queries in one.changed.items()
            for query in queries
        ]
    return Table(["table", "change", "name"], rows).csv()


def _json(changes: PackageChanges) -> str:
    """Write a comparison of packages as a JSON object with the ids of all changed rows."""
    return changes.model_dump_json(indent=1) + "\n"


PACKAGE_CHANGES: dict[str, Callable[[PackageChanges], str]] = {
    "html": changes_page, "md": _markdown, "latex": _latex, "csv": _csv, "json": _json,
}  # fmt: skip
"""Format to the function that writes a comparison of two packages in it."""


def find_changes_format(out: Path) -> str:
    """Look up the format of a comparison of packages by the ending of its file.

    Raises:
        UsageError: it is not written in such a format.
    """
    file_format = find_report_format(out)
    if file_format not in PACKAGE_CHANGES:
        raise UsageError(
            f"{out}: a comparison of packages is written as {', '.join(PACKAGE_CHANGES)}",
            code="bad-option",
        )
    return file_format


def write_changes(changes: PackageChanges, out: Path) -> None:
    """Write a comparison of packages to a file, in the format that its ending names."""
    write_text(out, PACKAGE_CHANGES[find_changes_format(out)](changes))
