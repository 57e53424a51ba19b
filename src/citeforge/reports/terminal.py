"""Render the tables that ``score`` and ``compare`` print."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from citeforge.engines.report_table import MarkedCell, Table, folded_note
from citeforge.evaluator.compare import BY_QUERY_NOTE, Difference
from citeforge.evaluator.corrected_ranks import correction_notes, order_notes
from citeforge.evaluator.lines import Lines, line_rows, mark_below
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.notes import build_lines, judge_lines, rounding_lines
from citeforge.evaluator.rows import (
    caution_lines,
    controls_last,
    marked_name,
    missing_lines,
    named_rows,
    variance_lines,
)
from citeforge.evaluator.slices import NOTE, slice_tables
from citeforge.evaluator.statistics.intervals import ALPHA, SKEW, STUDENT, WIDEST, WILSON
from citeforge.schemas.scores import MeasureScore, ScoreFile
from citeforge.schemas.signature import joined_signatures

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
_ARROWS = {True: "↑", False: "↓", None: ""}
"""Direction in which a measure gets better."""


def render_scores(
    results: list[ScoreFile], width: int | None = None, verbose: bool = True,
    leading: Sequence[str] = (),
) -> str:  # fmt: skip
    """Render what ``score`` prints: scores with intervals, counts, notes and signatures.

    Measures are rows if they are more than the systems; else systems are. More than two context
    sets have a row each, with the leading measures alone. Scores of authorship benchmarks are
    rendered as tables of bias and sensitivity.

    Args:
        results: score files.
        width: width of the terminal; None for lines of any length.
        verbose: whether all counts and signatures are shown; else counts above 0, and the first
            signature of each context set.
        leading: measures shown for more than two context sets; empty for all.
    """
    results = named_rows(controls_last(results))
    if all(r.design is not None for r in results):
        return _render_design(results, width)
    counts = counts_table(results, verbose)
    scores = scores_table(results)
    left_out: list[str] = []
    if leading and len({r.context for r in results}) > 2:
        scores, left_out = _leading_columns(scores, leading)
    elif len(results) < len(scores.head) - 1:
        scores, counts = scores.transposed(), counts.transposed()
    foreign = [*counts.notes, *build_lines(results), *rounding_lines(results)]
    foreign += [f"{r.system} read as {r.submission_format}" for r in results
               if r.submission_format != "citeforge"]  # fmt: skip
    missing = [f"not shown: {', '.join(left_out)} (--verbose shows them)"] if left_out else []
    missing += [f"not computed: {line}" for line in missing_lines(results)]
    missing += caution_lines(results) + variance_lines(results) + judge_lines(results)
    signatures = signature_notes(results)
    if not verbose:
        signatures = _first_signatures(signatures)
    missing += correction_notes(results) + order_notes(results)
    slices: list[str] = []
    for table in slice_tables(results, measures=_names(results) if verbose else ()):
        slices += ["", table.title, *table.text(width)]
    notes = foreign + missing + [NOTE] * bool(slices) + signatures
    folded = [line for note in notes for line in folded_note(note, width)]
    return "\n".join([*scores.text(width), "", *counts.text(width), *slices, *folded])


def _names(results: Sequence[ScoreFile]) -> list[str]:
    """List the names of all measures in the score files, each once."""
    return list(dict.fromkeys(m.name for r in results for m in r.measures))


def _leading_columns(scores: Table, leading: Sequence[str]) -> tuple[Table, list[str]]:
    """Keep a table's columns of the leading measures; also name what is left out.

    Only the first one keeps its interval, so that a row fits a terminal of 80 columns.
    """
    titles = [title.split()[0] for title in scores.head[1:]]
    places = [0, *(titles.index(name) + 1 for name in leading if name in titles)]
    if len(places) == 1:
        return scores, []
    rows = [
        [*(row[n] for n in places[:2]), *(str(row[n]).split(" [")[0] for n in places[2:])]
        for row in scores.rows
    ]
    names = [title.rstrip(" ↑↓") for title in scores.head]
    hidden = [name for n, name in enumerate(names) if n not in places]
    if len(places) > 2:
        hidden.append(f"intervals of {' and '.join(names[n] for n in places[2:])}")
    return Table([scores.head[n] for n in places], rows), hidden


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


def scores_table(
    results: Sequence[ScoreFile], corner: str = "", has_sd: bool = True, lines: Lines | None = None
) -> Table:
    """Make the table of scores: systems as rows, measures (also corrected ones) as columns.

    Args:
        results: score files with distinct names.
        corner: title of the column of systems.
        has_sd: whether values have the standard deviation between runs.
        lines: values to beat, which get a row; values at or below theirs are marked.
    """
    lines = lines or {}
    names = dict.fromkeys(m.name for r in results for m in r.measures)
    is_corrected = {m.name for r in results for m in r.measures if m.corrected is not None}
    head, columns = [corner], list[tuple[str, bool]]()
    for name in names:
        title = f"{marked_name(results, name)} {_ARROWS[direction(name)]}".rstrip()
        head += [title, f"{name} corrected"][: 1 + (name in is_corrected)]
        columns += [(name, False), (name, True)][: 1 + (name in is_corrected)]
    rows: list[list[object]] = []
    for r in results:
        scores = {m.name: m for m in r.measures}
        cells: list[object] = [r.system]
        for name, is_right in columns:
            score = scores.get(name)
            text = _score_cell(score, is_right, has_sd)
            cells.append(text if is_right else mark_below(text, r, score, lines))
        rows.append(cells)
    plain = ["" if is_right else name for name, is_right in columns]
    return Table(head, rows + line_rows(results, plain, lines))


def _score_cell(score: MeasureScore | None, is_corrected: bool, has_sd: bool) -> str:
    """Format a score with interval and, if wanted, SD over runs; a dash if it has no value."""
    entry = score.corrected if score is not None and is_corrected else score
    if score is None or entry is None or entry.value is None:
        return "–"
    text = score.show(entry.value)
    if has_sd and not is_corrected and score.sd_runs is not None:
        text += f" ±{score.sd_runs:.2f}"
    if entry.low is not None and entry.high is not None:
        text += f" [{score.show(entry.low)}, {score.show(entry.high)}]"
    return text


_DIFFERENCE = ("measure", "difference", "95 % interval", "p (t)", "p (perm)", "Holm", "detectable",
               "n")  # fmt: skip


def render_differences(differences: Iterable[Difference], width: int | None = None) -> str:
    """Render what ``compare`` prints: a table per pair of systems.

    Args:
        differences: differences, grouped by pair.
        width: width of the terminal; None for lines of any length.
    """
    lines, rows = [], list(differences)
    inside = None if width is None else width - len(_INDENT)
    for _, table in difference_tables(rows):
        title = " ".join([table.title, *(f"({note})" for note in table.notes)])
        texts = (f"{_INDENT}{line}".rstrip() for line in table.text(inside, ruled=False))
        lines += [*folded_note(title, width), *texts]
    by_query = any(d.by_query for d in rows)
    return "\n".join([*lines, *(folded_note(BY_QUERY_NOTE, width) if by_query else [])])


def render_comparison(
    differences: Iterable[Difference], notes: Iterable[str], signatures: Iterable[str],
    width: int | None = None,
) -> str:  # fmt: skip
    """Render differences as :func:`render_differences` does, with notes and signatures below."""
    recipes = (f"signature: {text}" for text in signatures)
    foot = [line for note in (*notes, *recipes) for line in folded_note(note, width)]
    return "\n".join([render_differences(differences, width), *foot])


def difference_tables(
    differences: Iterable[Difference], has_bold: bool = False
) -> Iterator[tuple[Difference, Table]]:
    """Yield (first difference, table of all differences) per pair of systems and slice.

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


