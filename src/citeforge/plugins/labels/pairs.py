"""Statements that people labelled, with what they cite: what a judge is measured on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.judging import premise
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.package.items import Passage
from citeforge.plugins.labels.files import FULL, Label, LabelRegister, read_labels
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import AnswerDetail

UNCITED = "the statement cites nothing"
UNLABELLED = "people did not decide, or had nothing to say"
REPEATED = "the label repeats another one word for word"


@dataclass(frozen=True, order=True)
class LabelledPair:
    """A labelled pair of an answer.

    Attributes:
        system: whose answer.
        answer: tells the answers of a system apart.
        pair: what the judge is asked.
        supported: what people say.
        contradicted: whether they say that it is contradicted; None where labels do not tell.
    """

    system: str
    answer: str
    pair: Pair
    supported: bool
    contradicted: bool | None = field(default=None, compare=False)


@dataclass
class LabelledPairs:
    """All labels of some files.

    Attributes:
        pairs: those that a judge can be asked.
        left_out: why others are not asked, to how many these are.
    """

    pairs: list[LabelledPair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        """What is left out, for people."""
        return [f"  left out  {n:,}: {why}" for why, n in sorted(self.left_out.items())]


def labelled_pairs(
    labels: Sequence[Path], scores: Sequence[Path] = (), form: str = "auto"
) -> LabelledPairs:
    """Labelled statements with what they cite, in an order that is not that of the lines.

    Args:
        labels: files of :func:`~citeforge.plugins.labels.files.read_labels`.
        scores: score files (``--details``) that labels without evidence of their own are about.
        form: format of the labels.

    Raises:
        InputError: a label of no statement of the score files, one that is none, or two that
            contradict each other.
        UsageError: there are no score files for labels that need them.
    """
    result = LabelledPairs()
    register = LabelRegister()
    answers = {
        (file.system, answer.query_id): answer
        for file in map(load_scores, scores)
        for answer in file.answers
    }
    for path in labels:
        for label in read_labels(path, form):
            if label.evidence is None and not scores:
                raise UsageError(f"{path}: needs the score files that it is about: --scores FILE")
            cited, statement = _texts(label, answers)
            answer = label.answer or label.query
            place = (label.system, label.query, answer, label.statement, label.citation, label.nth)
            if register.is_repeat((*place, cited, statement), label):
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


def _texts(label: Label, answers: Mapping[tuple[str, str], AnswerDetail]) -> tuple[str | None, str]:
    """Texts that a statement cites, None where it cites nothing, and the statement."""
    if label.evidence is not None:
        evidence = "\n".join(label.evidence)
        return evidence if evidence.strip() else None, label.text or ""
    answer = answers.get((label.system, label.query))
    place = label.statement
    if answer is None or place is None or not 0 <= place < len(answer.statements):
        raise label.wrong("labels a statement that no score file holds")
    statement = answer.statements[place]
    cited = list(statement.cited) if label.citation is None else [label.citation]
    if label.nth is not None:
        cited = cited[label.nth : label.nth + 1] or [-1]
    if any(not 0 <= c < len(answer.passages) for c in cited):
        raise label.wrong("labels a citation that no score file holds")
    if not cited:
        return None, statement.text
    passages = [Passage(p.id, p.title, p.text) for p in answer.passages]
    return premise(passages, cited, strict=True), statement.text
