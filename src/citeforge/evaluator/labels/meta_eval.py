"""How well a judge agrees with people (docs/definitions.md#agreement)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.labels.annotation.agreement import cohen_kappa
from citeforge.evaluator.labels.pairs import UNCITED, UNLABELLED, LabelledPair, LabelledPairs
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.errors import InputError


@dataclass(frozen=True)
class JudgeQuality:
    """Agreement of a judge with people.

    Attributes:
        n: pairs with a verdict.
        n_failed: pairs on which the judge failed.
        n_supported: pairs that people call supported.
        accuracy: share of equal decisions.
        pearson: correlation of the decisions; NaN when either side is constant.
        kappa: Cohen's kappa.
        precision: of "not supported": share that people confirm; NaN when the judge never says so.
        recall: of "not supported": share that the judge finds; NaN when people never say so.
        macro_f1: mean of the F1 of "supported" and of "not supported", an F1 without any such
            decision 0, as AttributionBench's; NaN without pairs.
        balanced_accuracy: mean of the shares of supported and of other pairs that the judge decides
            as people do; NaN where people say the same of all.
        n_contradicted: pairs that people call contradicted; None where their labels do not tell.
        contradiction_precision: share of the judge's contradictions that people confirm; NaN
            without any.
        contradiction_recall: share of people's that the judge tells; NaN without any.
    """

    n: int
    n_failed: int
    n_supported: int
    accuracy: float
    pearson: float
    kappa: float
    precision: float
    recall: float
    macro_f1: float
    balanced_accuracy: float
    n_contradicted: int | None = None
    contradiction_precision: float = math.nan
    contradiction_recall: float = math.nan


def hagrid_pairs(benchmark: Benchmark) -> LabelledPairs:
    """Sentences of HAGRID's gold answers with an attributable label; the premise is all that the
    sentence cites.

    Raises:
        InputError: there is none.
    """
    found = LabelledPairs()
    labelled = []
    for query, sentences in zip(
        *(benchmark.gold[column].to_pylist() for column in ("query_id", "sentences")), strict=True
    ):
        for sentence in sentences or []:
            if not sentence["citations"]:
                found.left_out[UNCITED] += 1
            elif sentence["attributable"] is None:
                found.left_out[UNLABELLED] += 1
            else:
                labelled.append((query, sentence))
    if not labelled:
        raise InputError("has no labelled statements", path=benchmark.folder)
    passages = benchmark.texts(i for _, sentence in labelled for i in sentence["citations"])
    for query, sentence in labelled:
        markers = benchmark.grammar.parse(sentence["text"], 1 << 30).markers
        text = without_markers(sentence["text"], markers)
        shown = [Passage(i, *passages[i]) for i in sentence["citations"]]
        pair = Pair("\n".join(premise_text(s, strict=True) for s in shown), text)
        found.pairs.append(LabelledPair("gold", query, pair, bool(sentence["attributable"])))
    return found


def judge_quality(labelled: Sequence[LabelledPair], judge: JudgeSession) -> JudgeQuality:
    """Ask the judge and compare."""
    decisions = judge.ask(row.pair for row in labelled)
    pairs: list[tuple[bool, bool]] = []
    told: list[tuple[bool, bool]] = []
    failed = 0
    for row in labelled:
        decision = decisions[row.pair]
        if isinstance(decision, JudgeFailure):
            failed += 1
        else:
            pairs.append((row.supported, decision.entailed))
            if row.contradicted is not None:
                told.append((row.contradicted, (decision.support or 0) < 0))
    if not any(row.contradicted is not None and not row.supported for row in labelled):
        told = []  # "attributable" alone may be a label of two levels
    n = len(pairs)
    said_no = [human for human, machine in pairs if not machine]
    are_no = [machine for human, machine in pairs if not human]
    return JudgeQuality(
        n,
        failed,
        sum(human for human, _ in pairs),
        sum(a == b for a, b in pairs) / n if n else math.nan,
        pearson(pairs),
        cohen_kappa([(str(a), str(b)) for a, b in pairs]),
        sum(not human for human in said_no) / len(said_no) if said_no else math.nan,
        sum(not machine for machine in are_no) / len(are_no) if are_no else math.nan,
        sum(_f1(pairs, side) for side in (True, False)) / 2 if n else math.nan,
        sum(_recall(pairs, side) for side in (True, False)) / 2,
        sum(human for human, _ in told) if told else None,
        _recall([(machine, human) for human, machine in told], True),
        _recall(told, True),
    )


def _f1(pairs: Sequence[tuple[bool, bool]], side: bool) -> float:
    """F1 of one decision: twice those on which both agree, of all times that either says so."""
    said = sum((human == side) + (machine == side) for human, machine in pairs)
    return 2 * sum(human == machine == side for human, machine in pairs) / said if said else 0.0


def _recall(pairs: Sequence[tuple[bool, bool]], side: bool) -> float:
    """Share of people's decisions of one side that the judge makes, too."""
    machine_says = [machine == side for human, machine in pairs if human == side]
    return sum(machine_says) / len(machine_says) if machine_says else math.nan


def pearson(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Correlation of two columns of decisions (the phi coefficient)."""
    n = len(pairs)
    if n == 0:
        return math.nan
    a = sum(x for x, _ in pairs) / n
    b = sum(y for _, y in pairs) / n
    both = sum(x and y for x, y in pairs) / n
    spread = math.sqrt(a * (1 - a) * b * (1 - b))
    return (both - a * b) / spread if spread else math.nan
