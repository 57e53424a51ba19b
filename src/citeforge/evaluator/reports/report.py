"""Reports: one self-contained HTML file, or tables for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, select_autoescape

from citeforge.builders.audit.records import Audit
from citeforge.engines.io.files import write_text
from citeforge.engines.io.folders import atomic_directory, files_below, is_temporary
from citeforge.engines.io.textfiles import harmless
from citeforge.evaluator.measures.authorship.page import render_authorship as authorship_page
from citeforge.evaluator.measures.authorship.tables import signature_lines, tables
from citeforge.evaluator.reports.audited import told_of_negatives
from citeforge.evaluator.reports.explorer.part import (
    INLINE,
    chunk_file,
    explorer_part,
    inlined,
    text_of,
)
from citeforge.evaluator.reports.latex import comment, tabular
from citeforge.evaluator.reports.missing import missing_lines
from citeforge.evaluator.reports.paper import PAPER, paper_table
from citeforge.evaluator.reports.plots.bias import of_cells
from citeforge.evaluator.reports.plots.choose import main_measure, plot
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.evaluator.reports.plots.files import DRAWN
from citeforge.evaluator.reports.plots.negatives import negatives_plot
from citeforge.evaluator.reports.plots.page import plots_part, script_json
from citeforge.evaluator.reports.rows import named_rows
from citeforge.evaluator.reports.table import corrected_cell, corrected_columns
from citeforge.evaluator.statistics.ranks import rank_text, ranks_by_measure
from citeforge.schemas.commands.command_options import TableOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import differing_parts
from citeforge.schemas.text import markdown_table


@dataclass(frozen=True)
class Page:
    """A report as a page.

    Attributes:
        html: the page.
        pieces: chunks of data that belong beside it, by name; none where the page holds them all.
    """

    html: str
    pieces: dict[str, Any]


def render_html(files: Sequence[ScoreFile], title: str | None = None) -> str:
    """One HTML file without any outside reference; data are embedded and shown as text only."""
    return render_page(files, title).html


def render_page(
    files: Sequence[ScoreFile],
    title: str | None = None,
    folder: str | None = None,
    audit: Audit | None = None,
) -> Page:
    """A report as a page without any outside reference; data are shown as text only.

    Args:
        files: score files.
        title: of the page; None for what it is about.
        folder: name of the folder beside the page that large data go to, in chunks; None to keep
            all in the page.
        audit: of the benchmark, told in a section of its own.
    """
    files = named_rows(files)
    environment = Environment(autoescape=select_autoescape(default=True))
    names = sorted({f.benchmark for f in files})
    subtitle = (
        f"{len(files)} system{'s' if len(files) > 1 else ''} on {', '.join(names)}, "
        + ("all cells" if of_cells(files) else "context ")
        + ("" if of_cells(files) else ", ".join(sorted({f.context for f in files})))
    )
    of_audit = None if audit is None else partial(_of_audit, audit)
    plots = plots_part(files, of_audit)
    explorer = explorer_part(files, main_measure(files), index_base(files))
    pieces: dict[str, Any] = {**explorer.pieces, **plots.tables}
    inside = inlined(pieces) if pieces else ""
    beside = folder is not None and len(inside) > INLINE
    html = environment.from_string(text_of("report.html.j2")).render(
        figures=plots.html, figures_css=plots.css, explorer=explorer.html,
        explorer_css=text_of("explorer.css"), chunks="" if beside else inside,
        folder=quote(folder) if folder and beside else "",
        scripts="\n".join(map(text_of, ("chunks.js", "figures.js", "explorer.js"))),
        title=title or f"Cited generation on {', '.join(names)}",
        subtitle=subtitle,
        data=script_json(_data(files)),
        authorship=authorship_page(files) if of_cells(files) else "",
        audit=told_of_negatives(audit) if audit else [],
    )  # fmt: skip
    return Page(html, pieces if beside else {})


def _of_audit(audit: Audit) -> list[Figure]:
    found = negatives_plot(audit)
    return [] if found is None else [found]


def write_page(
    out: Path,
    files: Sequence[ScoreFile],
    title: str | None,
    one_file: bool,
    audit: Audit | None = None,
) -> int:
    """Write a page, and its data in chunks beside it where they are large.

    Args:
        out: the page; chunks go to the folder ``NAME.data`` beside it.
        files: score files.
        title: of the page; None for what it is about.
        one_file: keep all in the page, whatever its size.
        audit: of the benchmark.

    Returns:
        Number of files beside it.

    Raises:
        InputError: the folder of the chunks holds something else.
    """
    folder = out.with_suffix(".data")
    page = render_page(files, title, None if one_file else folder.name, audit)
    if page.pieces:
        with atomic_directory(folder, _strangers) as made:
            for name, piece in page.pieces.items():
                write_text(made / f"{name}.js", chunk_file(name, piece))
    write_text(out, page.html)
    return len(page.pieces)


_CHUNK = re.compile(r"(?:[qgvfap]|csv)(?:-[^/]+)?\.js")


def _strangers(folder: Path) -> list[str]:
    """Files in the folder of a report's data that no report of ours put there."""
    return [
        name for name in files_below(folder)
        if (folder / name).is_symlink()
        or not (_CHUNK.fullmatch(name) or is_temporary(folder / name))
    ]  # fmt: skip


