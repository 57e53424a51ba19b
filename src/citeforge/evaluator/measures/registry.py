"""Declarations of all measures: what, apart from how."""

from __future__ import annotations

from collections.abc import Iterable

from citeforge.evaluator.measures.authorship_measures import AUTHORSHIP_MEASURES
from citeforge.evaluator.measures.declared import DEPTHS, Measure
from citeforge.evaluator.measures.kalma_measures import KALMA_MEASURES
from citeforge.schemas.errors import UnknownValueError

__all__ = ["FAMILIES", "MEASURES", "Measure", "select"]


def _percent(
    name: str, family: str, definition: str, needs: str, source: str, *uses: str
) -> Measure:
    return Measure(name, family, definition, 0, 1, 100, needs, source, uses)


_ALCE = "Gao et al. 2023 (ALCE)"
_AIR = "Djeddal et al. 2024 (Attributed-IR)"
_JUDGED = ("judge", "segmenter")
_ALCE_MEASURES = (
    _percent(
        "ALCE.CitRec",
        "alce",
        "statements whose citations together entail them",
        "a judge",
        f"{_ALCE}, section 3",
        *_JUDGED,
    ),
    _percent(
        "ALCE.CitPrec",
        "alce",
        "citations that are needed for a supported statement",
        "a judge",
        f"{_ALCE}, section 3",
        *_JUDGED,
    ),
    _percent(
        "ALCE.CitF1",
        "alce",
        "harmonic mean of mean CitRec and mean CitPrec",
        "a judge",
        f"{_ALCE}, section 3",
        *_JUDGED,
    ),
    _percent(
        "ALCE.Multi",
        "alce",
        "share of statements with several citations",
        "a judge",
        f"{_ALCE}, section 3",
        *_JUDGED,
    ),
    _percent(
        "ALCE.MultiSupported",
        "alce",
        "of these, share that is supported",
        "a judge",
        f"{_ALCE}, section 3",
        *_JUDGED,
    ),
    _percent(
        "ALCE.Overcited",
        "alce",
        "of those, share with a citation that is not needed (reference: such citations to them)",
        "a judge",
        f"{_ALCE}, section 3",
        *_JUDGED,
    ),
    Measure(
        "ALCE.Length",
        "alce",
        "words of the output without markers",
        0,
        None,
        1,
        "",
        f"{_ALCE}, section 3",
    ),
    Measure(
        "QAMPARI.NumPreds",
        "alce",
        "list items of the output",
        0,
        None,
        1,
        "answer lists (QAMPARI)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "ALCE.StrEM",
        "alce",
        "qa_pairs with a short answer in the output",
        "qa_pairs (ASQA)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "ALCE.StrHit",
        "alce",
        "outputs with a short answer of every qa_pair",
        "qa_pairs (ASQA)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "QAMPARI.P",
        "alce",
        "list items that are gold answers",
        "answer lists (QAMPARI)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "QAMPARI.R",
        "alce",
        "gold answers among the list items",
        "answer lists (QAMPARI)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "QAMPARI.R5",
        "alce",
        "min(5, hits) / min(5, gold answers)",
        "answer lists (QAMPARI)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "QAMPARI.F1",
        "alce",
        "harmonic mean of P and R of one answer",
        "answer lists (QAMPARI)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "QAMPARI.F1-5",
        "alce",
        "harmonic mean of P and R5 of one answer",
        "answer lists (QAMPARI)",
        f"{_ALCE}, section 3",
    ),
    _percent(
        "ALCE.ROUGE-Lsum",
        "alce",
        "ROUGE-Lsum F of the better long answer (ASQA) or of the answer (ELI5), stemmed",
        "long answers (ASQA) or answers (ELI5), rouge-score",
        f"{_ALCE}, appendix",
        "segmenter",
    ),
    _percent(
        "MAUVE",
        "alce",
        "closeness of question and answer texts to human ones",
        "answers or long answers, mauve-text, gpt2-large",
        f"{_ALCE}, section 3",
        "mauve",
    ),
    _percent(
        "QA-EM",
        "alce",
        "qa_pairs that a QA model answers exactly from the output",
        "qa_pairs (ASQA), a QA model",
        f"{_ALCE}, appendix",
        "qa",
    ),
    _percent(
        "QA-F1",
        "alce",
        "token F1 of those answers",
        "qa_pairs (ASQA), a QA model",
        f"{_ALCE}, appendix",
        "qa",
    ),
    _percent(
        "QA-Hit",
        "alce",
        "outputs from which all qa_pairs are answered exactly",
        "qa_pairs (ASQA), a QA model",
        f"{_ALCE}, appendix",
        "qa",
    ),
    _percent(
        "ALCE.ClaimRec",
        "alce",
        "gold claims that the output entails",
        "claims (ELI5), a judge",
        f"{_ALCE}, section 3",
        "judge",
    ),
)
_AIR_MEASURES = (
    _percent(
        "AutoAIS.cit",
        "attributed_ir",
        "best citation of each statement entails it",
        "a judge",
        f"{_AIR}, section 3",
        *_JUDGED,
    ),
    _percent(
        "AutoAIS.cit@cited",
        "attributed_ir",
        "the same over cited statements only",
        "a judge",
        f"{_AIR}, section 3",
        *_JUDGED,
    ),
    _percent(
        "AutoAIS.psg",
        "attributed_ir",
        "best shown passage of each statement entails it",
        "a judge",
        f"{_AIR}, section 3",
        *_JUDGED,
    ),
    _percent(
        "NLI.rec",
        "attributed_ir",
        "CitRec with passage texts as premises",
        "a judge",
        f"{_AIR}, section 3",
        *_JUDGED,
    ),
    _percent(
        "NLI.prec",
        "attributed_ir",
        "CitPrec with passage texts as premises",
        "a judge",
        f"{_AIR}, section 3",
        *_JUDGED,
    ),
    _percent(
        "NLI.F1",
        "attributed_ir",
        "harmonic mean of mean NLI.rec and mean NLI.prec",
        "a judge",
        f"{_AIR}, section 3",
        *_JUDGED,
    ),
    _percent(
        "Overlap.P",
        "attributed_ir",
        "cited passages that the gold answer cites",
        "gold answers with citations",
        f"{_AIR}, section 3",
    ),
    _percent(
        "Overlap.R",
        "attributed_ir",
        "passages of the gold answer that are cited",
        "gold answers with citations",
        f"{_AIR}, section 3",
    ),
    _percent(
        "BLEU",
        "attributed_ir",
        "corpus BLEU-4 against all gold answers, shortest reference",
        "gold answers, sacrebleu",
        f"{_AIR}, section 3",
    ),
    _percent(
        "BLEU@1gold",
        "attributed_ir",
        "the same against one gold answer",
        "gold answers, sacrebleu",
        f"{_AIR}, section 3",
    ),
    *(
        _percent(
            f"ROUGE-Lsum.{x}{single}",
            "attributed_ir",
            f"ROUGE-Lsum {word} of the {'one' if single else 'best'} gold answer",
            "gold answers, rouge-score",
            f"{_AIR}, section 3",
        )
        for single in ("", "@1gold")
        for x, word in (("P", "precision"), ("R", "recall"), ("F", "F"))
    ),
)

