"""Leaderboards in Python: sites of the benchmarks that a file names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.evaluator.statistics.compare import load_scores
from citeforge.library.benchmarks import gold_folder, package_folder
from citeforge.plugins.leaderboard.backing import backing_fault
from citeforge.plugins.leaderboard.boards import Board, read_boards
from citeforge.plugins.leaderboard.build import SiteBenchmark, build_site, growing_site
from citeforge.plugins.leaderboard.history import latest, read_history
from citeforge.plugins.leaderboard.landing.about import Presentation
from citeforge.plugins.leaderboard.pages import Site
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import ScoreFile

Added = Mapping[Path, ScoreFile]
"""Score files that are about to be written, by path: they stand for what is there."""


def build_one(
    benchmark: str | Path,
    scores: str | Path,
    out: str | Path,
    title: str | None = None,
    gold: str | Path | None = None,
) -> Site:
    """Build the site of one benchmark; see :func:`citeforge.plugins.leaderboard.build.build_site`.

    Args:
        benchmark: folder, or ``hub:ORG/NAME[@REVISION]``.
        scores: folder of score files, one a system.
        out: folder of the site.
        title: title of the pages; None for the benchmark's name.
        gold: the hidden half: folder, or ``hub:`` name.

    Raises:
        InputError: there are no score files, or one is at fault.
    """
    folder = Path(scores)
    if not folder.is_dir():
        raise InputError("is no folder", path=folder, allowed="a folder of score files")
    files = [load_scores(p) for p in sorted(folder.glob("*.json"))]
    if not files:
        raise InputError(
            "holds no score files", path=folder, allowed="*.json files of `citeforge score`"
        )
    half = None if gold is None else gold_folder(gold)
    about = Presentation().of_hub(str(benchmark))
    return build_site(package_folder(benchmark), files, Path(out), title, half, about)


@dataclass(frozen=True)
class BuiltSite:
    """What :func:`build_leaderboard` made.

    Attributes:
        site: numbers of its pages.
        folder: where it is.
        refused: score files that it is built without, and why.
    """

    site: Site
    folder: Path
    refused: list[str]


def build_leaderboard(boards: str | Path, out: str | Path | None = None) -> BuiltSite:
    """Build the site of a leaderboard; it replaces the one that is there when it is whole.

    A score file without a submission behind it is left out, and named.

    Args:
        boards: ``leaderboard.yaml``, or its folder.
        out: folder of the site; None for the one that the file names.

    Raises:
        InputError: the file is at fault, or cannot be read.
    """
    config, all_boards = read_boards(Path(boards))
    refused: list[str] = []
    benches = [bench_of(b, {}, refused) for b in all_boards.boards]
    folder = Path(out or all_boards.site)
    with growing_site(benches, folder, all_boards.title, config, all_boards.about) as site:
        return BuiltSite(site, folder, refused)


def bench_of(board: Board, added: Added, refused: list[str]) -> SiteBenchmark:
    """A benchmark of a site, and where its scores are.

    Args:
        board: as the file names it.
        added: score files that stand for what is there.
        refused: gets a line for each score file that is left out.
    """

    def load() -> Sequence[ScoreFile]:
        files, faults = backed_scores(board, added)
        refused.extend(faults)
        return files

    return SiteBenchmark(
        board.name,
        package_folder(board.benchmark),
        load,
        board.title,
        None if board.gold is None else gold_folder(board.gold),
        board.measure,
        board.context,
        board.about.of_hub(board.benchmark),
    )


def backed_scores(board: Board, added: Added) -> tuple[list[ScoreFile], list[str]]:
    """A board's scores in the order of their files' names, and what is wrong with the others."""
    folder = board.scores_folder
    scored = latest(read_history(board.history_file))
    files, faults = [], []
    anew = {file.submission for path, file in added.items() if path.parent == folder}
    for path in sorted({*folder.glob("*.json"), *(p for p in added if p.parent == folder)}):
        if path in added:
            files.append(added[path])
            continue
        try:
            file = load_scores(path)
        except InputError as error:
            faults.append(str(error))
            continue
        if file.submission in anew:  # of other context sets than now; these scores are to go
            continue
        fault = backing_fault(path, file, board.submissions_folder, scored)
        if fault is None:
            files.append(file)
        else:
            faults.append(f"{path}: {fault}")
    return files, faults
