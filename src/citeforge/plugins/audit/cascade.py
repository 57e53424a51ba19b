"""Decide which suspect negatives are relevant: by a cheap judge, a strong judge, then people.

The strong judge decides about what rules or the cheap judge suspect; labels of people overrule
both. Each row records who decided. The share of negatives that are relevant is estimated from
labels drawn at random within strata, because most relevant negatives are among the few suspects.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Final, Literal

import msgspec

from citeforge.builders.derive import Base, mapped_negatives
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.tables import rows_of
from citeforge.evaluator.statistics.intervals import wilson_interval
from citeforge.plugins.audit.flaws import gold_texts, judge_negatives
from citeforge.schemas.audit import SUSPECT, Cascade, Decided, EstimatedShare, Flaw
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import answers_question

RELEVANT: Final = "relevant"
NOT_RELEVANT: Final = "not relevant"
CLEARED: Final = "cleared"
UNSUSPECTED: Final = "unsuspected"
PEOPLE = "people"

StratumName = Literal["relevant", "cleared", "unsuspected"]
"""How the judges left a negative."""
Decisions = dict[tuple[str, str], Decided]
"""(query, passage) to what was decided."""


def decide_suspects(
    benchmark: Base, passage_texts: dict[str, str], flaws: Iterable[Flaw], suspect_finders: str,
    strong: JudgeSession, suspect_all: bool = False,
) -> Decisions:  # fmt: skip
    """Let a strong judge decide which suspects are relevant: (query, passage) to decision.

    A suspect is relevant if its passage entails a gold answer of the query; for a query without
    gold answers, if the passage entails that it answers the question.

    Args:
        benchmark: the benchmark.
        passage_texts: passages by id.
        flaws: flaws of which those listed in SUSPECT make a negative a suspect.
        suspect_finders: name of the rules and models that found them.
        strong: the judge that decides.
        suspect_all: whether any negative may be a suspect: a dry run asks no judge for suspects.
    """
    suspected: dict[tuple[str, str], list[str]] = {}
    for flaw in flaws:
        if (reason := flaw.kind) in SUSPECT:
            suspected.setdefault((flaw.query, flaw.passage), []).append(reason)
    questions = dict(rows_of(benchmark.queries, "_id", "text"))
    hypotheses = {
        query: answers or [answers_question(questions[query])]
        for query, answers in gold_texts(benchmark).items()
    }
    negatives = mapped_negatives(benchmark.negatives)
    suspects = [pair for pair in negatives if suspect_all or pair in suspected]
    rows = {}
    verdicts_of = judge_negatives(suspects, passage_texts, hypotheses, strong)
    for (query, passage), verdicts in verdicts_of.items():
        reasons = suspected.get((query, passage), [])
        row = Decided(query=query, passage=passage, suspected=reasons, by=suspect_finders,
                      verdict=RELEVANT, stratum=RELEVANT)  # fmt: skip
        rows[query, passage] = row
        if not verdicts:
            continue  # a judge that failed decides nothing: the negative stays a suspect
        row.by = strong.judge.signature
        row.score = max((v.margin for _, v in verdicts if v.margin is not None), default=None)
        if not any(v.entailed for _, v in verdicts):
            row.verdict, row.stratum = NOT_RELEVANT, CLEARED
    return rows


class AuditLabel(msgspec.Struct):
    """Label of one negative, as ``labels import`` writes it."""

    label: str | None = None
    query_id: str = ""
    passage: str = ""
    stratum: str | None = None


def estimate_share(labels: Path) -> EstimatedShare:
    """Estimate the share of negatives that are relevant, from a file of people's labels.

    Raises:
        InputError: no usable labels.
    """
    from scipy.stats import binomtest

    decided = [row.label == RELEVANT for _, row in _read_labels(labels)]
    n, hits = len(decided), sum(decided)
    interval = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return EstimatedShare(
        share=hits / n, low=float(interval.low), high=float(interval.high), n=n, by=labels.name
    )


def _read_labels(path: Path) -> list[tuple[int, AuditLabel]]:
    """Read (line number, label) of each negative that people labelled.

    Returns:
        (line number, label) of each row that says relevant or not relevant.

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


