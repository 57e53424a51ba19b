"""Suspects decided one after another: rules and a cheap judge, a strong judge, people.

Whatever a rule or the cheap judge suspects goes to the strong judge; what people labelled is
theirs. Who decided what is kept row by row. The share of negatives that are relevant is estimated
from labels that were drawn at random within strata, for suspects are few and hold most of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Final, Literal

import msgspec

from citeforge.builders.derive import Base, mapped_negatives
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.io.tables import rows_of
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.statistics.intervals import wilson
from citeforge.plugins.audit.flaws import gold_texts, judge_negatives
from citeforge.schemas.benchmarks.audit import SUSPECT, Cascade, Decided, EstimatedShare, Flaw
from citeforge.schemas.errors import InputError

RELEVANT: Final = "relevant"
NOT_RELEVANT: Final = "not relevant"
CLEARED: Final = "cleared"
UNSUSPECTED: Final = "unsuspected"
PEOPLE = "people"

StratumName = Literal["relevant", "cleared", "unsuspected"]
"""Of a stratum: as the judges left a negative."""
Rows = dict[tuple[str, str], Decided]
"""(query, passage) to what was decided."""


def decide(
    base: Base, texts: dict[str, str], flaws: Iterable[Flaw], cheap: str, strong: JudgeSession
) -> Rows:
    """Decisions on all suspects, in the order of the mapping.

    A suspect is relevant when its passage entails a gold answer of the query, for the strong judge;
    without any, that it answers the question.

    Args:
        base: the benchmark.
        texts: passages by id.
        flaws: those of SUSPECT make a negative a suspect.
        cheap: who found them, in words.
        strong: decides on them.
    """
    suspected: dict[tuple[str, str], list[str]] = {}
    for flaw in flaws:
        if (reason := flaw.kind) in SUSPECT:
            suspected.setdefault((flaw.query, flaw.passage), []).append(reason)
    questions = dict(rows_of(base.queries, "_id", "text"))
    hypotheses = {
        query: answers or [f"This text answers the question: {questions[query]}"]
        for query, answers in gold_texts(base).items()
    }
    suspects = [pair for pair in mapped_negatives(base.negatives) if pair in suspected]
    rows = {}
    verdicts_of = judge_negatives(suspects, texts, hypotheses, strong)
    for (query, passage), verdicts in verdicts_of.items():
        row = Decided(query=query, passage=passage, suspected=suspected[query, passage], by=cheap,
                      verdict=RELEVANT, stratum=RELEVANT)  # fmt: skip
        rows[query, passage] = row
        if not verdicts:
            continue  # a judge that failed decided nothing: the suspicion stands
        row.by = strong.judge.signature
        row.score = max((v.margin for _, v in verdicts if v.margin is not None), default=None)
        if not any(v.entailed for _, v in verdicts):
            row.verdict, row.stratum = NOT_RELEVANT, CLEARED
    return rows


class AuditLabel(msgspec.Struct):
    label: str | None = None
    query_id: str = ""
    passage: str = ""
    stratum: str | None = None


def estimate(labels: Path) -> EstimatedShare:
    """Share of sampled negatives that annotators call relevant.

    Raises:
        InputError: no usable labels.
    """
    from scipy.stats import binomtest

    decided = [row.label == RELEVANT for _, row in _labels(labels)]
    n, hits = len(decided), sum(decided)
    interval = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return EstimatedShare(
        share=hits / n, low=float(interval.low), high=float(interval.high), n=n, by=labels.name
    )


def _labels(path: Path) -> list[tuple[int, AuditLabel]]:
    """People's labels, each with its line.

    Raises:
        InputError: there are none.
    """
    labels = [
        (line, row)
        for line, row in read_rows(path, AuditLabel)
        if row.label in (RELEVANT, NOT_RELEVANT)
    ]
    if not labels:
        allowed = "what `citeforge labels import` of audit-negative wrote"
        raise InputError("contains no labels", path=path, allowed=allowed, code="no-labels")
    return labels


def summed_up(
    base: Base, rows: Rows, stages: list[str], labels: Path | None
) -> tuple[Cascade, list[Decided]]:
    """The cascade with people's labels in it, and the rows that somebody decided.

    Args:
        base: the benchmark.
        rows: see :func:`decide`; gets the labelled rows.
        stages: who decided before, in words.
        labels: what ``labels import`` wrote; None without labels.

    Raises:
        InputError: labels that were drawn within other strata, or of rows that are no negatives.
    """
    stratum_of = {
        pair: rows[pair].stratum if pair in rows else UNSUSPECTED
        for pair in mapped_negatives(base.negatives)
    }
    names = (RELEVANT, CLEARED, UNSUSPECTED)
    sizes = {name: sum(s == name for s in stratum_of.values()) for name in names}
    cascade = Cascade(stages=stages, strata=sizes)
    if labels is not None:
        tally = _label(rows, stratum_of, labels)
        cascade.stages.append(PEOPLE)
        cascade.labelled = tally
        strata = {
            name: Stratum(size, *tally.get(name, (0, 0))) for name, size in sizes.items() if size
        }
        cascade.before, cascade.after = _shares(strata, labels.name)
    return cascade, sorted(rows.values(), key=lambda r: (r.query, r.passage))


def _label(
    rows: Rows, stratum_of: Mapping[tuple[str, str], StratumName], path: Path
) -> dict[str, tuple[int, int]]:
    """Let people's labels decide; stratum to (labelled, relevant). Labels change no stratum."""
    tally: dict[str, tuple[int, int]] = {}
    for line, row in _labels(path):
        pair = (row.query_id, row.passage)
        if pair not in stratum_of:
            raise InputError(
                f"labels {row.passage!r}, which is not a negative of the query {row.query_id!r}",
                path=path, line=line, allowed="labels of this benchmark", code="unknown-id"
            )  # fmt: skip
        stratum = stratum_of[pair]
        if row.stratum not in (None, stratum):
            raise InputError(
                f"drawn from the stratum {row.stratum!r}, and now in {stratum!r}",
                path=path, line=line, field="stratum", code="input-changed",
                allowed="the judges of the audit before the export; or a new export",
            )  # fmt: skip
        is_relevant = row.label == RELEVANT
        n, hits = tally.get(stratum, (0, 0))
        tally[stratum] = (n + 1, hits + is_relevant)
        rows[pair] = Decided(
            query=row.query_id, passage=row.passage,
            suspected=rows[pair].suspected if pair in rows else [],
            by=PEOPLE, verdict=RELEVANT if is_relevant else NOT_RELEVANT, stratum=stratum,
        )  # fmt: skip
    return tally


