"""Measures of citation support: TREC RAG's precision and recall (Thakur et al. 2025, 2504.15205).

## trec

Thakur et al. 2025 (arXiv 2504.15205), sections 3.2 to 3.4, for `reference`; `strict` is ours. A
citation weighs w = 1 for full support of its statement by the passage alone, 1/2 for partial, 0 for
none; `H` measures: 1, 0, 0.

The unit of `reference` is the run's own sentence object, whatever its text holds, else a statement;
where citations carry confidences, the first is the most confident one. A sentence whose first
citation (`@all`: every citation) is unjudged is left out of numerator and denominator. An empty
denominator gives 0. A citation is unjudged where labels say so, or where there is no such passage
or it has no text. Labels (`--assessments`) come before the judge.

*Example.* Sentence 1 cites a partial and a full passage, sentence 2 one without support, sentence 3
nothing. `strict`: WP = (.5 + 1 + 0)/3 = .50, WR = (1 + 0 + 0)/3 = .33. `reference`: WP = (.5 + 0)/2
= .25, WR = .5/3 = .17, WP@all = (.75 + 0)/2 = .38, WR@all = .75/3 = .25.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.declared import CitationQuality, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value, level_value
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, no_judge
from citeforge.plugins.trec.assessments import (
    SentenceLabels,
    binarise_support,
    find_labels,
    load_assessments,
    require_one_run,
    write_assessments_option,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import CitedSentence

Weights = Sequence[Value | None]
"""Weights of the citations of a sentence; None for one that is not judged."""


@dataclass(frozen=True)
class Shares:
    """Precision and recall of the citations of one answer."""

    precision: Value
    recall: Value


def support_shares(
    sentences: Sequence[Weights], get_weight: Callable[[Weights], Value | None]
) -> Shares:
    """Compute the TREC RAG track's weighted precision and recall of one answer's citations.

    Precision divides the weights' sum by the number of citing sentences that are judged; recall by
    that of all sentences but citing ones that are not judged.

    Args:
        sentences: weights of the citations of each sentence.
        get_weight: computes a sentence's weight from those of its citations; None if unjudged.
    """
    picked = [get_weight(weights) for weights in sentences if weights]
    judged = [weight for weight in picked if weight is not None]
    n_left = len(sentences) - (len(picked) - len(judged))
    return Shares(_ratio(judged, len(judged)), _ratio(judged, n_left))


def _first_weight(weights: Weights) -> Value | None:
    """Get the support weight of a sentence's first citation; None if it is not judged."""
    return weights[0]


def _mean_weight(weights: Weights) -> Value | None:
    """Average the support weights of a sentence's judged citations; None if none is judged."""
    judged = [weight for weight in weights if weight is not None]
    return _ratio(judged, len(judged)) if judged else None


def strict_shares(sentences: Sequence[Weights]) -> Shares:
    """Compute an answer's precision over all citations, and recall by sentences' best ones."""
    weights = [[weight or NOTHING for weight in row] for row in sentences]
    every = [weight for row in weights for weight in row]
    best = [Value(max(w.low for w in row), max(w.high for w in row)) for row in weights if row]
    return Shares(_ratio(every, len(every)), _ratio(best, len(weights)))


def _ratio(weights: Sequence[Value], n: int) -> Value:
    """Divide a sum of support weights by a count; 0 if the count is 0."""
    return sum(weights, NOTHING) / n if n else NOTHING


@dataclass(frozen=True)
class SupportShares:
    """Precision and recall of the citations of one answer, in three ways.

    Attributes:
        soft: partial support counts half.
        hard: partial support counts as none.
        of_all: by all judged citations of a sentence; None in ``strict``, which has no others.
    """

    soft: Shares
    hard: Shares
    of_all: Shares | None = None


