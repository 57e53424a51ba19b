"""Agreement of a measure with people's preferences between two answers (Hwang et al. 2026).

A comparison is one question, two systems, and a value of each by people and by the measure. People
call two answers equal (a tie) if their values are equal, the measure if its values differ by at
most a threshold.
"""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from citeforge.engines.files import read_json
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.report_table import Table
from citeforge.engines.shown import show_number, show_percent, show_significant
from citeforge.plugins.labels.system_order import kendall_tau_b, values_by_system
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.scores import ScoreFile

PEOPLE = "preference"
"""Field of people's values, unless another one is named."""
Values = tuple[float, float]
_OneOrNone = tuple[float | None, float | None]
_FIELDS: Any = dict[str, Any]
"""Type of a row whose fields the caller names."""


@dataclass(frozen=True)
class PreferencePair:
    """Two answers to one question; systems in alphabetical order.

    Attributes:
        question: id or text of the question.
        systems: names of the two systems.
        people: value of each answer by people.
        measure: value of each answer by the measure; None if one has none.
    """

    question: str
    systems: tuple[str, str]
    people: Values
    measure: Values | None = None

    @property
    def key(self) -> tuple[str, tuple[str, str]]:
        """Identity of a comparison of two answers: (question, (system, system))."""
        return self.question, self.systems

    @property
    def preference(self) -> int:
        """Annotator's preference: 1 for the first answer, -1 for the second, 0 for a tie."""
        return compare_values(self.people)


@dataclass(frozen=True)
class PairwiseAgreement:
    """Agreement of people with a measure over comparisons of two answers.

    Attributes:
        n: number of comparisons that both decided, ties included.
        agreement: share of equal decisions; NaN without comparisons.
        tau: (C − D) / √((n − T_h)(n − T_m)); NaN if one side has only ties.
        threshold: difference up to which the measure calls two answers equal.
        system_tau: Kendall's tau-b of the systems' win rates by people and by the measure, where
            only equal values tie; NaN with fewer than two systems.
        n_left_out: number of comparisons without a value of the measure.
    """

    n: int
    agreement: float
    tau: float
    threshold: float
    system_tau: float
    n_left_out: int


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Agreement of annotators with each other, over comparisons that two of them made.

    Attributes:
        n: number of pairs of such decisions.
        strict: share of equal decisions.
        half_credit: the same, with half a point if only one of the two is a tie.
    """

    n: int
    strict: float
    half_credit: float


def compare_values(values: Values, threshold: float = 0.0) -> int:
    """Compare two answers' values: 1 if the first is higher, -1 if the second, 0 for a tie."""
    first, second = values
    if abs(first - second) <= threshold:
        return 0
    return 1 if first > second else -1


class _Row(msgspec.Struct):
    """A row of a file of preferences, without the values."""

    question: str = ""
    query_id: str = ""
    systems: tuple[str, str] | None = None
    models: tuple[str, str] | None = None


def read_preferences(
    path: Path, human_field: str = PEOPLE, measure_field: str | None = None
) -> tuple[list[PreferencePair], int]:
    """Read one annotator's preferences between two answers: (comparisons, number of repeats).

    Args:
        path: JSON Lines, or a JSON list: ``query_id`` or ``question``, ``systems`` or ``models``,
            and fields with a value for each of the two.
        human_field: field of people's values, larger for the preferred answer.
        measure_field: field of the measure's values; None if score files have them.

    Returns:
        (comparisons, number of rows that repeat one).

    Raises:
        InputError: a row has not two systems with values, or two rows of one comparison differ.
    """
    if path.suffix == ".json":
        content = read_json(path)
        if not isinstance(content, list):
            raise InputError(
                "not a list", path=path, allowed="a list of comparisons", code="wrong-type"
            )
        rows, unit = list(enumerate(content, 1)), "item"
    else:
        rows, unit = list(read_rows(path, _FIELDS)), "line"
    comparisons: dict[tuple[str, tuple[str, str]], tuple[int, PreferencePair]] = {}
    for number, row in rows:
        line, item = (number, None) if unit == "line" else (None, f"item {number}")
        wrong = partial(InputError, path=path, line=line, field=item)
        try:
            names = msgspec.convert(row, _Row)
            values = msgspec.convert(row.get(human_field), Values)
            both = msgspec.convert(
                (row.get(measure_field) if measure_field else (None, None)), _OneOrNone
            )
        except msgspec.ValidationError as error:
            raise wrong(
                f"not a comparison ({error})",
                allowed=f"query_id or question, systems or models (two names), {human_field} and "
                f"{measure_field or 'nothing else'} (two numbers each)",
                code="schema-mismatch",
            ) from error
        systems = names.systems or names.models
        question = names.query_id or names.question
        if systems is None or not question or systems[0] == systems[1]:
            raise wrong(
                "the question or its two systems are missing",
                allowed="query_id or question, and systems or models with two names",
                code="missing-field",
            )
        one = PreferencePair(question, systems, values, _both_or_none(both))
        if systems[0] > systems[1]:
            one = PreferencePair(question, systems[::-1], values[::-1], _both_or_none(both[::-1]))
        first, same = comparisons.setdefault(one.key, (number, one))
        if same != one:
            raise wrong(
                f"another decision on {' and '.join(systems)} for {question!r} than {unit} {first}",
                allowed="one file per annotator, one decision per comparison",
                code="contradiction",
            )
    return [one for _, one in comparisons.values()], len(rows) - len(comparisons)


