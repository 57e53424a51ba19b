"""Records of a gate decision: rows, and what was found for each, without words."""

from dataclasses import dataclass
from typing import Literal

from citeforge.evaluator.statistics.paired import PairedChange
from citeforge.schemas.recipes.gate import Tier
from citeforge.schemas.scores import MeasureScore, ScoreFile

Verdict = Literal["pass", "fail", "not enough evidence", "could not run"]
PASS: Verdict = "pass"
FAIL: Verdict = "fail"
OPEN: Verdict = "not enough evidence"
NOT_RUN: Verdict = "could not run"
Group = Literal[Tier, "run", "files", "counts", "required"]


@dataclass(frozen=True)
class RowFigures:
    """Subject, verdict and numbers of a row; values as displayed.

    Attributes:
        what: measure, or what else was looked at.
        group: tier of the measure, ``run``, ``files``, ``counts`` or ``required``.
        verdict: of this row.
        place: label of the comparison: its context set, and what else differs; empty for one.
        baseline: value of the baseline; None where there is none.
        new: value of the new system.
        difference: new minus baseline; corrected by labels where both have them.
        low: lower end of its 95 % interval.
        high: upper end.
        allowed: largest drop that the policy allows.
        p: two-sided p of no difference, after Holm over the critical and supporting rows.
        n: queries that both define.
        n_needed: queries that would show in 90 of 100 benchmarks that nothing changed.
    """

    what: str
    group: Group
    verdict: Verdict
    place: str = ""
    baseline: float | None = None
    new: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    allowed: float | None = None
    p: float | None = None
    n: int = 0
    n_needed: int | None = None

    @property
    def decides(self) -> bool:
        """Whether the verdict of the gate depends on this row."""
        return self.group != "advisory"

    @property
    def name(self) -> str:
        """Name of the report row: its measure or other subject, and its context set in brackets."""
        return f"{self.what} ({self.place})" if self.place else self.what


@dataclass(frozen=True)
class MeasureTest:
    """A measure of a pair; differences are turned so that a positive one is better.

    Attributes:
        tier: of the measure.
        new: the new system's entry.
        low: lower end of the difference's 95 % interval, corrected where labels allow it, and by
            the worst verdicts where the judge failed.
        likely_high: upper end of Student's t interval, by the best verdicts where the judge failed.
        p: two-sided p of no difference.
        is_corrected: whether the difference is corrected by labels.
        row: subject and numbers of its row, still without verdict.
        found: changes of the queries.
        sign: −1 where lower is better.
        doubts: how far verdicts that failed could lower the difference, and raise it.
        failures: pairs on which the judge failed, of the baseline and of the new system.
    """

    tier: Tier
    new: MeasureScore
    low: float
    likely_high: float
    p: float
    is_corrected: bool
    row: RowFigures
    found: PairedChange
    sign: int
    doubts: tuple[float, float]
    failures: tuple[int, int]

    @property
    def allowed(self) -> float:
        """Largest loss of the measure that the gate's policy allows, in points."""
        return self.row.allowed or 0.0

    @property
    def worst_loss(self) -> float:
        """Largest loss of the measure that its confidence interval does not exclude, in points."""
        return max(0.0, -self.low)


Conclusion = Literal["reported", "better", "not worse", "worse", "not shown worse", "unclear"]
"""What a test of a measure shows; ``reported`` of an advisory one."""
Remedy = Literal["margin", "verdicts", "labels", "runs"]
"""What there must be more of where no number of queries shows that nothing changed."""


@dataclass(frozen=True)
class Tested:
    """A measure's change was tested.

    Attributes:
        test: the change.
        conclusion: what the test shows.
        p: adjusted p-value to report; None for none.
        n_needed: queries that would show that nothing changed, if more than there are.
        remedies: what else would show it.
    """

    test: MeasureTest
    conclusion: Conclusion
    p: float | None = None
    n_needed: int | None = None
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True)
class SameSubmission:
    """Both scores are of the same answers, with this sha256."""

    sha256: str


@dataclass(frozen=True)
class NotComputed:
    """A system has no score of the measure; the reason is empty where the file gives none."""

    system: str
    reason: str


@dataclass(frozen=True)
class NotComparable:
    """The scores were not made in the same way; the message says in what they differ."""

    message: str


@dataclass(frozen=True)
class FewDefined:
    """The new system defines a measure on too few of the queries on which the baseline does."""

    system: str
    n_baseline: int
    n_both: int


@dataclass(frozen=True)
class FewQueries:
    """A measure is defined on fewer queries than the policy asks for."""

    n: int
    least: int


@dataclass(frozen=True)
class NoInterval:
    """The difference of a measure has no interval."""


@dataclass(frozen=True)
class NoBaseline:
    """There is no baseline at all, as in a first run."""


@dataclass(frozen=True)
class NoCounterpart:
    """A score file has no counterpart among those of the other side.

    Attributes:
        file: the score file.
        is_baseline: whether it is one of the baseline.
        others: score files of the other side.
    """

    file: ScoreFile
    is_baseline: bool
    others: tuple[ScoreFile, ...] = ()


@dataclass(frozen=True)
class AboveBound:
    """A count, such as missing answers, exceeds its bound.

    Attributes:
        file: score file with the count.
        is_baseline: whether it is one of the baseline.
        count: the count.
        most: largest count that the policy allows.
    """

    file: ScoreFile
    is_baseline: bool
    count: int
    most: int


@dataclass(frozen=True)
class WithinBounds:
    """All counts of a score file are within their bounds."""

    file: ScoreFile


@dataclass(frozen=True)
class RequiredValue:
    """A query's value beside its bound; a value or both ends are None where there is none."""

    query: str
    measure: str
    value: float | None
    least: float | None
    most: float | None


Finding = (
    Tested | SameSubmission | NotComputed | NotComparable | FewDefined | FewQueries | NoInterval
    | NoBaseline | NoCounterpart | AboveBound | WithinBounds | RequiredValue
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Row(RowFigures):
    """Row of a decision, with what was found."""

    finding: Finding
