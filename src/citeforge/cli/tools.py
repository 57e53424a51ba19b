"""Judge and segmenter of a score command, made only when a measure needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from citeforge.cli.options import client_options, judge_session, open_replay
from citeforge.engines.answer_models import BERTSCORE_LAYER
from citeforge.evaluator.choose import choose_tools
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.score import Protocol
from citeforge.evaluator.tools import AnswerModels, Tools
from citeforge.schemas.errors import UsageError
from citeforge.schemas.grammar import VERSION


def make_tools(
    measures: list[Measure],
    protocol: Protocol,
    judge_name: str | None,
    verdicts: Path | None,
    segmenter: str | None,
    given: dict[str, Any],
) -> Tools:
    """What the measures need. Without punkt's tables, reference measures that need sentences are
    not computed, unless another segmenter was named."""
    judge = judge_session(given, judge_name, verdicts)
    models = AnswerModels(
        _model_and_layer(given["bertscore_model"]), given["mauve_model"], given["qa_model"]
    )
    llm = None
    if given.get("llm_name") is not None:
        from citeforge.engines.llm.writers import make_llm

        llm = make_llm(given["llm_name"], store=open_replay(given), options=client_options(given))
    return choose_tools(
        measures,
        protocol,
        judge,
        segmenter,
        models=models,
        cot=given["cot"],
        at_most_citations=given["at_most_citations"],
        llm=llm,
        rules=int(given.get("rules", VERSION)),
    )


def _model_and_layer(text: str) -> tuple[str, int]:
    name, mark, layer = text.partition("#")
    if not mark:
        return name, BERTSCORE_LAYER
    if not layer.isdecimal():
        raise UsageError(
            f"--bertscore-model {text}: the layer after # is a number, as in roberta-large#17"
        )
    return name, int(layer)
