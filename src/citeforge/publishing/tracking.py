"""Scores as runs of experiment trackers (``score --log``): rows of the catalogue and their data.

A plugin declares a :class:`Choice` as an entry point of the group ``citeforge.trackers``. Its
factory gets a :class:`TrackedRun`, logs it, and returns where it can be seen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.files import write_text
from citeforge.engines.keys import error_line, mask_address
from citeforge.evaluator.withhold import withhold_scores
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.errors import require
from citeforge.schemas.recipes.command_options import ReportOptions
from citeforge.schemas.scores import Corrected, MeasureScore, ScoreFile
from citeforge.schemas.signature import parse_signature

T = TypeVar("T")
TRACKERS: Catalogue[Choice, None] = Catalogue("trackers", "tracker", Choice, option="--log")
"""Trackers by name; all are entry points, of citeforge or of plugins."""
_SHARED = {"protocol": "p", "judge": "judge", "segmenter": "seg", "grammar": "gram",
           "citeforge": "v"}  # fmt: skip
"""Setting to the prefix of the signature parts that it lists."""
_OTHER_CHARACTERS = re.compile(r"[^\w.\- ]")
_LONGEST_NAME = 100
"""Characters of names; trackers allow 128 or more."""


@dataclass(frozen=True)
class TrackedRun:
    """Scores of one submission and context set, as a tracker stores them.

    Names of values and settings have letters, digits and ``_.-`` and blanks alone, which all
    trackers accept.

    Attributes:
        project: name of the benchmark: the experiment or project that the run belongs to.
        name: system and context set.
        settings: what the scores depend on, with the signature of each measure.
        values: values as displayed, ends of their intervals (``_low``, ``_high``), and counts.
        files: report.html and scores.json.
    """

    project: str
    name: str
    settings: dict[str, str]
    values: dict[str, float]
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Logged:
    """Result of logging one run.

    Attributes:
        tracker: name of the tracker.
        run: name of the run.
        place: where the run can be seen; empty after a failure.
        failure: why it was not logged; empty if it was.
    """

    tracker: str
    run: str
    place: str = ""
    failure: str = ""


def find_trackers(names: Sequence[str]) -> list[Choice]:
    """Look up experiment trackers by name, and check that their clients are installed.

    Raises:
        UsageError: no such tracker.
        MissingExtraError: its client is not installed.
    """
    rows = [TRACKERS.get(name) for name in dict.fromkeys(names)]
    for row in rows:
        if row.needs:
            require(row.needs)
    return rows


def log_files(files: Sequence[ScoreFile], trackers: Sequence[Choice]) -> list[Logged]:
    """Log score files to experiment trackers, one run each; failures are returned, not raised.

    Where the gold is hidden, only what may be published is logged.

    Args:
        files: scores.
        trackers: result of :func:`find_trackers`.

    Raises:
        UsageError: scores of chosen queries, which would reveal hidden gold.
    """
    logged: list[Logged] = []
    # Without a tracker no report is written, whose libraries take half of the time of `score`.
    for file in map(withhold_scores, files if trackers else ()):
        with TemporaryDirectory(prefix="citeforge-log-") as folder:
            run = _make_run(file, Path(folder))
            logged += [_log_run(row, run) for row in trackers]
    return logged


def _log_run(tracker: Choice, run: TrackedRun) -> Logged:
    """Log one run to an experiment tracker; return where it is, or the failure."""
    log = partial(Logged, tracker.name, run.name)
    try:
        place = tracker.factory(run) if tracker.factory is not None else None
    except Exception as error:  # whatever a client says of its server
        return log(failure=error_line(error))
    # Clients name databases and servers by the addresses that they use, passwords included.
    return log(place=mask_address(str(place)))


def _make_run(file: ScoreFile, folder: Path) -> TrackedRun:
    """Collect settings and values that a tracker logs of a score file; write its report."""
    from citeforge.reports.pages.formats import make_report

    report, scores = folder / "report.html", folder / "scores.json"
    make_report([file], "html", report, ReportOptions(one_file=True))
    write_text(scores, file.to_line())
    return TrackedRun(
        project=_safe_name(file.benchmark),
        name=_safe_name(f"{file.system} {file.context}"),
        settings=_unique_names(_list_settings(file)),
        values=_unique_names(_list_values(file)),
        files=(report, scores),
    )


def _list_settings(file: ScoreFile) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of each setting that a score file's scores depend on."""
    parts = [parse_signature(measure.signature) for measure in file.measures]
    labels = dict.fromkeys(part["bench"] for part in parts if "bench" in part)
    yield "system", file.system
    yield "benchmark", ", ".join(labels) or file.benchmark
    yield "benchmark_hash", file.benchmark_hash
    yield "context", file.context
    for name, prefix in _SHARED.items():
        if several := dict.fromkeys(part[prefix] for part in parts if prefix in part):
            yield name, ", ".join(several)
    yield "submission", file.submission
    yield "submission_format", file.submission_format
    yield "submission_sha256", file.submission_sha256
    about = {} if file.about is None else file.about.model_dump(exclude_none=True)
    yield from ((name, str(value)) for name, value in about.items())
    for measure in file.measures:
        yield f"signature.{measure.name}", measure.signature


def _list_values(file: ScoreFile) -> Iterator[tuple[str, float]]:
    """Yield (name, number) of each score, bound of an interval and count of a score file."""
    for measure in file.measures:
        yield from _list_ends(measure.name, measure)
        if measure.corrected is not None:
            yield from _list_ends(f"{measure.name}_corrected", measure.corrected)
        yield f"{measure.name}_n", measure.n
    yield from file.counts.model_dump().items()


def _list_ends(name: str, score: MeasureScore | Corrected) -> Iterator[tuple[str, float]]:
    """Yield (name, number) of a score and of the bounds of its interval, if any."""
    ends = {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
    yield from ((key, number) for key, number in ends.items() if number is not None)


def _unique_names(pairs: Iterator[tuple[str, T]]) -> dict[str, T]:
    """Make a dictionary of pairs, with names that all trackers accept, made unique."""
    found: dict[str, T] = {}
    for name, value in pairs:
        safe, number = _safe_name(name), 1
        while safe in found:
            number += 1
            safe = f"{_safe_name(name)}_{number}"
        found[safe] = value
    return found


def _safe_name(text: str) -> str:
    """Replace characters by ``_`` that some tracker refuses in names."""
    return _OTHER_CHARACTERS.sub("_", text)[:_LONGEST_NAME]
