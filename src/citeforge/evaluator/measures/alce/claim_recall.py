"""Gold claims that an answer entails (ALCE on ELI5)."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.alce.answers import ALCE, alce_text
from citeforge.evaluator.measures.bounds import Value, decided
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import Key, bounded
from citeforge.evaluator.measures.declared import Found, Measure, percent
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.tools import NO_JUDGE


def claim_recall(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Share of the claims of a query that its answer entails."""
    if inputs.tools.judge is None:
        raise CannotError(NO_JUDGE)
    judge, pairs = inputs.tools.judge, dict[Key, list[Pair]]()
    for run, item in inputs.items():
        claims = [g.text or "" for g in inputs.gold[item.row].claims]
        if claims:
            text = alce_text(item, inputs)
            pairs[run, item.row] = [Pair(text, claim) for claim in claims]
    if not pairs:
        raise CannotError("needs claims (ELI5)")
    judge.ask(p for group in pairs.values() for p in group)
    values = {k: Value.mean([decided(judge, p) for p in group]) for k, group in pairs.items()}
    yield bounded(inputs, "ALCE.ClaimRec", values)


MEASURES = (
    percent(
        "ALCE.ClaimRec",
        "alce",
        "gold claims that the output entails",
        needs="claims (ELI5), a judge",
        source=ALCE,
        uses=("judge",),
        compute=claim_recall,
        unlabelled="it asks whether gold claims follow from the answer, and labels are of what the "
        "answer states",
    ),
)
