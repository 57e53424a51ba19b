"""Output of ``citeforge reproduce``: text for the terminal, and HTML, Markdown and JSON files."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import msgspec
from jinja2 import Environment, StrictUndefined

from citeforge.engines.files import write_text
from citeforge.engines.markdown import markdown_text
from citeforge.engines.report_table import Table
from citeforge.plugins.reproduce.verdicts import CellVerdict, ComparedTable
from citeforge.schemas.errors import UsageError
from citeforge.schemas.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
VERDICTS: dict[CellVerdict, str] = {
    "equal": "equal to the printed digits",
    "explained": "explained",
    "not explained": "not explained",
    "needs outputs": "needs outputs that are not published",
    "needs a model": "needs a model that is not here",
    "not computed": "not computed: data or a package is missing",
}


def count_verdicts(tables: Sequence[ComparedTable]) -> dict[CellVerdict, int]:
    """Count the reproduced tables' cells by verdict, in the order of VERDICTS."""
    return {verdict: sum(t.count(verdict) for t in tables) for verdict in VERDICTS}


def format_summary(tables: Sequence[ComparedTable]) -> str:
    """Write in one line how many printed numbers of all tables have each verdict."""
    counts = ((v, n) for v, n in count_verdicts(tables).items() if n or v == "not explained")
    by_verdict = ", ".join(f"{n:,} {VERDICTS[verdict]}" for verdict, n in counts)
    n_in_files = sum(t.n_equal_in_files for t in tables)
    files = f"; of the equal ones, {n_in_files:,} are printed in files of results, not in a paper"
    all_cells = sum(len(t.cells) for t in tables)
    return f"{all_cells:,} printed numbers: {by_verdict}{files if n_in_files else ''}"


def format_table(table: ComparedTable) -> list[str]:
    """Format a reproduced table as lines for the terminal, with notes on differences below."""
    rows = [
        [
            cell.row,
            cell.column,
            VERDICTS[cell.verdict].partition(":")[0]
            + (f" [{table.note_number(cell.why)}]" if cell.why else ""),
            cell.printed,
            cell.ours_shown,
            cell.difference,
        ]
        for cell in table.cells
    ]
    head = ["row", "column", "verdict", "printed", "ours", "differs by"]
    declared, paper, repository = table.declared, table.declared.paper, table.declared.repository
    notes = [f"[{i}] {why}" for i, why in enumerate(table.notes, 1)]
    notes += [declared.note] if declared.note else []
    return [
        f"{declared.name}: {declared.title}",
        f"{paper.title} ({paper.venue}), {paper.table}; outputs: {repository.name} at "
        f"{repository.commit[:12]}, licence {repository.licence}",
        *(f"  {line}" for line in [*Table(head, rows, left=3).text(ruled=False), *notes]),
        "",
    ]


def require_format(path: Path) -> None:
    """Raise an error if a results file's ending is not .html, .md or .json.

    Raises:
        UsageError: the ending is not .html, .md or .json.
    """
    if path.suffix not in (".html", ".md", ".json"):
        raise UsageError(
            f"--out {path}: its name must end in .html, .md or .json", code="bad-option"
        )


def write_result(tables: Sequence[ComparedTable], path: Path) -> None:
    """Write all reproduced tables to an HTML, Markdown or JSON file, by its ending.

    Raises:
        UsageError: the ending is not .html, .md or .json.
        InputError: the file cannot be written.
    """
    require_format(path)
    if path.suffix == ".json":
        write_text(path, _to_json(tables))
        return
    environment = Environment(
        autoescape=path.suffix == ".html", undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["cell"] = markdown_text
    template = environment.from_string((TEMPLATES / f"page{path.suffix}.j2").read_text("utf-8"))
    page = template.render(
        tables=tables,
        totals=count_verdicts(tables),
        verdicts=VERDICTS,
        summary=format_summary(tables),
        version=__version__,
        today=date.today().isoformat(),
    )
    write_text(path, page.rstrip("\n") + "\n")


def _to_json(tables: Sequence[ComparedTable]) -> str:
    """Convert all reproduced tables, with their cells, to JSON text."""
    content = {
        "version": __version__,
        "date": date.today().isoformat(),
        "counts": count_verdicts(tables),
        "tables": [
            {
                "name": t.declared.name,
                "title": t.declared.title,
                "paper": t.declared.paper.model_dump(),
                "repository": t.declared.repository.model_dump(),
                "cells": [msgspec.to_builtins(cell) for cell in t.cells],
            }
            for t in tables
        ],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"
