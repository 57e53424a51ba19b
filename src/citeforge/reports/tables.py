"""Tables that reports show: scores, counts of answers, slices, lines to beat, differences."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from citeforge.engines.report_table import MarkedCell, Table
from citeforge.engines.shown import ARROWS, DASH, show_interval, show_number, show_p, show_score
from citeforge.evaluator.compare import Difference
from citeforge.evaluator.lines import Lines, is_below
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.rows import main_measure
from citeforge.evaluator.slices import list_slices, make_slice_file, slice_fields
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.reports.notes import FEW, marked_name
from citeforge.schemas.audit import BELOW, LINE
from citeforge.schemas.recipes.gate import FEWEST_QUERIES
from citeforge.schemas.scores import MeasureScore, ScoreFile

_MAIN_COUNTS = ("queries", "answered", "missing")
"""Counts that are always shown."""
_COUNTS = (*_MAIN_COUNTS, "truncated", "empty", "unparsed", "judge failed", "uncited",
           "refused", "out of range", "no relevant")  # fmt: skip
"""Counts that ``--verbose`` always shows; others are shown if they are not 0."""
_FIELDS = {title: f"n_{title.replace(' ', '_')}" for title in _COUNTS}
_FIELDS |= {"reference lists": "n_listed", "premises cut": "n_premises_cut"}
"""Title of each count to its field in score files."""
_OF_ANSWERED = {"truncated", "empty", "unparsed", "uncited", "refused", "out of range",
               "reference lists"}  # fmt: skip
"""Counts that are part of the answered queries."""


def scores_table(
    results: Sequence[ScoreFile],
    system_heading: str = "",
    has_sd: bool = True,
    lines_to_beat: Lines | None = None,
) -> Table:
    """Make the table of scores: systems as rows, measures (also corrected ones) as columns.

    Args:
        results: score files with distinct names.
        system_heading: title of the column of systems.
        has_sd: whether values have the standard deviation between runs.
        lines_to_beat: values to beat, which get a row; values at or below theirs are marked.
    """
    lines_to_beat = lines_to_beat or {}
    names = dict.fromkeys(m.name for r in results for m in r.measures)
    is_corrected = {m.name for r in results for m in r.measures if m.corrected is not None}
    head, columns = [system_heading], list[tuple[str, bool]]()
    for name in names:
        title = f"{marked_name(results, name)} {ARROWS[direction(name)]}".rstrip()
        head += [title, f"{name} corrected"][: 1 + (name in is_corrected)]
        columns += [(name, False), (name, True)][: 1 + (name in is_corrected)]
    rows: list[list[object]] = []
    for r in results:
        scores = {m.name: m for m in r.measures}
        cells: list[object] = [r.system]
        for name, is_right in columns:
            score = scores.get(name)
            text = show_score(score, is_right, has_sd)
            cells.append(text if is_right else _mark_below(text, r, score, lines_to_beat))
        rows.append(cells)
    plain = ["" if is_right else name for name, is_right in columns]
    return Table(head, rows + line_rows(results, plain, lines_to_beat))


def _mark_below(
    text: str, file: ScoreFile, score: MeasureScore | None, lines_to_beat: Lines
) -> object:
    """Append a mark to a value's text if it is no better than of systems that copy passages."""
    return MarkedCell(text, mark=BELOW) if score and is_below(file, score, lines_to_beat) else text


