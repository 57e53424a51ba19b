"""How submissions to a benchmark are scored: which measures fit it, and which tools they need."""

from __future__ import annotations

from dataclasses import replace

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.evaluator.corrections import calibration_of, find_corrections
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.score import ScoringSetup
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.tools import Tools
from citeforge.schemas.commands.command_options import ScoreOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.run import RunOptions


def setup_of(
    benchmark: Benchmark, options: ScoreOptions, judge: JudgeSession | None = None,
    run: RunOptions | None = None,
) -> ScoringSetup:  # fmt: skip
    """All that is made once for all submissions; tools only where a measure needs them.

    Args:
        benchmark: what they answer.
        options: what is computed, and how; what fits the benchmark where they name no measures.
            Where the protocol's own segmenter is not installed, measures that need sentences are
            not computed, and say why.
        judge: decides entailment, where the options name no judge.
        run: where the judge and the LLM of the options run; None where they name none.

    Raises:
        InputError: a file of labels is at fault, the segmenter that was named is not installed, or
            a model cannot be had.
        UnknownValueError: there is no measure, model or segmenter of that name.
        UsageError: KaLMA's reference measures, which have a splitter of their own.
    """
    measures = select(options.measures or benchmark.kind.default_measures)
    tools = Tools(judge, options=options) if run is None else _tools_of(options, run)
    is_of_graphs = all(m.reads == "triples" for m in measures)
    if is_of_graphs and options.protocol == "reference":
        tools = _with_kalmas_sentences(tools)
    elif any("segmenter" in m.uses for m in measures) and (tools.judge or not is_of_graphs):
        tools = _with_segmenter(tools)  # of graphs, only a judge looks at sentences
    if options.labels:
        correction = find_corrections().by_labels(options.labels)
        return ScoringSetup(benchmark, measures, tools, correction)
    if options.protocol != "strict":
        return ScoringSetup(benchmark, measures, tools)
    return ScoringSetup(benchmark, measures, tools, *calibration_of(benchmark, tools.judge))


def _tools_of(options: ScoreOptions, run: RunOptions) -> Tools:
    judge, llm = judge_session(options, run, repeats=options.judge_repeats), None
    if options.llm is not None:
        from citeforge.engines.llm.writers import make_llm

        llm = make_llm(options.llm, store=replay_store(run), options=client_options(run))
    return Tools(judge, llm=llm, options=options)


def _with_segmenter(tools: Tools) -> Tools:
    from citeforge.engines.text.segmenters import make_segmenter

    segmenter = tools.options.segmenter
    name = segmenter or ("nupunkt" if tools.options.protocol == "strict" else "punkt")
    try:
        return replace(tools, segmenter=make_segmenter(name))
    except InputError as error:
        if segmenter is not None:
            raise
        return replace(tools, why_no_segmenter=str(error))


def _with_kalmas_sentences(tools: Tools) -> Tools:
    """KaLMA's code cuts sentences with an expression of its own; no segmenter is its equal."""
    if (segmenter := tools.options.segmenter) is not None:
        raise UsageError(
            f"--segmenter {segmenter}: KaLMA's reference measures split as KaLMA's code does; "
            "leave the option out, or score with --protocol strict"
        )
    from citeforge.evaluator.measures.kalma.reference import SENTENCES

    return tools if tools.judge is None else replace(tools, segmenter=SENTENCES)