_INDENT = "  "
_CORRECTED = ("corrected", "95 % interval", "p", "Holm", "labels")


def _corrected_cells(d: Difference) -> tuple[str, ...]:
    """Format a label-corrected difference as cells of a row; dashes if there is none."""
    corrected = d.corrected
    if corrected is None:
        return ("–",) * len(_CORRECTED)
    interval = f"[{corrected.low:.2f}, {corrected.high:.2f}]"
    holm = _p(d.corrected_holm)
    return f"{corrected.value:+z.2f}", interval, _p(corrected.p), holm, f"{corrected.n_labels:,}"


def _difference_cells(d: Difference) -> tuple[str, ...]:
    """Format a difference as cells of a row."""
    interval = "–" if math.isnan(d.low) else f"[{d.low:.2f}, {d.high:.2f}]"
    detectable = "–" if math.isnan(d.detectable) else f"{d.detectable:.2f}"
    tests = map(_p, (d.p_t, d.p_permutation, d.p_holm))
    return d.name, f"{d.difference:+z.2f}", interval, *tests, detectable, f"{d.n:,}"


def _p(p: float) -> str:
    """Format a p-value with four decimals; a dash for NaN."""
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def _render_design(results: list[ScoreFile], width: int | None) -> str:
    """Render the tables of citation bias and sensitivity of authorship score files."""
    from citeforge.evaluator.measures.authorship_tables import (
        bias_table,
        by_system,
        sensitivity,
        signature_lines,
    )

    tables = [t for t in (bias_table(results), sensitivity(results)) if t.rows]
    lines: list[str] = []
    for table in tables:
        lines += [table.title, *table.notes]
        for part in by_system(table):
            lines += ["", part.title, *part.text(width)]
        lines.append("")
    for r in results:
        c = r.counts
        lines.append(
            f"{r.system}: {c.n_queries} queries, {c.n_answered:,} answers in all cells, "
            f"{c.n_missing:,} missing, {c.n_truncated:,} truncated, {c.n_empty:,} empty, "
            f"{c.n_unparsed:,} unparsed, {c.n_uncited:,} uncited, {c.n_refused:,} refused, "
            f"{c.n_out_of_range:,} out of range"
            + (f", {c.n_no_gold:,} queries without gold" if c.n_no_gold else "")
        )
    lines += [f"not computed: {line}" for line in missing_lines(results)]
    lines += build_lines(results) + judge_lines(results)
    lines += [f"signature: {s}" for s in signature_lines(results)]
    lines += interval_note(m.interval for r in results for m in r.measures)
    lines.append("all cells, and tables for papers: citeforge report SCORES")
    return "\n".join(part for line in lines for part in folded_note(line, width) or [""])


