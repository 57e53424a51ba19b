"""Which measures fit a benchmark, and which tools they need."""

from __future__ import annotations

from dataclasses import replace

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.tools import Tools
from citeforge.schemas.commands.command_options import ScoreOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.run import RunOptions


def choose_tools(
    measures: list[Measure],
    options: ScoreOptions,
    judge: JudgeSession | None = None,
    run: RunOptions | None = None,
) -> Tools:
    """What the measures need, made only when one of them needs it.

    Args:
        measures: declared measures to compute.
        options: how they are computed. Where the protocol's own segmenter is not installed,
            measures that need sentences are not computed, and say why.
        judge: decides entailment; None without one, and where the options name it.
        run: where the judge and the LLM of the options run; None where they name none.

    Raises:
        InputError: the segmenter that was named is not installed, or a model cannot be had.
        UnknownValueError: there is none of that name.
        UsageError: KaLMA's reference measures, which have a splitter of their own.
    """
    llm = None
    if run is not None:
        judge = judge_session(options, run, repeats=options.judge_repeats)
        if options.llm is not None:
            from citeforge.engines.llm.writers import make_llm

            llm = make_llm(options.llm, store=replay_store(run), options=client_options(run))
    tools = Tools(judge, llm=llm, options=options)
    segmenter = options.segmenter
    needed = any("segmenter" in m.uses for m in measures)
    if measures and all(m.reads == "triples" for m in measures):
        if options.protocol == "reference":
            return _with_kalmas_sentences(tools, segmenter)
        needed &= judge is not None  # without a judge nothing looks at sentences
    if not needed:
        return tools
    from citeforge.engines.text.segmenters import make_segmenter

    name = segmenter or ("nupunkt" if options.protocol == "strict" else "punkt")
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
    from citeforge.evaluator.measures.kalma.reference import SENTENCES

    return tools if tools.judge is None else replace(tools, segmenter=SENTENCES)
