"""Formats of reports; and pages, plots and tables for papers, which a plugin makes: what the core
asks of it."""

from collections.abc import Sequence
from pathlib import Path

from citeforge.engines import plugins
from citeforge.schemas.benchmarks.audit import Audit
from citeforge.schemas.commands.command_options import ReportOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import ScoreFile

PICTURES = ("svg", "png", "pdf")
"""Formats that are one plot."""
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv",
           ".tex": "latex", **{f".{name}": name for name in PICTURES}}  # fmt: skip
"""Ending of a file name to the format that it asks for."""


def format_of(out: str | Path | None) -> str:
    """Format that a file name asks for; ``md`` without a file.

    Raises:
        UsageError: the name has no known ending.
    """
    if out is None:
        return "md"
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"{out}: a report cannot be written as {ending or 'a file without ending'!r}; "
            f"known: {', '.join(ENDINGS)}, or name the format"
        )
    return ENDINGS[ending]


class Pages:
    """What makes pages and plots: entry ``pages`` of the group ``citeforge.reports``.

    This one makes none: it stands in copies that lack the plugin.
    """

    def report(
        self, files: Sequence[ScoreFile], form: str, out: Path | None, options: ReportOptions,
        audit: Audit | None,
    ) -> tuple[bytes, int]:  # fmt: skip
        """A page, a plot, a plot's own report in any format, or a table with marks.

        Args:
            files: score files.
            form: of the file.
            out: beside which a page's data go where they are large; None to keep all in it.
            options: what it shows.
            audit: of the benchmark.

        Returns:
            Content of the file, and the number of files written beside it.

        Raises:
            UsageError: an option for another kind of file, or the files do not hold what it shows.
            InputError: this copy lacks the plugin.
            MissingExtraError: a plot without the extra ``report``.
        """
        what = f"reports as {form}" if options.is_plain else "tables for papers"
        raise plugins.absent_plugin(what)

    def explorer(self, files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
        """All answers, to be filtered and compared in a page.

        Returns:
            A part of a page, and what lies beside the page, file name to content; empty where this
            copy lacks the plugin.
        """
        return "", {}


def find_pages() -> Pages:
    """What makes pages and plots in this copy.

    Raises:
        InputError: the plugin that should make them is broken.
    """
    return plugins.find_typed("reports", "pages", Pages, "pages") or Pages()
