"""What the plugin gives to the core, declared without its code."""

from collections.abc import Sequence
from pathlib import Path

from citeforge.evaluator.reports.report import Pages
from citeforge.schemas.benchmarks.audit import Audit
from citeforge.schemas.commands.command_options import ReportOptions
from citeforge.schemas.scores import ScoreFile


class PlotPages(Pages):
    """Pages and plots by Vega-Altair and vl-convert, and tables for papers."""

    def report(
        self, files: Sequence[ScoreFile], form: str, out: Path | None, options: ReportOptions,
        audit: Audit | None,
    ) -> tuple[bytes, int]:  # fmt: skip
        """See :class:`Pages`."""
        if not options.is_plain and not options.is_plot:
            from citeforge.plugins.plots.paper import paper_report

            return paper_report(files, form, options), 0
        from citeforge.plugins.plots.report import plot_report

        return plot_report(files, form, out, options, audit)

    def explorer(self, files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
        """See :class:`Pages`."""
        from citeforge.plugins.plots.explorer.chunks import explorer_site

        return explorer_site(files)


PAGES = PlotPages()
