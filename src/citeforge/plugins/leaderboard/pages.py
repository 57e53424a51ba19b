"""Writes the pages of one benchmark: ranking, systems, queries, answers, definitions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment

from citeforge.engines.files import write_text
from citeforge.engines.shown import show_interval, show_number, show_value
from citeforge.evaluator.lines import Lines, find_lines
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.rows import controls_last, count_systems, named_rows
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.about import (
    Presentation,
    definition_link,
    definitions,
    introduction,
)
from citeforge.plugins.leaderboard.query_pages import query_pages
from citeforge.plugins.leaderboard.ranking import (
    View,
    about_rows,
    compact,
    explain_measures,
    later_data,
    make_views,
    slug,
)
from citeforge.reports.audited import describe_negatives, read_audit
from citeforge.reports.notes import SLICES_NOTE, caution_lines, line_notes, missing_lines
from citeforge.reports.pages.explorer import make_explorer
from citeforge.reports.pages.markup import page_templates, read_assets, script_json
from citeforge.reports.tables import slice_tables
from citeforge.schemas.audit import LINE
from citeforge.schemas.scores import MeasureScore, ScoreFile

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Site:
    """Counts of the systems and pages of a written site.

    Attributes:
        systems: number of distinct systems on all benchmarks.
        controls: number of distinct controls.
        queries: number of query pages.
        index_bytes: size of the first page in bytes.
    """

    systems: int
    controls: int
    queries: int
    index_bytes: int


def environment() -> Environment:
    """Make the Jinja environment of the templates: texts are escaped, undefined names refused."""
    templates = page_templates(TEMPLATES)
    templates.globals |= {
        "definition_link": definition_link, "show_value": show_value, "show_number": show_number,
        "show_interval": show_interval,
    }  # fmt: skip
    return templates


def write_assets(out: Path, *scripts: str) -> None:
    """Write the style sheet of a site's pages and some of its scripts into a folder."""
    style = (TEMPLATES / "site.css").read_text(encoding="utf-8")
    write_text(out / "site.css", read_assets("page.css") + style)
    for name in scripts:
        write_text(out / name, (TEMPLATES / name).read_text(encoding="utf-8"))


def write_pages(
    package: Package,
    files: Sequence[ScoreFile],
    out: Path,
    title: str | None,
    others: Sequence[tuple[str, str]] = (),
    about: Presentation | None = None,
) -> tuple[Site, list[View]]:
    """Write all pages of a benchmark into a folder: (counts of systems and queries, its rankings).

    Args:
        package: benchmark.
        files: its score files, whose whole content may be shown.
        out: folder.
        title: title of the pages; None for the benchmark's name.
        others: (title, folder) of all benchmarks of the site, whose first page is above ``out``;
            empty for a site of one benchmark.
        about: texts of the first page that override those of the package.
    """
    templates = environment()
    views = make_views(
        files, {name: c.description for name, c in package.manifest.contexts.items()}
    )
    site: dict[str, Any] = {
        "title": title or package.name,
        "benchmark": package.name,
        "hash": package.hash,
        "version": package.manifest.version,
        "kind": package.kind.name,
        "others": others,
        "folder": out.name,
        "is_hidden": any(f.gold == "withheld" for f in files),
    }
    write_assets(out, "site.js", "ranking.js", "viewer.js")
    site["answers"] = _write_answers_page(templates, site, files, out)
    pages = list(query_pages(package, {f.context for f in files}))
    slugs: set[str] = set()
    names = {p.id: slug(p.id, slugs) for p in pages}
    site["texts"] = {p.id: p.text for p in pages}
    audit = read_audit(package)
    lines = find_lines(files, audit)
    index = templates.get_template("index.html.j2").render(
        site=site, n_queries=len(pages), line=LINE if lines else "",
        data=script_json({"views": [compact(v, lines, len(pages)) for v in views], "line": LINE}),
        intro=introduction(package, about or Presentation(), files),
        measures=explain_measures(views),
        audit=describe_negatives(audit) if audit else [], cautions=caution_lines(files),
    )  # fmt: skip
    write_text(out / "index.html", index)
    for number, view in enumerate(views):
        text = json.dumps(later_data(view), separators=(",", ":"))
        write_text(out / f"more-{number}.js", f"citeforgeMore({number},{text});\n")
    _write_system_pages(templates, site, views, names, out, lines)
    template = templates.get_template("definitions.html.j2")
    write_text(out / "definitions.html", template.render(site=site, text=definitions()[0]))
    search = script_json([[names[p.id], p.id, p.text] for p in pages])
    template = templates.get_template("queries.html.j2")
    write_text(out / "queries.html", template.render(site=site, data=search, n=len(pages)))
    template = templates.get_template("query.html.j2")
    order = [names[p.id] for p in pages]
    scores = _scores_by_query(views)
    for at, page in enumerate(pages):
        text = template.render(
            site=site, page=page, scores=scores.get(page.id, []),
            before=order[at - 1] if at else None,
            after=order[at + 1] if at + 1 < len(order) else None,
        )  # fmt: skip
        write_text(out / "queries" / f"{names[page.id]}.html", text)
    return Site(*count_systems(files), len(pages), len(index.encode())), views


