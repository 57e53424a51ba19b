"""Tables laid out as in Abolghasemi et al. 2025, of one or several systems."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from citeforge.engines.report_table import Table
from citeforge.engines.shown import DASH, show_interval, show_number, show_p
from citeforge.evaluator.measures.authorship import find_bias_cells
from citeforge.evaluator.statistics.estimates import column
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.evaluator.statistics.significance import paired_t
from citeforge.schemas.authorship import AUTHORS, PLACEBO, Cell, Design
from citeforge.schemas.scores import MeasureScore, ScoreFile
from citeforge.schemas.signature import joined_signatures

DAGGER = "†"
_DIGITS = 1
"""Decimals of points, as in the paper."""
_Entries = list[MeasureScore | None]
_RowKey = tuple[Cell, str | None, list[str]]
"""Of a table row: its cell (condition), label set, and the measures that it shows."""
_Texts = Callable[[ScoreFile, Cell, _Entries], Sequence[str]]
_MODE_NAMES = {"informed": "Informed", "cf": "CF-informed", None: "Vanilla"}


def _scores_by_name(file: ScoreFile) -> dict[str, MeasureScore]:
    """Map measure names of a score file to their scores."""
    return {m.name: m for m in file.measures}


def tables(files: Sequence[ScoreFile]) -> list[Table]:
    """Make all tables of score files of authorship benchmarks; leave out empty ones.

    Args:
        files: score files, distinguished by their ``system``
            (:func:`citeforge.evaluator.rows.named_rows`).
    """
    makers: tuple[Callable[[Sequence[ScoreFile]], Table], ...] = (
        bias_table,
        sensitivity,
        lambda f: quality_table(f, mixed=False),
        lambda f: quality_table(f, mixed=True),
        confidence_table,
        cited_table,
    )
    return [t for t in (make(files) for make in makers) if t.rows]


def _design(file: ScoreFile) -> Design:
    """Get a score file's experimental design: the conditions, and the author labels shown."""
    assert file.design is not None
    return file.design


def _label_groups(design: Design) -> Iterator[tuple[Cell, str, list[Cell]]]:
    """Yield (unlabelled condition, label set, its conditions) per pair of authors and label set."""
    for vanilla in (c for c in design.cells if c.labels is None):
        for labels in design.label_sets:
            here = [
                c for c in design.cells if c.origins == vanilla.origins and c.labels == labels.name
            ]
            yield vanilla, labels.name, here


def _estimate(score: MeasureScore | None, has_plus: bool = False) -> str:
    """Format a score with its interval (``has_plus``: with signs), and † if adjusted p < .05."""
    if score is None or score.value is None:
        return DASH
    sign = "+" if has_plus else ""
    text = show_number(score.value, _DIGITS, sign)
    if score.p_holm is not None and score.p_holm < ALPHA:
        text += DAGGER
    if score.low is not None and score.high is not None:
        text += f" {show_interval(score.low, score.high, _DIGITS, sign)}"
    return text


def _p(score: MeasureScore | None) -> str:
    """Format a score's p-value (the adjusted one, if there is one); a dash without one."""
    if score is None or score.p_t is None:
        return DASH
    return show_p(score.p_t if score.p_holm is None else score.p_holm, 3)


_TEST = "two-sided paired t-test, Holm over the system's cells"


def _is_tested(files: Sequence[ScoreFile], measure: str) -> bool:
    """Whether any score of a measure has a p-value."""
    return any(m.p_t is not None for f in files for m in f.measures if m.name.startswith(measure))


def bias_table(files: Sequence[ScoreFile]) -> Table:
    """Make the table of attribution bias (CAB), a row per pair of authors and label set."""

    def row_keys(design: Design) -> Iterator[_RowKey]:
        """Yield (condition, labels, measure names) for each row of the table of label bias."""
        for vanilla, labels, _ in _label_groups(design):
            if labels != PLACEBO:
                sets = (labels, PLACEBO)
                names = [f"CAB.{m}[{vanilla.origins}_{s}]" for s in sets for m in "PR"]
                yield vanilla, labels, names

    def format_columns(file: ScoreFile, condition: Cell, scores: _Entries) -> list[str]:
        """Format the scores of an experimental condition as the columns of its row."""
        return [
            text for own, placebo in zip(scores[:2], scores[2:], strict=True)
            for text in (_estimate(own, has_plus=True), _p(own), _estimate(placebo, has_plus=True))
        ]  # fmt: skip

    return _table(
        "Attribution bias (CAB)",
        "−100 to +100, positive towards human authorship (the first label of other sets). "
        + (f"{DAGGER}, p: {_TEST}. " if _is_tested(files, "CAB.") else "")
        + f"Placebo: labels without meaning; {DAGGER}: Holm over its own cells. "
        "Of several 95 % intervals one may leave 0 by chance.",
        (*_CELL[:-1], "ΔP", "p", "placebo ΔP", "ΔR", "p", "placebo ΔR"),
        _rows(files, row_keys, format_columns, n_required=2),
        keys=len(_CELL) - 1,
    )


