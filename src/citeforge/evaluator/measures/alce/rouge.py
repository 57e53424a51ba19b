"""ROUGE-Lsum against long answers, as ALCE computes it."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.evaluator.measures.alce.answers import APPENDIX, alce_text
from citeforge.evaluator.measures.attributed_ir.rouge import rouge_lsum, rouge_scorer
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import means_by_answer
from citeforge.evaluator.measures.declared import Found, Measure, percent
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.package.items import GoldRows


def alce_rouge(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """ALCE's ROUGE-Lsum: better of the two ASQA long answers by F, or the answer of ELI5; stemmer,
    lower case, one sentence a line."""
    scorer = rouge_scorer(stemmer=True)
    if inputs.tools.segmenter is None:
        raise CannotError(inputs.tools.why_no_segmenter or "needs a segmenter")
    segmenter = inputs.tools.segmenter

    def lines(text: str) -> str:
        lowered = text.lower()
        return "\n".join(lowered[s:e] for s, e in segmenter.split(lowered))

    def value(item: AnswerItem, inputs: Inputs) -> tuple[float] | None:
        golds = _long_answers(inputs.gold[item.row], inputs)
        if not golds:
            return None
        output = lines(alce_text(item, inputs))
        return (rouge_lsum(output, [lines(g) for g in golds], scorer).f,)

    return means_by_answer(("ALCE.ROUGE-Lsum",), value, _NEEDS)(inputs, measures)


def _long_answers(gold: GoldRows, inputs: Inputs) -> list[str]:
    golds = [g.text or "" for g in gold.long_answers]
    if not golds and inputs.task in ("asqa", "eli5"):
        golds = [g.text or "" for g in gold.answers]
    # ALCE's code knows two long answers and no more.
    return golds[:2] if inputs.protocol == "reference" else golds


_NEEDS = "long answers (ASQA) or answers (ELI5)"
MEASURES = (
    percent(
        "ALCE.ROUGE-Lsum",
        "alce",
        "ROUGE-Lsum F of the better long answer (ASQA) or of the answer (ELI5), stemmed",
        needs=f"{_NEEDS}, rouge-score",
        source=APPENDIX,
        uses=("segmenter",),
        compute=alce_rouge,
    ),
)
