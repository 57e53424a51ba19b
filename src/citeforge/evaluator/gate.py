"""The gate's decision: pass, fail, or not enough evidence (docs/gate.md).

A critical measure passes where the interval of the paired difference lies above its margin: all
have to, so that each may be tested at full level (Berger 1982, Technometrics 24). A measure fails
where it is worse by a test of no difference, after Holm over all rows that can fail.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from citeforge.evaluator.compare import compare_pairs, measure_change
from citeforge.evaluator.gate_findings import (
    FAIL,
    NOT_RUN,
    OPEN,
    PASS,
    Conclusion,
    FewDefined,
    FewQueries,
    Finding,
    MeasureTest,
    NoInterval,
    NotComparable,
    NotComputed,
    Row,
    RowFigures,
    SameSubmission,
    Tested,
    Verdict,
)
from citeforge.evaluator.gate_policy import PolicySource, checked_policy
from citeforge.evaluator.gate_remedies import find_remedies, judge_doubts, queries_needed
from citeforge.evaluator.gate_rows import Pair, count_rows, pair_files, required_rows
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.rows import main_measure, named_apart
from citeforge.evaluator.slices import slice_pairs
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.evaluator.statistics.significance import holm
from citeforge.evaluator.statistics.values import value_fault
from citeforge.evaluator.withhold import require_values
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.gate import GatePolicy, Margin, Tier
from citeforge.schemas.scores import MeasureScore, ScoreFile

_TINY = 1e-9


@dataclass(frozen=True)
class Outcome:
    """Verdict of the gate with all findings, before it is put into words.

    Attributes:
        verdict: the worst verdict of the rows that decide.
        rows: what decided it, and what was only reported.
        pairs: score files of the new system with those of the baseline.
        tests: tests of all measures, also on slices.
        small_slices: slices of few queries, with their numbers of queries.
        open_slices: slices with the rows of measures that could not be tested on them.
    """

    verdict: Verdict
    rows: list[Row]
    pairs: list[Pair]
    tests: list[MeasureTest]
    small_slices: Mapping[str, int]
    open_slices: Sequence[tuple[str, Row]]


def decide(
    new: Sequence[ScoreFile], baseline: Sequence[ScoreFile], policy_source: PolicySource,
    fields: Sequence[str] = (),
) -> Outcome:  # fmt: skip
    """Decide by a policy whether a new system may replace the baseline, slices included.

    Args:
        new: score files of the new system, one or several contexts, benchmarks or protocols.
        baseline: score files of the old one; none in a first run, which never passes.
        policy_source: the policy.
        fields: fields whose slices must not be shown to fall; the files have to be scored by them.

    Raises:
        InputError: a score file without values by query, or whose values contradict each other; or
            the policy names what the files do not have.
        UsageError: files that cannot be told apart, or the same file on both sides.
    """
    every = [*new, *baseline]
    if not new:
        raise UsageError("gate needs score files of the new system", code="missing-option")
    if any(one is old for one in new for old in baseline):
        raise UsageError("a score file is its own baseline", code="same-file")
    require_values(every, "gate")
    for file in every:
        _require_consistent(file)
    policy_source = _with_main_measure(policy_source, every)
    pairs, rows = pair_files(new, baseline)
    pairs = [p if p.old is None else Pair(*named_apart(p.new, p.old), p.place) for p in pairs]
    tests: list[MeasureTest] = []
    small: dict[str, int] = {}
    open_slices: list[tuple[str, Row]] = []
    for pair in pairs:
        rows += count_rows(pair, policy_source.policy)
        for tier, margins in policy_source.policy.tiers.items():
            found, undecided = _compare_measures(pair, tier, margins, policy_source.policy)
            tests, rows = tests + found, rows + undecided
    for pair in pairs if fields else ():
        found, few, undecided_slices = _slice_tests(pair, policy_source.policy, fields)
        tests, small = tests + found, small | few
        open_slices += undecided_slices
    # Advisory measures decide nothing, and have no part in Holm's correction.
    adjusted = holm([math.nan if t.tier == "advisory" else t.p for t in tests])
    rows = [*map(_decide_test, tests, adjusted), *rows, *required_rows(pairs, policy_source)]
    order = ("files", "critical", "supporting", "advisory", "required", "counts")
    rows.sort(key=lambda row: order.index(row.group))
    verdicts = {row.verdict for row in rows if row.decides}
    verdict = next(v for v in (FAIL, NOT_RUN, OPEN, PASS) if v in verdicts)
    return Outcome(verdict, rows, pairs, tests, small, open_slices)


def _require_consistent(file: ScoreFile) -> None:
    """Raise an error if a score file's values do not follow from its values by query."""
    fault = next(filter(None, (value_fault(m, file) for m in file.measures)), None)
    if fault is not None:
        raise InputError(
            fault, path=file.submission, allowed="the file that `citeforge score` wrote",
            code="inconsistent-scores",
        )  # fmt: skip


