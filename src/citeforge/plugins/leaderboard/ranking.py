"""Compact data of a ranking for its page: what its report shows, as JSON."""

import math
from collections.abc import Iterable, Sequence

from citeforge.engines.shown import BETTER, DIGITS, hundredths, show_cost
from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.ranks import ranks_of_values
from citeforge.plugins.leaderboard.about import definition_link
from citeforge.plugins.leaderboard.views import View, count_scored_queries
from citeforge.reports.model import ScoreRow
from citeforge.reports.notes import marked_name, missing_text
from citeforge.schemas.scores import MeasureScore, ScoreFile

DIRECTIONS = {True: 1, False: -1, None: 0}
"""Whether higher is better, to the factor by which the page sorts values; 0 for no ranking."""
PROTOCOLS = {
    "strict": "strict: corrected definitions, and a missing answer has the worst value",
    "reference": "reference: what the papers' own code computes",
}


def _describe_gaps(view: View, n_queries: int) -> list[str]:
    """Describe, per system of a ranking, queries that it was not scored on and missing values.

    Args:
        view: the ranking.
        n_queries: queries of the benchmark.
    """
    notes = []
    for i, file in enumerate(view.files):
        n_asked = count_scored_queries(file)
        texts = [] if n_asked is None else [f"{n_asked:,} of {n_queries:,} queries"]
        if any(view.rows(m.name)[i] is None for m in file.measures):
            # Of equal settings, the queries are what is left to differ.
            others = "other queries" if _differ_in_queries(view, i) else "other settings"
            texts.append(f"–: {others} than the values here")
        elif any(view.rows(n)[i] is None for n in view.measures):
            texts.append("–: not computed")
        notes.append("; ".join(texts))
    return notes


def _differ_in_queries(view: View, position: int) -> bool:
    """Whether a system, by position, was scored on other queries than those of a ranking."""
    compared = {
        count_scored_queries(file)
        for i, file in enumerate(view.files)
        if any(view.rows(name)[i] is not None for name in view.measures)
    }
    return count_scored_queries(view.files[position]) not in compared


def make_ranking_data(view: View, n_queries: int = 0) -> dict[str, object]:
    """Make the JSON data of a ranking's page, with keys of one letter.

    Title ``t`` and what it means ``z``; of each measure its name ``m``, better direction ``b``,
    definition ``d``, link ``l``, digits ``k``, ends of its range ``x``, values in hundredths ``v``,
    the line to beat ``e`` and the systems at or below it ``u``; of each system its name ``s``, page
    ``p``, what is said of missing answers ``n`` and of missing values ``o``, whether it is a
    control ``c``, and what its submission states: fields ``f``, values ``a``; and by the main
    measure what :func:`make_rank_data` has by each. Measures that sum up scores are ``h``.

    Args:
        view: the ranking.
        n_queries: queries of the benchmark.
    """
    columns = [name for name in ABOUT_FIELDS if any(get_fact(f, name) for f in view.files)]
    summing = dict.fromkeys(name for file in view.files for name in file.headline)
    headline = [name for name in summing if name in view.measures]
    rows = [view.rows(name) for name in view.measures]
    return {
        "t": view.title,
        "z": f"{view.about}; {PROTOCOLS[view.files[0].protocol]}" if view.files else "",
        "m": [marked_name(view.files, n) for n in view.measures],
        "b": [DIRECTIONS[direction(n)] for n in view.measures],
        "d": [describe_measure(n) for n in view.measures],
        "l": [definition_link(n) for n in view.measures],
        "main": view.measures.index(view.main) if view.main else 0,
        "h": [view.measures.index(n) for n in headline],
        "o": _describe_gaps(view, n_queries),
        "s": [f.system for f in view.files],
        "p": list(view.slugs),
        "x": [measure_range(n) for n in view.measures],
        "k": [column_digits(row.score for row in of_measure if row) for of_measure in rows],
        "v": [[row and hundredths(row.score.value) for row in of_measure] for of_measure in rows],
        **{key: of_main for key, (of_main,) in make_rank_data(view, [view.main]).items()},
        "e": [hundredths(_find_baseline(of_measure)) for of_measure in rows],
        "u": [
            [i for i, row in enumerate(of_measure) if row and row.is_below] for of_measure in rows
        ],
        "n": [missing_text(f) for f in view.files],
        "c": [int(f.is_control) for f in view.files],
        "f": columns,
        "a": [[get_fact(f, name) for name in columns] for f in view.files],
    }  # fmt: skip


