"""BERTScore against gold answers (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citeforge.evaluator.measures.attributed_ir.answers import against_gold, air_text
from citeforge.evaluator.measures.attributed_ir.gold import gold_answers
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import means_of_columns
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.tools import Tools
from citeforge.schemas.errors import InputError, MissingExtraError


def bertscore(inputs: Inputs, measures: Sequence[Measure], single: bool) -> Found:
    """BERTScore against the gold answer with the best F, or against the single one
    (docs/definitions.md#attributed_ir)."""
    from citeforge.engines.models.answer_models import BertScore

    rows = [
        ((run, item.row), air_text(item, inputs), texts)
        for run, item, texts in gold_answers(inputs, single)
        if texts
    ]
    try:
        scorer = BertScore(*inputs.tools.options.bertscore)
    except (InputError, MissingExtraError) as error:
        raise CannotError(str(error)) from error
    best = scorer.best([r[1] for r in rows], [r[2] for r in rows])
    scores = {key: three for (key, _, _), three in zip(rows, best, strict=True)}
    suffix = "@1gold" if single else ""
    return means_of_columns(inputs, [f"BERTScore.{part}{suffix}" for part in "PRF"], scores)


def _options(tools: Tools, protocol: str) -> str:
    model, layer = tools.options.bertscore
    return f"{Path(model).name}/layer{layer}"


MEASURES = (
    against_gold(
        "BERTScore",
        bertscore,
        ("BERTScore {}, gold answer with the best F", "BERTScore {}, one gold answer"),
        needs="gold answers, bert-score, roberta-large",
        uses=("bertscore",),
        options=_options,
    ),
)
