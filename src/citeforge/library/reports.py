"""Score files in Python: compare systems, and report on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.engines.report_table import Displayed, Table
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.compare import Difference
from citeforge.evaluator.lines import find_lines
from citeforge.evaluator.rows import controls_last, named_rows
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.library.benchmarks import package_folder
from citeforge.library.scores import Scored, get_score_file, list_scores
from citeforge.package.package import Package
from citeforge.reports.notes import signature_notes
from citeforge.reports.pages.formats import compare_files, find_report_format, make_report
from citeforge.reports.tables import difference_tables, scores_table
from citeforge.reports.terminal import render_comparison
from citeforge.schemas.errors import InputError, UsageError, extras_named
from citeforge.schemas.recipes.base import make_record
from citeforge.schemas.recipes.command_options import CompareOptions, ReportOptions
from citeforge.schemas.scores import ScoreFile

if TYPE_CHECKING:
    import pandas


class Comparisons(Displayed, list[Difference]):
    """Paired differences of systems: a list of records, which ``pandas.DataFrame`` takes, too.

    ``str`` of it is what the command prints.

    Attributes:
        cautions: what to know before the differences are believed.
        scope: what was scored, a line per benchmark, context set and protocol.
        signatures: signatures of the scores.
    """

    def __init__(
        self, differences: Sequence[Difference] = (), cautions: Sequence[str] = (),
        scope: Sequence[str] = (), signatures: Sequence[str] = (),
    ):  # fmt: skip
        """Make a list of paired differences, with cautions about them.

        Args:
            differences: one per measure and pair of systems.
            cautions: what a reader should know before trusting them.
            scope: what all scores have in common: benchmark, context sets, numbers of queries.
            signatures: signatures of the measures.
        """
        super().__init__(differences)
        self.cautions, self.scope = list(cautions), list(scope)
        self.signatures = list(signatures)

    def __str__(self) -> str:
        """Return the comparison as the text that ``citeforge compare`` prints."""
        return render_comparison(self, [*self.scope, *self.cautions], self.signatures)

    def to_pandas(self) -> pandas.DataFrame:
        """Make a table with one row per difference; its ``attrs`` have the cautions."""
        with extras_named():
            import pandas

        frame = pandas.DataFrame(
            [asdict(d) for d in self], columns=[f.name for f in fields(Difference)]
        )
        frame.attrs["cautions"] = self.cautions
        return frame

    def _headline(self) -> str:
        """Count in one line the paired differences, and those significant after Holm."""
        n_clear = sum(d.p_holm < ALPHA for d in self)
        count = count_text(len(self), "difference")
        return f"{count}, {n_clear:,} of them with p < {ALPHA:g} after Holm"

    def _tables(self) -> Iterator[Table]:
        """Yield the tables of the differences, with cautions below the last one."""
        tables = [table for _, table in difference_tables(self, has_bold=True)]
        yield from tables[:-1]
        for last in tables[-1:]:
            signature = f"signature of the first measure: {self[0].signature}"
            yield replace(last, notes=[*last.notes, *self.cautions, signature])


def compare(
    *scores: Scored, out: str | Path | None = None, measures: Sequence[str] = (),
    against: str | None = None, across: Sequence[str] = (), by: Sequence[str] = (),
) -> Comparisons:  # fmt: skip
    """Compute paired differences of systems, measure by measure; as ``citeforge compare``.

    Args:
        scores: two or more, of the same benchmark and recipe.
        out: file to write: ``.html``, ``.md``, ``.tex``, ``.csv`` or ``.json``; None to write none.
        measures: names, names without their cell, or families; all when empty.
        against: system that all others are compared with; None for all pairs.
        across: parts of signatures that may differ, such as ``contexts``.
        by: fields whose slices are compared; the systems have to be scored by them.

    Raises:
        UsageError: fewer than two, no such system, measure or part, or another kind of file.
        InputError: their signatures differ in more than the system; the parts are named.
    """
    options = make_record(CompareOptions, measures=measures, against=against, across=across, by=by)
    path = None if out is None else Path(out)
    comparison = compare_files([get_score_file(s) for s in scores], options, path)
    if comparison.left_out:
        raise InputError(
            comparison.left_out[0], allowed="across=[…] with what may differ", code="not-comparable"
        )
    return Comparisons(
        comparison.differences, comparison.cautions, comparison.scope, comparison.signatures
    )


@dataclass(frozen=True, repr=False)
class Report(Displayed):
    """Report whose display in a notebook is its scores, not the whole page.

    Attributes:
        content: the report.
        form: its format: ``md``, ``html``, ``json``, ``csv``, ``latex``, ``svg``, ``png``, ``pdf``.
        files: score files that it is of.
        options: what it shows.
        path: file that it was written to; None where it was not.
    """

    content: bytes
    form: str
    files: Sequence[ScoreFile]
    options: ReportOptions
    path: Path | None = None

    @property
    def text(self) -> str:
        """Content of the report as text; an error for pictures.

        Raises:
            UsageError: it is a picture in bytes (``png``, ``pdf``).
        """
        if self.form in ("png", "pdf"):
            raise UsageError(f"a picture ({self.form}) is no text", code="wrong-type")
        return self.content.decode()

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file name's ending.

        Raises:
            UsageError: the ending says no format, or an option is for another one.
        """
        make_report(self.files, find_report_format(path), Path(path), self.options)

    def _headline(self) -> str:
        """Summarise the report in one line: systems, format and size."""
        systems = count_text(len({f.system for f in self.files}), "system")
        path = "" if self.path is None else f", {self.path}"
        return f"report on {systems}: {self.form}, {-(-len(self.content) // 1000):,} kB{path}"

    def _tables(self) -> Iterator[Table]:
        """Yield one table: the scores of the report's systems."""
        files, lines = named_rows(controls_last(self.files)), find_lines(self.files)
        table = scores_table(files, "system", has_sd=False, lines_to_beat=lines)
        yield replace(table.transposed(), notes=signature_notes(self.files))