def make_rank_data(view: View, measures: Sequence[str]) -> dict[str, list[list[object]]]:
    """Make the JSON data of systems' ranks by some measures; the page loads it when needed.

    Of each measure and system: rank by the displayed value ``q``, interval of ranks ``g``, and
    interval of the value in hundredths ``i``; 0 for None.
    """
    rows = [view.rows(name) for name in measures]
    return {
        "q": [_ranks_by_value(name, row) for name, row in zip(measures, rows, strict=True)],
        "g": [[row.ranks or 0 if row else 0 for row in of_measure] for of_measure in rows],
        "i": [[interval(row.score) or 0 if row else 0 for row in of_measure]
              for of_measure in rows],
    }  # fmt: skip


def _ranks_by_value(measure: str, rows: Sequence[ScoreRow | None]) -> list[object]:
    """Rank systems by a measure's displayed values; 0 for controls or without a direction."""
    better = direction(measure)
    if better is None:
        return [0] * len(rows)
    values = [
        None if row is None or row.file.is_control else hundredths(row.score.value) for row in rows
    ]
    return [rank or 0 for rank in ranks_of_values(values, better)]


def measure_range(measure: str) -> list[int | None]:
    """Get the [lowest, highest] possible value of a measure × 100; None if unbounded."""
    declared = find_measure(measure.split("[")[0])
    if declared is None:
        return [None, None]
    low = None if math.isinf(declared.low) else declared.low * declared.scale
    high = None if declared.high is None else declared.high * declared.scale
    return [hundredths(low), hundredths(high)]


def _find_baseline(rows: Sequence[ScoreRow | None]) -> float | None:
    """Find the baseline value to beat for a measure among systems' rows; None without one."""
    return next((row.line for row in rows if row is not None and row.line is not None), None)


ABOUT_FIELDS = ("organisation", "model", "parameters", "date", "cost")
"""Fields that submissions state of their systems, which are columns of tables."""


def get_fact(file: ScoreFile, field: str) -> str:
    """Get a fact that a submission states about its system, as text; empty if it does not."""
    value = getattr(file.about, field, None)
    return "" if value is None else show_cost(value) if field == "cost" else str(value)


def list_facts(file: ScoreFile) -> list[tuple[str, str]]:
    """List all facts that a submission states about its system: (field, text)."""
    names = (*ABOUT_FIELDS, "url")
    return [(name, text) for name in names if (text := get_fact(file, name))]


def interval(entry: MeasureScore | None) -> list[int | None]:
    """Get the [low, high] of a score's 95 % interval × 100; empty without one."""
    if entry is None or entry.low is None or entry.high is None:
        return []
    return [hundredths(entry.low), hundredths(entry.high)]


def column_digits(scores: Iterable[MeasureScore]) -> int:
    """Choose the decimals of a table's column: the most that any of its scores has."""
    return max((score.n_digits for score in scores), default=DIGITS)


def explain_measures(views: Sequence[View]) -> list[tuple[str, str, str]]:
    """List each measure of some rankings: (name, definition and better direction, link).

    Cells of one measure (``NAME[…]``) are explained once.
    """
    files = [f for v in views for f in v.files]
    return [
        (marked_name(files, n), describe_measure(n), definition_link(n))
        for n in dict.fromkeys(n.split("[")[0] for v in views for n in v.measures)
    ]


def describe_measure(measure: str) -> str:
    """Write a measure's definition and better direction in one line."""
    return "; ".join(filter(None, (definition(measure), BETTER[direction(measure)])))


def definition(measure: str) -> str:
    """Get a measure's definition in one line; empty for an unknown measure."""
    declared = find_measure(measure.split("[")[0])
    return declared.definition if declared is not None else ""
