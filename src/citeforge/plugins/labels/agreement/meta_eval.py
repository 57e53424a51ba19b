"""How well a judge agrees with people (docs/definitions.md#agreement)."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.plugins.labels.annotation.agreement import cohen_kappa
from citeforge.plugins.labels.pairs import UNCITED, UNLABELLED, LabelledPair, LabelledPairs
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.errors import InputError

CLASSES = SUPPORTED, CONTRADICTED, NEITHER = "supported", "contradicted", "neither"
T = TypeVar("T")


@dataclass(frozen=True)
class ClassQuality:
    """Agreement of a judge with people on one class of pairs.

    Attributes:
        n: pairs that people put into it.
        precision: share of the judge's that people confirm; NaN where it puts none into it.
        recall: share of people's that the judge finds; NaN where they put none into it.
    """

    n: int
    precision: float
    recall: float


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
        classes: agreement on ``supported``, ``contradicted`` and ``neither``; empty where people's
            labels do not tell a contradiction.
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
    classes: dict[str, ClassQuality]


def hagrid_pairs(benchmark: Benchmark) -> LabelledPairs:
    """Sentences of HAGRID's gold answers with an attributable label; the premise is all that the
    sentence cites.

    Raises:
        InputError: there is none.
    """
    result = LabelledPairs()
    labelled = []
    for query, sentences in zip(
        *(benchmark.gold[column].to_pylist() for column in ("query_id", "sentences")), strict=True
    ):
        for sentence in sentences or []:
            if not sentence["citations"]:
                result.left_out[UNCITED] += 1
            elif sentence["attributable"] is None:
                result.left_out[UNLABELLED] += 1
            else:
                labelled.append((query, sentence))
    if not labelled:
        raise InputError("has no labelled statements", path=benchmark.folder)
    passages = benchmark.texts(i for _, sentence in labelled for i in sentence["citations"])
    for query, sentence in labelled:
        markers = benchmark.grammar.parse(sentence["text"], 1 << 30).markers
        text = without_markers(sentence["text"], markers)
        evidence = [Passage(i, *passages[i]) for i in sentence["citations"]]
        pair = Pair("\n".join(premise_text(s, strict=True) for s in evidence), text)
        result.pairs.append(LabelledPair("gold", query, pair, bool(sentence["attributable"])))
    return result


def judge_quality(labelled: Sequence[LabelledPair], judge: JudgeSession) -> JudgeQuality:
    """Ask the judge and compare."""
    decisions = judge.ask(row.pair for row in labelled)
    pairs: list[tuple[bool, bool]] = []
    classes: list[tuple[str, str]] = []
    failed = 0
    for row in labelled:
        decision = decisions[row.pair]
        if isinstance(decision, JudgeFailure):
            failed += 1
        else:
            pairs.append((row.supported, decision.entailed))
            if row.contradicted is not None:
                contradicts = (decision.support or 0) < 0
                classes.append((
                    _class(row.supported, row.contradicted), _class(decision.entailed, contradicts),
                ))  # fmt: skip
    if all(human == SUPPORTED for human, _ in classes):
        classes = []  # "attributable" alone may be a label of two levels
    return decision_quality(pairs, classes, failed)


def decision_quality(
    pairs: Sequence[tuple[bool, bool]], classes: Sequence[tuple[str, str]] = (), n_failed: int = 0
) -> JudgeQuality:
    """Compare decisions, people's first; classes likewise."""
    n = len(pairs)
    said_no = [human for human, machine in pairs if not machine]
    are_no = [machine for human, machine in pairs if not human]
    return JudgeQuality(
        n,
        n_failed,
        sum(human for human, _ in pairs),
        sum(a == b for a, b in pairs) / n if n else math.nan,
        pearson(pairs),
        cohen_kappa([(str(a), str(b)) for a, b in pairs]),
        sum(not human for human in said_no) / len(said_no) if said_no else math.nan,
        sum(not machine for machine in are_no) / len(are_no) if are_no else math.nan,
        sum(_f1(pairs, side) for side in (True, False)) / 2 if n else math.nan,
        sum(_recall(pairs, side) for side in (True, False)) / 2,
        {name: _class_quality(classes, name) for name in CLASSES if classes},
    )


def _class(supported: bool, contradicted: bool) -> str:
    return SUPPORTED if supported else CONTRADICTED if contradicted else NEITHER


def _class_quality(pairs: Sequence[tuple[str, str]], name: str) -> ClassQuality:
    turned = [(machine, human) for human, machine in pairs]
    return ClassQuality(
        sum(human == name for human, _ in pairs), _recall(turned, name), _recall(pairs, name)
    )


def _f1(pairs: Sequence[tuple[bool, bool]], side: bool) -> float:
    """F1 of one decision: twice those on which both agree, of all times that either says so."""
    said = sum((human == side) + (machine == side) for human, machine in pairs)
    return 2 * sum(human == machine == side for human, machine in pairs) / said if said else 0.0


def _recall(pairs: Sequence[tuple[T, T]], side: T) -> float:
    """Share of people's decisions of one side that the judge makes, too."""
    machine_says = [machine == side for human, machine in pairs if human == side]
    return sum(machine_says) / len(machine_says) if machine_says else math.nan


def pearson(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's correlation of two columns; of decisions, the phi coefficient."""
    try:
        return statistics.correlation([human for human, _ in pairs], [said for _, said in pairs])
    except statistics.StatisticsError:  # fewer than two pairs, or one side says the same of all
        return math.nan
