"""``--robustness``: report of robustness as Markdown, LaTeX, CSV, JSON, page or figure."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from citeforge.engines.report_table import MarkedCell, Table, comment
from citeforge.engines.shown import DASH, show_number
from citeforge.reports.pages.charts import overlap_size, system_encodings
from citeforge.reports.pages.figure import Figure, altair, make_figure
from citeforge.reports.pages.forest_chart import forest
from citeforge.reports.pages.markup import plots_part, read_assets, render_markup, script_json
from citeforge.reports.pages.robustness import (
    Definition,
    Robustness,
    compare_definitions,
    headline,
)
from citeforge.schemas.scores import ScoreFile


def ranks_figure(result: Robustness) -> Figure:
    """Draw systems' ranks as lines over rows, one row per definition of citation quality."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {"definition": f"D{number} {one.name}", "order": number, "system": system, "rank": rank,
         "low": rank, "high": rank, "value": value,
         "size": overlap_size(one.ranks[at + 1 :].count(rank))}
        for number, one in enumerate(result.definitions, 1)
        for at, (system, rank, value)
        in enumerate(zip(result.systems, one.ranks, one.values, strict=True))
    ]  # fmt: skip
    plot = forest(rows, "definition", "rank", None)
    ticks = list(range(1, len(result.systems) + 1))
    x = alt.X(
        "rank:Q", title="rank (1 is the best)",
        axis=alt.Axis(values=ticks, format="d", orient="top"),
        scale=alt.Scale(domain=[0.7, len(ticks) + 0.3], nice=False, zero=False),
    )  # fmt: skip
    encodings = system_encodings(result.systems, result.systems, legend=True)
    lines = plot.base.mark_line(strokeWidth=1.5).encode(
        x=x, y=plot.y, color=encodings["color"], order=alt.Order("order:Q"), detail="system:N"
    )
    points = plot.base.mark_point(filled=True, opacity=1).encode(
        x=x, y=plot.y, size=alt.Size("size:Q", scale=None, legend=None), **encodings
    )
    title = headline(result)
    orders = [sorted(zip(d.ranks, result.systems, strict=True)) for d in result.definitions[:12]]
    words = "; ".join(
        f"{one.name}: {', '.join(system for _, system in order)}"
        for one, order in zip(result.definitions, orders, strict=False)
    )
    return make_figure(
        "robustness", title, f"From the best: {words}.",
        "One line per system, one row per definition. Lines cross where definitions disagree. "
        "Equal values share the mean of their places.",
        {"definition": "definition", "system": "system", "rank": "rank", "value": "value"},
        rows, plot.stack(lines, points),
    )  # fmt: skip


def summary_sentences(result: Robustness) -> Iterator[str]:
    """Write how many pairs of systems change order significantly, and how many never do."""
    alike = [p for p in result.pairs if not p.is_contradicted]
    certain = sum(p.is_contradicted and p.is_certain for p in result.pairs)
    if result.n_flips:
        yield (
            f"For {certain} of these pairs both orders are significant: one definition ranks the "
            "first system higher, another the second (paired t-tests over queries, Holm over the "
            "pairs of each definition)."
        )
    n = len(result.definitions)
    yield f"All {n} definitions order {len(alike)} of {len(result.pairs)} alike."


def explain_differing(result: Robustness) -> list[str]:
    """Write a line per definition of quality that orders pairs unlike most, with the reason."""
    odd = sorted(
        (i for i, n in enumerate(result.against) if n), key=lambda i: (-result.against[i], i)
    )
    return [
        f"D{i + 1} {result.definitions[i].name}: {result.against[i]} of {len(result.pairs)} pairs "
        f"the other way round than most. {result.definitions[i].why}"
        for i in odd
    ]


def ranks_table(result: Robustness) -> Table:
    """Make the table of all systems' ranks and values, a row per definition of quality."""
    rows = [
        [
            f"D{i + 1} {one.name}", one.aspect or DASH,
            *(_rank_cell(one, at) for at in range(len(result.systems))),
            show_number(result.mean_tau(i)), result.against[i],
        ]
        for i, one in enumerate(result.definitions)
    ]  # fmt: skip
    return Table(
        ["definition", "aspect", *result.systems, "mean tau", "against most"], rows, left=2,
        title="Ranks under each definition",
        notes=("Rank and, in brackets, value. Mean tau: Kendall's tau-b with the others. Against "
               "most: pairs of systems in another order than by most definitions.",),
    )  # fmt: skip


