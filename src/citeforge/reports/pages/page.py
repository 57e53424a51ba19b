"""Reports as HTML pages: one file, or a file with chunks of data beside it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citeforge.engines.files import write_text
from citeforge.engines.folders import atomic_directory, files_below, is_temporary
from citeforge.engines.shown import ARROWS
from citeforge.evaluator.lines import find_lines, is_below
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.ranks import rank_text
from citeforge.reports.audited import describe_negatives
from citeforge.reports.model import ScoreReport
from citeforge.reports.notes import RANKS_NOTE, marked_name, scored_text
from citeforge.reports.pages.choose import page_figures
from citeforge.reports.pages.explorer import MOST_INLINE, chunk_script, explorer_part
from citeforge.reports.pages.markup import plots_part, read_assets, render_markup, script_json
from citeforge.schemas.audit import Audit
from citeforge.schemas.scores import ScoreFile


def page_report(
    files: Sequence[ScoreFile], title: str | None = None, out: Path | None = None,
    audit: Audit | None = None, across: Sequence[str] = (),
) -> tuple[bytes, int]:  # fmt: skip
    """Write a report as an HTML page that loads nothing from other sites: (page, number of files).

    Args:
        files: score files.
        title: title of the page; None to name the benchmarks.
        out: path of the page; large data are written in chunks to the folder ``NAME.data`` beside
            it. None to keep all data in the page.
        audit: audit of the benchmark, shown in its own section.
        across: prefixes of signature parts that may differ between ranked systems.

    Returns:
        The page, and the number of files beside it.

    Raises:
        InputError: the folder of the chunks contains other files.
    """
    scored, lines = scored_text(files), find_lines(files, audit)
    report = ScoreReport(files, across, lines)
    files = report.files
    names = sorted({f.benchmark for f in files})
    subtitle = (
        f"{scored} on {', '.join(names)}, "
        + ("all cells" if report.is_design else "context ")
        + ("" if report.is_design else ", ".join(sorted({f.context for f in files})))
    )
    plots = plots_part(page_figures(report.alike))
    explorer, chunks = explorer_part(files)
    pieces: dict[str, Any] = {**chunks, **plots.tables}
    inside = script_json(pieces) if pieces else ""
    folder = out.with_suffix(".data") if out is not None and len(inside) > MOST_INLINE else None
    cells = render_markup("authorship.html.j2", tables=report.tables) if report.is_design else ""
    html = render_markup(
        "report.html.j2", figures=plots.html, explorer=explorer,
        styles=plots.css + read_assets("explorer.css"), chunks="" if folder else inside,
        folder=quote(folder.name) if folder else "",
        scripts=read_assets("chunks.js", "figures.js", "explorer.js"),
        title=title or f"Cited generation on {', '.join(names)}",
        subtitle=subtitle,
        data=script_json(_script_data(report)),
        authorship=cells,
        audit=describe_negatives(audit) if audit else [],
    )  # fmt: skip
    if folder is None:
        return html.encode(), 0
    with atomic_directory(folder, _foreign_files) as made:
        for name, piece in pieces.items():
            write_text(made / f"{name}.js", chunk_script(name, piece))
    return html.encode(), len(pieces)


_CHUNK = re.compile(r"(?:[qgvfaps]|csv)(?:-[^/]+)?\.js")


def _foreign_files(folder: Path) -> list[str]:
    """List the files in a report's data folder that citeforge did not write."""
    return [
        name for name in files_below(folder)
        if (folder / name).is_symlink()
        or not (_CHUNK.fullmatch(name) or is_temporary(folder / name))
    ]  # fmt: skip


def _script_data(report: ScoreReport) -> dict[str, Any]:
    """Collect the data that a report page's script shows."""
    left_out: Any = {"answers": True, "query_ids": True, "design": True, "slices": True,
                "measures": {"__all__": {"per_query", "variance"}}}  # fmt: skip
    files = report.files
    ranks = report.ranks if len(files) > 1 else {}
    return {
        "systems": [file.model_dump(mode="json", exclude=left_out) for file in files],
        "ranks": {
            name: [rank_text(r) if r else "" for r in row]
            for name, row in ranks.items()
            if sum(r is not None for r in row) > 1
        },
        "ranks_note": RANKS_NOTE,
        "design": report.is_design,
        "warnings": report.not_comparable,
        "not_computed": report.not_computed,
        "scope": report.scope,
        "cautions": report.limits + report.line_notes,
        "below": [[m.name for m in f.measures if is_below(f, m, report.lines)] for f in files],
        "lines": report.line_rows,
        "definitions": [
            [marked_name(files, name), measure.definition, ARROWS[measure.higher_is_better]]
            for name in dict.fromkeys(name.partition("[")[0] for name in report.measures)
            if (measure := find_measure(name)) is not None
        ],
    }
