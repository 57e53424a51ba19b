"""Rankings with intervals of values and ranks, and their compact data for the page."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from citeforge.engines.shown import BETTER, DIGITS
from citeforge.evaluator.lines import Lines, is_below
from citeforge.evaluator.measures.registry import declared_place, direction, find_measure
from citeforge.evaluator.ranks import RankInterval, rank_systems
from citeforge.evaluator.rows import count_systems
from citeforge.plugins.leaderboard.about import definition_link
from citeforge.reports.notes import marked_name
from citeforge.schemas.scores import MeasureScore, ScoreFile

_ASKED = re.compile(r"\|asked:(\d+)")
DIRECTIONS = {True: 1, False: -1, None: 0}
"""Whether higher is better, to the factor by which the page sorts values; 0 for no ranking."""
PROTOCOLS = {
    "strict": "strict: corrected definitions, and a missing answer has the worst value",
    "reference": "reference: what the papers' own code computes",
}


@dataclass(frozen=True)
class View:
    """A table of comparable systems: one context, one protocol, equal signatures.

    Attributes:
        title: context and protocol.
        about: context set, and what systems are shown in it.
        measures: names of measures, in declared order.
        files: one score file per system.
        slugs: file names of the systems' pages.
        entries: measure to the score of each system; None without one of the same signature.
        ranks: measure to each system's simultaneous 95 % interval of ranks; None without one.
        main: measure by which the page ranks at first.
    """

    title: str
    about: str
    measures: tuple[str, ...]
    files: tuple[ScoreFile, ...]
    slugs: tuple[str, ...]
    entries: dict[str, list[MeasureScore | None]]
    ranks: dict[str, list[RankInterval | None]]
    main: str


def slug(text: str, used_slugs: set[str]) -> str:
    """Make a unique file name for a page from any text, and add it to the names already used."""
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "page"
    name, number = stem, 1
    while name in used_slugs:
        number += 1
        name = f"{stem}-{number}"
    used_slugs.add(name)
    return name


def make_views(
    files: Sequence[ScoreFile], contexts: Mapping[str, str] = MappingProxyType({})
) -> list[View]:
    """Make a ranking per context set and protocol, of scores with equal score signatures.

    Args:
        files: score files of one benchmark.
        contexts: its context sets with descriptions, which order views of as many systems.
    """
    used_slugs: set[str] = set()
    slugs = {id(f): slug(f"{f.system} {f.context}", used_slugs) for f in files}
    keyed: dict[tuple[str, ...], list[ScoreFile]] = {}
    for file in files:
        keyed.setdefault((file.context, file.protocol), []).append(file)
    views = []
    for (context, protocol), mine in keyed.items():
        names = list(dict.fromkeys(m.name for f in mine for m in f.measures))
        names.sort(key=lambda n: declared_place(n.split("[")[0]))
        # Competitors that answered all queries set what is compared.
        leading = sorted(mine, key=lambda f: (f.is_control, _count_asked(f) is not None))
        signatures = {m.name: m.signature for f in reversed(leading) for m in f.measures}
        entries = {n: [_find_comparable(f, n, signatures[n]) for f in mine] for n in names}
        ranks = {n: rank_systems(mine, row) for n, row in entries.items()}
        directed = [n for n in names if direction(n) is not None]
        preferred = (*(n for f in mine for n in f.headline), *directed, *names)
        main = next((n for n in preferred if n in names), "")
        views.append(
            View(
                f"{context}, {protocol}", f"{context}: {contexts[context]}" if context in contexts
                else context, tuple(names), tuple(mine),
                tuple(slugs[id(f)] for f in mine), entries, ranks, main,
            )
        )  # fmt: skip
    order = [*contexts, *(f.context for f in files)]
    views.sort(key=lambda v: (-count_systems(v.files)[0], order.index(v.files[0].context)))
    return views


def _find_comparable(file: ScoreFile, name: str, signature: str) -> MeasureScore | None:
    """Find a file's score of a measure with a score signature; None if it has no such score."""
    return next((m for m in file.measures if m.name == name and m.signature == signature), None)


def _count_asked(file: ScoreFile) -> int | None:
    """Count the queries of a file that was scored on a part of them; None for all of them."""
    asked = (_ASKED.search(measure.signature) for measure in file.measures)
    return next((int(match[1]) for match in asked if match), None)


def _describe_gaps(view: View, n_queries: int) -> list[str]:
    """Describe, per system, that it was scored on fewer queries, and why values are missing.

    Args:
        view: the ranking.
        n_queries: queries of the benchmark.
    """
    notes = []
    for i, file in enumerate(view.files):
        n_asked = _count_asked(file)
        texts = [] if n_asked is None else [f"{n_asked:,} of {n_queries:,} queries"]
        if any(m.name in view.entries and view.entries[m.name][i] is None for m in file.measures):
            # Of equal settings, the queries are what is left to differ.
            others = "other queries" if _differ_in_queries(view, i) else "other settings"
            texts.append(f"–: {others} than the values here")
        elif any(view.entries[n][i] is None for n in view.measures):
            texts.append("–: not computed")
        notes.append("; ".join(texts))
    return notes


def _differ_in_queries(view: View, at: int) -> bool:
    """Whether a system was scored on other queries than those that a ranking has values of."""
    compared = {
        _count_asked(file)
        for i, file in enumerate(view.files)
        if any(row[i] is not None for row in view.entries.values())
    }
    return _count_asked(view.files[at]) not in compared


