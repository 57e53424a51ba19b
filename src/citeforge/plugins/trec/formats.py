"""Formats of TREC's report tracks, one per track; their code is imported when a file is read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import Fault, Format, OnError
from citeforge.plugins.trec.tracks import ANY, TRACKS, Track
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark


def _read(track: Track, path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read a run of a track."""
    from citeforge.plugins.trec.reports import read_trec_run

    return read_trec_run(track, path, benchmark, way, on_error)


def _check(track: Track, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
    """Yield the rules of a track that a run breaks."""
    from citeforge.plugins.trec.rules import check_run

    return check_run(track, path, benchmark, options)


def _find_tracks(start: bytes) -> tuple[str, ...]:
    """List the formats that the beginning of a file fits, the likeliest first; none for others."""
    from citeforge.plugins.trec.rules import find_tracks

    return find_tracks(start)


def _looks(track: Track, path: Path, start: bytes) -> bool:
    """Whether a file looks like a run in this track's layout, by its first bytes."""
    return _find_tracks(start)[:1] == (track.format,)


def _get_run_id(track: Track, path: Path) -> str | None:
    """Read the id of a run from the file's first line; None if it has none."""
    from citeforge.plugins.trec.reports import run_id

    return run_id(track, path)


def _declare_format(track: Track) -> Format:
    """Declare the submission format ``trec-TRACK`` of a track."""
    return Format(
        track.format,
        f"[{ANY}]",
        f"runs of {track.title}; {ANY} takes runs that break its rules",
        partial(_read, track),
        looks=partial(_looks, track),
        rank=20,
        system=partial(_get_run_id, track),
        faults=partial(_check, track),
        has_rules=True,
        alike=_find_tracks,
    )


# In the order of TRACKS. A name that does not fit is refused when its entry point is loaded.
RAG24, RAG25, RAG26, RAGTIME25, RAGTIME26, DRAGUN25, NEUCLIR24 = map(_declare_format, TRACKS)
