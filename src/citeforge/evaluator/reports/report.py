"""Reports: one self-contained HTML file, or tables for papers and spreadsheets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citeforge.builders.audit.records import Audit
from citeforge.engines.io.files import write_bytes, write_text
from citeforge.engines.io.folders import atomic_directory, files_below, is_temporary
from citeforge.engines.io.report_table import Table, comment
from citeforge.evaluator.measures.authorship.tables import signature_lines, tables
from citeforge.evaluator.reports.audited import audit_for, told_of_negatives
from citeforge.evaluator.reports.explorer.part import (
    INLINE,
    chunk_file,
    explorer_part,
    inlined,
)
from citeforge.evaluator.reports.markup import render_markup, script_json, text_of
from citeforge.evaluator.reports.missing import (
    caution_lines,
    is_trivial,
    missing_lines,
    variance_lines,
)
from citeforge.evaluator.reports.paper import PAPER, paper_table
from citeforge.evaluator.reports.plots.bias import of_cells
from citeforge.evaluator.reports.plots.choose import main_measure, plot, whole_report
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.evaluator.reports.plots.files import DRAWN
from citeforge.evaluator.reports.plots.negatives import negatives_plot
from citeforge.evaluator.reports.plots.page import plots_part
from citeforge.evaluator.reports.rows import (
    compared_across,
    named_rows,
    not_comparable,
    references_last,
)
from citeforge.evaluator.reports.table import scores_table
from citeforge.evaluator.statistics.compare import parts_across
from citeforge.evaluator.statistics.ranks import rank_text, ranks_by_measure
from citeforge.schemas.commands.command_options import ReportOptions, TableOptions
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.scores import ScoreFile


@dataclass(frozen=True)
class Page:
    """A report as a page.

    Attributes:
        html: the page.
        pieces: chunks of data that belong beside it, by name; none where the page holds them all.
    """

    html: str
    pieces: dict[str, Any]


def render_html(
    files: Sequence[ScoreFile], title: str | None = None, across: Sequence[str] = ()
) -> str:
    """One HTML file without any outside reference; data are embedded and shown as text only."""
    return render_page(files, title, across=across).html


def render_page(
    files: Sequence[ScoreFile], title: str | None = None, folder: str | None = None,
    audit: Audit | None = None, across: Sequence[str] = (),
) -> Page:  # fmt: skip
    """A report as a page without any outside reference; data are shown as text only.

    Args:
        files: score files.
        title: of the page; None for what it is about.
        folder: name of the folder beside the page that large data go to, in chunks; None to keep
            all in the page.
        audit: of the benchmark, told in a section of its own.
        across: prefixes of parts of signatures that ranks may reach across.
    """
    files = named_rows(references_last(files))
    alike = compared_across(files, across)
    names = sorted({f.benchmark for f in files})
    subtitle = (
        f"{len(files)} system{'s' if len(files) > 1 else ''} on {', '.join(names)}, "
        + ("all cells" if of_cells(files) else "context ")
        + ("" if of_cells(files) else ", ".join(sorted({f.context for f in files})))
    )
    of_audit = None if audit is None else partial(_of_audit, audit)
    plots = plots_part(alike, of_audit)
    explorer = explorer_part(files, main_measure(files), index_base(files))
    pieces: dict[str, Any] = {**explorer.pieces, **plots.tables}
    inside = inlined(pieces) if pieces else ""
    beside = folder is not None and len(inside) > INLINE
    cells = render_markup("authorship.html.j2", tables=tables(files)) if of_cells(files) else ""
    html = render_markup(
        "report.html.j2", figures=plots.html, figures_css=plots.css, explorer=explorer.html,
        explorer_css=text_of("explorer.css"), chunks="" if beside else inside,
        folder=quote(folder) if folder and beside else "",
        scripts="\n".join(map(text_of, ("chunks.js", "figures.js", "explorer.js"))),
        title=title or f"Cited generation on {', '.join(names)}",
        subtitle=subtitle,
        data=script_json(_data(files, alike)),
        authorship=cells,
        audit=told_of_negatives(audit) if audit else [],
    )  # fmt: skip
    return Page(html, pieces if beside else {})


def _of_audit(audit: Audit) -> list[Figure]:
    found = negatives_plot(audit)
    return [] if found is None else [found]


def write_page(
    out: Path, files: Sequence[ScoreFile], title: str | None, one_file: bool,
    audit: Audit | None = None, across: Sequence[str] = (),
) -> int:  # fmt: skip
    """Write a page, and its data in chunks beside it where they are large.

    Args:
        out: the page; chunks go to the folder ``NAME.data`` beside it.
        files: score files.
        title: of the page; None for what it is about.
        one_file: keep all in the page, whatever its size.
        audit: of the benchmark.
        across: keys of :data:`~citeforge.evaluator.statistics.compare.ACROSS`.

    Returns:
        Number of files beside it.

    Raises:
        UnknownValueError: ``across`` names no part of signatures.
        InputError: the folder of the chunks holds something else.
    """
    folder = out.with_suffix(".data")
    page = render_page(files, title, None if one_file else folder.name, audit, parts_across(across))
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


def _data(files: Sequence[ScoreFile], alike: Sequence[ScoreFile]) -> dict[str, Any]:
    """What the page's script draws; ranks are of ``alike``, which may lack parts of signatures."""
    left_out: Any = {"answers": True, "query_ids": True, "design": True,
                "measures": {"__all__": {"per_query", "variance"}}}  # fmt: skip
    systems = [file.model_dump(mode="json", exclude=left_out) for file in files]
    several = len(files) > 1 and not of_cells(files)
    ranks = ranks_by_measure(alike) if several else {}
    return {
        "systems": systems,
        "ranks": {
            name: [rank_text(r) if r else "" for r in row]
            for name, row in ranks.items()
            if sum(r is not None for r in row) > 1
        },
        "design": of_cells(files),
        "warnings": not_comparable(alike),
        "not_computed": missing_lines(files),
        "cautions": caution_lines(files) + variance_lines(files),
    }


