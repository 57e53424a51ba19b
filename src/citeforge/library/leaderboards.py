"""Leaderboards in Python: sites of the benchmarks that a file names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from citeforge.evaluator.compare import load_scores
from citeforge.library.benchmarks import gold_folder, package_folder
from citeforge.publish.leaderboard.build import Bench, build_site, growing_site
from citeforge.publish.leaderboard.config import read_boards
from citeforge.publish.leaderboard.pages import Site
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.boards import Board
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
    """Build the site of one benchmark; see :func:`citeforge.publish.leaderboard.build.build_site`.

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
    return build_site(package_folder(benchmark), files, Path(out), title, half)


def build_leaderboard(boards: str | Path, out: str | Path | None = None) -> tuple[Site, Path]:
    """Build the site of a leaderboard; it replaces the one that is there when it is whole.

    Args:
        boards: ``leaderboard.yaml``, or its folder.
        out: folder of the site; None for the one that the file names.

    Returns:
        Numbers of its pages, and the folder.

    Raises:
        InputError: the file or a score file is at fault.
    """
    config, found = read_boards(Path(boards))
    benches = [bench_of(b) for b in found.boards]
    folder = Path(out or found.site)
    with growing_site(benches, folder, found.title, config) as site:
        return site, folder


def bench_of(board: Board, added: Added | None = None) -> Bench:
    """A benchmark of a site, and where its scores are.

    Args:
        board: as the file names it.
        added: score files that stand for what is there.
    """
    return Bench(
        board.name,
        package_folder(board.benchmark),
        lambda: load_all(board, added or {}),
        board.title,
        None if board.gold is None else gold_folder(board.gold),
        board.measure,
        board.context,
    )


def load_all(board: Board, added: Added) -> Sequence[ScoreFile]:
    """All scores of a board, in the order of their files' names; none where it has no folder."""
    folder = scores_folder(board)
    paths = {*folder.glob("*.json"), *(p for p in added if p.parent == folder)}
    return [added[p] if p in added else load_scores(p) for p in sorted(paths)]


def scores_folder(board: Board) -> Path:
    """Where a board's scores are."""
    return board.scores or Path("scores") / board.name


def submissions_folder(board: Board) -> Path:
    """Where a board's submissions are."""
    return board.submissions or Path("submissions") / board.name
