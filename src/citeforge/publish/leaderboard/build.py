"""``leaderboard build``: the whole site."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from citeforge.engines.files import write_text
from citeforge.engines.folders import files_below, is_temporary, whole_folder
from citeforge.evaluator.explorer.part import chunk_file, explorer_part, text_of
from citeforge.evaluator.missing import not_computed
from citeforge.evaluator.plots.choose import main_measure
from citeforge.evaluator.plots.page import embed
from citeforge.evaluator.report import index_base
from citeforge.evaluator.rows import named
from citeforge.package.manifest import load_manifest
from citeforge.package.package import Package
from citeforge.publish.hidden import gold_link
from citeforge.publish.leaderboard.queries import query_pages
from citeforge.publish.leaderboard.ranking import View, about_rows, compact, make_views, rest, slug
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import MeasureScore, ScoreFile

_TEMPLATES = Path(__file__).parent / "templates"
_OURS = re.compile(
    r"(site\.css|explorer\.css|ranking\.js|viewer\.js|explorer\.js|index\.html|queries\.html"
    r"|answers\.html|answers/(?:[qgvfap])(?:-[^/]+)?\.js|more-\d+\.js"
    r"|systems/[^/]+\.html|queries/[^/]+\.html)"
)
"""Names of a site's files."""


@dataclass(frozen=True)
class Site:
    """What was written.

    Attributes:
        systems: number of system pages.
        queries: number of query pages.
        index_bytes: size of the first page.
    """

    systems: int
    queries: int
    index_bytes: int


def build_site(
    folder: Path,
    files: Sequence[ScoreFile],
    out: Path,
    title: str | None = None,
    gold: Path | None = None,
) -> Site:
    """Write the site; it replaces another one when it is whole.

    Args:
        folder: benchmark.
        files: score files of that very benchmark.
        out: folder of the site.
        title: title of the pages; None for the benchmark's name.
        gold: the half with the labels, where the benchmark was published without them: scores made
            with it are accepted, and no page shows a label or a gold answer.

    Raises:
        InputError: no scores, scores of another benchmark, two of one system in one context, or a
            folder that holds something else.
    """
    package = Package(folder)
    _check(files, [package.hash, *([] if gold is None else [_hash_of_whole(package, gold)])])
    if gold is not None or package.manifest.config.get("hidden_gold"):
        files = [_without_labels(f) for f in files]
    with whole_folder(out, strangers) as made:
        return _write(package, files, made, title)


def _answers(
    environment: Environment, site: dict[str, Any], files: Sequence[ScoreFile], out: Path
) -> bool:
    """The page with all answers, its data in chunks; none where no score file carries answers."""
    shown = named([f for f in files if f.answers])
    if not shown:
        return False
    part = explorer_part(shown, main_measure(shown), index_base(shown))
    page = environment.get_template("answers.html.j2").render(
        site=site | {"answers": True}, explorer=part.html
    )
    write_text(out / "answers.html", page)
    write_text(out / "explorer.css", text_of("explorer.css"))
    scripts = "\n".join(map(text_of, ("chunks.js", "explorer.js")))
    write_text(out / "explorer.js", scripts)
    for name, piece in part.pieces.items():
        write_text(out / "answers" / f"{name}.js", chunk_file(name, piece))
    return True


def _hash_of_whole(package: Package, gold: Path) -> str:
    """Hash of the benchmark that the two halves are.

    Raises:
        InputError: no gold half, or that of another benchmark.
    """
    link = gold_link(gold)
    if link["public_hash"] != package.hash:
        raise InputError(
            "is not the gold of this benchmark", path=gold,
            allowed=f"the gold of {package.name}@{package.hash[:8]}",
        )  # fmt: skip
    return load_manifest(gold).benchmark_hash


def _without_labels(file: ScoreFile) -> ScoreFile:
    """Scores whose answers show no label and no gold answer.

    What a single answer scores stays: it is what the maintainers decided to publish.
    """
    answers = [
        a.model_copy(update={
            "gold": [], "passages": [p.model_copy(update={"label": None}) for p in a.passages],
        })
        for a in file.answers
    ]  # fmt: skip
    return file.model_copy(update={"answers": answers})


def strangers(out: Path) -> list[str]:
    """Files in the folder of a site that no build of ours put there.

    Raises:
        InputError: not a site of ours.
    """
    if not (out / "ranking.js").is_file():
        raise InputError(
            "holds something else than a leaderboard", path=out, allowed="an empty folder"
        )  # fmt: skip
    return [
        name
        for name in files_below(out)
        if (out / name).is_symlink() or not (_OURS.fullmatch(name) or is_temporary(out / name))
    ]


