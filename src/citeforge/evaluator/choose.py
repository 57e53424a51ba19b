"""Which measures fit a benchmark, and which tools they need."""

from __future__ import annotations

from dataclasses import replace

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.evaluator.measures.declared import MOST_CITATIONS, Measure
from citeforge.evaluator.tools import AnswerModels, Tools
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.grammar import VERSION


def choose_tools(
    measures: list[Measure],
    protocol: str,
    judge: JudgeSession | None,
    segmenter: str | None = None,
    *,
    models: AnswerModels | None = None,
    cot: bool = False,
    at_most_citations: int = MOST_CITATIONS,
    llm: Llm | None = None,
    rules: int = VERSION,
) -> Tools:
    """What the measures need, made only when one of them needs it.

    Args:
        measures: declared measures to compute.
        protocol: ``strict`` or ``reference``.
        judge: decides entailment; None without.
        segmenter: name; None for the protocol's own. Where that one is not installed, measures
            that need sentences are not computed, and say why.
        models: models of correctness measures.
        cot: QAMPARI answers follow the first colon.
        at_most_citations: ``reference``: citations of a statement that ALCE's measures look at.
        llm: gives marks.
        rules: version of the strict rules, which names the segmenter.

    Raises:
        InputError: the segmenter that was named is not installed.
        UnknownValueError: there is none of that name.
        UsageError: KaLMA's reference measures, which have a splitter of their own.
    """
    tools = Tools(
        judge,
        models=models or AnswerModels(),
        cot=cot,
        at_most_citations=at_most_citations,
        llm=llm,
    )
    needed = any("segmenter" in m.uses for m in measures)
    if measures and all(m.reads == "triples" for m in measures):
        if protocol == "reference":
            return _with_kalmas_sentences(tools, segmenter)
        needed &= judge is not None  # without a judge nothing looks at sentences
    if not needed:
        return tools
    from citeforge.engines.segment import make_segmenter

    strict = "spacy" if rules == 1 else "nupunkt"
    name = segmenter or (strict if protocol == "strict" else "punkt")
    try:
        return replace(tools, segmenter=make_segmenter(name))
    except InputError as error:
        if segmenter is not None:
            raise
        return replace(tools, why_no_segmenter=str(error))


def _with_kalmas_sentences(tools: Tools, segmenter: str | None) -> Tools:
    """KaLMA's code cuts sentences with an expression of its own; no segmenter is its equal."""
    if segmenter is not None:
        raise UsageError(
            f"--segmenter {segmenter}: KaLMA's reference measures split as KaLMA's code does; "
            "leave the option out, or score with --protocol strict"
        )
    from citeforge.evaluator.kalma.reference import SENTENCES

    return tools if tools.judge is None else replace(tools, segmenter=SENTENCES)
