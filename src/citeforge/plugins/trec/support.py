"""Support of citations: TREC RAG's precision and recall (Thakur et al. 2025, arXiv 2504.15205).

A citation weighs 1 where its passage supports the statement fully, 0.5 where it does so in part,
else 0 (``TREC.HP``, ``TREC.HR``: 1, 0, 0). A judge with two levels gives 1 or 0.

``reference`` is the track's. The unit is the run's own sentence (without any: a statement). Of n
sentences C cite, and of those the first citation of U was judged by nobody; with w, the weight of
the first citation, WP = Σ w / |C − U| and WR = Σ w / (n − |U|), over C without U. ``@all`` takes
the mean weight of a sentence's judged citations instead; sentences that cite and have none leave.
An empty denominator gives 0. Labels of people are read where there are any (``--assessments``); a
citation of what is none of the passages, or has no text, is judged by nobody.

``strict`` is ours: WP is the mean over all citations, WR that of a statement's best citation over
all statements; what was not shown supports nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.alce.answers import strict_claims
from citeforge.evaluator.measures.columns import Key, Value, bounded
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    Found,
    Measure,
    percent,
)
from citeforge.evaluator.measures.judging import Claim, premise_text, read_claims
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.statements.split import strict_statements
from citeforge.evaluator.tools import NO_JUDGE
from citeforge.plugins.trec.assessments import SentenceLabels, answer_labels
from citeforge.plugins.trec.labels import SEVERAL_RUNS, assessments_of, files_signature
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import CitedSentence

_NOTHING = Value(0.0, 0.0)
_OPEN = Value(0.0, 1.0)
Weights = Sequence[Value | None]
"""Weights of the citations of a sentence; None for one that nobody judged."""


def support(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """All of them, from one round of questions: every cited passage alone against its statement."""
    yield from _strict(inputs) if inputs.protocol == "strict" else _reference(inputs)


def _strict(inputs: Inputs) -> Found:
    rows = read_claims(inputs, strict_claims)
    judge = inputs.tools.judge
    assert judge is not None
    judge.ask(_pair(i, c, claim.text) for _, i, claims in rows for claim in claims
              for c in claim.cited)  # fmt: skip
    for suffix, weigh in (("W", _soft), ("H", _hard)):
        precision, recall = {}, {}
        for key, item, claims in rows:
            weights = [_weights(judge, item, claim, weigh) for claim in claims]
            # Citations of what was not shown support nothing.
            n_cited = sum(map(len, weights)) + sum(claim.wrong for claim in claims)
            precision[key] = _share([w for row in weights for w in row], n_cited)
            recall[key] = _share([_best(row) for row in weights], len(claims))
        yield bounded(inputs, f"TREC.{suffix}P", precision)
        yield bounded(inputs, f"TREC.{suffix}R", recall)
    for name in ("TREC.WP@all", "TREC.WR@all"):
        yield name, "strict looks at all citations anyway; the track's is --protocol reference"


def _weights(
    judge: JudgeSession, item: AnswerItem, claim: Claim, weigh: Callable[[Value], Value]
) -> list[Value]:
    return [weigh(_decided(judge, _pair(item, c, claim.text))) for c in claim.cited]


def _best(weights: Sequence[Value]) -> Value:
    low = max((w.low for w in weights), default=0.0)
    return Value(low, max((w.high for w in weights), default=0.0))


def _reference(inputs: Inputs) -> Found:
    rows = list(_labelled(inputs))
    if not rows and inputs.tools.judge is None:
        raise CannotError(
            f"{NO_JUDGE}; or labels of people of this run (--assessments FILE, as TREC publishes "
            "them)"
        )
    for name, weigh, pick in (
        ("TREC.W{}", _soft, _first), ("TREC.H{}", _hard, _first), ("TREC.W{}@all", _soft, _mean),
    ):  # fmt: skip
        precision: dict[Key, Value] = {}
        recall: dict[Key, Value] = {}
        for key, sentences in rows:
            weights = [[w and weigh(w) for w in sentence] for sentence in sentences]
            precision[key], recall[key] = support_shares(weights, pick)
        yield bounded(inputs, name.format("P"), precision)
        yield bounded(inputs, name.format("R"), recall)


def support_shares(
    sentences: Sequence[Weights], pick: Callable[[Weights], Value | None]
) -> tuple[Value, Value]:
    """The track's precision and recall of one answer.

    Args:
        sentences: weights of the citations of each sentence.
        pick: weights of a sentence that cites to its own; None where nobody judged it.
    """
    picked = [pick(weights) for weights in sentences if weights]
    judged = [weight for weight in picked if weight is not None]
    n_left = len(sentences) - (len(picked) - len(judged))
    return _share(judged, len(judged)), _share(judged, n_left)


def _first(weights: Weights) -> Value | None:
    return weights[0]


def _mean(weights: Weights) -> Value | None:
    judged = [weight for weight in weights if weight is not None]
    return _share(judged, len(judged)) if judged else None


def _soft(weight: Value) -> Value:
    return weight


def _hard(weight: Value) -> Value:
    return Value(float(weight.low >= 1), float(weight.high >= 1))


def _share(weights: Sequence[Value], n: int) -> Value:
    return sum(weights, _NOTHING) / n if n else _NOTHING


def _labelled(inputs: Inputs) -> Iterator[tuple[Key, list[Weights]]]:
    """Weights of all citations of each answer: people's, else the judge's."""
    labels = assessments_of(inputs).support
    judge = inputs.tools.judge
    answers = [
        (run, item, answer_labels(labels, inputs.names, inputs.benchmark.query_ids[item.row]))
        for run, item in inputs.items()
    ]
    if labels and len(inputs.runs) > 1:
        raise CannotError(SEVERAL_RUNS)
    sentences = {(run, item.row): _sentences(inputs, item) for run, item, weights in answers
                 if weights is not None or judge is not None}  # fmt: skip
    if judge is not None:
        judge.ask(
            _pair(item, c, sentence.text)
            for run, item, weights in answers
            if weights is None
            for sentence in sentences[run, item.row]
            for c in sentence.citations
            if _has_text(item, c)
        )
    for run, item, weights in answers:
        key = (run, item.row)
        if weights is not None:
            _require_same(inputs, item, sentences[key], weights)
            yield key, [[None if w is None else Value(w, w) for w in row] for row in weights]
        elif judge is not None:
            yield (
                key,
                [
                    [
                        _decided(judge, _pair(item, c, sentence.text))
                        if _has_text(item, c)
                        else None
                        for c in sentence.citations
                    ]
                    for sentence in sentences[key]
                ],
            )


def _sentences(inputs: Inputs, item: AnswerItem) -> Sequence[CitedSentence]:
    """The system's own sentences; else its statements, with what each cites, in order."""
    if item.sentences is not None:
        return item.sentences
    if inputs.tools.segmenter is None:
        raise CannotError(inputs.tools.why_no_segmenter or "needs a segmenter")
    n, base = len(item.passages), inputs.grammar.base
    reading = strict_statements(item.output, inputs.grammar, inputs.tools.segmenter, n)
    return [
        CitedSentence(s.text, [p if 0 <= (p := c - base) < n else None for c in s.numbers])
        for s in reading.statements
    ]