def _data(files: Sequence[ScoreFile]) -> dict[str, Any]:
    left_out: Any = {"answers": True, "query_ids": True, "design": True,
                "measures": {"__all__": {"per_query"}}}  # fmt: skip
    systems = [file.model_dump(mode="json", exclude=left_out) for file in files]
    several = len(files) > 1 and not of_cells(files)
    ranks = ranks_by_measure(files) if several else {}
    return {
        "systems": systems,
        "ranks": {name: [rank_text(r) if r else "" for r in row] for name, row in ranks.items()},
        "design": of_cells(files),
        "warnings": _unlike(files),
        "not_computed": missing_lines(files),
    }


def _unlike(files: Sequence[ScoreFile]) -> list[str]:
    """Measures whose signatures differ between systems, with the parts that differ."""
    known: dict[str, ScoreFile] = {}
    signatures: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for file in files:
        for measure in file.measures:
            if measure.name not in signatures:
                signatures[measure.name], known[measure.name] = measure.signature, file
                continue
            parts = differing_parts(signatures[measure.name], measure.signature)
            if parts:
                text = f"{known[measure.name].system} and {file.system}: {'; '.join(parts)}"
                found.setdefault(text, []).append(measure.name)
    return [f"{text} ({', '.join(names)})" for text, names in found.items()]


def index_base(files: Sequence[ScoreFile]) -> int:
    """Number of the first passage in marks, as signatures tell it."""
    for file in files:
        for measure in file.measures:
            for part in measure.signature.split("|"):
                if part.startswith("gram:0"):
                    return 0
    return 1


