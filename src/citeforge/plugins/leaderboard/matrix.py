"""Table of systems by benchmarks: a column of scores per benchmark, mean ranks, stated facts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citeforge.engines.shown import hundredths, show_cost, show_number
from citeforge.evaluator.mean_ranks import Column, mean_ranks
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.ranks import ranks_of_values, towards_better
from citeforge.plugins.leaderboard.ranking import (
    ABOUT_FIELDS,
    DIRECTIONS,
    column_digits,
    definition,
    get_fact,
    interval,
)
from citeforge.plugins.leaderboard.views import View
from citeforge.reports.notes import marked_name, trivial_lines
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import MeasureScore, ScoreFile

RANK_DIGITS = 1
"""Decimals of mean ranks."""
_OTHER_SCORES = 1
"""Cell of a system that has scores on a benchmark, but not of the column's table."""


@dataclass(frozen=True)
class BoardColumn:
    """A benchmark's column in the table of all benchmarks.

    Attributes:
        folder: folder of its pages.
        title: title of its pages.
        measure: measure that is shown; empty without scores.
        view: title of the table with the values: context and protocol.
        n_queries: number of queries that systems answered.
        cells: system to its score, of the systems in the column.
        slugs: system to the name of its page, of all systems of the benchmark.
        clusters: cluster of each query; None where no question repeats.
        files: score files without answers, for their facts about systems.
        name: name of the measure, marked if it is trivial.
        trivial: why it is trivial; empty if it is not.
    """

    folder: str
    title: str
    measure: str
    view: str
    n_queries: int
    cells: dict[str, MeasureScore]
    slugs: dict[str, str]
    clusters: np.ndarray | None
    files: tuple[ScoreFile, ...]
    name: str = ""
    trivial: str = ""


def board_column(
    folder: str,
    title: str,
    views: Sequence[View],
    measure: str | None,
    context: str | None,
    config: object = None,
) -> BoardColumn:
    """Make a benchmark's column in a leaderboard's table of systems by benchmarks.

    Args:
        folder: folder of its pages.
        title: title of its pages.
        views: its tables; the first one has the most systems.
        measure: measure to show; None for the one that ranks its table.
        context: context set of the table; None for the first table.
        config: file that names both, for messages.

    Raises:
        InputError: no system was scored in that context, or with that measure.
    """
    slugs = {f.system: s for v in reversed(views) for f, s in zip(v.files, v.slugs, strict=True)}
    files = tuple(f.model_copy(update={"answers": []}) for v in views for f in v.files)
    if not any(v.measures for v in views):
        return BoardColumn(folder, title, measure or "", "", 0, {}, slugs, None, files)
    view = next((v for v in views if context in (None, v.files[0].context)), None)
    if view is None:
        raise InputError(
            f"no system of {folder} was scored in the context {context!r}",
            path=config, field="context", code="unknown-context",
            allowed=", ".join(dict.fromkeys(v.files[0].context for v in views)),
        )  # fmt: skip
    main = view.main if measure is None else measure
    if main not in view.measures:
        raise InputError(
            f"no score file of {folder} ({view.title}) has the measure {main!r}",
            path=config, field="measure", code="not-computed",
            allowed=", ".join(view.measures) or "scores first",
        )  # fmt: skip
    if direction(main) is None:
        raise InputError(
            f"{main} cannot rank systems: neither high nor low values are better",
            path=config, field="measure", code="wrong-value",
            allowed=", ".join(n for n in view.measures if direction(n) is not None),
        )  # fmt: skip
    # Systems that answered fewer queries than most are not compared.
    queries = max((f.query_ids for f in view.files), key=len)
    cells = {
        f.system: row.score
        for f, row in zip(view.files, view.rows(main), strict=True)
        if row is not None and row.score.value is not None and f.query_ids == queries
    }
    first = next(f for f in view.files if f.query_ids == queries)
    clusters = np.array(first.clusters) if first.clusters else None
    n_queries = len(queries) or first.counts.n_queries
    return BoardColumn(
        folder, title, main, view.title, n_queries, cells, slugs, clusters, files,
        marked_name(view.files, main), " ".join(trivial_lines(view.files, [main])),
    )  # fmt: skip


