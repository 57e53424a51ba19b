"""Judge and segmenter of a score command, made only when a measure needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from citeforge.cli.options import judge_of
from citeforge.evaluator.inputs import AnswerModels
from citeforge.evaluator.measures.registry import Measure
from citeforge.evaluator.score import Protocol, Tools
from citeforge.schemas.errors import InputError


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
    """What the measures need. Without punkt's data, reference measures that need sentences are
    not computed, unless another segmenter was named."""
    judge = None
    if judge_name is not None:
        from citeforge.engines.judge.session import JudgeSession
        from citeforge.engines.judge.store import VerdictStore

        store = None if verdicts is None else VerdictStore(verdicts)
        judge = JudgeSession(judge_of(given, judge_name), store)
    folder, _, layer = given["bertscore_model"].partition("#")
    models = AnswerModels(
        (folder, int(layer) if layer.isdigit() else 17), given["mauve_model"], given["qa_model"]
    )
    llm = None
    if given.get("llm_name") is not None:
        from citeforge.cli.options import client_options, open_replay
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