def _rows(files: Sequence[ScoreFile]) -> tuple[list[str], list[list[str]]]:
    names = list(dict.fromkeys(m.name for f in files for m in f.measures))
    columns = corrected_columns(files, names)
    rows = []
    for file in files:
        known = {m.name: m for m in file.measures}
        cells = [file.system]
        for name, head in columns:
            found = known.get(name)
            if head != name:
                cells.append(corrected_cell(found))
            elif found is None or found.value is None:
                cells.append("–")
            elif found.low is None or found.high is None:
                cells.append(f"{found.value:.2f}")
            else:
                cells.append(f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")
        rows.append(cells)
    return ["system", *(head for _, head in columns)], rows


def signatures(files: Sequence[ScoreFile]) -> list[str]:
    """Recipes of all scores, each once; corrected ones after the raw."""
    every = (
        signature
        for f in files
        for m in f.measures
        for signature in (m.signature, m.corrected.signature if m.corrected else m.signature)
    )
    return list(dict.fromkeys(every))


def render_markdown(files: Sequence[ScoreFile], title: str | None = None) -> str:
    """A Markdown table with the signatures beneath."""
    files = named_rows(files)
    missing = [f"- not computed: {line}" for line in missing_lines(files)]
    if of_cells(files):
        parts = [
            f"## {found.title}\n\n{found.note}\n\n{markdown_table(found.head, found.rows)}\n"
            for found in tables(files)
        ]
        return "\n".join([*parts, *(f"- `{s}`" for s in signature_lines(files)), *missing]) + "\n"
    table = markdown_table(*_rows(files))
    return "\n".join([table, "", *(f"- `{s}`" for s in signatures(files)), *missing]) + "\n"


def render_latex(files: Sequence[ScoreFile], title: str | None = None) -> str:
    """A tabular for booktabs, signatures as comments."""
    files = named_rows(files)
    if of_cells(files):
        parts = []
        for found in tables(files):
            parts += [comment(found.title), *tabular(found.head, found.rows, "l" * len(found.head))]
        return "\n".join([*parts, *map(comment, signature_lines(files))]) + "\n"
    head, rows = _rows(files)
    table = tabular(head, rows, "l" + "r" * (len(head) - 1))
    return "\n".join([*table, *map(comment, signatures(files))]) + "\n"


def render_csv(files: Sequence[ScoreFile], title: str | None = None) -> str:
    """One line for each system and measure, with its signature and the ranks that it may have; no
    cell starts a formula."""
    files = named_rows(files)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    corrected = any(m.corrected for f in files for m in f.measures)
    extra = ["corrected", "corrected_low", "corrected_high", "n_labels"] if corrected else []
    ranks = {} if of_cells(files) else ranks_by_measure(files)
    writer.writerow(["system", "measure", "value", "low", "high", "n", "signature", "rank_low",
                     "rank_high", *extra])  # fmt: skip
    for place, file in enumerate(files):
        for m in file.measures:
            numbers = (m.value, m.low, m.high, m.n)
            c = m.corrected
            more = [c.value, c.low, c.high, c.n_labels] if c else [None] * len(extra)
            row = [harmless(file.system), m.name, *numbers, harmless(m.signature)]
            rank = (ranks[m.name][place] if ranks else None) or (None, None)
            writer.writerow([*row, *rank, *more])
    return text.getvalue()


def render_json(files: Sequence[ScoreFile], title: str | None = None) -> str:
    """The score files as one list, without answers."""
    content = [f.model_dump(mode="json", exclude={"answers"}) for f in files]
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


RENDERERS: dict[str, Callable[[Sequence[ScoreFile], str | None], str]] = {
    "html": render_html,
    "md": render_markdown,
    "json": render_json,
    "csv": render_csv,
    "latex": render_latex,
}


def rendered(
    files: Sequence[ScoreFile], ending: str, title: str | None = None,
    plot_name: str | None = None, measure: str | None = None,
    table: TableOptions | None = None, audit: Audit | None = None,
) -> bytes:  # fmt: skip
    """A report in one of the formats.

    Args:
        files: score files.
        ending: a key of :data:`RENDERERS` or :data:`DRAWN`.
        title: of a page; None for what it is about.
        plot_name: for a plot, which; None for ``intervals``.
        measure: for a plot, of what; None for the main one.
        table: what a table for a paper shows; None for all, with intervals.
        audit: of the benchmark, for a page, Markdown, and the plot ``negatives``.

    Raises:
        UsageError: an option for another kind of file, or the files do not hold what it shows.
        MissingExtraError: a plot without the extra ``report``.
    """
    if table is not None and not table.is_plain:
        if ending not in PAPER:
            raise UsageError(
                "--columns, --best, --against, --significance and --per-context need a file that "
                f"is a table: {', '.join(PAPER)}"
            )
        if of_cells(files):
            raise UsageError("scores of cells have tables of their own; give no --columns etc.")
        return PAPER[ending](paper_table(files, table)).encode()
    if ending in DRAWN:
        if title is not None:
            raise UsageError("--title is a page's; a plot's title says what is seen")
        return DRAWN[ending](_plot(files, plot_name, measure, audit))
    if plot_name is not None or measure is not None:
        raise UsageError(f"--plot and --measure need a file that is a plot: {', '.join(DRAWN)}")
    if audit is None:
        return RENDERERS[ending](files, title).encode()
    if ending == "html":
        return render_page(files, title, audit=audit).html.encode()
    if ending != "md":
        raise UsageError("--benchmark is for pages, Markdown, and --plot negatives")
    lines = "\n".join(f"- {line}" for line in told_of_negatives(audit))
    return f"{render_markdown(files, title)}\n{lines}\n".encode()


def _plot(
    files: Sequence[ScoreFile], name: str | None, measure: str | None, audit: Audit | None
) -> Figure:
    if name != "negatives":
        if audit is not None:
            raise UsageError("--benchmark is for pages, Markdown, and --plot negatives")
        return plot(named_rows(files), name or "intervals", measure)
    if measure is not None:
        raise UsageError("--plot negatives shows no measure")
    if audit is None:
        raise UsageError("--plot negatives: name the benchmark with --benchmark")
    found = negatives_plot(audit)
    if found is None:
        raise UsageError(
            "--plot negatives: nobody labelled a sample of the benchmark's negatives (audit "
            "--labels)"
        )
    return found
