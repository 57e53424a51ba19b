"""The gate's decision: pass, fail, or not enough evidence (docs/gate.md).

A critical measure passes where the interval of the paired difference lies above its margin: all
have to, so that each may be tested at full level (Berger 1982, Technometrics 24). A measure fails
where it is worse for certain, after Holm over all rows that can fail.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citeforge.engines.report_table import Displayed, Table
from citeforge.evaluator.compare import compare_pairs
from citeforge.evaluator.gate_policy import PolicySource, checked_policy
from citeforge.evaluator.gate_rows import (
    FAIL,
    NOT_RUN,
    OPEN,
    PASS,
    Pair,
    Row,
    Verdict,
    count_rows,
    pair_files,
    required_rows,
)
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.notes import limit_lines, scope_lines
from citeforge.evaluator.rows import main_measure, named_apart
from citeforge.evaluator.slices import slice_pairs
from citeforge.evaluator.statistics.intervals import ALPHA, quantile
from citeforge.evaluator.statistics.significance import holm
from citeforge.evaluator.statistics.values import value_fault
from citeforge.evaluator.withhold import require_values
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.gate import GatePolicy, Margin, Tier
from citeforge.schemas.scores import MeasureScore, ScoreFile

_POWER = 0.9
_TINY = 1e-9


@dataclass(frozen=True, repr=False)
class Decision(Displayed):
    """Verdict of the gate; with :mod:`~citeforge.evaluator.gate_outputs` it becomes a file.

    Attributes:
        verdict: ``pass``, ``fail``, ``not enough evidence`` or ``could not run``.
        rows: what decided it, and what was only reported.
        new: names of the new systems.
        baseline: names of the systems of the baseline.
        notes: cautions on the verdict.
        signatures: signatures of the new scores that decided.
    """

    verdict: Verdict
    rows: list[Row]
    new: list[str]
    baseline: list[str]
    notes: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)

    @property
    def headline(self) -> str:
        """The gate's verdict in one line, with the names of the rows that decided it."""
        of_verdict = (r for r in self.rows if r.decides and r.verdict == self.verdict)
        names = dict.fromkeys(r.name for r in of_verdict if r.group != "files")
        new, old = ", ".join(self.new), ", ".join(self.baseline)
        if not new:
            return f"{self.verdict}: {self.rows[0].sentence}"
        subject = f"{new} against {old}" if old else f"{new} without a baseline"
        why = f": {', '.join(names)}" if names and self.verdict != PASS else ""
        return f"{self.verdict}: {subject}{why}"

    def _headline(self) -> str:
        """Summarise the decision in one line."""
        return self.headline

    def _tables(self) -> Iterator[Table]:
        """Make a table of all rows, with their verdicts."""
        rows = [(r.verdict, r.group, r.sentence) for r in self.rows]
        yield Table(("verdict", "tier", "found"), rows, left=3, notes=self.notes)


def decide(
    new: Sequence[ScoreFile], baseline: Sequence[ScoreFile], source: PolicySource,
    by: Sequence[str] = (),
) -> Decision:  # fmt: skip
    """Decide by a policy whether the new system may replace the baseline.

    Args:
        new: score files of the new system, one or several contexts, benchmarks or protocols.
        baseline: score files of the old one; none in a first run, which never passes.
        source: the policy.
        by: fields whose slices must not be shown to fall; the files have to be scored by them.

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
    source = _with_main_measure(source, every)
    pairs, rows = pair_files(new, baseline)
    pairs = [p if p.old is None else Pair(*named_apart(p.new, p.old), p.place) for p in pairs]
    tests: list[_Test] = []
    small: list[str] = []
    for pair in pairs:
        rows += count_rows(pair, source.policy)
        for tier, margins in source.policy.tiers.items():
            found, undecided = _compare_measures(pair, tier, margins, source.policy)
            tests, rows = tests + found, rows + undecided
    for pair in pairs if by else ():
        found, lines = _slice_tests(pair, source.policy, by)
        tests, small = tests + found, small + lines
    # Advisory measures decide nothing, and have no part in Holm's correction.
    adjusted = holm([math.nan if t.tier == "advisory" else t.p for t in tests])
    rows = [*map(_decide_test, tests, adjusted), *rows, *required_rows(pairs, source)]
    order = ("files", "critical", "supporting", "advisory", "required", "counts")
    rows.sort(key=lambda row: order.index(row.group))
    verdicts = {row.verdict for row in rows if row.decides}
    verdict = next(v for v in (FAIL, NOT_RUN, OPEN, PASS) if v in verdicts)
    signatures = [t.new.signature for t in tests if t.tier != "advisory"]
    return Decision(
        verdict, rows, _names(p.new for p in pairs),
        _names(p.old for p in pairs if p.old is not None),
        _notes(pairs, tests) + small, list(dict.fromkeys(signatures)),
    )  # fmt: skip


def _require_consistent(file: ScoreFile) -> None:
    """Raise an error if a score file's values do not follow from its values by query."""
    fault = next(filter(None, (value_fault(m, file) for m in file.measures)), None)
    if fault is not None:
        raise InputError(
            fault, path=file.submission, allowed="the file that `citeforge score` wrote",
            code="inconsistent-scores",
        )  # fmt: skip


