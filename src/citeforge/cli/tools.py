"""Judge and segmenter of a score command, made only when a measure needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from citeforge.cli.options import client_options, judge_session, open_replay
from citeforge.engines.answer_models import BERTSCORE_LAYER
from citeforge.evaluator.measures.registry import Measure
from citeforge.evaluator.score import Protocol
from citeforge.evaluator.tools import AnswerModels, Tools
from citeforge.schemas.errors import InputError, UsageError


def default_families(kind: str) -> list[str]:
    """Families that fit a kind of benchmark."""
    return {
        "hagrid": ["alce", "attributed_ir"],
        "alce": ["alce"],
        "authorship": ["authorship"],
        "kalma": ["kalma"],
    }.get(kind, ["rage"])


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
    needs_sentences = any("segmenter" in m.uses for m in measures)
    if all(m.family == "kalma" for m in measures) and judge is None:
        needs_sentences = False  # without a judge nothing looks at sentences
    if not needs_sentences:
        return Tools(judge, models=models, cot=given["cot"], llm=llm)
    from citeforge.engines.segment import make_segmenter

    name = segmenter or ("spacy" if protocol == "strict" else "punkt")
    try:
        return Tools(judge, make_segmenter(name), models=models, cot=given["cot"], llm=llm)
    except InputError as error:
        if segmenter is not None:
            raise
        return Tools(judge, None, str(error), models, given["cot"], llm)


def _model_and_layer(text: str) -> tuple[str, int]:
    name, mark, layer = text.partition("#")
    if not mark:
        return name, BERTSCORE_LAYER
    if not layer.isdecimal():
        raise UsageError(
            f"--bertscore-model {text}: the layer after # is a number, as in roberta-large#17"
        )
    return name, int(layer)
