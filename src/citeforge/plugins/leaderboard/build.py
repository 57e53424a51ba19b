"""Sites: of one benchmark, or of several with a matrix before them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.engines.io.files import write_text
from citeforge.engines.io.folders import atomic_directory, files_below, is_temporary
from citeforge.evaluator.reports.markup import script_json
from citeforge.evaluator.reports.rows import counts_of
from citeforge.evaluator.reports.withhold import require_publishable
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.landing.about import Presentation, introduce_all
from citeforge.plugins.leaderboard.matrix import board_column, compact_matrix
from citeforge.plugins.leaderboard.pages import TEMPLATES, Site, environment, write_pages
from citeforge.publish.hidden import matching_gold
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import ScoreFile

_OWN_FILES = re.compile(
    r"(matrix\.js|((?P<folder>[a-z0-9][a-z0-9_-]*)/)?("
    r"site\.css|site\.js|explorer\.css|ranking\.js|viewer\.js|explorer\.js|index\.html"
    r"|queries\.html|definitions\.html|answers\.html|answers/(?:[qgvfap])(?:-[^/]+)?\.js|more-\d+\.js"
    r"|systems/[^/]+\.html|queries/[^/]+\.html))"
)
"""Names of a site's files; where it has several benchmarks, each has a folder of them."""


@dataclass(frozen=True)
class SiteBenchmark:
    """A benchmark of a site.

    Attributes:
        name: folder of its pages, where there are several.
        folder: package.
        load: reads its score files, when it is their turn.
        title: title of its pages; None for the benchmark's name.
        gold: the half with the labels, where the benchmark was published without them: scores made
            with it are accepted, and no page shows a label or a gold answer.
        measure: measure of its column; None for the one that ranks its table.
        context: context set of its column; None for the one with the most systems.
        about: what its first page says beside what the package tells.
    """

    name: str
    folder: Path
    load: Callable[[], Sequence[ScoreFile]]
    title: str | None = None
    gold: Path | None = None
    measure: str | None = None
    context: str | None = None
    about: Presentation = field(default_factory=Presentation)


def build_site(
    folder: Path,
    files: Sequence[ScoreFile],
    out: Path,
    title: str | None = None,
    gold: Path | None = None,
    about: Presentation | None = None,
) -> Site:
    """Write the site; it replaces another one when it is whole.

    Args:
        folder: benchmark.
        files: score files of that very benchmark.
        out: folder of the site.
        title: title of the pages; None for the benchmark's name.
        gold: the half with the labels, where the benchmark was published without them: scores made
            with it are accepted, and no page shows a label or a gold answer.
        about: what the first page says beside what the package tells.

    Raises:
        InputError: no scores, scores of another benchmark, two of one system in one context, or a
            folder that holds something else.
    """
    bench = SiteBenchmark("", folder, lambda: files, title, gold, about=about or Presentation())
    with growing_site([bench], out) as site:
        return site


@contextmanager
def growing_site(
    benches: Sequence[SiteBenchmark],
    out: Path,
    title: str | None = None,
    config: Path | None = None,
    about: Presentation | None = None,
) -> Iterator[Site]:
    """Write a site beside ``out``; it takes that name, all at once, when the block ends well.

    Args:
        benches: one, or several, which get a matrix and a folder each.
        out: folder of the site.
        title: title of the matrix; of one benchmark's pages where that has none.
        config: file that names the benchmarks, for messages.
        about: what the page of the matrix says.

    Raises:
        InputError: as :func:`build_site`.
    """
    if len(benches) == 1:
        only = benches[0]
        package = Package(only.folder)
        files = _ready(only, package)
        with atomic_directory(out, unknown_site_files) as root:
            yield write_pages(package, files, root, only.title or title, about=only.about)[0]
        return
    packages = [Package(b.folder) for b in benches]
    names = [p.name for p in packages]
    # Two builds of one benchmark are told apart by the names of their boards.
    titles = [
        b.title or (b.name if names.count(n) > 1 else n)
        for b, n in zip(benches, names, strict=True)
    ]
    others = [(t, b.name) for t, b in zip(titles, benches, strict=True)]
    with atomic_directory(out, unknown_site_files) as root:
        columns, sites = [], []
        for bench, package, name in zip(benches, packages, titles, strict=True):
            files = _ready(bench, package)
            site, views = write_pages(package, files, root / bench.name, name, others, bench.about)
            choice = (bench.measure, bench.context)
            columns.append(board_column(bench.name, name, views, *choice, config))
            sites.append(site)
        data = compact_matrix(columns)
        counts = counts_of([f for c in columns for f in c.files])
        n_queries = sum(s.queries for s in sites)
        intro = introduce_all(about or Presentation(), n_queries, counts[0])
        text = environment().get_template("matrix.html.j2").render(
            site={"title": title or "Leaderboard", "others": others}, root="",
            intro=intro, columns=columns, data=script_json(data),
        )  # fmt: skip
        write_text(root / "index.html", text)
        for asset in ("site.css", "site.js", "matrix.js"):
            write_text(root / asset, (TEMPLATES / asset).read_text(encoding="utf-8"))
        yield Site(*counts, n_queries, len(text.encode()))


def _ready(bench: SiteBenchmark, package: Package) -> Sequence[ScoreFile]:
    """The scores of a benchmark as pages may show them.

    Raises:
        InputError: scores of another benchmark, or two of one system in one context.
    """
    if package.manifest.has_hidden_labels:
        raise InputError(
            "holds the labels that are to stay hidden, and pages would show them",
            path=bench.folder,
            allowed="its public half; publish --hide-gold writes both halves",
        )
    files = bench.load()
    hidden = (
        [] if bench.gold is None else [matching_gold(package.manifest, bench.gold).benchmark_hash]
    )
    _check(files, [package.hash, *hidden])
    require_publishable(files)
    if hidden or package.manifest.config.get("hidden_gold"):
        _require_withheld(files)
    return files


def _require_withheld(files: Sequence[ScoreFile]) -> None:
    """Refuse scores that tell of single queries of a benchmark whose gold is hidden.

    Raises:
        InputError: names the submission.
    """
    for file in files:
        if file.gold != "withheld":
            raise InputError(
                "its score file has values by query, and the benchmark's gold is hidden",
                path=file.submission,
                allowed="the file that `citeforge score --gold HALF` writes",
            )


def unknown_site_files(out: Path) -> list[str]:
    """Files in the folder of a site that no build of ours put there.

    Raises:
        InputError: not a site of ours.
    """
    if not any((out / name).is_file() for name in ("ranking.js", "matrix.js")):
        raise InputError(
            "holds something else than a leaderboard", path=out, allowed="an empty folder"
        )  # fmt: skip
    folders = {p.parent.name for p in out.glob("*/ranking.js")}

    def is_ours(name: str) -> bool:
        match = _OWN_FILES.fullmatch(name)
        within = match is not None and (match["folder"] is None or match["folder"] in folders)
        return within or is_temporary(out / name)

    return [n for n in files_below(out) if (out / n).is_symlink() or not is_ours(n)]


def _check(files: Sequence[ScoreFile], hashes: Sequence[str]) -> None:
    first: dict[tuple[str, str, str], str] = {}
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
        if key in first:
            raise InputError(
                f"{file.system!r} comes twice (context {file.context}, {file.protocol})",
                path=file.submission,
                allowed="one score file a system; name it in the submission's header",
            )
        first[key] = file.submission
