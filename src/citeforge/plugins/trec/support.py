"""Measures of citation support: TREC RAG's precision and recall (Thakur et al. 2025, 2504.15205).

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

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.evaluator.measures.alce_citations import strict_claims
from citeforge.evaluator.measures.columns import NOTHING, Key, Value, bounded, segmenter_of
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    Found,
    Measure,
    PassageMeasure,
)
from citeforge.evaluator.measures.judging import premise_text, read_claims
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.split import strict_statements
from citeforge.evaluator.submissions.tools import NO_JUDGE
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
Shares = Callable[[Sequence[Weights]], tuple[Value, Value]]
"""Computes an answer's (precision, recall) from the weights of its sentences' citations."""


def support_shares(
    sentences: Sequence[Weights], pick: Callable[[Weights], Value | None]
) -> tuple[Value, Value]:
    """Compute the track's weighted (precision, recall) of one answer.

    Args:
        sentences: weights of the citations of each sentence.
        pick: computes a sentence's weight from those of its citations; None if it is not judged.
    """
    picked = [pick(weights) for weights in sentences if weights]
    judged = [weight for weight in picked if weight is not None]
    n_left = len(sentences) - (len(picked) - len(judged))
    return _ratio(judged, len(judged)), _ratio(judged, n_left)


def _first_weight(weights: Weights) -> Value | None:
    """Get the weight of a sentence's first citation; None if it is not judged."""
    return weights[0]


def _mean_weight(weights: Weights) -> Value | None:
    """Average the weights of a sentence's judged citations; None if none is judged."""
    judged = [weight for weight in weights if weight is not None]
    return _ratio(judged, len(judged)) if judged else None


def _strict_shares(sentences: Sequence[Weights]) -> tuple[Value, Value]:
    """Compute (precision over all citations, recall by each sentence's best citation)."""
    weights = [[weight or NOTHING for weight in row] for row in sentences]
    every = [weight for row in weights for weight in row]
    best = [Value(max(w.low for w in row), max(w.high for w in row)) for row in weights if row]
    return _ratio(every, len(every)), _ratio(best, len(weights))


def _ratio(weights: Sequence[Value], n: int) -> Value:
    """Divide the sum of weights by a count; 0 if the count is 0."""
    return sum(weights, NOTHING) / n if n else NOTHING


_BY_FIRST, _BY_MEAN = (partial(support_shares, pick=pick) for pick in (_first_weight, _mean_weight))
_STRICT: dict[str, tuple[bool, Shares]] = {
    "TREC.W{}": (False, _strict_shares), "TREC.H{}": (True, _strict_shares)
}  # fmt: skip
_REFERENCE: dict[str, tuple[bool, Shares]] = {
    "TREC.W{}": (False, _BY_FIRST), "TREC.H{}": (True, _BY_FIRST),
    "TREC.W{}@all": (False, _BY_MEAN),
}  # fmt: skip
"""Name of a pair of measures to (whether partial support counts 0, function that computes them)."""


def support(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Compute all measures of support; each citation is judged on its own."""
    is_strict = inputs.protocol == "strict"
    rows = list(_citation_weights(inputs))
    for name, (is_hard, shares) in (_STRICT if is_strict else _REFERENCE).items():
        sides = {
            key: shares([[w and full_support(w) if is_hard else w for w in s] for s in sentences])
            for key, sentences in rows
        }
        for at, side in enumerate("PR"):
            yield bounded(inputs, name.format(side), {key: both[at] for key, both in sides.items()})
    for name in ("TREC.WP@all", "TREC.WR@all") if is_strict else ():
        yield name, "strict looks at all citations anyway; the track's is --protocol reference"


def _citation_weights(inputs: Inputs) -> Iterator[tuple[Key, Sequence[Weights]]]:
    """Yield (answer's key, weights of its citations per sentence), by assessors or the judge."""
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
    for key, labels, sentences in rows:
        if labels is not None:
            yield key, [[None if w is None else Value.exact(w) for w in row] for row in labels]
        else:
            yield key, [[None if p is None else values[p] for p in pairs] for pairs in sentences]


def _read_answers(
    inputs: Inputs,
) -> Iterator[tuple[Key, AnswerItem, Sequence[CitedSentence], SentenceLabels | None]]:
    """Yield (key, answer, its sentences with citations, assessors' labels or None).

    Raises:
        CannotError: there are neither a judge nor labels.
        InputError: labels do not fit the answer.
    """
    if inputs.protocol == "strict":
        for key, item, claims in read_claims(inputs, strict_claims):
            cited = [CitedSentence(c.text, [*c.cited, *[None] * c.wrong]) for c in claims]
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
            f"{NO_JUDGE}; or human labels of this run (--assessments FILE, as TREC publishes them)",
            code="missing-judge",
        )


def _split_sentences(inputs: Inputs, item: AnswerItem) -> Sequence[CitedSentence]:
    """Get the system's own sentences, else its statements, with their citations."""
    if item.sentences is not None:
        return item.sentences
    n, base, segmenter = len(item.passages), inputs.grammar.base, segmenter_of(inputs.tools)
    reading = strict_statements(item.output, inputs.grammar, segmenter, n)
    return [CitedSentence(s.text, [c - base for c in s.numbers]) for s in reading.statements]


def _require_fit(
    inputs: Inputs, item: AnswerItem, sentences: Sequence[CitedSentence], labels: SentenceLabels
) -> None:
    """Refuse labels that do not fit an answer.

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
    uses=("judge", "segmenter"),
    compute=support,
    options=labels_signature,
)
_RECALL = "the same over all sentences"
_FIRST = "The track looks at a sentence's first citation alone, and leaves out what nobody judged."
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
               citation_quality=_soft_quality("precision")),
    _over_all("TREC.WR", definition=f"{_RECALL} (strict: of the best citation, over statements)",
              citation_quality=_soft_quality("recall")),
    _precision("TREC.HP", definition="TREC.WP with partial support as none",
               citation_quality=_hard_quality("precision")),
    _over_all("TREC.HR", definition="TREC.WR with partial support as none",
              citation_quality=_hard_quality("recall")),
    _of_all("TREC.WP@all", definition="mean support of a sentence's judged citations, over "
            "sentences that cite (reference)",
            citation_quality=CitationQuality("precision", _ALL)),
    _of_all("TREC.WR@all", definition=f"{_RECALL} (reference)",
            citation_quality=CitationQuality("recall", _ALL)),
)  # fmt: skip