def _first_signatures(notes: Sequence[str]) -> list[str]:
    """Keep the first signature of each context set and all other notes; count the rest."""
    signatures = [note for note in notes if note.startswith("signature: ")]
    contexts: dict[str, str] = {}
    for note in signatures:
        context = next((p for p in note.split("|") if p.startswith("ctx:")), "")
        contexts.setdefault(context, note)
    others = [note for note in notes if note not in signatures]
    n_more = len(signatures) - len(contexts)
    more = f"signatures of other measures: {n_more} more (--verbose shows them)"
    return [*contexts.values(), *([more] if n_more else []), *others]


def signature_notes(results: Sequence[ScoreFile]) -> list[str]:
    """List score signatures (settings), joined if only measures differ; and interval methods."""
    signatures, intervals = list[str](), set[str]()
    for measure in (m for result in results for m in result.measures):
        signatures.append(measure.signature)
        if measure.corrected is not None:
            name = measure.signature.partition("|")[0]
            recipe = measure.corrected.signature.partition("|")[2]
            signatures.append(f"{name} corrected|{recipe}")
        intervals.add(measure.interval)
    lines = [f"signature: {line}" for line in joined_signatures(signatures)]
    return lines + interval_note(intervals)


def interval_note(methods: Iterable[str]) -> list[str]:
    """Write the note on the methods of the intervals in a table; empty without intervals."""
    words = {
        WILSON: "Wilson's with the effective number of queries for shares",
        SKEW: "Student's t corrected for skewness for counts",
        STUDENT: "Student's t for differences",
        WIDEST: "as wide as any values could make them, noise included, for hidden gold",
    }
    notes = [words[name] for name in words if name in set(methods)]
    return [f"intervals: 95 %, {'; '.join(notes)}; ± is the sd between runs"] if notes else []
