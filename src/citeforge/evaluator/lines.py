"""The line that a system must beat: what copying the nearest sources scores, knowing nothing."""

from collections.abc import Mapping, Sequence

from citeforge.evaluator.measures.registry import direction
from citeforge.schemas.audit import LINE_SYSTEMS, Audit, is_up_to
from citeforge.schemas.scores import MeasureScore, ScoreFile

Lines = Mapping[str, float]
"""Signature of a measure to its line."""


def find_lines(files: Sequence[ScoreFile], audit: Audit | None = None) -> Lines:
    """Find each measure's value to beat: the best of trivial systems that copy passages.

    Args:
        files: score files as they were read; those of copying systems set lines.
        audit: audit of the benchmark, whose copying systems set lines, too.
    """
    lines = {} if audit is None or audit.exploits is None else dict(audit.exploits.lines)
    for file in (file for file in files if file.is_control and file.system in LINE_SYSTEMS):
        for m in file.measures:
            if m.value is not None:
                lines[m.signature] = max(m.value, lines.get(m.signature, m.value))
    return {s: value for s, value in lines.items() if direction(s.partition("|")[0])}


def is_below(file: ScoreFile, score: MeasureScore, lines: Lines) -> bool:
    """Whether a score does not exceed the value to beat (``lines``); False for control systems."""
    if file.is_control or score.value is None:
        return False
    return is_up_to(score.value, lines.get(score.signature))