def sensitivity(files: Sequence[ScoreFile]) -> Table:
    """Make the authorship paper's table of sensitivity to labels (CAS), a row per condition."""

    def row_keys(design: Design) -> Iterator[_RowKey]:
        """Yield (condition, label set, measure names) for each row of the CAS table.

        CAS compares a labelled cell with the one without labels. Origins that differ have a row
        for true labels; equal ones (mixed mode) have a row for each of the two opposite labels.
        Measures of the placebo labels are columns of the same row.
        """
        for vanilla, labels, conditions in _label_groups(design):
            if labels == PLACEBO and len(design.label_sets) > 1:
                continue  # its values are columns of the other rows
            pair = find_bias_cells(conditions)
            for condition in (pair.first, pair.second) if vanilla.mixed else (pair.first,):
                own, other = (
                    f"{condition.origins}_{s}_{condition.mode}" for s in (labels, PLACEBO)
                )
                yield condition, labels, [
                    name for m in "PR"
                    for name in (f"CAS.{m}[{own}]", f"CAS.{m}[{other}]", f"CAS.{m}-placebo[{own}]")
                ]  # fmt: skip

    def format_columns(file: ScoreFile, condition: Cell, scores: _Entries) -> list[str]:
        """Format the scores of an experimental condition as the columns of its row."""
        sides = [
            (_estimate(own), _estimate(placebo), _estimate(more, has_plus=True), _p(more))
            for own, placebo, more in (scores[:3], scores[3:])
        ]
        return [_mode(condition), *sides[0], *sides[1]]

    return _table(
        "Attribution sensitivity (CAS)",
        "0 to 100, against vanilla; mode: relevant / other passages. "
        + (
            f"Δ − placebo: CAS less the placebo's, paired by query; {DAGGER}, p: {_TEST}. "
            if _is_tested(files, "CAS.")
            else ""
        )
        + "Answers that vary bring CAS above 0 without labels, too: compare the placebo's.",
        (*_CELL, "ΔP", "placebo ΔP", "ΔP − placebo", "p", "ΔR", "placebo ΔR", "ΔR − placebo", "p"),
        _rows(files, row_keys, format_columns),
    )


def by_system(table: Table) -> Iterator[Table]:
    """Split a table into one table per system and label set, each titled by both."""
    for system, labels in dict.fromkeys((row[0], row[1]) for row in table.rows):
        rows = [row[2:] for row in table.rows if (row[0], row[1]) == (system, labels)]
        yield replace(table, head=table.head[2:], rows=rows, left=table.left - 2,
                      keys=table.keys - 2, title=f"{system}, labels {labels}")  # fmt: skip


def _mode(condition: Cell) -> str:
    """Name a condition's author labels; if passages have one origin, as relevant / other ones."""
    if condition.mixed and condition.labels is not None:
        sides = (condition.relevant_told, condition.other_told)
        return " / ".join(_MODE_NAMES[side].removesuffix("-informed") for side in sides)
    return _MODE_NAMES[condition.relevant_told]


_CELL = ("system", "labels", "relevant", "others", "mode")
"""Columns that identify a cell."""


def _table_rows(
    files: Sequence[ScoreFile],
    measures: Sequence[str],
    format_columns: _Texts,
    has_row: Callable[[Cell], bool] = lambda condition: True,
) -> list[tuple[str, ...]]:
    """Make a row per system and condition that has a measure's score and passes ``has_row``.

    Args:
        files: score files.
        measures: names without their cell.
        format_columns: writes the columns after the mode, from file, cell and scores.
        has_row: whether a cell has a row.

    Returns:
        Rows ordered by origins, as in the paper.
    """

    def row_keys(design: Design) -> Iterator[_RowKey]:
        """Yield (condition, label set, measure names) for each row, ordered by author pair."""
        origins = [c.origins for c in design.cells]
        for condition in sorted(
            filter(has_row, design.cells), key=lambda c: origins.index(c.origins)
        ):
            yield condition, condition.labels, [f"{m}[{condition.context}]" for m in measures]

    return _rows(
        files,
        row_keys,
        lambda file, condition, es: (_mode(condition), *format_columns(file, condition, es)),
    )


def _rows(
    files: Sequence[ScoreFile],
    row_keys: Callable[[Design], Iterator[_RowKey]],
    format_columns: _Texts,
    n_required: int | None = None,
) -> list[tuple[str, ...]]:
    """Make a row per score file and row key that has one of its first ``n_required`` scores.

    Args:
        files: score files.
        row_keys: yields (cell, label set, names of measures) of a design's rows.
        format_columns: writes the columns of a row from file, cell and the scores named, or None.
        n_required: number of names of which a row needs a score; None for all.
    """
    return [
        (file.system, labels or DASH, AUTHORS[condition.relevant_origin],
         AUTHORS[condition.other_origin], *format_columns(file, condition, entries))
        for file in files
        for scores in [_scores_by_name(file)]
        for condition, labels, names in row_keys(_design(file))
        if any((entries := [scores.get(n) for n in names])[:n_required])
    ]  # fmt: skip