def compact_matrix(columns: Sequence[BoardColumn]) -> dict[str, object]:
    """Make the JSON data of a leaderboard's table of systems by benchmarks, with short keys.

    Benchmarks ``b``, systems in order ``s`` (controls last), mean ranks with the ends of their
    intervals as text ``r``, ranks by them ``k``, numbers of benchmarks without a value ``n``, cells
    by benchmark ``c`` and pages of their systems ``p``, and what submissions state: fields ``f``,
    values ``a``.

    Args:
        columns: one per benchmark.
    """
    all_systems = list(dict.fromkeys(name for c in columns for name in c.slugs))
    # A system stays in the ranking if another board has a reference of the same name.
    competitors = {f.system for c in columns for f in c.files if not f.is_control}
    names = [name for name in all_systems if name in competitors]
    controls = [name for name in all_systems if name not in competitors]
    ranks = mean_ranks(
        [
            Column(
                tuple(_oriented_value(c, n) for n in names),
                tuple(towards_better(c.cells[n]) if n in c.cells else None for n in names),
                c.clusters,
            )
            for c in columns
        ]
    )
    order = sorted(range(len(names)), key=lambda i: (ranks[i].mean, names[i]))
    systems = [names[i] for i in order] + controls
    about = {name: _merge_about(name, columns) for name in systems}
    fields = [f for f in ABOUT_FIELDS if any(about[n][f] for n in systems)]
    return {
        "b": [
            [c.title, c.folder, c.name, c.view, c.n_queries, definition(c.measure), len(c.cells),
             DIRECTIONS[direction(c.measure)], column_digits(c.cells.values())]
            for c in columns
        ],
        "s": systems,
        "r": [[show_number(x, RANK_DIGITS) for x in (r.mean, r.low, r.high)]
              for r in (ranks[i] for i in order)] + [None for _ in controls],
        "k": ranks_of_values([hundredths(ranks[i].mean) for i in order], False)
        + [None for _ in controls],
        "n": [ranks[i].n_missing for i in order]
        + [sum(n not in c.cells for c in columns) for n in systems[len(names) :]],
        "c": [[_table_cell(c, name) for name in systems] for c in columns],
        "p": [[c.slugs.get(name, 0) for name in systems] for c in columns],
        "f": fields,
        "a": [[about[name][f] for f in fields] for name in systems],
    }  # fmt: skip


def _oriented_value(column: BoardColumn, system: str) -> float | None:
    """Get a system's score on a benchmark, negated if lower is better; None without one."""
    value = column.cells[system].value if system in column.cells else None
    return value if value is None else value * (DIRECTIONS[direction(column.measure)] or 1)


def _table_cell(column: BoardColumn, system: str) -> list[int | None] | int:
    """Get a system's [score, low, high] × 100 on a benchmark; 1 with other scores only, else 0."""
    entry = column.cells.get(system)
    if entry is None or entry.value is None:
        return _OTHER_SCORES if system in column.slugs else 0
    return [hundredths(entry.value), *interval(entry)]


def _merge_about(system: str, columns: Sequence[BoardColumn]) -> dict[str, str]:
    """Merge the facts that a system's submissions state, by field; costs are added up."""
    # The costs of a submission with several context sets count once.
    mine = {f.submission_sha256: f for c in columns for f in c.files if f.system == system}.values()
    values = {
        name: ", ".join(dict.fromkeys(filter(None, (get_fact(f, name) for f in mine))))
        for name in ABOUT_FIELDS
    }
    costs = [f.about.cost for f in mine if f.about is not None and f.about.cost is not None]
    if costs:
        # Where a cost is not stated, the sum is a lower bound.
        values["cost"] = ("≥ " if len(costs) < len(mine) else "") + show_cost(math.fsum(costs))
    return values
