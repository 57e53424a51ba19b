"""Rankings of a benchmark: a report of comparable scores per context set and protocol."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from citeforge.evaluator.lines import Lines
from citeforge.evaluator.measures.registry import best_value, declaration_order, direction
from citeforge.evaluator.rows import controls_last, count_systems, main_measure
from citeforge.reports.model import ScoreReport, ScoreRow
from citeforge.reports.notes import missing_text
from citeforge.schemas.file_names import portable_name
from citeforge.schemas.scores import ScoreFile

_ASKED = re.compile(r"\|asked:(\d+)")
_MOST_HARD = 20
"""Queries that are listed as a system's hardest."""


@dataclass(frozen=True)
class QueryScore:
    """Value of one system on one query, by the main measure of a ranking.

    Attributes:
        view: title of the ranking.
        system: name of the system.
        slug: file name of the system's page.
        measure: name of the measure.
        value: value on the measure's scale.
        gap: note that the answer is missing, or, where the score file has no answers, how many
            are; empty without missing answers.
    """

    view: str
    system: str
    slug: str
    measure: str
    value: float
    gap: str = ""


@dataclass(frozen=True)
class View:
    """A table of comparable systems: one context, one protocol, equal signatures.

    Attributes:
        title: context and protocol.
        about: context set, and what systems are shown in it.
        measures: names of measures, in declared order.
        files: one score file per system with all of its scores; controls are last.
        slugs: file names of the systems' pages.
        report: report of the scores that have the same signatures, a row per file.
        main: measure by which the page ranks at first.
    """

    title: str
    about: str
    measures: tuple[str, ...]
    files: tuple[ScoreFile, ...]
    slugs: tuple[str, ...]
    report: ScoreReport
    main: str

    def rows(self, measure: str) -> list[ScoreRow | None]:
        """List each system's score and rank on a measure; None without a comparable score."""
        return self.report.by_measure.get(measure, [None] * len(self.files))

    def list_hardest_queries(
        self, position: int, queries: Collection[str]
    ) -> list[tuple[str, float, bool]]:
        """List a system's 20 worst queries: (query id, value, whether the answer is missing).

        Queries with the best possible value are left out.

        Args:
            position: position of the system.
            queries: ids of the queries that may be listed.

        Returns:
            (query id, value, whether its answer is known to be missing) of each.
        """
        file = self.files[position]
        score = next((m for m in file.measures if m.name == self.main), None)
        if score is None:
            return []
        best = best_value(self.main)
        values = [
            (v * score.scale, query)
            for query, v in zip(file.query_ids, score.per_query, strict=True)
            if v is not None and v != best and query in queries
        ]
        values.sort(reverse=direction(self.main) is False)
        absent = _missing_queries(file)
        return [(query, value, query in absent) for value, query in values[:_MOST_HARD]]

    def _rank_systems(self) -> list[tuple[int, ScoreRow]]:
        """Rank systems by the main measure, controls last: (position, score and rank) of each.

        Systems that were scored on other queries are left out.
        """
        rows = [
            (at, row)
            for at, row in enumerate(self.rows(self.main))
            if row is not None and self.files[at].query_ids == self.files[0].query_ids
        ]
        towards = 1 if direction(self.main) is False else -1
        rows.sort(key=lambda r: (r[1].file.is_control, towards * (r[1].score.value or 0.0)))
        return rows

    def query_scores(self) -> dict[str, list[QueryScore]]:
        """Map each query to the systems' scores on it, best systems first."""
        best = self._rank_systems()
        absent = {at: _missing_queries(self.files[at]) for at, _ in best}

        def describe_gap(position: int, query: str) -> str:
            """Note a missing answer of a system; if not known which, how many are missing."""
            if self.files[position].answers:
                return "missing" if query in absent[position] else ""
            return missing_text(self.files[position])

        return {
            query: [
                QueryScore(
                    self.title, self.files[at].system, self.slugs[at], self.main,
                    value * row.score.scale, describe_gap(at, query),
                )
                for at, row in best
                if (value := row.score.per_query[n]) is not None
            ]
            for n, query in enumerate(self.files[0].query_ids)
        }  # fmt: skip


def _missing_queries(file: ScoreFile) -> set[str]:
    """Collect the queries with a missing answer; none if the score file has no answers."""
    return {answer.query_id for answer in file.answers if answer.is_missing}


def slug(text: str, used_slugs: set[str]) -> str:
    """Make a unique file name for a page from a text, and add it to ``used_slugs``."""
    stem = portable_name(re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "page")
    name, number = stem, 1
    while name in used_slugs:
        number += 1
        name = f"{stem}-{number}"
    used_slugs.add(name)
    return name


def make_views(
    files: Sequence[ScoreFile],
    contexts: Mapping[str, str] = MappingProxyType({}),
    baselines: Lines = MappingProxyType({}),
) -> list[View]:
    """Make rankings, with baselines to beat, per context set and protocol from score files.

    A ranking compares scores with equal score signatures.

    Args:
        files: score files of one benchmark.
        contexts: its context sets with descriptions, which order views of as many systems.
        baselines: lines to beat, by score signature.
    """
    used_slugs: set[str] = set()
    slugs = {id(f): slug(f"{f.system} {f.context}", used_slugs) for f in files}
    keyed: dict[tuple[str, str], list[ScoreFile]] = {}
    for file in controls_last(files):
        keyed.setdefault((file.context, file.protocol), []).append(file)
    views = []
    for (context, protocol), mine in keyed.items():
        names = list(dict.fromkeys(m.name for f in mine for m in f.measures))
        names.sort(key=lambda n: declaration_order(n.split("[")[0]))
        views.append(
            View(
                f"{context}, {protocol}",
                f"{context}: {contexts[context]}" if context in contexts else context,
                tuple(names), tuple(mine), tuple(slugs[id(f)] for f in mine),
                ScoreReport(_with_equal_signatures(mine), lines_to_beat=baselines),
                main_measure(mine, names),
            )
        )  # fmt: skip
    order = [*contexts, *(f.context for f in files)]
    views.sort(key=lambda v: (-count_systems(v.files)[0], order.index(v.files[0].context)))
    return views


def _with_equal_signatures(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Copy score files without the scores whose signature differs from the leading system's.

    It is that of the first competitor that answered all queries, else of the first competitor.
    """
    leading = sorted(files, key=lambda f: (f.is_control, count_scored_queries(f) is not None))
    signatures = {m.name: m.signature for f in reversed(leading) for m in f.measures}
    return [
        f.model_copy(
            update={"measures": [m for m in f.measures if m.signature == signatures[m.name]]}
        )
        for f in files
    ]


def count_scored_queries(file: ScoreFile) -> int | None:
    """Get how many queries were scored if not all were, from score signatures; else None."""
    asked = (_ASKED.search(measure.signature) for measure in file.measures)
    return next((int(match[1]) for match in asked if match), None)
