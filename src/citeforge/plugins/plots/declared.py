"""What the plugin gives to the core, declared without its code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from citeforge.evaluator.reports.pages import PICTURES, Pages, Shares
from citeforge.schemas.benchmarks.audit import Audit
from citeforge.schemas.commands.command_options import ReportOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.extras import require
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
        from citeforge.plugins.plots.drawing import start_drawing

        start_drawing()  # while the other modules load
        from citeforge.plugins.plots.report import plot_report

        return plot_report(files, form, out, options, audit)

    def explorer(self, files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
        """See :class:`Pages`."""
        from citeforge.plugins.plots.explorer.part import explorer_site

        return explorer_site(files)

    def judge_plot(self, out: Path) -> Callable[[Mapping[str, Shares], str], None]:
        """See :class:`Pages`."""
        form = out.suffix.lower().removeprefix(".")
        if form not in (*PICTURES, "csv"):
            endings = ", ".join(f".{name}" for name in (*PICTURES, "csv"))
            raise UsageError(f"{out}: a plot is written as {endings}")
        for module in ("altair", "vl_convert"):
            require(module)

        def write(shares: Mapping[str, Shares], judge: str) -> None:
            from citeforge.engines.io.files import write_bytes
            from citeforge.plugins.plots.charts.people import judges_and_people

            write_bytes(out, judges_and_people(shares, judge).content(form))

        return write


PAGES = PlotPages()
