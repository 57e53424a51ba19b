"""Declaration of a leaderboard of one or several benchmarks (``leaderboard.yaml``)."""

import os
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from citeforge.engines.running.names import JUDGES, LLMS
from citeforge.engines.textfiles import read_yaml, validated
from citeforge.evaluator.submissions.formats import named_hashes
from citeforge.evaluator.withhold import find_revealing_option
from citeforge.library.benchmarks import package_folder
from citeforge.package.manifest import load_manifest
from citeforge.plugins.leaderboard.about import Presentation
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.command_options import ScoreOptions

BOARDS_VERSION = 1
CONFIG = "leaderboard.yaml"
_RESERVED = frozenset({"systems", "queries", "answers"})
"""Folders of every site, which no board may have as name."""


class Board(Part):
    """A board: one benchmark of a leaderboard. Paths are relative to the folder of its file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")
    """Folder of its pages, submissions and scores; small letters, digits, - and _."""
    benchmark: str = Field(min_length=1)
    """Package: folder, or hub:ORG/NAME@REVISION."""
    title: str | None = None
    """Name on the pages (default: the benchmark's name)."""
    about: Presentation = Presentation()
    """Introduction on its first page."""
    gold: str | None = None
    """Gold half of publish --hide-gold: folder, or hub:ORG/NAME-gold."""
    submissions: Path | None = None
    """Folder of submissions (default: submissions/NAME)."""
    scores: Path | None = None
    """Folder of score files (default: scores/NAME)."""
    history: Path | None = None
    """File of the submissions that were scored (default: history/NAME.jsonl)."""
    submissions_per_system: int | None = Field(default=None, ge=1)
    """Submissions that a system may make (default: 3 where gold is hidden, else any number)."""
    submissions_per_account: int | None = Field(default=None, ge=1)
    """Submissions that an account may make in the Space (default: as submissions_per_system)."""
    measure: str | None = None
    """Measure of its column where there are several benchmarks (default: the main one)."""
    context: str | None = None
    """Context set of its column (default: the one with the most systems)."""
    score: ScoreOptions = ScoreOptions()
    """Options of `citeforge score` that submissions are scored with."""

    @property
    def submissions_folder(self) -> Path:
        """Folder of submissions to this leaderboard benchmark; default ``submissions/NAME``."""
        return self.submissions or Path("submissions") / self.name

    @property
    def scores_folder(self) -> Path:
        """Folder of score files of this benchmark of a leaderboard: ``scores/NAME`` by default."""
        return self.scores or Path("scores") / self.name

    @property
    def history_file(self) -> Path:
        """File that lists scored submissions to this benchmark; default ``history/NAME.jsonl``."""
        return self.history or Path("history") / f"{self.name}.jsonl"

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        """Check that a board's name is not that of a folder which every site has."""
        if name in _RESERVED:
            raise ValueError(f"{name!r} is a folder of every site; choose another name")
        return name

    @model_validator(mode="after")
    def _check_hidden_gold(self) -> Self:
        """Raise an error if scoring options would reveal a benchmark's hidden gold."""
        if self.gold is not None and (name := find_revealing_option(self.score)) is not None:
            raise ValueError(
                f"score.{name.replace(' ', ': ')}: would reveal hidden gold; leave it out"
            )
        return self

    @model_validator(mode="after")
    def _refuse_further_files(self) -> Self:
        """Raise an error if scoring options name further answers, to be added to all systems."""
        if self.score.also:
            raise ValueError(
                "score.also: these answers would count for every system; leave it out, and put all "
                "answers of a system into its submission"
            )
        return self


class Boards(Part):
    """A leaderboard: its boards, and the folder of its site."""

    leaderboard: int = BOARDS_VERSION
    """Version of this format."""
    title: str | None = None
    """Title of the pages (default: the benchmark's name, where there is one)."""
    about: Presentation = Presentation()
    """Introduction on the first page, where there are several benchmarks."""
    site: Path = Path("site")
    """Folder of the site."""
    submission_megabytes: float = Field(default=20, gt=0)
    """Megabytes that a submission may have, unpacked."""
    queue: str | None = Field(default=None, pattern=r"^[\w.-]+/[\w.-]+$")
    """Dataset repository (ORG/NAME) that the Space commits submissions to."""
    boards: tuple[Board, ...] = Field(min_length=1)
    """The benchmarks, in the order of columns."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Raise an error if two benchmarks of a leaderboard have the same name."""
        names = [b.name for b in self.boards]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise ValueError(f"boards: duplicate name {twice!r}")
        return self

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        """Raise an error if a path of site, submissions, scores or history contains another."""
        paths = [self.site]
        for board in self.boards:
            paths += [board.submissions_folder, board.scores_folder, board.history_file]
        normal_paths = [Path(os.path.normpath(path)) for path in paths]
        for i, one in enumerate(normal_paths):
            for other in normal_paths[i + 1 :]:
                if one.is_relative_to(other) or other.is_relative_to(one):
                    raise ValueError(
                        f"site, submissions, scores and history need separate paths; "
                        f"of {str(one)!r} and {str(other)!r}, one contains the other"
                    )
        return self

    def find(self, name: str) -> Board | None:
        """Find a benchmark of the leaderboard (a board) by its name there; None if missing."""
        return next((b for b in self.boards if b.name == name), None)

    @property
    def common_folders(self) -> list[Path]:
        """Folders named ``submissions`` that contain the boards' folders of submissions."""
        parents = dict.fromkeys(board.submissions_folder.parent for board in self.boards)
        return [parent for parent in parents if parent.name == "submissions"]

    def require_known_folder(self, path: Path) -> None:
        """Raise an error if a submission is beside the benchmarks' folders but in none of them.

        Raises:
            InputError: it is in no board's folder.
        """
        folder = path.parent.resolve()
        own = [board.submissions_folder for board in self.boards]
        if folder in [one.resolve() for one in own]:
            return
        if any(folder.is_relative_to(one.resolve()) for one in self.common_folders):
            raise InputError(
                "is in the folder of no board", path=path, code="bad-name",
                allowed=", ".join(f"{one.parent.name}/{one.name}/{path.name}" for one in own[:3]),
            )  # fmt: skip

    def resolve_paths(self, folder: Path) -> "Boards":
        """Copy a leaderboard's declaration with all paths resolved against its file's folder."""

        def resolve(spec: str) -> str:
            """Resolve a benchmark's path against the folder; return ``hub:…`` as it is."""
            return spec if spec.startswith("hub:") else str(folder / spec)

        boards = tuple(
            b.model_copy(
                update={
                    "benchmark": resolve(b.benchmark),
                    "gold": None if b.gold is None else resolve(b.gold),
                    "submissions": folder / b.submissions_folder,
                    "scores": folder / b.scores_folder,
                    "history": folder / b.history_file,
                    "score": _resolve_score_options(b.score, folder),
                }
            )
            for b in self.boards
        )
        return self.model_copy(update={"site": folder / self.site, "boards": boards})


def _resolve_score_options(score: ScoreOptions, folder: Path) -> ScoreOptions:
    """Resolve all paths in a leaderboard's scoring options (of one benchmark) against a folder."""
    profile = score.judge_profile
    if profile is not None and profile.endswith((".yaml", ".yml")):
        profile = str(folder / profile)
    return score.model_copy(
        update={
            "judge": score.judge and JUDGES.resolve_path(score.judge, folder),
            "llm": score.llm and LLMS.resolve_path(score.llm, folder),
            "judge_profile": profile,
            "labels": tuple(folder / p for p in score.labels),
            "assessments": tuple(folder / p for p in score.assessments),
        }
    )


def require_public_labels(folder: Path) -> None:
    """Refuse a package with hidden labels, which a site or a Space would show.

    Raises:
        InputError: it contains such labels, or is no package.
    """
    if load_manifest(folder).has_hidden_labels:
        raise InputError(
            "contains hidden labels, which its pages would show", path=folder, code="hidden-gold",
            allowed="its public half; publish --hide-gold writes both halves",
        )  # fmt: skip


def read_boards(path: Path) -> tuple[Path, Boards]:
    """Read ``leaderboard.yaml``: (its path, its content with resolved paths).

    Args:
        path: the file, or the folder of a ``leaderboard.yaml``.

    Returns:
        Path of the file, and its content with all paths resolved against its folder.

    Raises:
        InputError: it cannot be read, or a field is unknown, missing or wrong.
    """
    file = path / CONFIG if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise InputError(
            f"contains no {CONFIG}", path=path, code="missing-file",
            allowed="the folder of a leaderboard; citeforge leaderboard init makes one",
        )  # fmt: skip
    version = ("leaderboard", BOARDS_VERSION)
    allowed = "as docs/leaderboard.md lists the fields"
    boards = validated(Boards, read_yaml(file), file, allowed=allowed, version=version)
    return file, boards.resolve_paths(file.parent)


def find_board(path: Path, boards: Boards, board_name: str | None) -> Board:
    """Find a submission's benchmark (board): by ``board_name``, its folder or its header's hash.

    Args:
        path: the submission.
        boards: boards of the leaderboard.
        board_name: name of its board; None to find it.
    """
    if len(boards.boards) == 1:
        return boards.boards[0]
    if board_name is not None:
        return next(b for b in boards.boards if b.name == board_name)
    here = path.parent.resolve()
    inside = [b for b in boards.boards if b.submissions_folder.resolve() == here]
    if inside:
        return inside[0]
    named = named_hashes(path)
    matching = [b for b in boards.boards if named & _read_hashes(b)]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(b.name for b in matching or boards.boards)
    raise UsageError(
        f"{path}: its board is not clear; give --board with one of {names}", code="missing-option"
    )


def _read_hashes(board: Board) -> set[str]:
    """Read the hashes of a board's benchmark: of its public half, and with hidden labels."""
    manifest = load_manifest(package_folder(board.benchmark))
    return {manifest.benchmark_hash, manifest.answer_hash}
