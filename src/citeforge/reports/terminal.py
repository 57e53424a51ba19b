"""Render the tables that ``score`` and ``compare`` print."""

from collections.abc import Iterable, Sequence

from citeforge.engines.report_table import Table, folded_note
from citeforge.evaluator.compare import BY_QUERY_NOTE, Difference
from citeforge.reports.model import ScoreReport
from citeforge.reports.notes import (
    SLICES_NOTE,
    build_lines,
    caution_lines,
    correction_notes,
    interval_note,
    judge_lines,
    order_notes,
    rounding_lines,
    signature_notes,
    variance_lines,
)
from citeforge.reports.tables import counts_table, difference_tables, scores_table, slice_tables
from citeforge.schemas.scores import ScoreFile


def render_scores(
    results: list[ScoreFile], width: int | None = None, verbose: bool = True,
    main_measures: Sequence[str] = (),
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
        main_measures: measures shown for more than two context sets; empty for all.
    """
    report = ScoreReport(results)
    results = report.files
    if report.is_design:
        return _render_authorship(report, width)
    counts = counts_table(results, verbose)
    scores = scores_table(results)
    left_out: list[str] = []
    if main_measures and len({r.context for r in results}) > 2:
        scores, left_out = _leading_columns(scores, main_measures)
    elif len(results) < len(scores.head) - 1:
        scores, counts = scores.transposed(), counts.transposed()
    notes = [*counts.notes, *build_lines(results), *rounding_lines(results)]
    notes += [f"{r.system} read as {r.submission_format}" for r in results
               if r.submission_format != "citeforge"]  # fmt: skip
    notes += [f"not shown: {', '.join(left_out)} (--verbose shows them)"] if left_out else []
    notes += [f"not computed: {line}" for line in report.not_computed]
    notes += caution_lines(results) + variance_lines(results) + judge_lines(results)
    signatures = signature_notes(results)
    if not verbose:
        signatures = _first_signatures(signatures)
    notes += correction_notes(results) + order_notes(results)
    slices: list[str] = []
    for table in slice_tables(results, measures=report.measures if verbose else ()):
        slices += ["", table.title, *table.text(width)]
    notes += [SLICES_NOTE] * bool(slices) + signatures
    folded = [line for note in notes for line in folded_note(note, width)]
    return "\n".join([*scores.text(width), "", *counts.text(width), *slices, *folded])


def _leading_columns(scores: Table, main_measures: Sequence[str]) -> tuple[Table, list[str]]:
    """Keep only the main measures' columns of a table: (table, names of the other measures).

    Only the first one keeps its interval, so that a row fits a terminal of 80 columns.
    """
    titles = [title.split()[0] for title in scores.head[1:]]
    columns = [0, *(titles.index(name) + 1 for name in main_measures if name in titles)]
    if len(columns) == 1:
        return scores, []
    rows = [
        [*(row[n] for n in columns[:2]), *(str(row[n]).split(" [")[0] for n in columns[2:])]
        for row in scores.rows
    ]
    names = [title.rstrip(" ↑↓") for title in scores.head]
    hidden = [name for n, name in enumerate(names) if n not in columns]
    if len(columns) > 2:
        hidden.append(f"intervals of {' and '.join(names[n] for n in columns[2:])}")
    return Table([scores.head[n] for n in columns], rows), hidden


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


_INDENT = "  "


def _render_authorship(report: ScoreReport, width: int | None) -> str:
    """Render authorship score files as text: tables of bias and sensitivity, counts, notes."""
    from citeforge.reports.authorship import (
        bias_table,
        by_system,
        sensitivity,
    )

    results = report.files
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
    lines += [f"not computed: {line}" for line in report.not_computed]
    lines += build_lines(results) + judge_lines(results)
    lines += [f"signature: {s}" for s in report.signatures]
    lines += interval_note(m.interval for r in results for m in r.measures)
    lines.append("all cells, and tables for papers: citeforge report SCORES")
    return "\n".join(part for line in lines for part in folded_note(line, width) or [""])


def _first_signatures(notes: Sequence[str]) -> list[str]:
    """Keep one signature per context set and all other notes; count the signatures left out."""
    signatures = [note for note in notes if note.startswith("signature: ")]
    contexts: dict[str, str] = {}
    for note in signatures:
        context = next((p for p in note.split("|") if p.startswith("ctx:")), "")
        contexts.setdefault(context, note)
    others = [note for note in notes if note not in signatures]
    n_more = len(signatures) - len(contexts)
    more = f"signatures of other measures: {n_more} more (--verbose shows them)"
    return [*contexts.values(), *([more] if n_more else []), *others]
