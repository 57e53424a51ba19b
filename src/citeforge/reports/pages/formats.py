"""Write reports on scores, and comparisons, in the format that a file name or an option names."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType

from citeforge.engines.files import write_bytes, write_text
from citeforge.evaluator.compare import compare_many, parts_across
from citeforge.evaluator.lines import Lines, find_lines
from citeforge.evaluator.rows import controls_last, drop_signature_parts, named_rows, of_cells
from citeforge.evaluator.slices import with_slices
from citeforge.reports import csv, json, latex, markdown
from citeforge.reports.audited import audit_for, describe_negatives
from citeforge.reports.comparison import ComparisonReport, describe_comparison
from citeforge.reports.model import ScoreReport
from citeforge.reports.pages.choose import plot
from citeforge.reports.pages.comparison import comparison_page
from citeforge.reports.pages.names import MAIN_PLOT, PLOTS, ROBUSTNESS
from citeforge.reports.pages.page import page_report
from citeforge.reports.pages.robustness_report import write_robustness
from citeforge.reports.paper import PaperTable, paper_table
from citeforge.schemas.audit import Audit
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.recipes.command_options import CompareOptions, ReportOptions, TableOptions
from citeforge.schemas.scores import ScoreFile

TABLES: dict[str, Callable[[ScoreReport], str]] = {
    "md": markdown.write_scores,
    "json": json.write_scores,
    "csv": csv.write_scores,
    "latex": latex.write_scores,
}
"""Format to the function that writes scores as a plain table in it."""
PAPERS: dict[str, Callable[[PaperTable], str]] = {
    "md": markdown.write_paper, "latex": latex.write_paper, "csv": csv.write_paper,
}  # fmt: skip
"""Format to the function that writes a table for a paper in it."""
COMPARISONS: dict[str, Callable[[ComparisonReport], str]] = {
    "html": comparison_page,
    "md": markdown.write_comparison,
    "latex": latex.write_comparison,
    "csv": csv.write_comparison,
    "json": json.write_comparison,
}
"""Format to the function that writes a comparison in it."""
PICTURES = ("svg", "png", "pdf")
"""Formats that are one plot."""
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv",
           ".tex": "latex", **{f".{name}": name for name in PICTURES}}  # fmt: skip
"""Ending of a file name to the format of the report."""


def find_report_format(out: str | Path | None) -> str:
    """Look up the format of a report by its file name's ending; ``md`` if no file is named.

    Raises:
        UsageError: the name has no known ending.
    """
    if out is None:
        return "md"
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"{out}: a report cannot be written as {ending or 'a file without ending'!r}; "
            f"known: {', '.join(ENDINGS)}, or name the format",
            code="bad-option",
        )
    return ENDINGS[ending]


NEEDS_A_TABLE = (
    "--measures, --best, --against, --significance and --per-context need a table as output: "
    + ", ".join(PAPERS)
)
_FOR_AN_AUDIT = "--benchmark is for pages and Markdown"


def make_report(
    files: Sequence[ScoreFile], file_format: str, out: Path | None, options: ReportOptions
) -> tuple[bytes, int]:
    """Render a report, and write it to ``out`` if given: (report, number of files beside it).

    Args:
        files: score files.
        file_format: a key of :data:`TABLES`, ``html``, or one of :data:`PICTURES`.
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
    if file_format not in formats:
        raise UnknownValueError("format", file_format, formats)
    if out is None and file_format in ("png", "pdf"):
        raise UsageError(
            f"a picture ({file_format}) is written to a file: name it with --out",
            code="missing-option",
        )
    audit = None if options.benchmark is None else audit_for(options.benchmark, files)
    n_beside = 0
    if file_format in TABLES and not options.is_plot:
        content = _render_table(files, file_format, options, audit)
    elif file_format == "html" and not options.is_plot and options.is_plain:
        path, across = None if options.one_file else out, parts_across(options.across)
        content, n_beside = page_report(files, options.title, path, audit, across)
    else:
        content = _render_plot(files, file_format, options, audit)
    if out is not None:
        write_bytes(out, content)
    return content, n_beside