def _shares(strata: "dict[str, Stratum]", by: str) -> tuple[EstimatedShare, EstimatedShare | None]:
    """Share of negatives that are relevant: of all, and of what stays when the decided ones go.

    What stays: the strata that nobody calls relevant, without what people found there, and what
    people cleared among the others.
    """
    n = sum(s.labelled for s in strata.values())
    estimated = partial(EstimatedShare, n=n, by=by, method=METHOD)
    share, low, high = stratified(list(strata.values()))
    before = estimated(share=share, low=low, high=high)
    others = [s for name, s in strata.items() if name != RELEVANT]
    dropped = strata.get(RELEVANT)
    cleared = 0 if dropped is None else dropped.labelled - dropped.hits
    hits = sum(s.hits for s in others)
    total = sum(s.size for s in others)
    stays = total - hits + cleared
    if not stays:
        return before, None
    if not total:
        return before, estimated(share=0, low=0, high=0)
    share, low, high = (max(0.0, (total * end - hits) / stays) for end in stratified(others))
    return before, estimated(share=share, low=low, high=high)


METHOD = "stratified, Wilson's intervals combined (MOVER)"


@dataclass(frozen=True)
class Stratum:
    """Rows of one kind, some of them labelled.

    Attributes:
        size: rows, at least 1.
        labelled: rows drawn at random and labelled, at most ``size``.
        hits: those of them that have what is looked for.
    """

    size: int
    labelled: int
    hits: int

    @property
    def share(self) -> float:
        """Of the labelled rows; .5 without any."""
        return self.hits / self.labelled if self.labelled else 0.5

    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson 1927); everything is possible without labels, nothing
        else when every row is labelled."""
        if self.labelled == 0:
            return 0.0, 1.0
        if self.labelled == self.size:
            return self.share, self.share
        return wilson(self.share, self.labelled)


def stratified(strata: Sequence[Stratum]) -> tuple[float, float, float]:
    """(share, low, high) over all rows of the strata, each weighing as many as it has.

    The ends come from those of the strata by the method of variance estimates recovery (Zou and
    Donner 2008; for one proportion over strata: Yan and Su 2010): squared distances add up. With
    one stratum it is Wilson's interval.

    Raises:
        ValueError: no rows.
    """
    total = sum(s.size for s in strata)
    if not total:
        raise ValueError("no rows")
    weights = [s.size / total for s in strata]
    share = sum(w * s.share for w, s in zip(weights, strata, strict=True))
    below = above = 0.0
    for weight, stratum in zip(weights, strata, strict=True):
        low, high = stratum.interval()
        below += (weight * (stratum.share - low)) ** 2
        above += (weight * (high - stratum.share)) ** 2
    return share, max(0.0, share - sqrt(below)), min(1.0, share + sqrt(above))