def _with_main_measure(policy_source: PolicySource, files: Sequence[ScoreFile]) -> PolicySource:
    """Return the policy; if it has no critical measure, the files' main measure becomes one.

    That is the main one of all that any file has: where a file lacks it, nothing is decided.
    """
    if policy_source.policy.critical:
        return policy_source
    name = main_measure(files, list(dict.fromkeys(m.name for f in files for m in f.measures)))
    if not name or direction(name) is None:
        raise UsageError(
            "the score files have no measure that could decide; name one in --policy, as in "
            "`critical: [CiteF1]`",
            code="missing-option",
        )
    rest = {
        tier: {n: m for n, m in policy_source.policy.tiers[tier].items() if n != name}
        for tier in ("supporting", "advisory")
    }
    policy = policy_source.policy.model_copy(update={"critical": {name: Margin()}, **rest})
    return checked_policy(replace(policy_source, policy=policy))


def _compare_measures(
    pair: Pair, tier: Tier, margins: Mapping[str, Margin], policy: GatePolicy
) -> tuple[list[MeasureTest], list[Row]]:
    """Test the measures of one policy tier: (tests, undecided rows where no test is possible).

    Args:
        pair: score files of the new system and the baseline.
        tier: "critical", "supporting" or "advisory".
        margins: largest allowed drops by name of the measure.
        policy: the policy.
    """
    if pair.old is None:
        return [], []
    every = dict.fromkeys(m.name for f in (pair.old, pair.new) for m in f.measures)
    made = [
        _make_test(pair, pair.old, tier, one, margin, policy)
        for name, margin in margins.items()
        for one in [n for n in every if name in (n, n.partition("[")[0])] or [name]
    ]
    return [t for t in made if isinstance(t, MeasureTest)], [r for r in made if isinstance(r, Row)]


def _make_test(
    pair: Pair, baseline: ScoreFile, tier: Tier, name: str, margin: Margin, policy: GatePolicy
) -> Row | MeasureTest:
    """Test one measure's change by the policy; return an undecided report row if impossible.

    Args:
        pair: score files that are compared, and what to call the comparison.
        baseline: score file of the baseline.
        tier: "critical", "supporting" or "advisory".
        name: name of the measure.
        margin: largest allowed drop, where the policy sets one for the measure.
        policy: the policy.
    """

    def undecided(finding: Finding) -> Row:
        """Make the report row of a measure that cannot be tested, with the reason."""
        return Row(name, tier, OPEN, pair.place, finding=finding)

    files = (baseline, pair.new)
    old, new = (next((m for m in f.measures if m.name == name), None) for f in files)
    for file, entry in zip(files, (old, new), strict=True):
        if entry is None:
            reason = next((x.reason for x in file.not_computed if x.name == name), "")
            return undecided(NotComputed(file.system, reason))
    assert old is not None and new is not None
    errors: list[InputError] = []
    (differences,) = compare_pairs([files], [name], on_error=errors.append)
    if errors:
        return undecided(NotComparable(errors[0].message))
    (d,) = differences
    n_old, n_both = _count_defined(old, new)
    if n_both < (1 - policy.counts.undefined) * n_old:
        return undecided(FewDefined(pair.new.system, n_old, n_both))
    if _is_unchanged(files, old, new):
        return Row(
            name, tier, PASS, pair.place, old.value, new.value, n=d.n,
            finding=SameSubmission(baseline.submission_sha256),
        )  # fmt: skip
    if d.n < policy.least_queries:
        if not pair.is_slice:
            return undecided(FewQueries(d.n, policy.least_queries))
        tier = "advisory"
    sign = -1 if direction(name) is False else 1
    clusters = np.array(pair.new.clusters) if pair.new.clusters else None
    change = measure_change(old, new, clusters)
    if (c := d.corrected) is not None:
        value, ends, half, p = c.value, (c.low, c.high), c.half, c.p
        before, after = (e.corrected.value if e.corrected else e.value for e in (old, new))
        doubts = 0.0, 0.0
    else:
        value, ends, half, p = d.difference, change.interval, change.half, d.p_permutation
        before, after = old.value, new.value
        doubts = judge_doubts(old, new, sign)
    if math.isnan(ends[0]):
        return undecided(NoInterval())
    row = RowFigures(
        name, tier, OPEN, pair.place, before, after, value, *ends,
        allowed=policy.allowed_drop(margin, before or 0.0), n=d.n,
    )  # fmt: skip
    return MeasureTest(
        tier, new, min(sign * end for end in ends) - doubts[0], sign * value + half + doubts[1], p,
        c is not None, row, change, sign, doubts,
        (baseline.counts.n_judge_failed, pair.new.counts.n_judge_failed),
    )  # fmt: skip