def _number(score: MeasureScore | None, digits: int) -> str:
    """Format a score with some digits; a dash where there is none."""
    return DASH if score is None else show_number(score.value, digits)


def quality_table(files: Sequence[ScoreFile], mixed: bool) -> Table:
    """Make a table of precision, recall and exact match over conditions, ``mixed`` or others.

    These are the authorship paper's tables 1 and 11 or, for mixed origins, 4, 14 and 15.
    """
    names = ("Auth.P", "Auth.R", "Auth.EM")

    def format_columns(file: ScoreFile, condition: Cell, scores: _Entries) -> list[str]:
        """Format the scores of an experimental condition as the columns of its row."""
        parts = [*map(_estimate, scores[:2]), _number(scores[2], 3)]
        marks = [DAGGER * _beats_rivals(file, condition, name) for name in names]
        return [text + mark for text, mark in zip(parts, marks, strict=True)]

    what = "mixed mode" if mixed else "origins that differ"
    note = (
        f"Mode: relevant / other passages. {DAGGER}: of the two modes whose labels differ, "
        "significantly better than the other (paired t-test, p < .05)."
        if mixed
        else f"{DAGGER}: better than both other modes of the same origins (paired t-test, p < .05)."
    )
    rows = _table_rows(files, names, format_columns, lambda condition: condition.mixed == mixed)
    title = f"Attribution quality and correctness, {what}"
    return _table(title, note, (*_CELL, "P", "R", "EM"), rows)


def _beats_rivals(file: ScoreFile, condition: Cell, measure: str) -> bool:
    """Whether a condition scores significantly higher than the conditions it is compared with.

    Rivals are both others of its origins and label set; in mixed mode, where relevant and other
    passages carry unlike labels, the mode with these labels exchanged (the paper's table 4).
    """
    design, scores = _design(file), _scores_by_name(file)
    if condition.mixed:
        if condition.labels is None or condition.side(True) == condition.side(False):
            return False
        labels: set[str | None] = {condition.labels}
    elif condition.labels is None:
        sets = {s.name for s in design.label_sets} - {PLACEBO}
        if len(sets) != 1:
            return False  # vanilla has several groups of competitors; none is meant
        labels = sets | {None}
    else:
        labels = {condition.labels, None}
    mine = scores.get(f"{measure}[{condition.context}]")
    rivals = [
        scores.get(f"{measure}[{c.context}]")
        for c in design.cells
        if c.origins == condition.origins
        and c.labels in labels
        and c.context != condition.context
        and not (condition.mixed and c.side(True) == c.side(False))
    ]
    if mine is None or len(rivals) != 2 - condition.mixed or any(r is None for r in rivals):
        return False
    return all(_is_better(mine, rival) for rival in rivals if rival is not None)


def _is_better(score: MeasureScore, other: MeasureScore) -> bool:
    """Whether a score is significantly higher than another (paired t-test, p < .05)."""
    change = column(score.per_query) - column(other.per_query)
    change = change[~np.isnan(change)]
    return bool(len(change) and change.mean() > 0 and paired_t(change) < ALPHA)


def confidence_table(files: Sequence[ScoreFile]) -> Table:
    """Make the table of attribution confidence of relevant and other passages (table 10)."""

    def format_columns(file: ScoreFile, condition: Cell, scores: _Entries) -> list[str]:
        """Format the scores of an experimental condition as the columns of its row."""
        relevant, other = scores
        is_marked = relevant is not None and (relevant.p_t or 1.0) < ALPHA
        return [_number(relevant, 4) + DAGGER * is_marked, _number(other, 4)]

    return _table(
        "Attribution confidence (AC)",
        f"Mean probability of citation tokens. {DAGGER}: relevant and other passages differ "
        "(paired t-test over queries whose answers cite both, p < .05).",
        (*_CELL, "AC relevant", "AC others"),
        _table_rows(files, ("AC.relevant", "AC.other"), format_columns),
    )


def cited_table(files: Sequence[ScoreFile]) -> Table:
    """Make the table of how many passages answers cite (the paper's tables 12 and 13)."""
    return _table(
        "Cited passages",
        "Distinct passages cited, mean over queries.",
        (*_CELL, "relevant cited", "cited in all"),
        _table_rows(
            files, ("Cited.relevant", "Cited.total"), lambda _, __, es: [_number(e, 3) for e in es]
        ),
    )


def signature_lines(files: Sequence[ScoreFile]) -> list[str]:
    """List the score signatures of files; those differing only in measure or condition merge."""
    signatures = (entry.signature for file in files for entry in file.measures)
    return joined_signatures(re.sub(r"\|ctx:[^|]*", "|ctx:CELL", s) for s in signatures)


def _table(
    title: str, note: str, head: Sequence[str], rows: Sequence[Sequence[str]],
    keys: int = len(_CELL),
) -> Table:  # fmt: skip
    """Make a table from its texts, all columns aligned left; the first ``keys`` identify a row."""
    return Table(head, rows, left=len(head), title=title, notes=[note], keys=keys)
