"""The line that a system must beat: what copying the nearest sources scores, knowing nothing."""

from collections.abc import Mapping, Sequence

from citeforge.engines.report_table import MarkedCell
from citeforge.evaluator.measures.registry import direction
from citeforge.schemas.audit import BELOW, LINE, LINE_SYSTEMS, Audit, is_up_to
from citeforge.schemas.scores import MeasureScore, ScoreFile

_NOTE = (
    f"{BELOW}: at or below the line of systems that copy the sources with most words of the "
    "question, cite them, and know nothing"
)
Lines = Mapping[str, float]
"""Signature of a measure to its line."""


def find_lines(files: Sequence[ScoreFile], audit: Audit | None = None) -> Lines:
    """Find the line of each measure: the best value of the systems that copy what is nearest.

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
    """Whether a system's value, as displayed, is at or below its line; controls never are."""
    if file.is_control or score.value is None:
        return False
    return is_up_to(score.value, lines.get(score.signature))


def mark_below(text: str, file: ScoreFile, score: MeasureScore | None, lines: Lines) -> object:
    """Add the mark to the text of a value that is at or below its line."""
    return MarkedCell(text, mark=BELOW) if score and is_below(file, score, lines) else text


def line_rows(files: Sequence[ScoreFile], names: Sequence[str], lines: Lines) -> list[list[object]]:
    """Make the rows of a table with the line of each named measure; none without lines.

    There is a row for each context set, benchmark and protocol, as signatures tell them apart.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for file in files:
        place = (file.benchmark_hash, file.context, file.protocol)
        for m in file.measures:
            if m.signature in lines and m.name in names:
                rows.setdefault(place, {})[m.name] = f"{lines[m.signature]:.2f}"
    titles = [LINE if len(rows) == 1 else f"{LINE} · {context}" for _, context, _ in rows]
    return [
        [title, *(values.get(name, "–") for name in names)]
        for title, values in zip(titles, rows.values(), strict=True)
    ]


def line_notes(files: Sequence[ScoreFile], lines: Lines) -> list[str]:
    """Name the systems at or below a line, with both values; empty if none is."""
    notes = []
    for file in files:
        below = [
            f"{m.name} {m.value:.2f} (line {lines[m.signature]:.2f})"
            for m in file.measures
            if is_below(file, m, lines)
        ]
        if below:
            notes.append(f"{file.system} does not beat copying: {', '.join(below)}")
    return [*notes, _NOTE] if notes else []
