"""Sites: of one benchmark, or of several with a matrix before them."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from citeforge.engines.io.files import write_text
from citeforge.engines.io.folders import atomic_directory, files_below, is_temporary
from citeforge.evaluator.reports.markup import script_json
from citeforge.evaluator.reports.rows import counts_of
from citeforge.evaluator.reports.withhold import require_publishable
from citeforge.library.benchmarks import gold_folder, package_folder
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.boards import Board, Boards
from citeforge.plugins.leaderboard.landing.about import Presentation, introduce_all
from citeforge.plugins.leaderboard.matrix import BoardColumn, board_column, compact_matrix
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


Load = Callable[[Board], Sequence[ScoreFile]]
"""Reads the score files of a board, when it is their turn."""


def build_site(
    benchmark: str | Path,
    files: Sequence[ScoreFile],
    out: Path,
    title: str | None = None,
    gold: str | Path | None = None,
    about: Presentation | None = None,
) -> Site:
    """Write the site of one benchmark; it replaces another one when it is whole.

    Args:
        benchmark: folder, or ``hub:ORG/NAME[@REVISION]``.
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
    board = Board(
        name="board",
        benchmark=str(benchmark),
        title=title,
        gold=None if gold is None else str(gold),
        about=about or Presentation(),
    )
    with growing_site(Boards(boards=(board,)), lambda _: files, out) as site:
        return site


@contextmanager
def growing_site(
    boards: Boards, load: Load, out: Path, config: Path | None = None
) -> Iterator[Site]:
    """Write a site beside ``out``; it takes that name, all at once, when the block ends well.

    Args:
        boards: of one benchmark; or of several, which get a matrix and a folder each.
        load: reads their scores.
        out: folder of the site.
        config: file that names the benchmarks, for messages.

    Raises:
        InputError: as :func:`build_site`.
    """
    packages = [Package(package_folder(b.benchmark)) for b in boards.boards]
    names = [p.name for p in packages]
    is_one = len(packages) == 1
    # Two builds of one benchmark are told apart by the names of their boards.
    titles = [
        b.title or (is_one and boards.title) or (b.name if names.count(n) > 1 else n)
        for b, n in zip(boards.boards, names, strict=True)
    ]
    others = [] if is_one else [(t, b.name) for t, b in zip(titles, boards.boards, strict=True)]
    with atomic_directory(out, unknown_site_files) as root:
        columns, sites = [], []
        for board, package, title in zip(boards.boards, packages, titles, strict=True):
            files = _ready(board, package, load)
            folder = root if is_one else root / board.name
            about = board.about.of_hub(board.benchmark)
            site, views = write_pages(package, files, folder, title, others, about)
            sites.append(site)
            if not is_one:
                choice = (board.measure, board.context)
                columns.append(board_column(board.name, title, views, *choice, config))
        yield sites[0] if is_one else _write_matrix(boards, columns, sites, others, root)


def _write_matrix(
    boards: Boards, columns: Sequence[BoardColumn], sites: Sequence[Site],
    others: Sequence[tuple[str, str]], root: Path,
) -> Site:  # fmt: skip
    """Write the page of all benchmarks."""
    counts = counts_of([f for c in columns for f in c.files])
    n_queries = sum(s.queries for s in sites)
    text = environment().get_template("matrix.html.j2").render(
        site={"title": boards.title or "Leaderboard", "others": others}, root="",
        intro=introduce_all(boards.about, n_queries, counts[0]),
        columns=columns, data=script_json(compact_matrix(columns)),
    )  # fmt: skip
    write_text(root / "index.html", text)
    for asset in ("site.css", "site.js", "matrix.js"):
        write_text(root / asset, (TEMPLATES / asset).read_text(encoding="utf-8"))
    return Site(*counts, n_queries, len(text.encode()))


def _ready(board: Board, package: Package, load: Load) -> Sequence[ScoreFile]:
    """The scores of a benchmark as pages may show them.

    Raises:
        InputError: scores of another benchmark, or two of one system in one context; or scores that
            tell of single queries of a benchmark whose gold is hidden.
    """
    if package.manifest.has_hidden_labels:
        raise InputError(
            "holds the labels that are to stay hidden, and pages would show them",
            path=package.folder,
            allowed="its public half; publish --hide-gold writes both halves",
        )
    files, hashes = load(board), [package.hash]
    if board.gold is not None:
        hashes.append(matching_gold(package.manifest, gold_folder(board.gold)).benchmark_hash)
    _check(files, hashes)
    require_publishable(files)
    if board.gold is not None or package.manifest.config.get("hidden_gold"):
        for file in files:
            if file.gold != "withheld":
                raise InputError(
                    "its score file has values by query, and the benchmark's gold is hidden",
                    path=file.submission,
                    allowed="the file that `citeforge score --gold HALF` writes",
                )
    return files


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
