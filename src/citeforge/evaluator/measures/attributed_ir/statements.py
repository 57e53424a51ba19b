"""Citation quality of Attributed-IR, by a judge that sees passage texts without titles: the best
citation, or shown passage, of each statement (AutoAIS), and ALCE's questions (NLI)."""

from collections.abc import Iterable, Sequence
from functools import partial

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.attributed_ir.answers import AIR, claims_of, with_passages
from citeforge.evaluator.measures.columns import Key, Value, bounded, decided, judge_of
from citeforge.evaluator.measures.declared import CitationQuality, Found, Measure, percent
from citeforge.evaluator.measures.judging import Claim, citation_samples, read_claims
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs


def auto_ais(inputs: Inputs, measures: Sequence[Measure], of_shown: bool) -> Found:
    """AutoAIS of citations, over all statements and over cited ones; or of all shown passages,
    which asks many more questions."""
    inputs = with_passages(inputs)
    rows = read_claims(inputs, claims_of)
    judge = judge_of(inputs.tools)

    def pairs(item: AnswerItem, claim: Claim) -> Iterable[Pair]:
        looked_at = range(len(item.passages)) if of_shown else claim.cited
        return (Pair(item.passages[at].text, claim.text) for at in looked_at)

    judge.ask(pair for _, item, claims in rows for claim in claims for pair in pairs(item, claim))
    over_all: dict[Key, Value] = {}
    over_cited: dict[Key, Value] = {}
    for key, item, claims in rows:
        best = [Value.best(decided(judge, pair) for pair in pairs(item, c)) for c in claims]
        over_all[key] = Value.mean(best)
        # Where a citation out of range skips a statement, wrong ones alone leave it uncited.
        over_cited[key] = Value.mean(
            [
                value
                for value, claim in zip(best, claims, strict=True)
                if claim.cited or (claim.wrong and not claim.skipped)
            ]
        )
    yield bounded(inputs, "AutoAIS.psg" if of_shown else "AutoAIS.cit", over_all)
    if not of_shown:
        yield bounded(inputs, "AutoAIS.cit@cited", over_cited)


def nli(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Recall, precision and F1, from one round of questions to the judge."""
    names = ("NLI.rec", "NLI.prec", "NLI.F1")
    yield from citation_samples(with_passages(inputs), names, claims_of, with_title=False)[0]


_judged = partial(
    percent, family="attributed_ir", needs="a judge", source=AIR, uses=("judge", "segmenter")
)
_quality = partial(
    CitationQuality,
    reference="Their code looks at 20 statements of an answer and 7 citations of each.",
)
_ais = partial(_judged, compute=partial(auto_ais, of_shown=False))
_nli = partial(_judged, compute=nli)
_TEXTS = "It asks as ALCE does, but the judge sees no titles."
MEASURES = (
    _ais(
        "AutoAIS.cit",
        definition="best citation of each statement entails it",
        citation_quality=_quality(
            "recall",
            "One cited passage alone must entail the statement; needless ones cost nothing.",
        ),
    ),
    _ais(
        "AutoAIS.cit@cited",
        definition="the same over cited statements only",
        citation_quality=_quality(
            "precision",
            "Statements without a citation are left out, so that citing little is free.",
        ),
    ),
    _ais(
        "AutoAIS.psg",
        definition="best shown passage of each statement entails it",
        compute=partial(auto_ais, of_shown=True),
        unlabelled="it looks at all passages shown, and labels are of cited ones",
    ),
    _nli("NLI.rec", definition="CitRec with passage texts as premises", linear=True,
         citation_quality=_quality("recall", _TEXTS)),
    _nli("NLI.prec", definition="CitPrec with passage texts as premises",
         citation_quality=_quality("precision", _TEXTS)),
    _nli("NLI.F1", definition="harmonic mean of mean NLI.rec and mean NLI.prec",
         citation_quality=_quality("both", _TEXTS)),
)  # fmt: skip
