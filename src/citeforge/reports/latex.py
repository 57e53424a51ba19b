"""Reports as LaTeX tables for booktabs."""

from dataclasses import replace

from citeforge.engines.report_table import comment
from citeforge.reports.comparison import ComparisonReport
from citeforge.reports.model import ScoreReport
from citeforge.reports.paper import PaperTable, lay_out
from citeforge.reports.tables import difference_tables
from citeforge.schemas.signature import joined_signatures


def write_scores(report: ScoreReport) -> str:
    """Write a report as LaTeX: tables of scores, with notes and signatures as comments."""
    texts: list[str] = []
    for table in report.tables:
        texts += [comment(table.title)] if table.title else []
        texts += replace(table, notes=()).latex()
    for table in report.slices:
        texts += [comment(table.title), *table.latex()]
    return "\n".join([*texts, *map(comment, report.notes + report.signatures)]) + "\n"


def write_comparison(comparison: ComparisonReport) -> str:
    """Write a comparison of systems as LaTeX tables, one per pair; notes are comments."""
    lines = [comment(comparison.explanation)]
    for _, table in difference_tables(comparison.differences):
        heading = comment(" ".join([table.title, *table.notes]))
        lines += [heading, *replace(table, notes=()).latex()]
    foot = map(comment, [*comparison.notes, *comparison.signatures])
    return "\n".join([*lines, *foot]) + "\n"


def write_paper(table: PaperTable) -> str:
    """Write a paper's table as LaTeX: context sets above their columns, notes as comments."""
    recipes = map(comment, joined_signatures(table.signatures))
    return "\n".join([*lay_out(table).latex(), *recipes]) + "\n"