def _names(files: Iterable[ScoreFile]) -> list[str]:
    """List the names of the systems of score files, each once."""
    return list(dict.fromkeys(f.system for f in files))


def _with_main_measure(source: PolicySource, files: Sequence[ScoreFile]) -> PolicySource:
    """Return the policy; if it has no critical measure, the files' main measure becomes one."""
    if source.policy.critical:
        return source
    name = main_measure(files)
    if not name or direction(name) is None:
        raise UsageError(
            "the score files have no measure that could decide; name one in --policy, as in "
            "`critical: [CiteF1]`",
            code="missing-option",
        )
    rest = {
        tier: {n: m for n, m in source.policy.tiers[tier].items() if n != name}
        for tier in ("supporting", "advisory")
    }
    policy = source.policy.model_copy(update={"critical": {name: Margin()}, **rest})
    return checked_policy(replace(source, policy=policy))


@dataclass(frozen=True)
class _Test:
    """A measure of a pair; differences are turned so that a positive one is better.

    Attributes:
        tier: of the measure.
        new: the new system's entry.
        low: lower end of the difference's 95 % interval, corrected where labels allow it, and by
            the worst verdicts where the judge failed.
        high: upper end, by the best verdicts.
        p: two-sided p of no difference.
        is_corrected: whether the difference is corrected by labels.
        row: the row of the decision, still without verdict and sentence.
    """

    tier: Tier
    new: MeasureScore
    low: float
    high: float
    p: float
    is_corrected: bool
    row: Row


def _compare_measures(
    pair: Pair, tier: Tier, margins: Mapping[str, Margin], policy: GatePolicy
) -> tuple[list[_Test], list[Row]]:
    """Compare a pair of files on measures; return tests, and rows where no test is possible."""
    if pair.old is None:
        return [], []
    every = dict.fromkeys(m.name for f in (pair.old, pair.new) for m in f.measures)
    made = [
        _make_test(pair, pair.old, tier, one, margin, policy)
        for name, margin in margins.items()
        for one in [n for n in every if name in (n, n.partition("[")[0])] or [name]
    ]
    return [t for t in made if isinstance(t, _Test)], [r for r in made if isinstance(r, Row)]


def _make_test(
    pair: Pair, baseline: ScoreFile, tier: Tier, name: str, margin: Margin, policy: GatePolicy
) -> Row | _Test:
    """Test one measure's change by the policy; return an undecided row if that is impossible."""

    def undecided(sentence: str) -> Row:
        """Make the row of a measure that cannot be tested, with the reason."""
        return Row(name, tier, OPEN, sentence, pair.place)

    files = (baseline, pair.new)
    old, new = (next((m for m in f.measures if m.name == name), None) for f in files)
    for file, entry in zip(files, (old, new), strict=True):
        if entry is None:
            reasons = [x.reason for x in file.not_computed if x.name == name]
            why = f": {reasons[0]}" if reasons else "; score it with --measures"
            return undecided(f"{name} was not computed for {file.system}{why}.")
    assert old is not None and new is not None
    errors: list[InputError] = []
    (differences,) = compare_pairs([files], [name], on_error=errors.append)
    if errors:
        return undecided(f"{errors[0].message}. Score both in the same way.")
    (d,) = differences
    n_old, n_both = _count_defined(old, new)
    if n_both < (1 - policy.counts.undefined) * n_old:
        return undecided(
            f"{name} is defined on {n_old:,} queries for the baseline, and on {n_both:,} of them "
            f"for {pair.new.system}."
        )
    if d.n < policy.least_queries:
        return undecided(f"{name}: {d.n:,} queries are too few; {policy.least_queries:,} needed.")
    sign = -1 if direction(name) is False else 1
    if (c := d.corrected) is not None:
        value, ends, p = c.value, (c.low, c.high), c.p
        before, after = (e.corrected.value if e.corrected else e.value for e in (old, new))
        doubts = 0.0, 0.0
    else:
        value, ends, p = d.difference, (d.low, d.high), d.p_permutation
        before, after = old.value, new.value
        doubts = _judge_doubts(old, new, sign)
    if math.isnan(ends[0]):
        return undecided(f"{name} has no interval.")
    row = Row(
        name, tier, OPEN, "", pair.place, before, after, value, *ends,
        allowed=policy.allowed_drop(margin, before or 0.0), n=d.n,
    )  # fmt: skip
    low, high = sorted(sign * end for end in ends)
    return _Test(tier, new, low - doubts[0], high + doubts[1], p, c is not None, row)


