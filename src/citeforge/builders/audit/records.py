"""What an audit finds."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

AUDIT_VERSION = 1

SUSPECT = ("near-duplicate", "answer-in-negative", "judged-relevant", "cross-encoder-relevant")
"""Flaws by which a negative is probably relevant."""


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
        """What makes it the same flaw again."""
        return (self.kind, self.query, self.passage)


class Share(BaseModel):
    """A share with its 95 % interval (Clopper and Pearson).

    Attributes:
        share: of labelled negatives that are relevant.
        low: lower end.
        high: upper end.
        n: labelled negatives.
        by: who labelled.
    """

    model_config = ConfigDict(extra="forbid")

    share: float
    low: float
    high: float
    n: int
    by: str


class Audit(BaseModel):
    """``audit.json``.

    Attributes:
        audit_version: version of this schema.
        benchmark_hash: of the tables that were looked at.
        checks: checks that were made, with how; those left out say why.
        flaws: kind to the rows that have it.
        negatives: number of mapped negatives.
        personal_data: pattern to passages that match it.
        languages: language to passages, of a sample.
        false_negatives: estimated share of negatives that are relevant; None without labels.
    """

    model_config = ConfigDict(extra="forbid")

    audit_version: int = AUDIT_VERSION
    benchmark_hash: str
    checks: dict[str, str]
    flaws: dict[str, list[Flaw]]
    negatives: int
    personal_data: dict[str, int]
    languages: dict[str, int]
    false_negatives: Share | None = None