@per_submission(
    "trec", needs=(Need.STATEMENTS, Need.SEGMENTER, Need.PASSAGES, Need.JUDGE_IF_ANY),
    requires="a judge, best with three levels (--judge-profile llm-three-level), or --assessments",
    source="reference: Thakur et al. 2025 (TREC RAG 2024, support), 3.2–3.4; strict: ours",
    options=write_assessments_option,
)  # fmt: skip
def support(answers: Answers) -> dict[AnswerKey, SupportShares]:
    """Compute every answer's citation precision and recall from all its citations."""
    answers.tools.get_judge()
    rows = [
        _Sentences(a, [CitedSentence(s.text, [*s.cited, *[None] * s.wrong]) for s in a.statements])
        for a in answers
    ]
    return {
        key: SupportShares(strict_shares(weights), strict_shares(_binarise_all(weights)))
        for key, weights in _citation_weights(answers, rows).items()
    }


@support.reference
def reference_support(answers: Answers) -> dict[AnswerKey, SupportShares]:
    """Compute every answer's citation precision and recall from sentences' first citations.

    Returns:
        Shares per answer: partial support as a half, as none, and by all judged citations.
    """
    return {
        key: SupportShares(
            support_shares(weights, _first_weight),
            support_shares(_binarise_all(weights), _first_weight),
            support_shares(weights, _mean_weight),
        )
        for key, weights in _citation_weights(answers, _list_sentences(answers)).items()
    }


def _binarise_all(sentences: Sequence[Weights]) -> list[Weights]:
    """Replace citations' support weights by 1 for full support, and 0 for any other."""
    return [[w and binarise_support(w) for w in weights] for weights in sentences]


def _mean_of_all(answers: ByAnswer[SupportShares], share_name: str) -> Sample:
    """Average answers' precision or recall over all judged citations, not only first ones.

    Raises:
        CannotError: the protocol is ``strict``.
    """
    if any(one.of_all is None for one in answers.values()):
        raise CannotError(
            "strict looks at all citations anyway; the track's is --protocol reference",
            code="conflicting-options",
        )
    return answers.mean(lambda one: getattr(one.of_all, share_name))


@dataclass(frozen=True)
class _Sentences:
    """An answer's sentences with their citations, and assessors' labels of these, if there are."""

    answer: Answer
    sentences: Sequence[CitedSentence]
    labels: SentenceLabels | None = None

    def pairs(self) -> list[list[Pair | None]]:
        """Make the judge's pair for each citation of each sentence; None without a passage."""
        return [[_make_pair(self.answer, c, s.text) for c in s.citations] for s in self.sentences]


def _citation_weights(
    answers: Answers, cited_sentences: Sequence[_Sentences]
) -> dict[AnswerKey, Sequence[Weights]]:
    """Get support weights of cited sentences, by answer and sentence, from assessors or judge.

    Returns:
        By answer, for each sentence the weight of each of its citations; None for one that is not
        judged.
    """
    asked = {row.answer.key: row.pairs() for row in cited_sentences if row.labels is None}
    every = (pair for sentences in asked.values() for pairs in sentences for pair in pairs if pair)
    decisions = {} if answers.tools.judge is None else answers.tools.judge.ask(every)
    values = {pair: level_value(decision) for pair, decision in decisions.items()}
    return {
        key: [[None if p is None else values[p] for p in pairs] for pairs in asked[key]]
        if labels is None
        else [[None if w is None else Value.exact(w) for w in weights] for weights in labels]
        for key, labels in ((row.answer.key, row.labels) for row in cited_sentences)
    }


def _list_sentences(answers: Answers) -> list[_Sentences]:
    """List answers with their sentences, citations and assessors' labels of these.

    With labels but no judge, answers without a label are left out.

    Raises:
        CannotError: there are neither a judge nor labels.
        InputError: labels do not fit the answer.
    """
    every = load_assessments(answers).support
    require_one_run(answers, every)
    rows = []
    for item in answers:
        labels = find_labels(every, answers.names, answers.query_ids[item.row])
        if labels is None and answers.tools.judge is None:
            continue
        sentences = split_sentences(answers, item)
        if labels is not None:
            _require_same_counts(answers, item, sentences, labels)
        rows.append(_Sentences(item, sentences, labels))
    if not rows and answers.tools.judge is None:
        raise CannotError(
            f"{no_judge()}; or human labels of this run (--assessments FILE, as TREC publishes "
            "them)",
            code="missing-judge",
        )
    return rows