_BERT_MEASURES = tuple(
    _percent(
        f"BERTScore.{x}{single}",
        "attributed_ir",
        f"BERTScore {word}, {'one gold answer' if single else 'gold answer with the best F'}",
        "gold answers, bert-score, roberta-large",
        f"{_AIR}, section 3",
        "bertscore",
    )
    for single in ("", "@1gold")
    for x, word in (("P", "precision"), ("R", "recall"), ("F", "F"))
)
_RETRIEVAL_MEASURES = tuple(
    _percent(
        f"{name}@{k}",
        "retrieval",
        f"{words} among the first {k} shown passages",
        "passages with ids, judgements",
        f"{_AIR}, section 3",
    )
    for name, words in (
        ("P", "share of relevant ones"),
        ("R", "relevant ones found"),
        ("nDCG", "normalised discounted gain"),
    )
    for k in DEPTHS
)

_RAGE = "Penzkofer & Baumann 2024 (RAGE), section 3.2"

MEASURES = {
    m.name: m
    for m in (
        Measure(
            "CiteP", "rage", "relevant among the distinct cited passages", 0, 1, 100, "", _RAGE
        ),
        Measure("CiteR", "rage", "cited among the relevant passages shown", 0, 1, 100, "", _RAGE),
        Measure(
            "CiteF1", "rage", "harmonic mean of mean CiteP and mean CiteR", 0, 1, 100, "", _RAGE
        ),
        Measure("CiteF1@query", "rage", "mean of per-query harmonic means", 0, 1, 100, "", _RAGE),
        Measure(
            "ShortEM",
            "rage",
            "a short answer of a relevant passage stands in the output",
            0,
            1,
            100,
            "short answers in mapping/relevant",
            "rage_toolkit 0.0.2",
        ),
        Measure(
            "Reward",
            "rage",
            "mean of CiteP and CiteR of one output",
            0,
            1,
            100,
            "",
            "Penzkofer & Baumann 2024 (RAGE), section 4.3",
        ),
        Measure("Distinct", "rage", "distinct passages cited", 0, None, 1, "", _RAGE),
        Measure("Length", "rage", "words of the output without markers", 0, None, 1, "", _RAGE),
        *_ALCE_MEASURES,
        *_AIR_MEASURES,
        *_BERT_MEASURES,
        *_RETRIEVAL_MEASURES,
        *AUTHORSHIP_MEASURES,
        *KALMA_MEASURES,
    )
}
FAMILIES = tuple(dict.fromkeys(m.family for m in MEASURES.values()))


def select(names: Iterable[str]) -> list[Measure]:
    """Measures of the given names and families, in declared order.

    Raises:
        UnknownValueError: a name is neither.
    """
    chosen: set[str] = set()
    for name in names:
        if name in FAMILIES:
            chosen.update(m.name for m in MEASURES.values() if m.family == name)
        elif name in MEASURES:
            chosen.add(name)
        else:
            raise UnknownValueError("measure", name, [*MEASURES, *FAMILIES])
    return [m for m in MEASURES.values() if m.name in chosen]
