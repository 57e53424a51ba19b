"""Write a report of score files in any format: as a table, a plot or a page."""

from collections.abc import Sequence
from pathlib import Path

from citeforge.engines.files import write_bytes
from citeforge.evaluator.compare import parts_across
from citeforge.evaluator.lines import find_lines
from citeforge.evaluator.rows import compared_across, controls_last, named_rows
from citeforge.evaluator.slices import with_slices
from citeforge.reports.audited import audit_for, describe_negatives
from citeforge.reports.formats import PICTURES, TABLES
from citeforge.reports.pages.choose import plot
from citeforge.reports.pages.names import MAIN_PLOT, PLOTS, ROBUSTNESS
from citeforge.reports.pages.page import page_report
from citeforge.reports.pages.paper import NEEDS_A_TABLE, paper_report
from citeforge.reports.pages.robustness_report import write_robustness
from citeforge.schemas.audit import Audit
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.recipes.command_options import ReportOptions
from citeforge.schemas.scores import ScoreFile

_FOR_AN_AUDIT = "--benchmark is for pages and Markdown"


def make_report(
    files: Sequence[ScoreFile], form: str, out: Path | None, options: ReportOptions
) -> tuple[bytes, int]:
    """Render score files as a report; also write it to a file if one is named.

    Args:
        files: score files.
        form: a key of :data:`TABLES`, ``html``, or one of :data:`PICTURES`.
        out: file to write, beside which large data of a page are written; None to write none.
        options: content and layout.

    Returns:
        The report, and the number of files written beside it.

    Raises:
        UnknownValueError: no such format.
        UsageError: an option is for another kind of file, the files lack the data, or a picture has
            no file.
        MissingExtraError: a plot without the extra ``report``.
    """
    files = with_slices(files, options.by)
    formats = (*TABLES, "html", *PICTURES)
    if form not in formats:
        raise UnknownValueError("format", form, formats)
    if out is None and form in ("png", "pdf"):
        raise UsageError(
            f"a picture ({form}) is written to a file: name it with --out", code="missing-option"
        )
    audit = None if options.benchmark is None else audit_for(options.benchmark, files)
    n_beside = 0
    if form in TABLES and not options.is_plot:
        content = _render_table(files, form, options, audit)
    elif form == "html" and not options.is_plot and options.is_plain:
        path, across = None if options.one_file else out, parts_across(options.across)
        content, n_beside = page_report(files, options.title, path, audit, across)
    else:
        content = _render_plot(files, form, options, audit)
    if out is not None:
        write_bytes(out, content)
    return content, n_beside


def _render_table(
    files: Sequence[ScoreFile], form: str, options: ReportOptions, audit: Audit | None
) -> bytes:
    """Render score files as a table, with bold or significance marks if options ask for them."""
    if options.title is not None:
        raise UsageError(
            "--title: a table has none; leave it out, or write --out PAGE.html",
            code="option-without-effect",
        )
    if audit is not None and form != "md":
        raise UsageError(_FOR_AN_AUDIT, code="option-without-effect")
    lines = find_lines(files, audit)
    if options.is_plain:
        content = TABLES[form](files, parts_across(options.across), lines).encode()
    else:
        content = paper_report(files, form, options, lines)
    if audit is not None:
        content += "".join(["\n", *(f"- {line}\n" for line in describe_negatives(audit))]).encode()
    return content


def _render_plot(
    files: Sequence[ScoreFile], form: str, options: ReportOptions, audit: Audit | None
) -> bytes:
    """Draw a plot as a picture; or write the report on robustness, in any format.

    Raises:
        UnknownValueError: no such plot, or no file has the measure.
        UsageError: an option or the format does not fit, or the files lack the data of the plot.
        MissingExtraError: the extra ``report`` is not installed.
    """
    if form in PICTURES and options.title is not None:
        raise UsageError(
            "--title is for pages; the title of a plot describes it", code="option-without-effect"
        )
    name = PLOTS.get(ROBUSTNESS if options.robustness else options.plot or MAIN_PLOT).name
    compared = compared_across(files, parts_across(options.across))
    if name == "robustness":
        if options.measure is not None or audit is not None or not options.is_measures_alone:
            raise UsageError(
                "--robustness takes --measures, --across and --title, and no others",
                code="conflicting-options",
            )
        return write_robustness(compared, form, options.title, options.measures)
    if not options.is_plain:
        raise UsageError(NEEDS_A_TABLE, code="conflicting-options")
    if form not in PICTURES:
        raise UsageError(
            f"--plot and --measure need a plot as output: {', '.join(PICTURES)}",
            code="option-without-effect",
        )
    if audit is not None:
        raise UsageError(_FOR_AN_AUDIT, code="option-without-effect")
    return plot(named_rows(controls_last(compared)), name, options.measure).content(form)
