"""Formats of TREC's report tracks, one per track; their code is imported when a file is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import Fault, Format, OnError
from citeforge.plugins.trec.tracks import ANY, TRACKS, Track
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark


@dataclass(frozen=True, kw_only=True)
class TrackFormat(Format):
    """Runs of one track.

    Attributes:
        track: the track.
    """

    track: Track

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of a TREC run file, with line numbers."""
        from citeforge.plugins.trec.reports import read_trec_run

        return read_trec_run(self.track, path, benchmark, options, on_error)

    def looks_like(self, path: Path, start: bytes) -> bool:
        """Whether a file looks like a run of this TREC track, by its first bytes."""
        return self.list_alike(start)[:1] == (self.track.format,)

    def list_alike(self, start: bytes) -> tuple[str, ...]:
        """List the names of the TREC formats that a file's first bytes fit, most likely first."""
        from citeforge.plugins.trec.rules import find_formats

        return find_formats(start)

    def system_in(self, path: Path) -> str | None:
        """Read the run's id, the system's name, from a file's first line; None if it has none."""
        from citeforge.plugins.trec.reports import read_run_id

        return read_run_id(self.track, path)

    def faults(self, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
        """Yield the TREC track's rules that a run file breaks, as errors and warnings."""
        from citeforge.plugins.trec.rules import check_run

        return check_run(self.track, path, benchmark, options)


def _declare_format(track: Track) -> Format:
    """Declare the submission format ``trec-TRACK`` of a TREC track."""
    about = f"runs of {track.title}; {ANY} takes runs that break its rules"
    return TrackFormat(track.format, f"[{ANY}]", about, rank=20, has_rules=True, track=track)


# In the order of TRACKS. A name that does not fit is refused when its entry point is loaded.
RAG24, RAG25, RAG26, RAGTIME25, RAGTIME26, DRAGUN25, NEUCLIR24 = map(_declare_format, TRACKS)