def _require_same(
    inputs: Inputs, item: AnswerItem, sentences: Sequence[CitedSentence], labels: SentenceLabels
) -> None:
    """Refuse labels of another answer.

    Raises:
        InputError: they are of another number of sentences or citations.
    """
    n_cited = [len(sentence.citations) for sentence in sentences]
    n_labels = [len(row) for row in labels]
    if n_cited != n_labels:
        raise InputError(
            f"topic {inputs.benchmark.query_ids[item.row]!r}: labels of {len(n_labels)} sentences "
            f"with {n_labels} citations, and the answer of {inputs.names[0]} has {len(n_cited)} "
            f"with {n_cited}",
            path=", ".join(map(str, inputs.tools.options.assessments)),
            allowed="labels of this very run, one a citation (-1 where nobody judged it)",
        )


def _has_text(item: AnswerItem, cited: int | None) -> bool:
    return (
        cited is not None
        and 0 <= cited < len(item.passages)
        and bool(item.passages[cited].text.strip())
    )


def _pair(item: AnswerItem, cited: int | None, statement: str) -> Pair:
    assert cited is not None
    return Pair(premise_text(item.passages[cited], strict=True), statement)


def _decided(judge: JudgeSession, pair: Pair) -> Value:
    decision = judge.ask([pair])[pair]
    if isinstance(decision, JudgeFailure):
        return _OPEN
    return Value(decision.level, decision.level)


_trec = partial(
    percent,
    family="trec",
    needs="a judge, best with three levels (--judge-profile llm-three-level), or --assessments",
    source="reference: Thakur et al. 2025 (TREC RAG 2024, support), 3.2–3.4; strict: ours",
    uses=("judge", "segmenter"),
    compute=support,
    options=files_signature,
)
_RECALL = "the same over all sentences"
_FIRST = "The track looks at a sentence's first citation alone, and leaves out what nobody judged."
_ALL = "Every judged citation of a sentence has the same weight, the first and the last."
_soft_quality = partial(
    CitationQuality,
    apart="Each citation is judged alone, and partial support counts half.",
    reference=_FIRST,
)
_hard_quality = partial(
    CitationQuality,
    apart="Each citation is judged alone, and partial support counts nothing.",
    reference=_FIRST,
)
MEASURES = (
    _trec("TREC.WP", definition="support of a sentence's first citation, full 1, partial 0.5, "
          "over sentences that cite (strict: over all citations)",
          citation_quality=_soft_quality("precision")),
    _trec("TREC.WR", definition=f"{_RECALL} (strict: of the best citation, over statements)",
          citation_quality=_soft_quality("recall")),
    _trec("TREC.HP", definition="TREC.WP with partial support as none",
          citation_quality=_hard_quality("precision")),
    _trec("TREC.HR", definition="TREC.WR with partial support as none",
          citation_quality=_hard_quality("recall")),
    _trec("TREC.WP@all", definition="mean support of a sentence's judged citations, over "
          "sentences that cite (reference)", citation_quality=CitationQuality("precision", _ALL)),
    _trec("TREC.WR@all", definition=f"{_RECALL} (reference)",
          citation_quality=CitationQuality("recall", _ALL)),
)  # fmt: skip