def index_base(files: Sequence[ScoreFile]) -> int:
    """Number of the first passage in marks, as signatures tell it."""
    for file in files:
        for measure in file.measures:
            for part in measure.signature.split("|"):
                if part.startswith("gram:0"):
                    return 0
    return 1


def signatures(files: Sequence[ScoreFile]) -> list[str]:
    """Recipes of all scores, each once; corrected ones after the raw."""
    every = (
        signature
        for f in files
        for m in f.measures
        for signature in (m.signature, m.corrected.signature if m.corrected else m.signature)
    )
    return list(dict.fromkeys(every))


def _tables(files: Sequence[ScoreFile]) -> tuple[list[Table], list[str]]:
    """Tables of score files, and the recipes of their numbers."""
    if of_cells(files):
        return tables(files), signature_lines(files)
    return [scores_table(files, "system", has_sd=False)], signatures(files)


def render_markdown(
    files: Sequence[ScoreFile], title: str | None = None, across: Sequence[str] = ()
) -> str:
    """Markdown tables with the signatures beneath."""
    files = named_rows(references_last(files))
    parts, recipes = _tables(files)
    heads = [f"## {t.title}\n\n{t.notes[0]}\n\n" if t.title else "" for t in parts]
    texts = [f"{head}{t.markdown()}\n" for head, t in zip(heads, parts, strict=True)]
    missing = [f"- not computed: {line}" for line in missing_lines(files)]
    missing += [f"- {line}" for line in caution_lines(files) + variance_lines(files)]
    alike = compared_across(files, across)
    apart = [f"- not comparable: {line}" for line in not_comparable(alike)]
    return "\n".join([*texts, *(f"- `{s}`" for s in recipes), *missing, *apart]) + "\n"


def render_latex(
    files: Sequence[ScoreFile], title: str | None = None, across: Sequence[str] = ()
) -> str:
    """A tabular for booktabs, signatures as comments."""
    files = named_rows(references_last(files))
    parts, recipes = _tables(files)
    lines: list[str] = []
    for table in parts:
        lines += [comment(table.title)] if table.title else []
        lines += replace(table, notes=()).latex()
    recipes += caution_lines(files)
    alike = compared_across(files, across)
    apart = [comment(f"not comparable: {line}") for line in not_comparable(alike)]
    return "\n".join([*lines, *map(comment, recipes), *apart]) + "\n"


