"""The plugin's interface to the core: pages, plots and tables for papers."""

from collections.abc import Sequence
from pathlib import Path

from citeforge.evaluator.compare import parts_across
from citeforge.evaluator.pages.choose import find_plot, plot
from citeforge.evaluator.pages.explorer import make_explorer
from citeforge.evaluator.pages.page import page_report
from citeforge.evaluator.pages.paper import NEEDS_A_TABLE, paper_report
from citeforge.evaluator.report import FOR_AN_AUDIT, PICTURES, Pages
from citeforge.evaluator.rows import compared_across, named_rows, references_last
from citeforge.schemas.audit import Audit
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.command_options import ReportOptions
from citeforge.schemas.scores import ScoreFile


class PlotPages(Pages):
    """Pages and plots by Vega-Altair and vl-convert, and tables for papers."""

    def report(
        self, files: Sequence[ScoreFile], form: str, out: Path | None, options: ReportOptions,
        audit: Audit | None,
    ) -> tuple[bytes, int]:  # fmt: skip
        """Write a report as a page, plot or table: (content, number of files beside it)."""
        if not options.is_plain and not options.is_plot:
            return paper_report(files, form, options), 0
        name, title, measure = options.plot, options.title, options.measure
        across = parts_across(options.across)
        if options.robustness:
            name = "robustness"
        if form in PICTURES and title is not None:
            raise UsageError(
                "--title is for pages; the title of a plot describes it",
                code="option-without-effect",
            )
        write = None if name is None else find_plot(name).write
        if write is not None:
            if measure is not None or audit is not None or not options.is_measures_alone:
                raise UsageError(
                    f"--{name} takes --measures, --across and --title, and no others",
                    code="conflicting-options",
                )
            return write(compared_across(files, across), form, title, options.measures), 0
        if not options.is_plain:
            raise UsageError(NEEDS_A_TABLE, code="conflicting-options")
        if form in PICTURES:
            if audit is not None:
                raise UsageError(FOR_AN_AUDIT, code="option-without-effect")
            systems = named_rows(references_last(compared_across(files, across)))
            return plot(systems, name or "intervals", measure).content(form), 0
        if name is not None or measure is not None:
            raise UsageError(
                f"--plot and --measure need a plot as output: {', '.join(PICTURES)}",
                code="option-without-effect",
            )
        return page_report(files, title, None if options.one_file else out, audit, across)

    def explorer(self, files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
        """Make the explorer of answers: (HTML, files beside the page by name)."""
        return make_explorer(files)


PAGES = PlotPages()
