"""Sites of one benchmark, or of several with a table of all, from scores of stored submissions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from citeforge.engines.files import sha256_file, write_text
from citeforge.engines.folders import atomic_directory, files_below, is_temporary
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.rows import count_systems
from citeforge.evaluator.statistics.values import value_fault
from citeforge.evaluator.submissions.formats import bare_name
from citeforge.evaluator.withhold import require_publishable
from citeforge.library.benchmarks import gold_folder, package_folder
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.about import Presentation, introduce_all
from citeforge.plugins.leaderboard.board_check import Event, latest_events, read_history
from citeforge.plugins.leaderboard.boards import Board, Boards, read_boards, require_public_labels
from citeforge.plugins.leaderboard.matrix import BoardColumn, board_column, compact_matrix
from citeforge.plugins.leaderboard.pages import Site, environment, write_assets, write_pages
from citeforge.publishing.hidden import matching_gold
from citeforge.reports.pages.markup import script_json
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import ScoreFile

_OWN_FILES = re.compile(
    r"(matrix\.js|((?P<folder>[a-z0-9][a-z0-9_-]*)/)?("
    r"site\.css|site\.js|figures_shown\.js|"
    r"explorer\.css|ranking\.js|viewer\.js|explorer\.js|index\.html"
    r"|queries\.html|definitions\.html|answers\.html|answers/(?:[qgvfap])(?:-[^/]+)?\.js|more-\d+\.js"
    r"|systems/[^/]+\.html|queries/[^/]+\.html))"
)
"""Names of a site's files; on a site of several benchmarks, each has a folder with them."""


Load = Callable[[Board], Sequence[ScoreFile]]
"""Loads the score files of a board."""


def build_site(
    benchmark: str | Path,
    files: Sequence[ScoreFile],
    out: Path,
    title: str | None = None,
    gold: str | Path | None = None,
    about: Presentation | None = None,
) -> Site:
    """Write the leaderboard site of one benchmark, which replaces an older site once complete.

    Args:
        benchmark: folder, or ``hub:ORG/NAME[@REVISION]``.
        files: score files of this benchmark.
        out: folder of the site.
        title: title of the pages; None for the benchmark's name.
        gold: the half with the labels, where the benchmark was published without them: scores made
            with it are accepted, and no page shows a label or a gold answer.
        about: texts of the first page that override those of the package.

    Raises:
        InputError: no scores, scores of another benchmark, two of one system in one context, or
            the folder contains other files.
    """
    board = Board(
        name="board",
        benchmark=str(benchmark),
        title=title,
        gold=None if gold is None else str(gold),
        about=about or Presentation(),
    )
    with site_build(Boards(boards=(board,)), lambda _: files, out) as site:
        return site


@contextmanager
def site_build(
    boards: Boards, load_scores_of: Load, out: Path, config: Path | None = None
) -> Iterator[Site]:
    """Write a leaderboard's site from a loader of scores; it replaces ``out`` after the block.

    It yields the site's counts. After an error ``out`` stays as it was.

    Args:
        boards: one board; or several, which get a folder each and a table of all.
        load_scores_of: loads their scores.
        out: folder of the site.
        config: file of the boards, for messages.

    Raises:
        InputError: as :func:`build_site`.
    """
    packages = [Package(package_folder(b.benchmark)) for b in boards.boards]
    names = [p.name for p in packages]
    is_one = len(packages) == 1
    # Several builds of one benchmark get the names of their boards as titles.
    titles = [
        b.title or (is_one and boards.title) or (b.name if names.count(n) > 1 else n)
        for b, n in zip(boards.boards, names, strict=True)
    ]
    others = [] if is_one else [(t, b.name) for t, b in zip(titles, boards.boards, strict=True)]
    with atomic_directory(out, unknown_site_files) as root:
        columns, sites = [], []
        for board, package, title in zip(boards.boards, packages, titles, strict=True):
            files = _load_publishable_scores(board, package, load_scores_of)
            folder = root if is_one else root / board.name
            about = board.about.with_hub_links(board.benchmark)
            site, views = write_pages(package, files, folder, title, others, about)
            sites.append(site)
            if not is_one:
                choice = (board.measure, board.context)
                columns.append(board_column(board.name, title, views, *choice, config))
        yield sites[0] if is_one else _write_matrix(boards, columns, sites, others, root)


