"""What measures may need besides the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.text.segment import Segmenter
from citeforge.schemas.commands.command_options import (
    BERTSCORE_LAYER,
    BERTSCORE_MODEL,
    MAUVE_MODEL,
    MOST_CITATIONS,
    QA_MODEL,
)

NO_JUDGE = "needs a judge: --judge hf:MODEL, openai:MODEL, table:FILE or lexical"


@dataclass(frozen=True)
class AnswerModels:
    """Models of correctness measures.

    Attributes:
        bertscore: model and layer.
        mauve: language model whose features MAUVE compares.
        qa: extractive QA model.
    """

    bertscore: tuple[str, int] = (BERTSCORE_MODEL, BERTSCORE_LAYER)
    mauve: str = MAUVE_MODEL
    qa: str = QA_MODEL


@dataclass(frozen=True)
class Tools:
    """What measures may need besides the data.

    Attributes:
        judge: decides entailment.
        segmenter: splits sentences.
        why_no_segmenter: reason, when there is none.
        models: models of correctness measures.
        cot: QAMPARI answers are what follows the first colon of the output.
        at_most_citations: ``reference``: citations of a statement that ALCE's measures look at.
        llm: gives marks (G-Eval), and decides whether a sentence answers at all.
        levels: where people decide: what they say of single citations (``full``, ``partial``,
            ``not``), by pair; None where a judge does.
        embedder: finds passages of the corpus that support what a citation does not.
        assessments: files of labels of support, nuggets, rubrics and DRAGUN's questions.
    """

    judge: JudgeSession | None = None
    segmenter: Segmenter | None = None
    why_no_segmenter: str = ""
    models: AnswerModels = field(default_factory=AnswerModels)
    cot: bool = False
    at_most_citations: int = MOST_CITATIONS
    llm: Llm | None = None
    levels: Mapping[Pair, str] | None = None
    embedder: str = "offline"
    assessments: tuple[Path, ...] = ()
