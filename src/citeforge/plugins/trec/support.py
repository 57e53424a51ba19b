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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.evaluator.measures.columns import NOTHING, Compute, Value, bounded_mean_of
from citeforge.evaluator.measures.declared import CitationQuality, PassageMeasure
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.statements.protocols import statements_of
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs
from citeforge.evaluator.submissions.tools import CannotError, no_judge
from citeforge.plugins.trec.assessments import (
    SentenceLabels,
    find_labels,
    full_support,
    labels_signature,
    load_assessments,
    require_one_run,
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


def support_shares(sentences: Sequence[Weights], pick: Callable[[Weights], Value | None]) -> Shares:
    """Compute the TREC RAG track's weighted precision and recall of one answer's citations.

    Args:
        sentences: weights of the citations of each sentence.
        pick: computes a sentence's weight from those of its citations; None if it is not judged.
    """
    picked = [pick(weights) for weights in sentences if weights]
    judged = [weight for weight in picked if weight is not None]
    n_left = len(sentences) - (len(picked) - len(judged))
    return Shares(_ratio(judged, len(judged)), _ratio(judged, n_left))


def _first_weight(weights: Weights) -> Value | None:
    """Get the weight of a sentence's first citation; None if it is not judged."""
    return weights[0]


def _mean_weight(weights: Weights) -> Value | None:
    """Average the weights of a sentence's judged citations; None if none is judged."""
    judged = [weight for weight in weights if weight is not None]
    return _ratio(judged, len(judged)) if judged else None


def strict_shares(sentences: Sequence[Weights]) -> Shares:
    """Compute precision over all citations, and recall by each sentence's best citation."""
    weights = [[weight or NOTHING for weight in row] for row in sentences]
    every = [weight for row in weights for weight in row]
    best = [Value(max(w.low for w in row), max(w.high for w in row)) for row in weights if row]
    return Shares(_ratio(every, len(every)), _ratio(best, len(weights)))


def _ratio(weights: Sequence[Value], n: int) -> Value:
    """Divide the sum of weights by a count; 0 if the count is 0."""
    return sum(weights, NOTHING) / n if n else NOTHING


def _citation_shares(inputs: Inputs, only_full: bool) -> dict[AnswerKey, Shares]:
    """Compute every answer's precision and recall, by first citations or, if strict, by all.

    Args:
        inputs: the answers.
        only_full: whether partial support counts as none.
    """
    shares = {}
    for key, sentences in inputs.once(_citation_weights).items():
        if only_full:
            sentences = [[w and full_support(w) for w in weights] for weights in sentences]
        is_strict = inputs.protocol == "strict"
        shares[key] = (
            strict_shares(sentences) if is_strict else support_shares(sentences, _first_weight)
        )
    return shares


# Constants, since what is computed once is known by its function.
_SOFT, _HARD = (partial(_citation_shares, only_full=only_full) for only_full in (False, True))


def _mean_shares(inputs: Inputs) -> dict[AnswerKey, Shares]:
    """Compute precision and recall of every answer by the mean weight of a sentence's citations.

    Raises:
        CannotError: the protocol is ``strict``.
    """
    weights = inputs.once(_citation_weights)
    if inputs.protocol == "strict":
        raise CannotError(
            "strict looks at all citations anyway; the track's is --protocol reference",
            code="conflicting-options",
        )
    return {key: support_shares(sentences, _mean_weight) for key, sentences in weights.items()}


def _precision_of(shares: Callable[[Inputs], dict[AnswerKey, Shares]]) -> Compute:
    """Make a measure's function, which averages the precision of answers over queries."""
    return bounded_mean_of(shares, lambda one: one.precision)


def _recall_of(shares: Callable[[Inputs], dict[AnswerKey, Shares]]) -> Compute:
    """Make a measure's function, which averages the recall of answers over queries."""
    return bounded_mean_of(shares, lambda one: one.recall)


def _citation_weights(inputs: Inputs) -> dict[AnswerKey, Sequence[Weights]]:
    """Get how far each citation of each answer supports its sentence, by assessors or judge."""
    judge = inputs.tools.judge
    rows = [
        (key, labels, [[_pair(inputs, item, c, s.text) for c in s.citations] for s in sentences])
        for key, item, sentences, labels in _read_answers(inputs)
    ]
    decisions = {} if judge is None else judge.ask(
        pair for _, labels, sentences in rows if labels is None
        for pairs in sentences for pair in pairs if pair is not None
    )  # fmt: skip
    values = {
        pair: Value(0.0, 1.0) if isinstance(d, JudgeFailure) else Value.exact(d.level)
        for pair, d in decisions.items()
    }
    return {
        key: [[None if p is None else values[p] for p in pairs] for pairs in sentences]
        if labels is None
        else [[None if w is None else Value.exact(w) for w in row] for row in labels]
        for key, labels, sentences in rows
    }


def _read_answers(
    inputs: Inputs,
) -> Iterator[tuple[AnswerKey, AnswerItem, Sequence[CitedSentence], SentenceLabels | None]]:
    """Yield (key, answer, its sentences with citations, assessors' labels or None).

    Raises:
        CannotError: there are neither a judge nor labels.
        InputError: labels do not fit the answer.
    """
    if inputs.protocol == "strict":
        inputs.tools.get_judge()
        for key, item, statements in statements_of(inputs, "alce"):
            cited = [CitedSentence(s.text, [*s.cited, *[None] * s.wrong]) for s in statements]
            yield key, item, cited, None
        return
    every = load_assessments(inputs).support
    require_one_run(inputs, every)
    is_judged = inputs.tools.judge is not None
    for run, item in inputs.items():
        labels = find_labels(every, inputs.names, inputs.benchmark.query_ids[item.row])
        if labels is None and inputs.tools.judge is None:
            continue
        is_judged = True
        sentences = _split_sentences(inputs, item)
        if labels is not None:
            _require_fit(inputs, item, sentences, labels)
        yield (run, item.row), item, sentences, labels
    if not is_judged:
        raise CannotError(
            f"{no_judge()}; or human labels of this run (--assessments FILE, as TREC publishes "
            "them)",
            code="missing-judge",
        )


def _split_sentences(inputs: Inputs, item: AnswerItem) -> Sequence[CitedSentence]:
    """Get an answer's cited sentences as the system split them, else its cited statements."""
    if item.sentences is not None:
        return item.sentences
    n, base, segmenter = len(item.passages), inputs.grammar.base, inputs.tools.get_segmenter()
    reading = split_statements(item.output, inputs.grammar, segmenter, n)
    return [CitedSentence(s.text, [c - base for c in s.numbers]) for s in reading.statements]


def _require_fit(
    inputs: Inputs, item: AnswerItem, sentences: Sequence[CitedSentence], labels: SentenceLabels
) -> None:
    """Raise an error if labels and answer differ in numbers of sentences or of citations.

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
            allowed="labels of this run, one per citation (-1 for one that was not judged)",
            code="wrong-value",
        )


def _pair(inputs: Inputs, item: AnswerItem, cited: int | None, statement: str) -> Pair | None:
    """Make the (passage, statement) pair to judge a citation by; None without passage or text."""
    if cited is None or not 0 <= cited < len(item.passages):
        return None
    passage = item.passages[cited]
    if inputs.protocol != "strict" and not passage.text.strip():
        return None
    return Pair(premise_text(passage, strict=True), statement)


_trec = partial(
    PassageMeasure,
    family="trec",
    needs="a judge, best with three levels (--judge-profile llm-three-level), or --assessments",
    source="reference: Thakur et al. 2025 (TREC RAG 2024, support), 3.2–3.4; strict: ours",
    uses=("judge", "segmenter", "statements"),
    options=labels_signature,
)
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
_precision = partial(
    _trec,
    formula="mean w over all citations; out-of-range ones weigh 0",
    edge_cases="`reference`: Σ w of first citations ÷ sentences that cite",
)
_over_all = partial(
    _trec,
    formula="mean over statements of the largest w",
    edge_cases="`reference`: the same sum ÷ all sentences",
)
_of_all = partial(
    _trec,
    formula="not computed",
    edge_cases="`reference`: the mean w of a sentence's judged citations in place of the first",
)
MEASURES = (
    _precision("TREC.WP", definition="support of a sentence's first citation, full 1, partial 0.5, "
               "over sentences that cite (strict: over all citations)",
               compute=_precision_of(_SOFT), citation_quality=_soft_quality("precision")),
    _over_all("TREC.WR", definition=f"{_RECALL} (strict: of the best citation, over statements)",
              compute=_recall_of(_SOFT), citation_quality=_soft_quality("recall")),
    _precision("TREC.HP", definition="TREC.WP with partial support as none",
               compute=_precision_of(_HARD), citation_quality=_hard_quality("precision")),
    _over_all("TREC.HR", definition="TREC.WR with partial support as none",
              compute=_recall_of(_HARD), citation_quality=_hard_quality("recall")),
    _of_all("TREC.WP@all", definition="mean support of a sentence's judged citations, over "
            "sentences that cite (reference)", compute=_precision_of(_mean_shares),
            citation_quality=CitationQuality("precision", _ALL)),
    _of_all("TREC.WR@all", definition=f"{_RECALL} (reference)", compute=_recall_of(_mean_shares),
            citation_quality=CitationQuality("recall", _ALL)),
)  # fmt: skip