def _write_matrix(
    boards: Boards, columns: Sequence[BoardColumn], page_counts: Sequence[Site],
    links: Sequence[tuple[str, str]], root: Path,
) -> Site:  # fmt: skip
    """Write the page that compares systems on all benchmarks, with links; return site counts.

    Args:
        boards: title and texts of the page.
        columns: a column per benchmark.
        page_counts: counts of each benchmark's own pages.
        links: (title, folder) of each benchmark, for links.
        root: folder of the site.
    """
    counts = count_systems([f for c in columns for f in c.files])
    n_queries = sum(s.queries for s in page_counts)
    text = environment().get_template("matrix.html.j2").render(
        site={"title": boards.title or "Leaderboard", "others": links}, root="",
        intro=introduce_all(boards.about, n_queries, counts[0]),
        columns=columns, data=script_json(compact_matrix(columns)),
    )  # fmt: skip
    write_text(root / "index.html", text)
    write_assets(root, "site.js", "matrix.js")
    return Site(*counts, n_queries, len(text.encode()))


def _load_publishable_scores(
    board: Board, package: Package, load_scores_of: Load
) -> Sequence[ScoreFile]:
    """Load score files of a benchmark (board) by a function; raise if they must not be public.

    Args:
        board: the board; names its gold half where labels are hidden.
        package: its benchmark.
        load_scores_of: loads the score files of a board.

    Raises:
        InputError: scores of another benchmark, two of one system in one context, or values of
            single queries though the gold is hidden.
    """
    require_public_labels(package.folder)
    files, hashes = load_scores_of(board), [package.hash]
    if board.gold is not None:
        hashes.append(matching_gold(package.manifest, gold_folder(board.gold)).benchmark_hash)
    _require_fit(files, hashes)
    for file in files:
        if fault := next(filter(None, (value_fault(m, file) for m in file.measures)), None):
            raise InputError(
                fault, path=file.submission, code="wrong-value",
                allowed="the score file as citeforge score wrote it",
            )  # fmt: skip
    require_publishable(files)
    if board.gold is not None or package.manifest.config.get("hidden_gold"):
        for file in files:
            if file.gold != "withheld":
                raise InputError(
                    "contains values per query, and the benchmark's gold is hidden",
                    path=file.submission,
                    allowed="the file that `citeforge score --gold HALF` writes",
                    code="hidden-gold",
                )
    return files


def unknown_site_files(out: Path) -> list[str]:
    """List the files in a site's folder that citeforge did not write.

    Raises:
        InputError: the folder is not a site of citeforge.
    """
    if not any((out / name).is_file() for name in ("ranking.js", "matrix.js")):
        raise InputError(
            "contains something other than a leaderboard", path=out, allowed="an empty folder",
            code="foreign-file"
        )  # fmt: skip
    folders = {p.parent.name for p in out.glob("*/ranking.js")}

    def is_site_file(name: str) -> bool:
        """Whether a file has a name that citeforge writes into a leaderboard's site."""
        match = _OWN_FILES.fullmatch(name)
        within = match is not None and (match["folder"] is None or match["folder"] in folders)
        return within or is_temporary(out / name)

    return [n for n in files_below(out) if (out / n).is_symlink() or not is_site_file(n)]


def _require_fit(files: Sequence[ScoreFile], benchmark_hashes: Sequence[str]) -> None:
    """Refuse score files of other benchmarks (by hash), or repeated for a system and context."""
    first: dict[tuple[str, str, str], str] = {}
    for file in files:
        if file.benchmark_hash not in benchmark_hashes:
            raise InputError(
                f"{file.system} was scored on {file.benchmark}@{file.benchmark_hash[:8]}",
                path=file.submission,
                allowed="scores on this benchmark (hash "
                + " or ".join(f"{h[:8]}…" for h in benchmark_hashes)
                + ")",
                code="wrong-benchmark",
            )
        key = (file.system, file.context, file.protocol)
        if key in first:
            raise InputError(
                f"second score file of {file.system!r} (context {file.context}, {file.protocol})",
                path=file.submission,
                allowed="one score file per system; the header of a submission names its system",
                code="duplicate-id",
            )
        first[key] = file.submission


_REMEDY = "score files are made by `citeforge leaderboard add` from submissions"
NewScores = Mapping[Path, ScoreFile]
"""Score files about to be written, by path; they replace files of the same path."""