def _both_or_none(values: _OneOrNone) -> Values | None:
    """Return the values of a compared pair of answers, or None if one of them is missing."""
    first, second = values
    return None if first is None or second is None else (first, second)


def add_scores(
    comparisons: Sequence[PreferencePair], scores: Sequence[ScoreFile], measure: str
) -> list[PreferencePair]:
    """Add a measure's values, from one score file per system, to comparisons of answers.

    Raises:
        InputError: a compared system has no score file, or one has two.
        UnknownValueError: a file lacks the measure, or a query.
    """
    values = {
        system: dict(zip(ids, per_query, strict=True))
        for system, (ids, per_query) in values_by_system(scores, measure).items()
    }
    scored = []
    for one in comparisons:
        absent = [s for s in one.systems if s not in values]
        if absent:
            raise InputError(
                f"the system {absent[0]!r} has no score file",
                allowed=", ".join(values),
                code="no-scores",
            )
        a, b = (values[s] for s in one.systems)
        if one.question not in a:
            raise UnknownValueError("query", one.question, a)
        both = (a[one.question], b.get(one.question))
        scored.append(replace(one, measure=_both_or_none(both)))
    return scored


def tie_threshold(
    comparisons: Sequence[PreferencePair], thresholds: Sequence[float] | None = None
) -> float:
    """Find the threshold (largest difference of a tie) that gives as many ties as people see.

    Args:
        comparisons: comparisons with values by people and by the measure.
        thresholds: thresholds to try; the first of equally good ones is taken. None for 0 and all
            differences that occur.
    """
    gaps = sorted(abs(m[0] - m[1]) for c in comparisons if (m := c.measure) is not None)
    if not gaps:
        return 0.0
    wanted = sum(c.preference == 0 for c in comparisons if c.measure is not None) / len(gaps)
    tried = [0.0, *dict.fromkeys(gaps)] if thresholds is None else list(thresholds)
    shares = np.searchsorted(gaps, tried, side="right") / len(gaps)
    return float(tried[int(np.argmin(np.abs(shares - wanted)))])


def pairwise_agreement(
    comparisons: Sequence[PreferencePair], threshold: float | None = None
) -> PairwiseAgreement:
    """Compute how well a measure agrees with one annotator on which answer is better.

    Args:
        comparisons: comparisons of one annotator.
        threshold: difference up to which the measure ties; None for :func:`tie_threshold`.
    """
    at = tie_threshold(comparisons) if threshold is None else threshold
    decided = [c for c in comparisons if c.measure is not None]
    pairs = [(c.preference, compare_values(m, at)) for c in decided if (m := c.measure) is not None]
    n = len(pairs)
    free_people, free_measure = (sum(pair[side] != 0 for pair in pairs) for side in (0, 1))
    spread = math.sqrt(free_people * free_measure)
    rates = [list(r.values()) for r in win_rates(decided)]
    return PairwiseAgreement(
        n,
        sum(a == b for a, b in pairs) / n if n else math.nan,
        sum(a * b for a, b in pairs) / spread if spread else math.nan,
        at,
        kendall_tau_b(*map(np.array, rates)) if len(rates[0]) > 1 else math.nan,
        len(comparisons) - n,
    )