def _render_table(
    files: Sequence[ScoreFile], file_format: str, options: ReportOptions, audit: Audit | None
) -> bytes:
    """Render score files as a table, with bold or significance marks if options ask for them."""
    if options.title is not None:
        raise UsageError(
            "--title: a table has none; leave it out, or write --out PAGE.html",
            code="option-without-effect",
        )
    if audit is not None and file_format != "md":
        raise UsageError(_FOR_AN_AUDIT, code="option-without-effect")
    lines = find_lines(files, audit)
    if options.is_plain:
        content = render_table(file_format, files, parts_across(options.across), lines).encode()
    else:
        content = render_paper(file_format, files, options, lines).encode()
    if audit is not None:
        content += "".join(["\n", *(f"- {line}\n" for line in describe_negatives(audit))]).encode()
    return content


def _render_plot(
    files: Sequence[ScoreFile], file_format: str, options: ReportOptions, audit: Audit | None
) -> bytes:
    """Draw a plot as a picture; for ``--robustness`` write the robustness report in any format.

    Raises:
        UnknownValueError: no such plot, or no file has the measure.
        UsageError: an option or the format does not fit, or the files lack the data of the plot.
        MissingExtraError: the extra ``report`` is not installed.
    """
    if file_format in PICTURES and options.title is not None:
        raise UsageError(
            "--title is for pages; the title of a plot describes it", code="option-without-effect"
        )
    name = PLOTS.get(ROBUSTNESS if options.robustness else options.plot or MAIN_PLOT).name
    compared = drop_signature_parts(files, parts_across(options.across))
    if name == "robustness":
        if options.measure is not None or audit is not None or not options.is_measures_alone:
            raise UsageError(
                "--robustness takes --measures, --across and --title, and no others",
                code="conflicting-options",
            )
        return write_robustness(compared, file_format, options.title, options.measures)
    if not options.is_plain:
        raise UsageError(NEEDS_A_TABLE, code="conflicting-options")
    if file_format not in PICTURES:
        raise UsageError(
            f"--plot and --measure need a plot as output: {', '.join(PICTURES)}",
            code="option-without-effect",
        )
    if audit is not None:
        raise UsageError(_FOR_AN_AUDIT, code="option-without-effect")
    return plot(named_rows(controls_last(compared)), name, options.measure).content(file_format)


def render_table(
    file_format: str, files: Sequence[ScoreFile], across: Sequence[str] = (),
    lines_to_beat: Lines = MappingProxyType({}),
) -> str:  # fmt: skip
    """Write scores as a table in a format; mark values not above those of trivial systems."""
    return TABLES[file_format](ScoreReport(files, across, lines_to_beat))


def render_paper(
    file_format: str, files: Sequence[ScoreFile], options: TableOptions, lines_to_beat: Lines
) -> str:
    """Write a paper's table of scores in a format, with values to beat (of systems that copy).

    Raises:
        InputError: as :func:`paper_table`.
        UsageError: the format is not one of tables, or the scores are of authorship benchmarks.
    """
    if file_format not in PAPERS:
        raise UsageError(NEEDS_A_TABLE, code="conflicting-options")
    if of_cells(files):
        raise UsageError(
            "tables of cells take none of --measures, --best, --against, --significance and "
            "--per-context",
            code="wrong-kind",
        )
    return PAPERS[file_format](paper_table(files, options, lines_to_beat))


def compare_files(
    files: Sequence[ScoreFile], options: CompareOptions, out: Path | None
) -> ComparisonReport:
    """Compare the systems of score files; also write the comparison to a file if one is named.

    Args:
        files: score files.
        options: systems and measures to compare.
        out: file to write, whose ending names the format; None to write none.

    Raises:
        UsageError: there are fewer than two files, the ending is of no format of comparisons, or as
            :func:`~citeforge.evaluator.compare.compare_many`.
        UnknownValueError: no such system or measure.
        InputError: no pair can be compared.
    """
    if len(files) < 2:
        raise UsageError("compare needs the scores of at least two systems", code="too-few")
    if (file_format := find_report_format(out)) not in COMPARISONS:
        raise UsageError(
            f"{out}: a comparison is written as {', '.join(COMPARISONS)}", code="bad-option"
        )
    comparison = describe_comparison(
        compare_many(files, options.measures, options.against, options.across, options.by)
    )
    if out is not None:
        write_text(out, COMPARISONS[file_format](comparison))
    return comparison