def build_one(
    benchmark: str | Path,
    scores: str | Path,
    out: str | Path,
    title: str | None = None,
    gold: str | Path | None = None,
) -> Site:
    """Build the leaderboard site of one benchmark from a folder of score files.

    See :func:`build_site`.

    Args:
        benchmark: folder, or ``hub:ORG/NAME[@REVISION]``.
        scores: folder of score files, one per system.
        out: folder of the site.
        title: title of the pages; None for the benchmark's name.
        gold: the hidden half: folder, or ``hub:`` name.

    Raises:
        InputError: there are no score files, or one is at fault.
    """
    folder = Path(scores)
    if not folder.is_dir():
        raise InputError(
            "not a folder", path=folder, allowed="a folder of score files", code="not-a-folder"
        )
    files = [load_scores(p) for p in sorted(folder.glob("*.json"))]
    if not files:
        raise InputError(
            "contains no score files",
            path=folder,
            allowed="*.json files of `citeforge score`",
            code="no-scores",
        )
    return build_site(benchmark, files, Path(out), title, gold)


def build_leaderboard(
    boards: str | Path, out: str | Path | None = None
) -> tuple[Site, Path, list[str]]:
    """Build a leaderboard's site: (counts of the site, its folder, score files left out).

    The site replaces an older one when it is complete. Score files that no stored submission backs
    are left out and listed.

    Args:
        boards: ``leaderboard.yaml``, or its folder.
        out: folder of the site; None for the one that the file names.

    Returns:
        (numbers of the site, its folder, lines about the score files that are left out).

    Raises:
        InputError: the file is at fault, or cannot be read.
    """
    config, all_boards = read_boards(Path(boards))
    refused: list[str] = []
    folder = Path(out or all_boards.site)
    load = partial(load_backed_scores, new_scores={}, refused_lines=refused)
    with site_build(all_boards, load, folder, config) as site:
        return site, folder, refused


def load_backed_scores(
    board: Board, new_scores: NewScores, refused_lines: list[str]
) -> list[ScoreFile]:
    """Load a board's score files whose submission is stored; list the others in ``refused_lines``.

    The files are in order of their names; stored ones of submissions scored anew are left out.

    Args:
        board: board of a leaderboard.
        new_scores: new score files by path, which replace stored ones.
        refused_lines: gets a line for each score file that is left out.
    """
    folder = board.scores_folder
    scored = latest_events(read_history(board.history_file))
    files = []
    anew = {
        bare_name(Path(f.submission)) for path, f in new_scores.items() if path.parent == folder
    }
    for path in sorted({*folder.glob("*.json"), *(p for p in new_scores if p.parent == folder)}):
        if path in new_scores:
            files.append(new_scores[path])
            continue
        try:
            file = load_scores(path)
        except InputError as error:
            refused_lines.append(str(error))
            continue
        if bare_name(Path(file.submission)) in anew:  # its old score files are about to be removed
            continue
        fault = _backing_fault(path, file, board.submissions_folder, scored)
        if fault is None:
            files.append(file)
        else:
            refused_lines.append(f"{path}: {fault}")
    return files


def _backing_fault(
    path: Path, file: ScoreFile, submissions_folder: Path, last_events: Mapping[str, Event]
) -> str | None:
    """Explain why no stored submission (in the history) fits a score file; None if one does.

    Args:
        path: path of the score file.
        file: its content.
        submissions_folder: folder of the board's submissions.
        last_events: name of a submission to its last event.
    """
    name = file.submission
    event = last_events.get(name)
    bare = bare_name(Path(name))
    if path.stem not in (bare, f"{bare}.{file.context}") or Path(name).name != name:
        fault: str | None = f"is not named for its submission {name!r}"
    elif not (submissions_folder / name).is_file():
        fault = f"scores {name!r}, which is not in {submissions_folder}"
    elif sha256_file(submissions_folder / name) != file.submission_sha256:
        fault = f"scores another {name} than the one in {submissions_folder}"
    elif event is None or (event.sha256, event.system) != (file.submission_sha256, file.system):
        fault = f"does not score the {name} that this board scored last, by its history"
    else:
        fault = next(filter(None, (value_fault(m, file) for m in file.measures)), None)
        if fault is None and event.scores.get(path.name) != sha256_file(path):
            fault = "is not the file that this board wrote, by the sha256 in its history"
    return fault and f"{fault}; {_REMEDY}"
