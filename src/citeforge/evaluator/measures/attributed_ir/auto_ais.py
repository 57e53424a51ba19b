"""AutoAIS: the best citation, or the best shown passage, of each statement (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.attributed_ir.answers import (
    claims_of,
    judged,
    quality_of_judged,
    with_passages,
)
from citeforge.evaluator.measures.bounds import Bounds, Value, decided
from citeforge.evaluator.measures.claims import Claim, read_claims
from citeforge.evaluator.measures.columns import bounded
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs


@dataclass(frozen=True)
class AutoAis:
    """AutoAIS of one answer.

    Attributes:
        cited_all: over all statements, an uncited one counting 0.
        cited_only: over cited statements; 0 when there is none.
        passages: best shown passage of every statement.
    """

    cited_all: Value
    cited_only: Value
    passages: Value


def auto_ais(
    answers: list[tuple[AnswerItem, list[Claim]]], judge: JudgeSession, with_passages: bool
) -> list[AutoAis]:
    """AutoAIS of every answer; premises are passage texts without titles."""
    judge.ask(
        Pair(item.passages[c].text, claim.text)
        for item, claims in answers
        for claim in claims
        for c in (range(len(item.passages)) if with_passages else claim.cited)
    )
    return [_auto_ais(item, claims, judge, with_passages) for item, claims in answers]


def _auto_ais(
    item: AnswerItem, claims: list[Claim], judge: JudgeSession, with_passages: bool
) -> AutoAis:
    def best(claim: Claim, positions: Iterable[int]) -> Bounds:
        each = [decided(judge, Pair(item.passages[at].text, claim.text)) for at in positions]
        return Bounds(any(b.low for b in each), any(b.high for b in each))

    cited = [best(claim, claim.cited) for claim in claims]
    # Where a citation out of range skips a statement, wrong ones alone leave it uncited.
    only = [
        b
        for b, claim in zip(cited, claims, strict=True)
        if claim.cited or (claim.wrong and not claim.skipped)
    ]
    of_shown = [best(c, range(len(item.passages))) for c in claims] if with_passages else []
    return AutoAis(Value.mean(cited), Value.mean(only), Value.mean(of_shown))


def _scores(inputs: Inputs, names: Mapping[str, str], of_shown: bool) -> Found:
    """Measures by the field of an answer's scores that each is."""
    inputs = with_passages(inputs)
    rows = read_claims(inputs, claims_of)
    assert inputs.tools.judge is not None
    answers = [(item, claims) for _, item, claims in rows]
    scores = auto_ais(answers, inputs.tools.judge, of_shown)
    for name, field in names.items():
        values = {k: getattr(s, field) for (k, _, _), s in zip(rows, scores, strict=True)}
        yield bounded(inputs, name, values)


def auto_ais_samples(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Over all statements, and over cited ones."""
    names = {"AutoAIS.cit": "cited_all", "AutoAIS.cit@cited": "cited_only"}
    return _scores(inputs, names, of_shown=False)


def auto_ais_of_shown(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Over all shown passages: many more questions, asked only for this measure."""
    return _scores(inputs, {"AutoAIS.psg": "passages"}, of_shown=True)


_ais = partial(judged, compute=auto_ais_samples)
MEASURES = (
    _ais(
        "AutoAIS.cit",
        definition="best citation of each statement entails it",
        citation_quality=quality_of_judged(
            "recall",
            "One cited passage alone must entail the statement; needless ones cost nothing.",
        ),
    ),
    _ais(
        "AutoAIS.cit@cited",
        definition="the same over cited statements only",
        citation_quality=quality_of_judged(
            "precision",
            "Statements without a citation are left out, so that citing little is free.",
        ),
    ),
    _ais(
        "AutoAIS.psg",
        definition="best shown passage of each statement entails it",
        compute=auto_ais_of_shown,
        unlabelled="it looks at all passages shown, and labels are of cited ones",
    ),
)