def _rank_cell(definition: Definition, system: int) -> MarkedCell:
    """Write the table cell of a system (its index): rank and value, the best rank in bold."""
    rank = definition.ranks[system]
    return MarkedCell(
        f"{rank:g} ({show_number(definition.values[system])})",
        is_bold=rank == min(definition.ranks),
    )


def pairs_table(result: Robustness) -> Table:
    """Make the table of system pairs, with counts of definitions per order, most disputed first."""
    rows = []
    for pair in result.pairs:
        order = "flips" if pair.is_contradicted else "alike" if pair.ahead else "level"
        certain = "yes" if pair.is_certain else "no"
        rows.append([f"{pair.first} > {pair.second}", pair.ahead, pair.behind, pair.level, order,
                     certain])  # fmt: skip
    return Table(
        ["pair", "say so", "say the reverse", "level", "order", "for certain"], rows,
        title="Pairs of systems",
        notes=("Numbers of definitions. For certain: where the order flips, both ways by some "
               "definition; else by all of them.",),
    )  # fmt: skip


def tau_table(result: Robustness) -> Table:
    """Make the table of Kendall's tau-b between definitions of citation quality."""
    names = [f"D{i + 1}" for i in range(len(result.definitions))]
    rows = [
        [name, *(show_number(t) for t in row)] for name, row in zip(names, result.tau, strict=True)
    ]
    return Table(
        ["", *names], rows, title="Kendall's tau-b between definitions",
        notes=("1: the same order; −1: the reverse.",),
    )  # fmt: skip


def _render(template: str, result: Robustness, title: str, **more: str) -> str:
    """Fill in a template of the robustness report: sentences, tables, signatures."""
    return render_markup(
        template, title=title, headline=headline(result), lines=list(summary_sentences(result)),
        tables=[make(result) for make in (ranks_table, pairs_table, tau_table)],
        odd=explain_differing(result), left_out=result.left_out,
        signatures=[d.signature for d in result.definitions], **more,
    )  # fmt: skip


def _write_latex(result: Robustness, title: str) -> str:
    """Write the robustness report's table of ranks as LaTeX, its sentences as comments."""
    lines = [title, headline(result), *summary_sentences(result), *explain_differing(result)]
    recipes = [f"D{i}: {d.signature}" for i, d in enumerate(result.definitions, 1)]
    table = ranks_table(result).latex()
    return "\n".join([*map(comment, lines), *table, *map(comment, recipes)]) + "\n"


def _write_csv(result: Robustness, title: str) -> str:
    """Write the systems' ranks as CSV, one line per definition of quality and system."""
    head = ("measure", "aspect", "protocol", "judge", "system", "rank", "value", "signature")
    rows = [
        (d.measure, d.aspect, d.protocol, d.judge, system, rank, value, d.signature)
        for d in result.definitions
        for system, rank, value in zip(result.systems, d.ranks, d.values, strict=True)
    ]
    return Table(head, rows).csv()


def _write_json(result: Robustness, title: str) -> str:
    """Write the whole robustness report as JSON; undefined values of tau become null."""
    content = asdict(result)
    content["tau"] = [[None if math.isnan(t) else t for t in row] for row in result.tau]
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _write_html(result: Robustness, title: str) -> str:
    """Write the robustness report as one HTML page that loads nothing from other sites."""
    plots = plots_part(map(ranks_figure, [result]))
    return _render(
        "robustness.html.j2", result, title, figures=plots.html, styles=plots.css,
        chunks=script_json(plots.tables), scripts=read_assets("chunks.js", "figures.js"),
    )  # fmt: skip


_WRITERS: dict[str, Callable[[Robustness, str], str]] = {
    "md": partial(_render, "robustness.md.j2"), "html": _write_html, "latex": _write_latex,
    "csv": _write_csv, "json": _write_json,
}  # fmt: skip


def write_robustness(
    files: Sequence[ScoreFile], file_format: str, title: str | None, measures: Sequence[str]
) -> bytes:
    """Compare how definitions of quality rank systems, and write that in a report format.

    Raises:
        UsageError: there are fewer than two systems or definitions to compare.
        InputError: the files are of several benchmarks, or contradict each other.
    """
    result = compare_definitions(files, measures)
    if file_format in _WRITERS:
        title = title or f"How robust is the ranking on {result.benchmark}?"
        return _WRITERS[file_format](result, title).encode()
    return ranks_figure(result).content(file_format)