def sum_up_decisions(
    benchmark: Base, decisions: Decisions, judge_names: list[str], labels: Path | None
) -> tuple[Cascade, list[Decided]]:
    """Summarise (strata, estimated shares) and list decisions on negatives, people's included.

    Args:
        benchmark: the benchmark.
        decisions: see :func:`decide_suspects`; those of annotators are added.
        judge_names: names of the judges that decided, in order.
        labels: file that ``labels import`` wrote; None without labels.

    Returns:
        (number of negatives per stratum, with the shares of relevant ones that labels estimate; all
        decisions, sorted by query and passage).

    Raises:
        InputError: labels that were drawn within other strata, or of pairs that are no negatives.
    """
    stratum_of = {
        pair: decisions[pair].stratum if pair in decisions else UNSUSPECTED
        for pair in mapped_negatives(benchmark.negatives)
    }
    names = (RELEVANT, CLEARED, UNSUSPECTED)
    sizes = {name: sum(s == name for s in stratum_of.values()) for name in names}
    cascade = Cascade(stages=judge_names, strata=sizes)
    if labels is not None:
        tally = _apply_labels(decisions, stratum_of, labels)
        cascade.stages.append(PEOPLE)
        cascade.labelled = tally
        strata = {
            name: Stratum(size, *tally.get(name, (0, 0))) for name, size in sizes.items() if size
        }
        cascade.before, cascade.after = _estimate_relevant_shares(strata, labels.name)
    return cascade, sorted(decisions.values(), key=lambda r: (r.query, r.passage))


def _apply_labels(
    decisions: Decisions, stratum_of: Mapping[tuple[str, str], StratumName], path: Path
) -> dict[str, tuple[int, int]]:
    """Replace judges' decisions by people's labels; count (labelled, relevant) per stratum.

    A stratum is what the judges said of a negative: relevant, cleared, or not suspected.

    Args:
        decisions: by (query, passage); those of labelled pairs are replaced.
        stratum_of: stratum of each negative, by (query, passage).
        path: file of people's labels.
    """
    tally: dict[str, tuple[int, int]] = {}
    for line, row in _read_labels(path):
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
        decisions[pair] = Decided(
            query=row.query_id, passage=row.passage,
            suspected=decisions[pair].suspected if pair in decisions else [],
            by=PEOPLE, verdict=RELEVANT if is_relevant else NOT_RELEVANT, stratum=stratum,
        )  # fmt: skip
    return tally


def _estimate_relevant_shares(
    strata: "dict[str, Stratum]", labels_file_name: str
) -> tuple[EstimatedShare, EstimatedShare | None]:
    """Estimate the share of relevant negatives: (of all, of those not decided relevant).

    These negatives stay: those of the strata not called relevant, without the ones that people
    found relevant, and the ones of the stratum called relevant that people cleared.

    Args:
        strata: sizes, labelled and relevant negatives of the strata, by name.
        labels_file_name: name of the file of labels, for the record.

    Returns:
        (share among all negatives; the same among those that stay, None if none stays).
    """
    n = sum(s.labelled for s in strata.values())
    estimated = partial(EstimatedShare, n=n, by=labels_file_name, method=METHOD)
    share, low, high = pooled_share(list(strata.values()))
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
    share, low, high = (max(0.0, (total * end - hits) / stays) for end in pooled_share(others))
    return before, estimated(share=share, low=low, high=high)


METHOD = "stratified, Wilson's intervals combined (MOVER)"


@dataclass(frozen=True)
class Stratum:
    """Negatives with the same decision by the judges; people labelled some of them.

    Attributes:
        size: rows, at least 1.
        labelled: rows drawn at random and labelled, at most ``size``.
        hits: labelled ones that are relevant.
    """

    size: int
    labelled: int
    hits: int

    @property
    def share(self) -> float:
        """Share of false negatives among the labelled passages; 0.5 without labels."""
        return self.hits / self.labelled if self.labelled else 0.5

    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson 1927); [0, 1] without labels, exact if complete."""
        if self.labelled == 0:
            return 0.0, 1.0
        if self.labelled == self.size:
            return self.share, self.share
        return wilson_interval(self.share, self.labelled)


def pooled_share(strata: Sequence[Stratum]) -> tuple[float, float, float]:
    """Estimate a share over all strata, weighted by their sizes: (share, low, high).

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
