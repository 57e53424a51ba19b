"""Citation quality with passage texts as premises (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from citeforge.evaluator.measures.attributed_ir.answers import claims_of, judged, with_passages
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.measures.judging import citation_samples
from citeforge.evaluator.statements.inputs import Inputs


def nli(inputs: Inputs, wanted: Sequence[Measure]) -> Found:
    """Recall, precision and F1, from one round of questions to the judge."""
    names = ("NLI.rec", "NLI.prec", "NLI.F1")
    yield from citation_samples(with_passages(inputs), names, claims_of, with_title=False)[0]


_nli = partial(judged, compute=nli)
MEASURES = (
    _nli("NLI.rec", definition="CitRec with passage texts as premises", linear=True),
    _nli("NLI.prec", definition="CitPrec with passage texts as premises"),
    _nli("NLI.F1", definition="harmonic mean of mean NLI.rec and mean NLI.prec"),
)