def win_rates(comparisons: Sequence[PreferencePair]) -> tuple[dict[str, float], dict[str, float]]:
    """Compute each system's win rate: (by annotators, by the measure).

    A tie is half a win. Comparisons without a value of the measure are left out.

    Returns:
        (share by people, share by the measure), each by system.
    """
    decided = [(c, m) for c in comparisons if (m := c.measure) is not None]
    n = Counter(s for c, _ in decided for s in c.systems)
    by_people: Counter[str] = Counter()
    by_measure: Counter[str] = Counter()
    for one, values in decided:
        for wins, won in ((by_people, one.preference), (by_measure, compare_values(values))):
            wins[one.systems[0]] += 1 + won  # wins count double, so that ties are whole numbers
            wins[one.systems[1]] += 1 - won
    names = sorted(n)
    return {s: by_people[s] / 2 / n[s] for s in names}, {s: by_measure[s] / 2 / n[s] for s in names}


def annotator_agreement(annotators: Sequence[Sequence[PreferencePair]]) -> AnnotatorAgreement:
    """Compute how often two annotators prefer the same answer, over all pairs of annotators.

    Args:
        annotators: comparisons of each annotator.

    Returns:
        Number of decisions compared, share of equal ones, and the same with half credit where one
        of both says "equal".
    """
    of_all = [{c.key: c.preference for c in one} for one in annotators]
    pairs = [
        (first[key], second[key])
        for first, second in combinations(of_all, 2)
        for key in first
        if key in second
    ]
    n = len(pairs)
    equal = sum(a == b for a, b in pairs)
    half = sum(a != b and 0 in (a, b) for a, b in pairs)
    if not n:
        return AnnotatorAgreement(0, math.nan, math.nan)
    return AnnotatorAgreement(n, equal / n, (equal + half / 2) / n)


def select_agreed(annotators: Sequence[Sequence[PreferencePair]]) -> list[PreferencePair]:
    """Select the comparisons of answers that all annotators made and decided alike."""
    others = [{c.key: c.preference for c in one} for one in annotators[1:]]
    return [c for c in annotators[0] if all(o.get(c.key) == c.preference for o in others)]


def render_preferences(
    measure: str,
    by_annotator: Mapping[str, Sequence[PreferencePair]],
    agreement: AnnotatorAgreement,
    threshold: float | None = None,
    n_repeats: int = 0,
) -> str:
    """Format a measure's and annotators' agreement as ``labels meta-eval --preferences`` lines.

    Args:
        measure: name of the measure.
        by_annotator: name to comparisons, with the measure's values.
        agreement: agreement of the annotators with each other.
        threshold: difference up to which the measure ties; None to choose one per annotator.
        n_repeats: number of rows that repeat another one.
    """
    agreements = {name: pairwise_agreement(rows, threshold) for name, rows in by_annotator.items()}
    fields = ("agreement", "tau", "system_tau")
    rows = [
        (
            name,
            f"{a.n:,}",
            *_format_figures(*(getattr(a, f) for f in fields)),
            show_significant(a.threshold, 4),
        )
        for name, a in agreements.items()
    ]
    if len(rows) > 1:
        means = (statistics.fmean(getattr(a, f) for a in agreements.values()) for f in fields)
        rows.append(("mean", "", *_format_figures(*means), ""))
    head = ("annotator", "n", "agreement", "tau", "system tau-b", "ties within")
    lines = [f"{measure} against the preferences of people", *Table(head, rows).text()]
    n_left_out = sum(one.n_left_out for one in agreements.values())
    if n_left_out:
        lines.append(f"  left out  {n_left_out:,}: {measure} has no value of both answers")
    if n_repeats:
        lines.append(f"  left out  {n_repeats:,}: the row repeats another one")
    if agreement.n:
        lines.append(
            f"annotators agree on {show_percent(agreement.strict, 2)} of {agreement.n:,} "
            f"comparisons; {show_percent(agreement.half_credit, 2)} with a half where one of two "
            "calls them equal"
        )
    return "\n".join(lines)


def _format_figures(agreement: float, tau: float, system_tau: float) -> tuple[str, str, str]:
    """Format an agreement (as percent) and two correlations as texts."""
    return show_number(100 * agreement), show_number(tau, 3), show_number(system_tau, 3)
