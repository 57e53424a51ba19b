"""Writes the pages of one benchmark: ranking, systems, queries, answers, definitions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment

from citeforge.engines.files import write_text
from citeforge.engines.shown import show_interval, show_number, show_value
from citeforge.evaluator.lines import find_lines
from citeforge.evaluator.rows import controls_last, count_systems, named_rows
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.about import (
    Presentation,
    definition_link,
    definitions,
    introduction,
)
from citeforge.plugins.leaderboard.ranking import (
    explain_measures,
    list_facts,
    make_rank_data,
    make_ranking_data,
)
from citeforge.plugins.leaderboard.views import View, make_views, slug
from citeforge.reports.audited import describe_negatives, read_audit
from citeforge.reports.model import ScoreReport
from citeforge.reports.notes import (
    LINE_NOTE,
    RANKS_NOTE,
    SLICES_NOTE,
    caution_lines,
    missing_text,
    rounding_lines,
)
from citeforge.reports.pages.explorer import make_explorer
from citeforge.reports.pages.markup import page_templates, read_assets, script_json
from citeforge.reports.pages.query_pages import query_pages
from citeforge.reports.tables import counts_table
from citeforge.schemas.audit import BELOW, LINE
from citeforge.schemas.outputs import LeaderboardResult, TakenSubmission
from citeforge.schemas.scores import ScoreFile

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


def describe_site(
    folder: Path, site: Site | None, refused: Sequence[str],
    submissions: Sequence[TakenSubmission] = (),
) -> LeaderboardResult:  # fmt: skip
    """Make the result that ``--json`` prints, of a site in a folder; None if none was built."""
    return LeaderboardResult(
        index=None if site is None else str(folder / "index.html"),
        submissions=tuple(submissions), refused=tuple(refused),
        **({} if site is None else asdict(site)),
    )  # fmt: skip


def environment() -> Environment:
    """Make the Jinja environment of a leaderboard's templates: it escapes texts."""
    templates = page_templates(TEMPLATES)
    templates.globals |= {
        "definition_link": definition_link, "show_value": show_value, "show_number": show_number,
        "show_interval": show_interval,
    }  # fmt: skip
    return templates


def write_assets(out: Path, *scripts: str) -> None:
    """Write the style sheet of a leaderboard's pages, and scripts by file name, into a folder."""
    write_text(out / "figures_shown.js", read_assets("figures_shown.js"))
    style = (TEMPLATES / "site.css").read_text(encoding="utf-8")
    write_text(out / "site.css", read_assets("page.css", "query.css") + style)
    for name in scripts:
        write_text(out / name, (TEMPLATES / name).read_text(encoding="utf-8"))


def write_pages(
    package: Package,
    files: Sequence[ScoreFile],
    out: Path,
    title: str | None,
    links: Sequence[tuple[str, str]] = (),
    about: Presentation | None = None,
) -> tuple[Site, list[View]]:
    """Write a benchmark's leaderboard pages with links to others: (counts, its rankings).

    Args:
        package: benchmark.
        files: its score files, whose whole content may be shown.
        out: folder.
        title: title of the pages; None for the benchmark's name.
        links: (title, folder) of all benchmarks of the site, whose first page is above ``out``;
            empty for a site of one benchmark.
        about: texts of the first page that override those of the package.
    """
    templates = environment()
    audit = read_audit(package)
    lines = find_lines(files, audit)
    contexts = {name: c.description for name, c in package.manifest.contexts.items()}
    views = make_views(files, contexts, lines)
    site: dict[str, Any] = {
        "title": title or package.name,
        "benchmark": package.name,
        "hash": package.manifest.answer_hash,
        "public_hash": package.hash,
        "version": package.manifest.version,
        "kind": package.kind.name,
        "others": links,
        "folder": out.name,
    }
    write_assets(out, "site.js", "ranking.js", "viewer.js")
    site["answers"] = _write_answers_page(templates, site, files, out)
    pages = list(query_pages(package, {f.context for f in files}))
    slugs: set[str] = set()
    names = {p.id: slug(p.id, slugs) for p in pages}
    site["texts"] = {p.id: p.text for p in pages}
    index = templates.get_template("index.html.j2").render(
        site=site, rounding=rounding_lines(files), ranks_note=RANKS_NOTE,
        line_note=LINE_NOTE if lines else "",
        data=script_json(
            {
                "views": [make_ranking_data(v, len(pages)) for v in views],
                "line": LINE, "below": BELOW,
            }
        ),
        intro=introduction(package, about or Presentation(), files),
        measures=explain_measures(views),
        audit=describe_negatives(audit) if audit else [], cautions=caution_lines(files),
    )  # fmt: skip
    write_text(out / "index.html", index)
    for number, view in enumerate(views):
        text = json.dumps(make_rank_data(view, view.measures), separators=(",", ":"))
        write_text(out / f"more-{number}.js", f"citeforgeMore({number},{text});\n")
    _write_system_pages(templates, site, views, names, out)
    template = templates.get_template("definitions.html.j2")
    write_text(out / "definitions.html", template.render(site=site, text=definitions()[0]))
    search = script_json([[names[p.id], p.id, p.text] for p in pages])
    template = templates.get_template("queries.html.j2")
    write_text(out / "queries.html", template.render(site=site, data=search, n=len(pages)))
    template = templates.get_template("query.html.j2")
    order = [names[p.id] for p in pages]
    of_views = [view.query_scores() for view in views]
    for at, page in enumerate(pages):
        text = template.render(
            site=site, page=page, scores=[s for v in of_views for s in v.get(page.id, [])],
            before=order[at - 1] if at else None,
            after=order[at + 1] if at + 1 < len(order) else None,
        )  # fmt: skip
        write_text(out / "queries" / f"{names[page.id]}.html", text)
    return Site(*count_systems(files), len(pages), len(index.encode())), views


def _write_answers_page(
    templates: Environment, site: dict[str, Any], files: Sequence[ScoreFile], out: Path
) -> bool:
    """Write a leaderboard's page of all answers; return False if no score file has any.

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
    page_names: Mapping[str, str],
    out: Path,
) -> None:
    """Write a leaderboard page for each system of each ranking.

    Args:
        site: facts about the site that every page's template takes.
        views: rankings.
        page_names: name of each query's page, by query id.
        out: folder of the benchmark's pages.
    """
    template = templates.get_template("system.html.j2")
    for view in views:
        for at, (file, name) in enumerate(zip(view.files, view.slugs, strict=True)):
            report = ScoreReport([file], lines_to_beat=view.report.lines)
            text = template.render(
                site=site, file=file, view=view, report=report, about=list_facts(file),
                hardest=[
                    (page_names[query], query, v, is_missing)
                    for query, v, is_missing in view.list_hardest_queries(at, page_names)
                ],
                missing=missing_text(file),
                cautions=[*caution_lines([file]), *report.line_notes],
                counts=counts_table([file], verbose=True), slices_note=SLICES_NOTE,
            )  # fmt: skip
            write_text(out / "systems" / f"{name}.html", text)