def line_rows(
    files: Sequence[ScoreFile], names: Sequence[str], lines_to_beat: Lines
) -> list[list[object]]:
    """Make table rows of the values to beat: the best of trivial systems that copy passages.

    There is a row for each context set, benchmark and protocol, as signatures tell them apart.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for file in files:
        setting = (file.benchmark_hash, file.context, file.protocol)
        for m in file.measures:
            if m.signature in lines_to_beat and m.name in names:
                rows.setdefault(setting, {})[m.name] = show_number(
                    lines_to_beat[m.signature], m.n_digits
                )
    titles = [LINE if len(rows) == 1 else f"{LINE} · {context}" for _, context, _ in rows]
    return [
        [title, *(values.get(name, DASH) for name in names)]
        for title, values in zip(titles, rows.values(), strict=True)
    ]


def counts_table(results: Sequence[ScoreFile], verbose: bool = False) -> Table:
    """Make the table of answered, missing and faulty answers: systems as rows.

    Args:
        results: score files with distinct names.
        verbose: whether all counts are shown; else the main ones and those above 0.
    """
    fields = _shown_counts(results, verbose)
    rows = [
        [r.system, *(f"{getattr(r.counts, field):,}" for field in fields.values())] for r in results
    ]
    among = [name for name in fields if name in _OF_ANSWERED]
    return Table(
        ["", *fields], rows, notes=[f"of the answered: {', '.join(among)}"] if among else []
    )


def _shown_counts(results: Sequence[ScoreFile], verbose: bool) -> dict[str, str]:
    """Choose which counts of answers a table shows: column title to field of the counts."""
    return {
        name: field for name, field in _FIELDS.items()
        if name in (_COUNTS if verbose else _MAIN_COUNTS)
        or any(getattr(r.counts, field) for r in results)
    }  # fmt: skip


def slice_tables(files: Sequence[ScoreFile], measures: Sequence[str] = ()) -> Iterator[Table]:
    """Yield a table per query field and measure, with slices as rows and systems as columns.

    Args:
        files: score files with distinct names.
        measures: names of the measures shown; empty for the main one.
    """
    for name in slice_fields(files):
        for measure in measures or [main_measure(files)]:
            rows = [
                (value, f"{n:,}", *(_format_slice(file, name, value, measure) for file in files))
                for value, n in list_slices(files, name)
            ]
            title = f"{marked_name(files, measure)} by {name}"
            yield Table([name, "queries", *(f.system for f in files)], rows, title=title)


def _format_slice(file: ScoreFile, name: str, value: str, measure: str) -> str:
    """Format the value of a slice with its interval; a dash without one."""
    part = make_slice_file(file, name, value)
    entry = next((m for m in part.measures if m.name == measure), None) if part else None
    if entry is None or entry.value is None:
        return DASH
    return show_score(entry) + (f" {FEW}" if entry.n < FEWEST_QUERIES else "")


_DIFFERENCE = ("measure", "difference", "95 % interval", "p (t)", "p (perm)", "Holm", "detectable",
               "n")  # fmt: skip
_CORRECTED = ("corrected", "95 % interval", "p", "Holm", "labels")


def difference_tables(
    differences: Iterable[Difference], has_bold: bool = False
) -> Iterator[tuple[Difference, Table]]:
    """Yield (first difference, table of differences) per pair of compared systems and slice.

    Args:
        differences: differences, grouped by pair.
        has_bold: whether rows with an adjusted p-value below .05 are bold.
    """
    for (first, second, part), group in groupby(
        differences, key=lambda d: (d.first, d.second, d.slice)
    ):
        rows = list(group)
        parts = dict.fromkeys(part for d in rows for part in d.across)
        corrected = any(d.corrected is not None for d in rows)
        cells = [
            [MarkedCell(c, has_bold and d.p_holm < ALPHA)
             for c in (*_difference_cells(d), *(_corrected_cells(d) if corrected else ()))]
            for d in rows
        ]  # fmt: skip
        head, notes = _DIFFERENCE + (_CORRECTED if corrected else ()), "; ".join(parts)
        title = f"{second} − {first}" + (f", {part}" if part else "")
        constant = [d.measure for d in rows if d.is_constant]
        same = [f"{', '.join(constant)}: the same difference in all"] if constant else []
        yield rows[0], Table(head, cells, title=title,
                             notes=[*([f"across {notes}"] if parts else []), *same])  # fmt: skip


def _difference_cells(d: Difference) -> tuple[str, ...]:
    """Format a difference between two systems as cells of a table row."""
    tests = map(show_p, (d.p_t, d.p_permutation, d.p_holm))
    interval, detectable = show_interval(d.low, d.high), show_number(d.detectable)
    return d.name, show_number(d.difference, sign="+"), interval, *tests, detectable, f"{d.n:,}"


def _corrected_cells(d: Difference) -> tuple[str, ...]:
    """Format a difference corrected by human labels as cells of a row; dashes if there is none."""
    c = d.corrected
    if c is None:
        return (DASH,) * len(_CORRECTED)
    figures = show_number(c.value, sign="+"), show_interval(c.low, c.high), show_p(c.p)
    return *figures, show_p(d.corrected_holm), f"{c.n_labels:,}"