def _is_unchanged(files: tuple[ScoreFile, ScoreFile], old: MeasureScore, new: MeasureScore) -> bool:
    """Whether both scores are of the same answers, by their sha256, with the same values."""
    first, second = (f.submission_sha256 for f in files)
    return first == second and old.value == new.value and old.per_query == new.per_query


def _slice_tests(
    pair: Pair, policy: GatePolicy, fields: Sequence[str]
) -> tuple[list[MeasureTest], dict[str, int], list[tuple[str, Row]]]:
    """Test measures on all slices by query fields: (tests, which are small, undecided rows).

    No slice must be shown to be worse. One of fewer queries than the policy asks for decides
    nothing, and is shown with its interval.
    """
    if pair.old is None:
        return [], {}, []
    parts, small = slice_pairs([(pair.old, pair.new)], fields)
    tests: list[MeasureTest] = []
    still_open: list[tuple[str, Row]] = []
    for label, old, new in parts:
        _require_consistent(old)
        _require_consistent(new)
        scope = f"{pair.place}, {label}" if pair.place else label
        slice_pair = Pair(new, old, scope, is_slice=True)
        margins = policy.critical | policy.supporting
        found, undecided = _compare_measures(slice_pair, "supporting", margins, policy)
        tests += found
        still_open += [(label, row) for row in undecided]
    return tests, small, still_open


def _count_defined(old: MeasureScore, new: MeasureScore) -> tuple[int, int]:
    """Count (queries with a value for the baseline, queries with values for both systems)."""
    both = [
        b is not None for a, b in zip(old.per_query, new.per_query, strict=True) if a is not None
    ]
    return len(both), sum(both)


def _decide_test(test: MeasureTest, p: float) -> Row:
    """Make the report row of a test, with its verdict and the reason.

    Args:
        test: difference, interval and margin.
        p: adjusted p-value; NaN without a test.
    """

    def row(verdict: Verdict, conclusion: Conclusion, **reported: Any) -> Row:
        """Make the test's report row with a verdict and what the test shows."""
        is_advisory = test.tier == "advisory"
        decided = {
            "verdict": verdict,
            "allowed": None if is_advisory else test.row.allowed,
            "p": None if is_advisory or math.isnan(p) else p,
            "n_needed": reported.get("n_needed"),
        }
        return Row(**vars(test.row) | decided, finding=Tested(test, conclusion, **reported))

    if test.tier == "advisory":
        return row(PASS, "reported")
    excludes_zero = (test.row.low or 0.0) * (test.row.high or 0.0) > 0
    shown_p = p if test.tier == "supporting" and excludes_zero and not math.isnan(p) else None
    if test.low >= -test.allowed - _TINY:
        return row(PASS, "better" if test.low > 0 else "not worse", p=shown_p)
    if test.likely_high < 0 and p < ALPHA:
        return row(FAIL, "worse", p=p)
    if test.tier == "supporting":
        return row(PASS, "not shown worse", p=shown_p)
    needed = queries_needed(test)
    if needed is not None and needed > test.row.n:
        return row(OPEN, "unclear", n_needed=needed)
    return row(OPEN, "unclear", remedies=find_remedies(test))