def render_csv(
    files: Sequence[ScoreFile], title: str | None = None, across: Sequence[str] = ()
) -> str:
    """One line for each system and measure, with its signature and the ranks that it may have; no
    cell starts a formula."""
    files = named_rows(references_last(files))
    corrected = any(m.corrected for f in files for m in f.measures)
    extra = ["corrected", "corrected_low", "corrected_high", "n_labels"] if corrected else []
    ranks = {} if of_cells(files) else ranks_by_measure(compared_across(files, across))
    head = ["system", "measure", "value", "low", "high", "n", "signature", "rank_low", "rank_high",
            "trivial"]  # fmt: skip
    rows: list[tuple[object, ...]] = []
    for place, file in enumerate(files):
        for m in file.measures:
            numbers = (m.value, m.low, m.high, m.n)
            c = m.corrected
            more = [c.value, c.low, c.high, c.n_labels] if c else [None] * len(extra)
            rank = (ranks[m.name][place] if ranks else None) or (None, None)
            trivial = int(is_trivial(file, m.name))
            rows.append((file.system, m.name, *numbers, m.signature, *rank, trivial, *more))
    return Table([*head, *extra], rows).csv()


def render_json(
    files: Sequence[ScoreFile], title: str | None = None, across: Sequence[str] = ()
) -> str:
    """The score files as one list, without answers."""
    content = [f.model_dump(mode="json", exclude={"answers"}) for f in files]
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


RENDERERS: dict[str, Callable[[Sequence[ScoreFile], str | None, Sequence[str]], str]] = {
    "html": render_html,
    "md": render_markdown,
    "json": render_json,
    "csv": render_csv,
    "latex": render_latex,
}


def make_report(
    files: Sequence[ScoreFile], form: str, out: Path | None, options: ReportOptions
) -> tuple[bytes, int]:
    """Render a report, and write it where a file is named.

    Args:
        files: score files.
        form: a key of :data:`RENDERERS` or :data:`DRAWN`.
        out: file to write; None to write none.
        options: what it shows.

    Returns:
        The report, and the number of files written beside it.

    Raises:
        UnknownValueError: no such format.
    """
    if form not in {**RENDERERS, **DRAWN}:
        raise UnknownValueError("format", form, [*RENDERERS, *DRAWN])
    title, measure = options.title, options.measure
    plot_name = "robustness" if options.robustness else options.plot
    audit = None if options.benchmark is None else audit_for(options.benchmark, files)
    if form == "html" and out is not None and options.is_plain and not (plot_name or measure):
        n_beside = write_page(out, files, title, options.one_file, audit, options.across)
        return out.read_bytes(), n_beside
    content = rendered(files, form, title, plot_name, measure, options, audit)
    if out is not None:
        write_bytes(out, content)
    return content, 0


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
        table: what a table for a paper shows, and across which parts of signatures systems may be
            ranked; None for all, with intervals.
        audit: of the benchmark, for a page, Markdown, and the plot ``negatives``.

    Raises:
        UsageError: an option for another kind of file, or the files do not hold what it shows.
        MissingExtraError: a plot without the extra ``report``.
    """
    if plot_name is not None and (written := whole_report(plot_name)) is not None:
        if measure is not None or audit is not None or (table and not table.is_measures_alone):
            raise UsageError(f"--{plot_name} takes --measures, --across and --title, and no others")
        names, across = (table.measures, table.across) if table is not None else ((), ())
        return written(compared_across(files, parts_across(across)), ending, title, names)
    if table is not None and not table.is_plain:
        if ending not in PAPER:
            raise UsageError(
                "--measures, --best, --against, --significance and --per-context need a file that "
                f"is a table: {', '.join(PAPER)}"
            )
        if of_cells(files):
            raise UsageError("scores of cells have tables of their own; give no --measures etc.")
        return PAPER[ending](paper_table(files, table)).encode()
    across = parts_across(table.across) if table is not None else ()
    if ending in DRAWN:
        if title is not None:
            raise UsageError("--title is a page's; a plot's title says what is seen")
        return DRAWN[ending](_plot(compared_across(files, across), plot_name, measure, audit))
    if plot_name is not None or measure is not None:
        raise UsageError(f"--plot and --measure need a file that is a plot: {', '.join(DRAWN)}")
    if ending == "html":
        return render_page(files, title, audit=audit, across=across).html.encode()
    if audit is None:
        return RENDERERS[ending](files, title, across).encode()
    if ending != "md":
        raise UsageError("--benchmark is for pages, Markdown, and --plot negatives")
    lines = "\n".join(f"- {line}" for line in told_of_negatives(audit))
    return f"{render_markdown(files, title, across)}\n{lines}\n".encode()


def _plot(
    files: Sequence[ScoreFile], name: str | None, measure: str | None, audit: Audit | None
) -> Figure:
    if name != "negatives":
        if audit is not None:
            raise UsageError("--benchmark is for pages, Markdown, and --plot negatives")
        return plot(named_rows(references_last(files)), name or "intervals", measure)
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