def _slice_tests(
    pair: Pair, policy: GatePolicy, by: Sequence[str]
) -> tuple[list[_Test], list[str]]:
    """Test critical and supporting measures on each slice of queries; note slices too small.

    A slice is too small to be shown to be no worse; it must not be shown to be worse.
    """
    if pair.old is None:
        return [], []
    parts, small = slice_pairs([(pair.old, pair.new)], by)
    tests: list[_Test] = []
    for label, old, new in parts:
        _require_consistent(old)
        _require_consistent(new)
        part = Pair(new, old, f"{pair.place}, {label}" if pair.place else label)
        margins = policy.critical | policy.supporting
        found, undecided = _compare_measures(part, "supporting", margins, policy)
        tests += found
        small += [f"{label}: {row.sentence}" for row in undecided]
    return tests, small


def _count_defined(old: MeasureScore, new: MeasureScore) -> tuple[int, int]:
    """Count the queries with a value for the baseline, and those with values for both systems."""
    both = [
        b is not None for a, b in zip(old.per_query, new.per_query, strict=True) if a is not None
    ]
    return len(both), sum(both)


def _judge_doubts(old: MeasureScore, new: MeasureScore, sign: int) -> tuple[float, float]:
    """Compute how far a difference may fall, and rise, once failed judgements are decided."""
    sides = []
    for entry in (old, new):
        value = entry.value or 0.0
        down = value - (value if entry.lower_bound is None else entry.lower_bound)
        up = (value if entry.upper_bound is None else entry.upper_bound) - value
        sides.append((down, up) if sign > 0 else (up, down))
    (old_worse, old_better), (new_worse, new_better) = sides
    return new_worse + old_better, new_better + old_worse


def _decide_test(test: _Test, p: float) -> Row:
    """Make the row of a test, with its verdict and a sentence that gives the reason.

    Args:
        test: difference, interval and margin.
        p: adjusted p-value; NaN without a test.
    """
    row, allowed = test.row, test.row.allowed or 0.0
    found = (
        f"{row.baseline:.2f} → {row.new:.2f}, difference {row.difference:+z.2f} "
        f"[{row.low:+z.2f}, {row.high:+z.2f}] over {row.n:,} queries"
    )
    is_worse = test.high < 0
    if test.tier == "advisory":
        text, verdict = f"{row.what}: {found}.", PASS
        return replace(row, verdict=verdict, sentence=text, allowed=None)
    row = replace(row, p=None if math.isnan(p) else p)
    if test.low >= -allowed - _TINY:
        word = "better" if test.low > 0 else f"not worse by more than {allowed:.2f}"
        return replace(row, verdict=PASS, sentence=f"{row.what} is {word}: {found}.")
    if is_worse and p < ALPHA:
        after = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"
        text = f"{row.what} is worse: {found} ({after} after Holm); {allowed:.2f} less is allowed."
        return replace(row, verdict=FAIL, sentence=text)
    if test.tier == "supporting":
        return replace(row, verdict=PASS, sentence=f"{row.what} is not shown to be worse: {found}.")
    needed, more = _queries_needed(test, allowed), ""
    if needed is not None:
        more = f"; if nothing changed, about {needed:,} queries would show it"
    text = f"{row.what} may be worse by more than {allowed:.2f}: {found}{more}."
    return replace(row, verdict=OPEN, sentence=text, n_needed=needed)


def _queries_needed(test: _Test, allowed: float) -> int | None:
    """Estimate how many queries would show, with 90 % power, that nothing changed.

    None where no number does: the margin is 0, or they are fewer than there are.
    """
    z = quantile(math.inf)
    stderr = (test.high - test.low) / (2 * z)
    if allowed == 0 or stderr == 0:
        return None
    needed = math.ceil(
        test.row.n * ((z + quantile(math.inf, 2 * _POWER - 1)) * stderr / allowed) ** 2
    )
    return needed if needed > test.row.n else None


def _notes(pairs: Sequence[Pair], tests: Sequence[_Test]) -> list[str]:
    """List cautions on a decision: scope, limits, missing corrections, equal submissions."""
    files = [f for p in pairs for f in (p.old, p.new) if f is not None]
    names = {t.new.name for t in tests}
    notes = scope_lines(files) + limit_lines(files, names)
    raw = [t.row.what for t in tests if t.new.corrected is not None and not t.is_corrected]
    if raw:
        notes.append(f"{', '.join(raw)}: not corrected, since labels are not of the same queries")
    for pair in pairs:
        if pair.old is None:
            continue
        if pair.old.submission_sha256 == pair.new.submission_sha256:
            both = f"{pair.new.system} and the baseline {pair.old.system}"
            notes.append(f"{both} are scores of the same answers")
        if pair.old.is_control:
            notes.append(f"the baseline {pair.old.system} is a reference line, not a system")
    return list(dict.fromkeys(notes))
