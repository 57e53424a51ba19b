"""Whether a score file of a board was made from a submission that the board has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from citeforge.engines.io.files import sha256_file
from citeforge.evaluator.submissions.reader import bare_name
from citeforge.publish.leaderboard.history import Event
from citeforge.schemas.scores import MeasureScore, ScoreFile

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
    if path.stem != bare_name(Path(name)) or Path(name).name != name:
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


def value_fault(entry: MeasureScore, file: ScoreFile) -> str | None:
    """What is wrong with the value of a measure, held against its values by query.

    Args:
        entry: the measure.
        file: its score file; where gold is hidden there are no values by query.
    """
    if file.gold == "withheld":
        return None
    values = [entry.scale * v for v in entry.per_query if v is not None]
    if entry.influence is not None:
        total = math.fsum(v for v in entry.influence if v is not None)
        return None if abs(total) < 1e-6 else f"{entry.name}: its influences do not sum to 0"
    if not values:  # a measure of the whole set, or no value at all
        fits = entry.value is None or entry.interval == "none"
        return None if fits else f"{entry.name}: {entry.value} is of no query"
    mean = math.fsum(values) / len(values)
    if entry.value is None:
        fits = False
    elif file.counts.n_runs > 1:  # a mean of means: runs may define other queries
        fits = min(values) - 1e-6 <= entry.value <= max(values) + 1e-6
    else:
        fits = math.isclose(entry.value, mean, rel_tol=1e-6, abs_tol=1e-6)
    return (
        None if fits else f"{entry.name}: {entry.value} is not the mean of its values, {mean:.2f}"
    )
