"""BERTScore against gold answers (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citeforge.evaluator.measures.attributed_ir.answers import against_gold, air_text
from citeforge.evaluator.measures.attributed_ir.gold import gold_answers
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import mean_of_defined
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.tools import Tools
from citeforge.schemas.errors import InputError, MissingExtraError


def bertscore(inputs: Inputs, wanted: Sequence[Measure], single: bool) -> Found:
    """BERTScore against the gold answer with the best F, or against the single one
    (docs/definitions.md#attributed_ir)."""
    from citeforge.engines.models.answer_models import BertScore

    rows = []
    for run, item, texts in gold_answers(inputs, single):
        if texts:
            rows.append(((run, item.row), air_text(item, inputs), texts))
    try:
        scorer = BertScore(*inputs.tools.options.bertscore)
    except (InputError, MissingExtraError) as error:
        raise CannotError(str(error)) from error
    found = scorer.best([r[1] for r in rows], [r[2] for r in rows])
    for at, name in enumerate("PRF"):
        values = {key: scores[at] for (key, _, _), scores in zip(rows, found, strict=True)}
        full = f"BERTScore.{name}@1gold" if single else f"BERTScore.{name}"
        yield mean_of_defined(inputs, full, values)


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
