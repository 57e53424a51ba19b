"""Measure the agreement of a judge with people's labels (docs/definitions.md#agreement)."""

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.label_files import FULL, Label, LabelRegister, read_labels
from citeforge.evaluator.measures.judging import premise, premise_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.plugins.labels.annotators import cohen_kappa
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import AnswerDetail

UNCITED = "the statement cites nothing"
UNLABELLED = "people did not decide, or had nothing to say"
REPEATED = "the label repeats another one word for word"


@dataclass(frozen=True, order=True)
class LabelledPair:
    """A (premise, hypothesis) pair of an answer with people's label.

    Attributes:
        system: name of the system that answered.
        answer: identifies the answer among those of the system.
        pair: pair that the judge is asked about.
        supported: whether people say that the premise supports the hypothesis.
        contradicted: whether people say that it contradicts it; None if labels do not say.
    """

    system: str
    answer: str
    pair: Pair
    supported: bool
    contradicted: bool | None = field(default=None, compare=False)


@dataclass
class LabelledPairs:
    """Labelled pairs of some files, and how many labels were left out.

    Attributes:
        pairs: pairs that a judge can be asked about.
        left_out: reason why labels were left out, to their number.
    """

    pairs: list[LabelledPair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def to_text_lines(self) -> list[str]:
        """List how many human labels were left out, a line per reason."""
        return [f"  left out  {n:,}: {why}" for why, n in sorted(self.left_out.items())]


def labelled_pairs(
    labels: Sequence[Path], scores: Sequence[Path] = (), label_format: str = "auto"
) -> LabelledPairs:
    """Read human labels as sorted (cited text, statement) pairs; count the labels left out.

    Args:
        labels: files for :func:`~citeforge.evaluator.label_files.read_labels`.
        scores: score files (``--details``) with the statements of labels that have no evidence.
        label_format: format of the labels.

    Raises:
        InputError: a label is of no statement of the score files, is no label, or contradicts
            another one.
        UsageError: labels need score files, and there are none.
    """
    result = LabelledPairs()
    register = LabelRegister()
    answers = {
        (file.system, answer.query_id): answer
        for file in map(load_scores, scores)
        for answer in file.answers
    }
    for path in labels:
        for label in read_labels(path, label_format):
            if label.evidence is None and not scores:
                raise UsageError(
                    f"{path}: needs the score files that it is about: --scores FILE",
                    code="missing-option",
                )
            cited, statement = _find_label_texts(label, answers)
            answer = label.answer or label.query
            key = (label.system, label.query, answer, label.statement, label.citation, label.nth)
            if register.is_repeat((*key, cited, statement), label):
                result.left_out[REPEATED] += 1
            elif cited is None:
                result.left_out[UNCITED] += 1
            elif label.level is None:
                result.left_out[UNLABELLED] += 1
            else:
                pair = Pair(cited, statement)
                result.pairs.append(
                    LabelledPair(
                        label.system, answer, pair, label.level == FULL, label.contradicted
                    )
                )
    result.pairs.sort()
    return result


def _find_label_texts(
    label: Label, answers: Mapping[tuple[str, str], AnswerDetail]
) -> tuple[str | None, str]:
    """Get the texts of a label: (cited passages or None, statement).

    Args:
        label: a person's label of a statement, or of one of its citations.
        answers: answers of score files, by system and query.
    """
    if label.evidence is not None:
        evidence = "\n".join(label.evidence)
        return evidence if evidence.strip() else None, label.text or ""
    answer = answers.get((label.system, label.query))
    number = label.statement
    if answer is None or number is None or not 0 <= number < len(answer.statements):
        raise label.error("labels a statement that no score file contains", code="unknown-id")
    statement = answer.statements[number]
    cited = list(statement.cited) if label.citation is None else [label.citation]
    if label.nth is not None:
        cited = cited[label.nth : label.nth + 1] or [-1]
    if any(not 0 <= c < len(answer.passages) for c in cited):
        raise label.error("labels a citation that no score file contains", code="unknown-id")
    if not cited:
        return None, statement.text
    passages = [Passage(p.id, p.title, p.text) for p in answer.passages]
    return premise(passages, cited, strict=True), statement.text


CLASSES = SUPPORTED, CONTRADICTED, NEITHER = "supported", "contradicted", "neither"


@dataclass(frozen=True)
class ClassQuality:
    """Agreement of a judge with people on one class of pairs.

    Attributes:
        n: number of pairs that people put into the class.
        precision: share of the judge's pairs that people confirm; NaN if the judge has none.
        recall: share of people's pairs that the judge finds; NaN if people have none.
        f1: harmonic mean of both; 0 if judge and people agree on no pair.
    """

    n: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class JudgeQuality:
    """Agreement of a judge with people.

    Attributes:
        n: number of pairs with a verdict.
        n_failed: number of pairs on which the judge failed.
        n_supported: number of pairs that people call supported.
        accuracy: share of equal decisions.
        pearson: correlation of the decisions; NaN if either side is constant.
        kappa: Cohen's kappa.
        precision: precision of "not supported"; NaN if the judge never says so.
        recall: recall of "not supported"; NaN if people never say so.
        macro_f1: mean of the F1 of "supported" and of "not supported" (AttributionBench's), each 0
            if there is no such decision; NaN without pairs.
        balanced_accuracy: mean of the recalls of "supported" and "not supported"; NaN if people
            say the same of all.
        classes: agreement on ``supported``, ``contradicted`` and ``neither``; empty if people's
            labels do not name contradictions.
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
    """Make a judge's test pairs from HAGRID: labelled gold sentences with their cited passages.

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
        raise InputError("has no labelled statements", path=benchmark.folder, code="no-labels")
    passages = benchmark.texts(i for _, sentence in labelled for i in sentence["citations"])
    for query, sentence in labelled:
        markers = benchmark.grammar.parse(sentence["text"], 1 << 30).markers
        text = without_markers(sentence["text"], markers)
        evidence = [Passage(i, *passages[i]) for i in sentence["citations"]]
        pair = Pair("\n".join(premise_text(s, strict=True) for s in evidence), text)
        result.pairs.append(LabelledPair("gold", query, pair, bool(sentence["attributable"])))
    return result


def judge_quality(labelled: Sequence[LabelledPair], judge: JudgeSession) -> JudgeQuality:
    """Let a judge decide human-labelled statements, and measure how well it agrees."""
    decided = ask_labelled(labelled, judge)
    pairs = [(row.supported, verdict.entailed) for row, verdict in decided]
    classes = [
        (_class_name(row.supported, row.contradicted),
         _class_name(verdict.entailed, (verdict.support or 0) < 0))
        for row, verdict in decided if row.contradicted is not None
    ]  # fmt: skip
    if all(human == SUPPORTED for human, _ in classes):
        classes = []  # "attributable" alone may be a label of two levels
    return decision_quality(pairs, classes, len(labelled) - len(decided))


def ask_labelled(
    labelled: Sequence[LabelledPair], judge: JudgeSession
) -> list[tuple[LabelledPair, Verdict]]:
    """Let a judge decide labelled pairs: (pair, verdict) of each on which it does not fail."""
    decisions = judge.ask(row.pair for row in labelled)
    return [(r, d) for r in labelled if isinstance(d := decisions[r.pair], Verdict)]


def decision_quality(
    decision_pairs: Sequence[tuple[bool, bool]],
    class_pairs: Sequence[tuple[str, str]] = (),
    n_failed: int = 0,
) -> JudgeQuality:
    """Measure a judge's agreement with annotators from (people's, judge's) decision pairs.

    Args:
        decision_pairs: (people's, judge's) decision on each statement.
        class_pairs: (people's, judge's) class of each statement; empty if there are two levels.
        n_failed: number of statements on which the judge failed.
    """
    n = len(decision_pairs)
    yes, no = _class_quality(decision_pairs, True), _class_quality(decision_pairs, False)
    return JudgeQuality(
        n,
        n_failed,
        yes.n,
        sum(a == b for a, b in decision_pairs) / n if n else math.nan,
        pearson(decision_pairs),
        cohen_kappa(decision_pairs),
        no.precision,
        no.recall,
        (yes.f1 + no.f1) / 2 if n else math.nan,
        (yes.recall + no.recall) / 2,
        {name: _class_quality(class_pairs, name) for name in CLASSES if class_pairs},
    )


def _class_name(supported: bool, contradicted: bool) -> str:
    """Name the class of a statement's label or verdict: supported, contradicted or neither."""
    return SUPPORTED if supported else CONTRADICTED if contradicted else NEITHER


def _class_quality(
    class_pairs: Sequence[tuple[Hashable, Hashable]], class_name: Hashable
) -> ClassQuality:
    """Compute a judge's precision, recall and F1 on one class of human labels.

    Args:
        class_pairs: (class that people name, class that the judge names) of each statement.
        class_name: the class.
    """
    n_human, n_machine = (sum(pair[side] == class_name for pair in class_pairs) for side in (0, 1))
    n_both = class_pairs.count((class_name, class_name))
    return ClassQuality(
        n_human,
        n_both / n_machine if n_machine else math.nan,
        n_both / n_human if n_human else math.nan,
        2 * n_both / (n_human + n_machine) if n_both else 0.0,
    )


def pearson(pairs: Sequence[tuple[float, float]]) -> float:
    """Compute Pearson's correlation of (people's, judge's) values; NaN if either is constant."""
    try:
        return statistics.correlation(
            [human for human, _ in pairs], [machine for _, machine in pairs]
        )
    except statistics.StatisticsError:  # fewer than two pairs, or one side says the same of all
        return math.nan
