"""Tables of slices."""

from collections.abc import Iterator, Sequence

from citeforge.engines.io.report_table import Table
from citeforge.evaluator.reports.rows import main_measure, marked_name
from citeforge.evaluator.slices import slice_fields, sliced, slices_of
from citeforge.schemas.gate import FEWEST_QUERIES
from citeforge.schemas.scores import ScoreFile

TOO_FEW = "too few"
NOTE = (
    "slices: 95 % intervals that hold at once for all slices of a system (Šidák); "
    f"{TOO_FEW}: fewer than {FEWEST_QUERIES} queries"
)


def slice_tables(files: Sequence[ScoreFile], measures: Sequence[str] = ()) -> Iterator[Table]:
    """A table for each field and measure: slices down, systems across.

    Args:
        files: score files whose names tell them apart.
        measures: those that are shown; the main one when empty.
    """
    for name in slice_fields(files):
        for measure in measures or [main_measure(files)]:
            rows = [
                (value, f"{n:,}", *(_cell(file, name, value, measure) for file in files))
                for value, n in slices_of(files, name)
            ]
            title = f"{marked_name(files, measure)} by {name}"
            yield Table([name, "queries", *(f.system for f in files)], rows, title=title)


def _cell(file: ScoreFile, name: str, value: str, measure: str) -> str:
    """A value with its interval; why there is none otherwise."""
    part = sliced(file, name, value)
    if part is None:
        return TOO_FEW
    entry = next((m for m in part.measures if m.name == measure), None)
    if entry is None or entry.value is None:
        return "–"
    if entry.n < FEWEST_QUERIES:
        return TOO_FEW
    ends = "" if entry.low is None else f" [{entry.low:.2f}, {entry.high:.2f}]"
    return f"{entry.value:.2f}{ends}"
