"""Three levels of support: TREC RAG's weighted precision and recall (Thakur et al. 2025).

A citation weighs 1 where its passage supports the statement fully, 0.5 where it does so in part,
else 0. A judge with two levels gives 1 or 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures.alce import reference_claims, strict_claims
from citeforge.evaluator.measures.bounds import Value
from citeforge.evaluator.measures.claims import Claim, read_claims
from citeforge.evaluator.measures.columns import bounded
from citeforge.evaluator.measures.declared import Found, Measure, percent
from citeforge.evaluator.measures.judging import render

_NOTHING = Value(0.0, 0.0)


def weighted(inputs: Inputs, wanted: Sequence[Measure]) -> Found:
    """Both, from one round of questions: every cited passage alone against its statement."""
    strict = inputs.protocol == "strict"
    rows = read_claims(inputs, strict_claims if strict else reference_claims)
    judge = inputs.tools.judge
    assert judge is not None
    judge.ask(_pair(i, c, claim, strict) for _, i, claims in rows for claim in claims
              for c in claim.cited)  # fmt: skip
    precision, recall = {}, {}
    for key, item, claims in rows:
        weights = [
            [_weight(judge, _pair(item, c, claim, strict)) for c in claim.cited] for claim in claims
        ]
        # Citations of what was not shown support nothing.
        n_cited = sum(map(len, weights)) + sum(claim.wrong for claim in claims)
        every = [w for row in weights for w in row]
        best = [
            Value(max(w.low for w in row), max(w.high for w in row)) if row else _NOTHING
            for row in weights
        ]
        precision[key] = _share(every, n_cited)
        recall[key] = _share(best, len(claims))
    yield bounded(inputs, "TREC.WP", precision)
    yield bounded(inputs, "TREC.WR", recall)


def _pair(item: Item, cited: int, claim: Claim, strict: bool) -> Pair:
    return Pair(render(item.passages[cited], strict), claim.text)


def _weight(judge: JudgeSession, pair: Pair) -> Value:
    decision = judge.ask([pair])[pair]
    if isinstance(decision, JudgeFailure):
        return Value(0.0, 1.0)
    return Value(decision.level, decision.level)


def _share(weights: Sequence[Value], n: int) -> Value:
    return sum(weights, _NOTHING) / n if n else _NOTHING


_trec = partial(
    percent,
    family="trec",
    needs="a judge, best with three levels (--judge-profile llm-three-level)",
    source="Thakur et al. 2025 (TREC RAG 2024, support)",
    uses=("judge", "segmenter"),
    compute=weighted,
)
MEASURES = (
    _trec("TREC.WP", definition="support of citations, full 1, partial 0.5, averaged over them"),
    _trec("TREC.WR", definition="the same of the best citation, averaged over statements"),
)
