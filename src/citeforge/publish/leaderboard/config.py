"""``leaderboard.yaml``: read, with the line of what is wrong."""

from __future__ import annotations

from pathlib import Path

from citeforge.engines.io.textfiles import read_yaml, validated
from citeforge.schemas.commands.boards import BOARDS_VERSION, Boards
from citeforge.schemas.errors import InputError

CONFIG = "leaderboard.yaml"


def read_boards(path: Path) -> tuple[Path, Boards]:
    """Read a leaderboard's file.

    Args:
        path: the file, or the folder that it stands in as ``leaderboard.yaml``.

    Returns:
        The file, and what it says, with all folders named from where it stands.

    Raises:
        InputError: it cannot be read, or a field is unknown, missing or wrong.
    """
    file = path / CONFIG if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise InputError(
            f"holds no {CONFIG}", path=path,
            allowed="the folder of a leaderboard; citeforge leaderboard init makes one",
        )  # fmt: skip
    version = ("leaderboard", BOARDS_VERSION)
    allowed = "as docs/leaderboard.md lists the fields"
    found = validated(Boards, read_yaml(file), file, allowed=allowed, version=version)
    return file, found.below(file.parent)
