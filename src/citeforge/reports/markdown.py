"""Reports as Markdown."""

from citeforge.engines.markdown import markdown_code, markdown_text
from citeforge.reports.comparison import ComparisonReport
from citeforge.reports.model import ScoreReport
from citeforge.reports.paper import PaperTable, lay_out
from citeforge.reports.tables import difference_tables
from citeforge.schemas.signature import joined_signatures


def write_scores(report: ScoreReport) -> str:
    """Write a report as Markdown: tables of scores, with notes and signatures below."""
    texts = []
    for table in report.tables:
        head = f"## {markdown_text(table.title)}\n\n{table.notes[0]}\n\n" if table.title else ""
        texts.append(f"{head}{table.markdown()}\n")
    texts += [f"## {markdown_text(t.title)}\n\n{t.markdown()}\n" for t in report.slices]
    items = [f"- {markdown_text(note)}" for note in report.notes]
    items += [f"- {markdown_code(signature)}" for signature in report.signatures]
    return "\n".join([*texts, *items]) + "\n"


def write_comparison(comparison: ComparisonReport) -> str:
    """Write a comparison of systems as Markdown, with a table per pair."""
    parts = [comparison.explanation]
    for _, table in difference_tables(comparison.differences):
        title = table.title + "".join(f" ({note})" for note in table.notes)
        parts += [f"## {markdown_text(title)}", table.markdown()]
    foot = [f"- {markdown_text(note)}" for note in comparison.notes]
    foot += [f"- {markdown_code(signature)}" for signature in comparison.signatures]
    return "\n\n".join([*parts, "\n".join(foot)]) + "\n"


def write_paper(table: PaperTable) -> str:
    """Write a paper's table as Markdown, with notes and signatures below it."""
    notes = [line for note in table.notes for line in ("", markdown_text(note))]
    lines = [f"- {markdown_code(s)}" for s in joined_signatures(table.signatures)]
    return "\n".join([lay_out(table).markdown(), *notes, "", *lines]) + "\n"