@extras_named()
def report(
    scores: Scored | Sequence[Scored], out: str | Path | None = None, *,
    kind: str | None = None, title: str | None = None, one_file: bool = False,
    plot: str | None = None, measure: str | None = None,
    benchmark: Package | str | Path | None = None, measures: Sequence[str] = (),
    best: str = "none", against: str | None = None, significance: str | None = None,
    per_context: bool = False, across: Sequence[str] = (), robustness: bool = False,
    by: Sequence[str] = (),
) -> Report:  # fmt: skip
    """Make a report on one or several systems; as ``citeforge report``.

    Args:
        scores: of one or several systems.
        out: file to write; None to write none.
        kind: ``html``, ``md``, ``json``, ``csv`` or ``latex``, or a plot: ``svg``, ``png`` or
            ``pdf``; None for what the name of ``out`` says, else ``md``.
        title: title of a page.
        one_file: keep all data in a page; else those of many answers go to a folder beside it.
        plot: plot to draw in a file that is a plot; None for ``intervals``.
        measure: what a plot shows; None for the main measure.
        robustness: of several score files a system: how each definition of citation quality ranks
            the systems.
        benchmark: package whose audit is shown (pages, ``md``, and the plot ``negatives``).
        measures: columns of a table (``md``, ``latex``, ``csv``); all when empty.
        best: ``bold`` to mark the best values of a table.
        against: baseline of a table: systems that differ from it significantly are marked.
        significance: the mark.
        per_context: context sets stand beside each other, and a system in one row.
        across: parts of signatures that ranks and marks may reach across, such as ``contexts``.
        by: fields whose slices are shown; all by which the systems were scored when empty.

    Returns:
        The report: ``text``, ``save(path)`` for further formats, and a table in notebooks.

    Raises:
        UsageError: the ending of ``out`` says no format, or an option is for another one.
        MissingExtraError: a plot without the extra ``report``.
    """
    files = [get_score_file(one) for one in list_scores(scores)]
    if not files:
        raise UsageError("report needs the scores of at least one system", code="missing-option")
    form = kind or find_report_format(out)
    options = make_record(
        ReportOptions, title=title, one_file=one_file, plot=plot, measure=measure, best=best,
        benchmark=None if benchmark is None else package_folder(benchmark), measures=measures,
        against=against, significance=significance, per_context=per_context, across=across,
        robustness=robustness, by=by,
    )  # fmt: skip
    path = None if out is None else Path(out)
    content, _ = make_report(files, form, path, options)
    return Report(content, form, files, options, path)
