"""Records of what an audit finds."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from citeforge.schemas.record import Record

AUDIT_VERSION = 1

SUSPECT = (
    "near-duplicate",
    "shared-text",
    "answer-in-negative",
    "judged-relevant",
    "cross-encoder-relevant",
)
"""Flaws by which a negative is probably relevant."""


# A tuple: `audit.json` has an array for each row, not an object with four names.
class Flaw(NamedTuple):
    """One row with a flaw.

    Attributes:
        kind: name of the flaw.
        query: query id, or an empty string.
        passage: passage id, or an empty string.
        detail: what was seen; not part of the flaw's identity.
    """

    kind: str
    query: str
    passage: str
    detail: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, query id and passage id of the flaw, which identify it across audits."""
        return (self.kind, self.query, self.passage)


class EstimatedShare(Record):
    """A share with its 95 % interval.

    Attributes:
        share: of labelled negatives that are relevant.
        low: lower end.
        high: upper end.
        n: labelled negatives.
        by: who labelled.
        method: of the interval.
    """

    share: float
    low: float
    high: float
    n: int
    by: str
    method: str = "Clopper and Pearson"


class Decided(Record):
    """Decision on one negative.

    Attributes:
        query: query id.
        passage: passage id.
        suspected: flaws that made it a suspect; empty where none did.
        by: who decided last: rules and cheap judge, the strong judge, or people.
        verdict: ``relevant`` or ``not relevant``.
        score: margin of a judge's verdict, in its own unit; None where it gives none.
        stratum: ``relevant``, ``cleared`` or ``unsuspected``, by rules and judges alone.
    """

    query: str
    passage: str
    suspected: list[str]
    by: str
    verdict: Literal["relevant", "not relevant"]
    score: float | None = None
    stratum: Literal["relevant", "cleared", "unsuspected"]


class Cascade(Record):
    """Outcome of deciding suspects in stages, with estimates from human labels.

    Attributes:
        stages: who decided, one after another.
        strata: stratum to its number of negatives.
        labelled: stratum to (labelled, relevant among them).
        before: estimated share of negatives that are relevant; None without labels.
        after: the same of what stays when those decided relevant go.
    """

    stages: list[str]
    strata: dict[str, int]
    labelled: dict[str, tuple[int, int]] = {}
    before: EstimatedShare | None = None
    after: EstimatedShare | None = None


SKIPPED_CHECK = "not made: "
"""Prefix of the result of a check that was skipped; the reason follows."""


def checks_made(checks: Mapping[str, str]) -> str:
    """Count the checks of an audit that were made: ``3 of 5 checks made``."""
    n_made = sum(not how.startswith(SKIPPED_CHECK) for how in checks.values())
    return f"{n_made} of {len(checks)} checks made"


LINE_SYSTEMS = ("copy-nearest-1", "copy-nearest-3")
"""Controls that know nothing, and whose better value of a measure is the line to beat."""
LINE = "line to beat (copy-nearest)"
"""Name of that line in tables."""
BELOW = "≤"
"""Mark of a value at or below the line."""


def is_up_to(value: float, line_to_beat: float | None) -> bool:
    """Whether a score, as displayed, is at or below the best score of copying systems."""
    return line_to_beat is not None and round(value, 2) <= round(line_to_beat, 2)


class ExploitRow(Record, allow_inf_nan=False):
    """Scores of one system that cheats, or of an honest one beside it.

    Attributes:
        system: its name.
        about: what it answers, in words.
        is_honest: whether the others are compared with it.
        values: measure to its value, as displayed.
        reached: measure to the honest systems that score no more; empty for an honest one.
    """

    system: str
    about: str
    is_honest: bool
    values: dict[str, float]
    reached: dict[str, list[str]] = {}


class Exploits(Record):
    """Scores of degenerate systems on a package (``audit --exploits``).

    Attributes:
        context: context set that they answer.
        signatures: of the measures.
        rows: degenerate systems, then honest ones.
        left_out: system or measure to the reason why it has no scores.
        directions: whether a higher value is better, of measures where that is not so.
    """

    context: str
    signatures: list[str]
    rows: list[ExploitRow]
    left_out: dict[str, str]
    directions: dict[str, bool | None] = {}

    @property
    def lines(self) -> dict[str, float]:
        """Best score of systems that only copy (the line to beat), by signature of a measure."""
        best: dict[str, float] = {}
        for row in (row for row in self.rows if row.system in LINE_SYSTEMS):
            for measure, value in row.values.items():
                if measure not in self.directions:
                    best[measure] = max(value, best.get(measure, value))
        names = {signature: signature.partition("|")[0] for signature in self.signatures}
        return {signature: best[name] for signature, name in names.items() if name in best}


class Audit(Record):
    """``audit.json``.

    Attributes:
        audit_version: version of this schema.
        benchmark_hash: of the tables that were looked at.
        checks: check to how it was made; after the prefix SKIPPED_CHECK, why it was skipped.
        flaws: kind to the rows that have it.
        negatives: number of mapped negatives.
        personal_data: pattern to passages that match it.
        languages: language to passages, of a sample.
        false_negatives: estimated share of negatives that are relevant; None without labels.
        cascade: how suspects were decided; None where no strong judge was asked.
        decisions: on suspects and labelled negatives, where there is a cascade.
        exploits: scores of degenerate systems; None where none were computed.
    """

    audit_version: int = AUDIT_VERSION
    benchmark_hash: str
    checks: dict[str, str]
    flaws: dict[str, list[Flaw]]
    negatives: int
    personal_data: dict[str, int]
    languages: dict[str, int]
    false_negatives: EstimatedShare | None = None
    cascade: Cascade | None = None
    decisions: list[Decided] = []
    exploits: Exploits | None = None
