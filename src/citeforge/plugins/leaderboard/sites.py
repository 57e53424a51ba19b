"""Leaderboards in Python: sites of the benchmarks that a file names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from citeforge.engines.io.files import sha256_file
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.evaluator.statistics.values import value_fault
from citeforge.evaluator.submissions.reader import bare_name
from citeforge.plugins.leaderboard.boards import Board, read_boards
from citeforge.plugins.leaderboard.build import Load, build_site, growing_site
from citeforge.plugins.leaderboard.history import Event, latest, read_history
from citeforge.plugins.leaderboard.pages import Site
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import ScoreFile

_REMEDY = "score files are made by `citeforge leaderboard add` from submissions"
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
    return build_site(benchmark, files, Path(out), title, gold)


def build_leaderboard(
    boards: str | Path, out: str | Path | None = None
) -> tuple[Site, Path, list[str]]:
    """Build the site of a leaderboard; it replaces the one that is there when it is whole.

    A score file without a submission behind it is left out, and named.

    Args:
        boards: ``leaderboard.yaml``, or its folder.
        out: folder of the site; None for the one that the file names.

    Returns:
        Numbers of the site's pages, where it is, and score files that it is built without and why.

    Raises:
        InputError: the file is at fault, or cannot be read.
    """
    config, all_boards = read_boards(Path(boards))
    refused: list[str] = []
    folder = Path(out or all_boards.site)
    with growing_site(all_boards, load_backed({}, refused), folder, config) as site:
        return site, folder, refused


def load_backed(added: Added, refused: list[str]) -> Load:
    """What reads the scores of a board that submissions stand behind.

    Args:
        added: score files that stand for what is there.
        refused: gets a line for each score file that is left out.
    """

    def load(board: Board) -> Sequence[ScoreFile]:
        files, faults = backed_scores(board, added)
        refused.extend(faults)
        return files

    return load


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
        fault = _backing_fault(path, file, board.submissions_folder, scored)
        if fault is None:
            files.append(file)
        else:
            faults.append(f"{path}: {fault}")
    return files, faults


def _backing_fault(
    path: Path, file: ScoreFile, submissions: Path, scored: Mapping[str, Event]
) -> str | None:
    """What is wrong with a score file; None where a submission stands behind it.

    Args:
        path: the score file.
        file: what it says.
        submissions: folder of the board's submissions.
        scored: name of a submission to what the board scored of it last.
    """
    name = file.submission
    event = scored.get(name)
    bare = bare_name(Path(name))
    if path.stem not in (bare, f"{bare}.{file.context}") or Path(name).name != name:
        fault: str | None = f"is not named for its submission {name!r}"
    elif not (submissions / name).is_file():
        fault = f"is of {name!r}, which {submissions} does not hold"
    elif sha256_file(submissions / name) != file.submission_sha256:
        fault = f"is of another {name} than the one in {submissions}"
    elif event is None or (event.sha256, event.system) != (file.submission_sha256, file.system):
        fault = f"is not of the {name} that this board scored last, as its history says"
    else:
        fault = next(filter(None, (value_fault(m, file) for m in file.measures)), None)
    return fault and f"{fault}; {_REMEDY}"
