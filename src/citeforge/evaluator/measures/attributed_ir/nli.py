"""Citation quality with passage texts as premises (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from citeforge.evaluator.measures.attributed_ir.answers import (
    claims_of,
    judged,
    quality_of_judged,
    with_passages,
)
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.measures.judging import citation_samples
from citeforge.evaluator.statements.inputs import Inputs


def nli(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Recall, precision and F1, from one round of questions to the judge."""
    names = ("NLI.rec", "NLI.prec", "NLI.F1")
    yield from citation_samples(with_passages(inputs), names, claims_of, with_title=False)[0]


_nli = partial(judged, compute=nli)
_TEXTS = "It asks as ALCE does, but the judge sees no titles."
MEASURES = (
    _nli("NLI.rec", definition="CitRec with passage texts as premises", linear=True,
         citation_quality=quality_of_judged("recall", _TEXTS)),
    _nli("NLI.prec", definition="CitPrec with passage texts as premises",
         citation_quality=quality_of_judged("precision", _TEXTS)),
    _nli("NLI.F1", definition="harmonic mean of mean NLI.rec and mean NLI.prec",
         citation_quality=quality_of_judged("both", _TEXTS)),
)  # fmt: skip
