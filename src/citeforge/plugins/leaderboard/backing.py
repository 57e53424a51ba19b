"""Whether a score file of a board was made from a submission that the board has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from citeforge.engines.io.files import sha256_file
from citeforge.evaluator.statistics.values import value_fault
from citeforge.evaluator.submissions.reader import bare_name
from citeforge.plugins.leaderboard.history import Event
from citeforge.schemas.scores import ScoreFile

_REMEDY = "score files are made by `citeforge leaderboard add` from submissions"


def backing_fault(
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