def _write(package: Package, files: Sequence[ScoreFile], out: Path, title: str | None) -> Site:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    views = make_views(files)
    site: dict[str, Any] = {
        "title": title or package.name,
        "benchmark": package.name,
        "hash": package.hash,
        "version": package.manifest.version,
        "kind": package.kind.name,
    }
    for name in ("site.css", "ranking.js", "viewer.js"):
        write_text(out / name, (_TEMPLATES / name).read_text(encoding="utf-8"))
    site["answers"] = _answers(environment, site, files, out)
    pages = list(query_pages(package, {f.context for f in files}))
    taken: set[str] = set()
    names = {p.id: slug(p.id, taken) for p in pages}
    index = environment.get_template("index.html.j2").render(
        site=site, data=embed({"views": [compact(v) for v in views]}), n_queries=len(pages)
    )
    write_text(out / "index.html", index)
    for number, view in enumerate(views):
        text = json.dumps(rest(view), separators=(",", ":"))
        write_text(out / f"more-{number}.js", f"citeforgeMore({number},{text});\n")
    n_systems = _systems(environment, site, views, names, out)
    search = embed([[names[p.id], p.id, p.text] for p in pages])
    template = environment.get_template("queries.html.j2")
    write_text(out / "queries.html", template.render(site=site, data=search, n=len(pages)))
    template = environment.get_template("query.html.j2")
    order = [names[p.id] for p in pages]
    scores = _scores(views)
    for at, page in enumerate(pages):
        text = template.render(
            site=site, page=page, scores=scores.get(page.id, []),
            before=order[at - 1] if at else None,
            after=order[at + 1] if at + 1 < len(order) else None,
        )  # fmt: skip
        write_text(out / "queries" / f"{names[page.id]}.html", text)
    return Site(n_systems, len(pages), len(index.encode()))


def _check(files: Sequence[ScoreFile], hashes: Sequence[str]) -> None:
    seen: dict[tuple[str, str, str], str] = {}
    for file in files:
        if file.benchmark_hash not in hashes:
            raise InputError(
                f"{file.system} was scored on {file.benchmark}@{file.benchmark_hash[:8]}",
                path=file.submission,
                allowed="scores on this benchmark (hash "
                + " or ".join(f"{h[:8]}…" for h in hashes)
                + ")",
            )
        key = (file.system, file.context, file.protocol)
        if key in seen:
            raise InputError(
                f"{file.system!r} comes twice (context {file.context}, {file.protocol})",
                path=file.submission,
                allowed="one score file a system; name it in the submission's header",
            )
        seen[key] = file.submission


def _systems(
    environment: Environment,
    site: dict[str, Any],
    views: Sequence[View],
    names: dict[str, str],
    out: Path,
) -> int:
    template = environment.get_template("system.html.j2")
    count = 0
    for view in views:
        for file, name in zip(view.files, view.slugs, strict=True):
            hardest = _hardest(file, view.main, names)
            text = template.render(
                site=site, file=file, view=view, hardest=hardest, measures=file.measures,
                about=about_rows(file),
                missing=not_computed([file]),
            )  # fmt: skip
            write_text(out / "systems" / f"{name}.html", text)
            count += 1
    return count


def _hardest(file: ScoreFile, main: str, names: dict[str, str]) -> list[tuple[str, str, float]]:
    """(page, query, value) of the queries with the lowest values on the main measure."""
    entry = next((m for m in file.measures if m.name == main), None)
    if entry is None:
        return []
    known = [
        (v * entry.scale, q)
        for q, v in zip(file.query_ids, entry.per_query, strict=True)
        if v is not None and q in names
    ]
    return [(names[q], q, v) for v, q in sorted(known)[:20]]


def _best(view: View) -> list[tuple[int, MeasureScore]]:
    """The best systems of a view, as numbers, with their main entries; of the same queries."""
    rows = [
        (i, entry)
        for i, entry in enumerate(view.entries.get(view.main, []))
        if entry is not None and view.files[i].query_ids == view.files[0].query_ids
    ]
    rows.sort(key=lambda r: -(r[1].value or 0.0))
    return rows


def _scores(views: Sequence[View]) -> dict[str, list[tuple[str, str, str, str, float]]]:
    """Query to (view, system, page, measure, value), best systems of each view first."""
    found: dict[str, list[tuple[str, str, str, str, float]]] = {}
    for view in views:
        best = _best(view)
        for at, query in enumerate(view.files[0].query_ids):
            rows = [
                (view.title, view.files[i].system, view.slugs[i], view.main, value * entry.scale)
                for i, entry in best
                if (value := entry.per_query[at]) is not None
            ]
            found.setdefault(query, []).extend(rows)
    return found
