"""Formats of TREC's report tracks, one a track."""

from functools import partial
from pathlib import Path

from citeforge.evaluator.submissions.format import Format
from citeforge.plugins.trec.reports import read_trec_run, run_id, track_of
from citeforge.plugins.trec.rules import run_breaches
from citeforge.plugins.trec.tracks import TRACKS, Track


def _looks(track: Track, path: Path, start: bytes) -> bool:
    line = start.split(b"\n", 1)[0]
    return b'"query_id"' not in line and track_of(line) == track.format


def _format(track: Track) -> Format:
    return Format(
        track.format,
        partial(read_trec_run, track),
        looks=partial(_looks, track),
        rank=20,
        system=partial(run_id, track),
        faults=partial(run_breaches, track),
    )


# In the order of TRACKS. A name that does not fit is refused when its entry point is loaded.
RAG24, RAG25, RAG26, RAGTIME25, RAGTIME26, DRAGUN25, NEUCLIR24 = map(_format, TRACKS)
