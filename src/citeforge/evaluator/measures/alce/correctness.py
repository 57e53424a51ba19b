"""Correctness that ALCE reads from the words of an answer: short answers, lists, length, ROUGE."""

from collections.abc import Sequence
from functools import partial

from citeforge.evaluator.measures.alce.answers import (
    ALCE,
    APPENDIX,
    alce_text,
    answer_part,
    options,
    split_list,
)
from citeforge.evaluator.measures.columns import means_by_answer, segmenter_of
from citeforge.evaluator.measures.declared import Found, Measure, count, percent
from citeforge.evaluator.measures.rouge import rouge_lsum, rouge_scorer
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.schemas.text import normalise_answer

_LISTS = "answer lists (QAMPARI)"
_LONG = "long answers (ASQA) or answers (ELI5)"
_PAIRS = "qa_pairs (ASQA)"


def length_of(item: AnswerItem, inputs: Inputs) -> tuple[float]:
    """Number of words of an answer."""
    return (float(len(alce_text(item, inputs).split())),)


def str_em_of(item: AnswerItem, inputs: Inputs) -> tuple[float, float] | None:
    """(StrEM, StrHit) of one answer: share of its qa_pairs of which a normalised short answer
    stands in the normalised text, and whether all of them do; None without qa_pairs.

    As in ALCE's code, an answer that normalises to nothing counts as present.
    """
    pairs = item.gold.qa_pairs
    if not pairs:
        return None
    text = normalise_answer(alce_text(item, inputs))
    hits = [any(normalise_answer(a) in text for a in pair.aliases) for pair in pairs]
    return sum(hits) / len(hits), float(all(hits))


def qampari_of(item: AnswerItem, inputs: Inputs) -> tuple[float, ...] | None:
    """QAMPARI's P, R, R5, F1 and F1-5 of list items, and their number; None without answer lists.

    R5 is min(5, hits) / min(5, number of gold answers).
    """
    gold = item.gold.answer_lists
    answers = [{normalise_answer(a) for a in g.aliases} for g in gold]
    if not answers:
        return None
    text = answer_part(alce_text(item, inputs), inputs)
    is_reference = inputs.protocol == "reference"
    parts = text.rstrip().rstrip(".").rstrip(",").split(",") if is_reference else split_list(text)
    listed = [normal for part in parts if (normal := normalise_answer(part))]
    everything = set().union(*answers)
    precision = sum(p in everything for p in listed) / len(listed) if listed else 0.0
    hits = sum(any(a in listed for a in aliases) for aliases in answers)
    recall = hits / len(answers)
    recall5 = min(5, hits) / min(5, len(answers))
    f1s = _f1(precision, recall), _f1(precision, recall5)
    return precision, recall, recall5, *f1s, float(len(listed))


def _f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


def rouge_of(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """ALCE's ROUGE-Lsum: better of the two ASQA long answers by F, or the answer of ELI5; stemmer,
    lower case, one sentence a line."""
    scorer = rouge_scorer(stemmer=True)
    segmenter = segmenter_of(inputs.tools)

    def lines(text: str) -> str:
        lowered = text.lower()
        return "\n".join(lowered[s:e] for s, e in segmenter.split(lowered))

    def value(item: AnswerItem, inputs: Inputs) -> tuple[float] | None:
        gold = item.gold
        rows = gold.long_answers or (gold.answers if inputs.task in ("asqa", "eli5") else ())
        golds = [lines(g.text or "") for g in rows]
        if not golds:
            return None
        # ALCE's code knows two long answers and no more.
        golds = golds[:2] if inputs.protocol == "reference" else golds
        return (rouge_lsum(lines(alce_text(item, inputs)), golds, scorer)[2],)

    return means_by_answer(("ALCE.ROUGE-Lsum",), value, _LONG)(inputs, measures)


_lists = means_by_answer(
    [f"QAMPARI.{name}" for name in ("P", "R", "R5", "F1", "F1-5", "NumPreds")], qampari_of, _LISTS
)
_str = partial(
    percent, family="alce", needs=_PAIRS, source=ALCE,
    compute=means_by_answer(("ALCE.StrEM", "ALCE.StrHit"), str_em_of, _PAIRS),
)  # fmt: skip
_listed = partial(
    percent, family="alce", needs=_LISTS, source=ALCE, compute=_lists, options=options
)
MEASURES = (
    count(
        "ALCE.Length", "alce", "words of the output without markers", source=ALCE,
        compute=means_by_answer(("ALCE.Length",), length_of),
    ),
    count(
        "QAMPARI.NumPreds", "alce", "list items of the output", needs=_LISTS, source=ALCE,
        compute=_lists, options=options,
    ),
    _str("ALCE.StrEM", definition="qa_pairs with a short answer in the output"),
    _str("ALCE.StrHit", definition="outputs with a short answer of every qa_pair"),
    _listed("QAMPARI.P", definition="list items that are gold answers"),
    _listed("QAMPARI.R", definition="gold answers among the list items"),
    _listed("QAMPARI.R5", definition="min(5, hits) / min(5, gold answers)"),
    _listed("QAMPARI.F1", definition="harmonic mean of P and R of one answer"),
    _listed("QAMPARI.F1-5", definition="harmonic mean of P and R5 of one answer"),
    percent(
        "ALCE.ROUGE-Lsum", "alce",
        "ROUGE-Lsum F of the better long answer (ASQA) or of the answer (ELI5), stemmed",
        needs=f"{_LONG}, rouge-score", source=APPENDIX, uses=("segmenter",), compute=rouge_of,
    ),
)  # fmt: skip
