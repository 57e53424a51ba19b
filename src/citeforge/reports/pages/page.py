"""Reports as HTML pages: one file, or a file with chunks of data beside it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citeforge.engines.files import write_text
from citeforge.engines.folders import atomic_directory, files_below, is_temporary
from citeforge.engines.shown import ARROWS, DASH, DIGITS, show_number, show_value
from citeforge.evaluator.lines import find_lines
from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.ranks import rank_text
from citeforge.reports.audited import describe_negatives
from citeforge.reports.model import ScoreReport, ScoreRow
from citeforge.reports.notes import RANKS_NOTE, marked_name, scored_text
from citeforge.reports.pages.choose import page_figures
from citeforge.reports.pages.explorer import MOST_INLINE, chunk_script, explorer_part
from citeforge.reports.pages.markup import (
    PlotPart,
    plots_part,
    read_assets,
    render_markup,
    script_json,
)
from citeforge.reports.tables import counts_table
from citeforge.schemas.audit import BELOW, Audit
from citeforge.schemas.scores import ScoreFile


def page_report(
    files: Sequence[ScoreFile], title: str | None = None, out: Path | None = None,
    audit: Audit | None = None, across: Sequence[str] = (), home_url: str = "",
    has_plots: bool = True,
) -> tuple[bytes, int]:  # fmt: skip
    """Write a report as an HTML page that loads no other site: (page, number of other files).

    Args:
        files: score files.
        title: title of the page; None to name the benchmarks.
        out: path of the page; large data are written in chunks to the folder ``NAME.data`` beside
            it. None to keep all data in the page.
        audit: audit of the benchmark, shown in its own section.
        across: prefixes of signature parts that may differ between ranked systems.
        home_url: address of a list of pages that it leads back to; empty for none.
        has_plots: whether plots are drawn, or what they need is named.

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
    plots = plots_part(page_figures(report.alike)) if has_plots else PlotPart("", "", {})
    explorer, chunks = explorer_part(files)
    pieces: dict[str, Any] = {**chunks, **plots.tables}
    inside = script_json(pieces) if pieces else ""
    folder = out.with_suffix(".data") if out is not None and len(inside) > MOST_INLINE else None
    cells = render_markup("authorship.html.j2", tables=report.tables) if report.is_design else ""
    html = render_markup(
        "report.html.j2", figures=plots.html, explorer=explorer,
        styles=plots.css + read_assets("explorer.css"), chunks="" if folder else inside,
        folder=quote(folder.name) if folder else "",
        scripts=read_assets("figures_shown.js", "chunks.js", "figures.js", "explorer.js"),
        home=home_url,
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
    files = report.files
    ranked = {
        name
        for name, ranks in report.ranks.items()
        if len(files) > 1 and sum(r is not None for r in ranks) > 1
    }
    counts = counts_table(files)
    arrows = {name: ARROWS[direction(name)] for name in report.measures}
    return {
        "systems": [[file.system, file.is_control] for file in files],
        "titles": [f"{name} {arrow}".rstrip() for name, arrow in arrows.items()],
        "cells": [
            [_script_cell(report.by_measure[name][at], name in ranked) for name in report.measures]
            for at in range(0 if report.is_design else len(files))
        ],
        "counts": [counts.head, counts.rows, counts.notes],
        "signatures": report.signatures,
        "ranks_note": RANKS_NOTE if ranked else "",
        "design": report.is_design,
        "warnings": report.not_comparable,
        "not_computed": report.not_computed,
        "scope": report.scope,
        "cautions": report.limits + report.line_notes,
        "lines": report.line_rows,
        "definitions": [
            [marked_name(files, name), measure.definition, ARROWS[measure.higher_is_better]]
            for name in dict.fromkeys(name.partition("[")[0] for name in report.measures)
            if (measure := find_measure(name)) is not None
        ],
    }


def _script_cell(row: ScoreRow | None, is_ranked: bool) -> list[object]:
    """Make a cell of a report page's table: (value to sort by, text, lines in small print)."""
    if row is None:
        return [None, DASH, []]
    score, right = row.score, row.score.corrected
    small = []
    if score.low is not None:
        small.append(_ends(score.low, score.high, score.n_digits))
    if is_ranked and row.ranks is not None:
        small.append(f"rank {rank_text(row.ranks)}")
    if score.upper_bound is not None:
        small.append(f"bounds {_ends(score.lower_bound, score.upper_bound)}")
    if right is not None and right.value is not None:
        labels = f", {right.n_labels:,} labels" if right.n_labels else ""
        ends = _ends(right.low, right.high)
        small.append(f"corrected {show_number(right.value)} ({ends}), {right.method}{labels}")
    return [score.value, show_value(score) + f" {BELOW}" * row.is_below, small]


def _ends(low: float | None, high: float | None, digits: int = DIGITS) -> str:
    """Write the ends of an interval as ``low – high``."""
    return f"{show_number(low, digits)} – {show_number(high, digits)}"