def split_sentences(answers: Answers, answer: Answer) -> Sequence[CitedSentence]:
    """Get an answer's sentences with citations: as the system split them, else from its text."""
    if answer.sentences is not None:
        return answer.sentences
    n, base, segmenter = len(answer.passages), answers.grammar.base, answers.tools.get_segmenter()
    reading = split_statements(answer.output, answers.grammar, segmenter, n)
    return [CitedSentence(s.text, [c - base for c in s.numbers]) for s in reading.statements]


def _require_same_counts(
    answers: Answers, answer: Answer, sentences: Sequence[CitedSentence], labels: SentenceLabels
) -> None:
    """Raise an error if assessors' labels and an answer's citations differ in number.

    Args:
        answers: names of benchmark and system, for the error.
        answer: the answer.
        sentences: its sentences with their citations.
        labels: a row of labels for each sentence.

    Raises:
        InputError: they are of another number of sentences or citations.
    """
    n_cited = [len(sentence.citations) for sentence in sentences]
    n_labels = [len(row) for row in labels]
    if n_cited != n_labels:
        raise InputError(
            f"topic {answers.query_ids[answer.row]!r}: labels of {len(n_labels)} sentences "
            f"with {n_labels} citations, and the answer of {answers.names[0]} has {len(n_cited)} "
            f"with {n_cited}",
            path=", ".join(map(str, answers.tools.options.assessments)),
            allowed="labels of this run, one per citation (-1 for one that was not judged)",
            code="wrong-value",
        )


def _make_pair(answer: Answer, cited: int | None, statement: str) -> Pair | None:
    """Make the judge's (passage, statement) pair of a citation; None without passage or text.

    Args:
        answer: answer with its passages.
        cited: position of the cited passage; None for a citation of no passage.
        statement: text that cites it.
    """
    if cited is None or not 0 <= cited < len(answer.passages):
        return None
    passage = answer.passages[cited]
    if answer.submission.protocol != "strict" and not passage.text.strip():
        return None
    return Pair(premise_text(passage, strict=True), statement)


_RECALL = "the same over all sentences"
_FIRST = "The track reads first citations only; sentences whose first one is unjudged are left out."
_ALL = "Every judged citation of a sentence has the same weight, the first and the last."
_soft_quality, _hard_quality = (
    partial(
        CitationQuality,
        apart=f"Each citation is judged alone, and partial support counts {worth}.",
        reference=_FIRST,
    )
    for worth in ("half", "nothing")
)
_PRECISION: dict[str, Any] = {
    "formula": "mean w over all citations; out-of-range ones weigh 0",
    "edge_cases": "`reference`: Σ w of first citations ÷ sentences that cite",
}
_OVER_ALL: dict[str, Any] = {
    "formula": "mean over statements of the largest w",
    "edge_cases": "`reference`: the same sum ÷ all sentences",
}
_OF_ALL: dict[str, Any] = {
    "formula": "not computed",
    "edge_cases": "`reference`: the mean w of a sentence's judged citations in place of the first",
}
MEASURES = (
    support.measure(
        "TREC.WP", "support of a sentence's first citation, full 1, partial 0.5, over sentences "
        "that cite (strict: over all citations)",
        mean=lambda a: a.soft.precision, citation_quality=_soft_quality("precision"), **_PRECISION),
    support.measure("TREC.WR", f"{_RECALL} (strict: of the best citation, over statements)",
        mean=lambda a: a.soft.recall, citation_quality=_soft_quality("recall"), **_OVER_ALL),
    support.measure("TREC.HP", "TREC.WP with partial support as none",
        mean=lambda a: a.hard.precision, citation_quality=_hard_quality("precision"), **_PRECISION),
    support.measure("TREC.HR", "TREC.WR with partial support as none",
        mean=lambda a: a.hard.recall, citation_quality=_hard_quality("recall"), **_OVER_ALL),
    support.measure(
        "TREC.WP@all", "mean support of a sentence's judged citations, over sentences that cite "
        "(reference)", sample=lambda answers: _mean_of_all(answers, "precision"),
        citation_quality=CitationQuality("precision", _ALL), **_OF_ALL),
    support.measure("TREC.WR@all", f"{_RECALL} (reference)",
        sample=lambda answers: _mean_of_all(answers, "recall"),
        citation_quality=CitationQuality("recall", _ALL), **_OF_ALL),
)  # fmt: skip