def _write_answers_page(
    templates: Environment, site: dict[str, Any], files: Sequence[ScoreFile], out: Path
) -> bool:
    """Write the page of all answers and its data; return False if no score file has answers.

    Args:
        site: facts about the site that every page's template takes.
    """
    answered = named_rows(controls_last([f for f in files if f.answers]))
    if not answered:
        return False
    explorer, beside = make_explorer(answered)
    page = templates.get_template("answers.html.j2").render(
        site=site | {"answers": True}, explorer=explorer
    )
    for name, content in {"answers.html": page, **beside}.items():
        write_text(out / name, content)
    return True


def _write_system_pages(
    templates: Environment,
    site: dict[str, Any],
    views: Sequence[View],
    names: dict[str, str],
    out: Path,
    lines: Lines,
) -> None:
    """Write a page for each system of each ranking of a benchmark.

    Args:
        site: facts about the site that every page's template takes.
        views: rankings.
        names: name of each query's page, by query id.
        out: folder of the benchmark's pages.
        lines: values of controls, below which a score shows nothing.
    """
    template = templates.get_template("system.html.j2")
    for view in views:
        for file, name in zip(view.files, view.slugs, strict=True):
            hardest = _hardest(file, view.main, names)
            text = template.render(
                site=site, file=file, view=view, hardest=hardest, measures=file.measures,
                about=about_rows(file),
                missing=missing_lines([file]),
                cautions=[*caution_lines([file]), *line_notes([file], lines)],
                slices=list(slice_tables([file])), slices_note=SLICES_NOTE,
            )  # fmt: skip
            write_text(out / "systems" / f"{name}.html", text)


def _hardest(file: ScoreFile, main: str, names: dict[str, str]) -> list[tuple[str, str, float]]:
    """List a system's 20 worst queries by the main measure: (name of its page, query, value).

    Args:
        names: name of each query's page, by query id.
    """
    entry = next((m for m in file.measures if m.name == main), None)
    if entry is None:
        return []
    values = [
        (v * entry.scale, q)
        for q, v in zip(file.query_ids, entry.per_query, strict=True)
        if v is not None and q in names
    ]
    return [(names[q], q, v) for v, q in sorted(values, reverse=direction(main) is False)[:20]]


def _rank_systems(view: View) -> list[tuple[int, MeasureScore]]:
    """Sort a ranking's systems by its main measure: (index, score), best first, controls last.

    Systems that were scored on other queries are left out.
    """
    rows = [
        (i, entry)
        for i, entry in enumerate(view.entries.get(view.main, []))
        if entry is not None and view.files[i].query_ids == view.files[0].query_ids
    ]
    towards = 1 if direction(view.main) is False else -1
    rows.sort(key=lambda r: (view.files[r[0]].is_control, towards * (r[1].value or 0.0)))
    return rows


def _scores_by_query(views: Sequence[View]) -> dict[str, list[tuple[str, str, str, str, float]]]:
    """Map queries to main scores, best first: (ranking, system, its page, measure, value).

    Returns:
        By query, a row per system of each ranking.
    """
    by_query: dict[str, list[tuple[str, str, str, str, float]]] = {}
    for view in views:
        best = _rank_systems(view)
        for at, query in enumerate(view.files[0].query_ids):
            rows = [
                (view.title, view.files[i].system, view.slugs[i], view.main, value * entry.scale)
                for i, entry in best
                if (value := entry.per_query[at]) is not None
            ]
            by_query.setdefault(query, []).extend(rows)
    return by_query
