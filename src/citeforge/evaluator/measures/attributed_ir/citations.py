"""Citations of Attributed-IR's answers, held against statements and against the gold answer's.

A judge sees passage texts without titles: the best citation, or shown passage, of each statement
(AutoAIS), and ALCE's questions (NLI).
"""

from collections.abc import Iterable, Sequence
from functools import partial

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.attributed_ir.answers import (
    AIR,
    air_output,
    claims_of,
    mark_numbers,
    with_passages,
)
from citeforge.evaluator.measures.columns import (
    Key,
    Value,
    bounded,
    decided,
    judge_of,
    means_by_answer,
)
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    Found,
    Measure,
    percent,
)
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


def overlap_of(item: AnswerItem, inputs: Inputs) -> tuple[float, float] | None:
    """(precision, recall) of cited passage ids against the gold answer's.

    No gold or no generated citation gives 0 and stays; ``reference``: a query whose gold answer is
    the empty string leaves.
    """
    answer = item.gold.single
    if inputs.protocol == "reference" and (answer is None or not answer.text):
        return None
    cited = set(answer.citations) if answer is not None else set()
    if inputs.protocol == "reference":
        assert answer is not None
        quotes = inputs.benchmark.relevant_ids[item.row]
        marks = mark_numbers(answer.text or "")
        cited = {quotes[n - 1] for n in marks if n <= len(quotes)} if quotes else set()
        generated, n_wrong = _reference_ids(item), 0
    else:
        inside, n_wrong, _ = inputs.grammar.cited(item.output, len(item.passages))
        generated = {item.passages[p].id for p in inside}
    size = len(generated) + n_wrong
    shared = len(cited & generated)
    return (shared / size if size else 0.0, shared / len(cited) if cited else 0.0)


def _reference_ids(item: AnswerItem) -> set[str]:
    """The published code compares a marker with 1 instead of the number of passages: only ``[1]``
    counts, and ``[0]``, which is the last passage."""
    numbers = [n for n in mark_numbers(air_output(item.output)) if n <= 1]
    return {item.passages[n - 1].id for n in numbers} if item.passages else set()


_MEANS = means_by_answer(("Overlap.P", "Overlap.R"), overlap_of)


def overlap(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Precision and recall of cited ids."""
    inputs = with_passages(inputs)
    if not any(g.citations for gold in inputs.benchmark.gold_rows for g in gold.answers):
        raise CannotError("needs gold answers with citations")
    return _MEANS(inputs, measures)


_overlap = partial(
    percent, family="attributed_ir", needs="gold answers with citations", source=AIR,
    compute=overlap,
)  # fmt: skip
_overlap_quality = partial(
    CitationQuality,
    apart="A citation is right where one gold answer cites the same passage, whatever it says.",
    reference="Their code counts [1] and [0] alone, so that only the first and the last passage "
    "can be cited.",
)
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
    _overlap("Overlap.P", definition="cited passages that the gold answer cites",
             citation_quality=_overlap_quality("precision")),
    _overlap("Overlap.R", definition="passages of the gold answer that are cited",
             citation_quality=_overlap_quality("recall")),
)  # fmt: skip