def compact(
    view: View, lines: Lines = MappingProxyType({}), n_queries: int = 0
) -> dict[str, object]:
    """Make a ranking's data for its page's JSON; its keys are one letter long.

    Title ``t`` and what it means ``z``; of each measure its name ``m``, better direction ``b``,
    definition ``d``, link ``l``, digits ``k``, ends of its range ``x``, values in hundredths ``v``,
    the line to beat ``e`` and the systems at or below it ``u``; of each system its name ``s``, page
    ``p``, rank ``g`` and interval ``i`` by the main measure, number of missing answers ``n``,
    whether it is a control ``c``, and what its submission states: fields ``f``, values ``a``.
    Measures that sum up scores are ``h``, and what is to be said beside a system's name ``o``.

    Args:
        view: the ranking.
        lines: lines to beat, by score signature.
        n_queries: queries of the benchmark.
    """
    columns = [name for name in ABOUT_FIELDS if any(about_text(f, name) for f in view.files)]
    summing = dict.fromkeys(name for file in view.files for name in file.headline)
    headline = [name for name in summing if name in view.measures]
    return {
        "t": view.title,
        "z": f"{view.about}; {PROTOCOLS[view.files[0].protocol]}" if view.files else "",
        "m": [marked_name(view.files, n) for n in view.measures],
        "b": [DIRECTIONS[direction(n)] for n in view.measures],
        "d": [definition(n) for n in view.measures],
        "l": [definition_link(n) for n in view.measures],
        "main": view.measures.index(view.main) if view.main else 0,
        "h": [view.measures.index(n) for n in headline],
        "o": _describe_gaps(view, n_queries),
        "s": [f.system for f in view.files],
        "p": list(view.slugs),
        "x": [measure_range(n) for n in view.measures],
        "k": [column_digits(filter(None, view.entries[n])) for n in view.measures],
        "v": [[e and hundredths(e.value) for e in view.entries[n]] for n in view.measures],
        "g": [r or 0 for r in view.ranks.get(view.main, [])],
        "i": [interval(e) or 0 for e in view.entries.get(view.main, [])],
        "e": [hundredths(_find_line(view, n, lines)) for n in view.measures],
        "u": [
            [i for i, e in enumerate(view.entries[n]) if e and is_below(view.files[i], e, lines)]
            for n in view.measures
        ],
        "n": [f.counts.n_missing for f in view.files],
        "c": [int(f.is_control) for f in view.files],
        "f": columns,
        "a": [[about_text(f, name) for name in columns] for f in view.files],
    }  # fmt: skip


def measure_range(name: str) -> list[int | None]:
    """Get the ends of a measure's possible values in hundredths; None for an open end."""
    measure = find_measure(name.split("[")[0])
    if measure is None:
        return [None, None]
    low = None if math.isinf(measure.low) else measure.low * measure.scale
    high = None if measure.high is None else measure.high * measure.scale
    return [hundredths(low), hundredths(high)]


def _find_line(view: View, name: str, lines: Lines) -> float | None:
    """Find the line of a measure in a ranking; None if it has none."""
    found = (lines.get(e.signature) for e in view.entries[name] if e is not None)
    return next((line for line in found if line is not None), None)


ABOUT_FIELDS = ("organisation", "model", "parameters", "date", "cost")
"""Fields that submissions state of their systems, which are columns of tables."""


def about_text(file: ScoreFile, name: str) -> str:
    """Get a field that a submission states of its system, as text; empty if it does not."""
    value = getattr(file.about, name, None)
    return "" if value is None else f"${value:,.2f}" if name == "cost" else str(value)


def about_rows(file: ScoreFile) -> list[tuple[str, str]]:
    """List all fields that a submission states of its system: (field, text)."""
    names = (*ABOUT_FIELDS, "url")
    return [(name, text) for name in names if (text := about_text(file, name))]


def later_data(view: View) -> dict[str, object]:
    """Make the data of a ranking that its page loads later: ranks and intervals per measure."""
    return {
        "g": [[r or 0 for r in view.ranks[n]] for n in view.measures],
        "i": [[interval(e) or 0 for e in view.entries[n]] for n in view.measures],
    }


def interval(entry: MeasureScore | None) -> list[int | None]:
    """Get the [low, high] of a score's confidence interval in hundredths; empty without one."""
    if entry is None or entry.low is None or entry.high is None:
        return []
    return [hundredths(entry.low), hundredths(entry.high)]


def column_digits(scores: Iterable[MeasureScore]) -> int:
    """Choose the decimals of a table's column: the most that any of its scores has."""
    return max((score.n_digits for score in scores), default=DIGITS)


def hundredths(value: float | None) -> int | None:
    """Convert a number to integer hundredths; None stays None."""
    return None if value is None else round(100 * value)


def explain_measures(views: Sequence[View]) -> list[tuple[str, str, str, str]]:
    """Explain each measure of the tables: (name, definition, better direction, link).

    Cells of one measure (``NAME[…]``) are explained once.
    """
    files = [f for v in views for f in v.files]
    return [
        (marked_name(files, n), definition(n), BETTER[direction(n)], definition_link(n))
        for n in dict.fromkeys(n.split("[")[0] for v in views for n in v.measures)
    ]


def definition(name: str) -> str:
    """Get a measure's definition in one line; empty for an unknown measure."""
    measure = find_measure(name.split("[")[0])
    return measure.definition if measure is not None else ""
