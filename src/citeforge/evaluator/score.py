"""``score``: from options and submissions to scores, one way for all kinds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.evaluator.corrections import Correction, calibration_of, find_corrections
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.reports.entries import Row, make_entries
from citeforge.evaluator.statements.reading import SubmissionReader
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.reader import SeveralContextsError
from citeforge.evaluator.tools import Tools
from citeforge.schemas.commands.command_options import ScoreOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import Signature
from citeforge.schemas.submission import CONTROL


@dataclass(frozen=True)
class ScoringSetup:
    """How every submission of one call is scored.

    Attributes:
        benchmark: what they answer.
        measures: what is computed.
        tools: judge, segmenter, and the options.
        correction: labels of people, or error rates of the judge, that judged measures are
            corrected with.
        warning: what to say beside every submission's scores; nothing when empty.
    """

    benchmark: Benchmark
    measures: Sequence[Measure]
    tools: Tools = field(default_factory=Tools)
    correction: Correction | None = None
    warning: str = ""


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


def score_contexts(path: Path, setup: ScoringSetup, system: str | None = None) -> list[ScoreFile]:
    """Score a submission, in every context set that it answers where the options name none.

    Raises:
        InputError: as :func:`score`.
        UsageError: likewise.
    """
    try:
        return [score(path, setup, system)]
    except SeveralContextsError as several:
        names = several.contexts
    tools = [setup.tools.with_options(context=name) for name in names]
    return [score(path, replace(setup, tools=one), system) for one in tools]


def score(path: Path, setup: ScoringSetup, system: str | None = None) -> ScoreFile:
    """Score a submission.

    ``strict`` loops over the benchmark's queries and gives absent ones the worst value;
    ``reference`` loops over the lines of the file, as the papers' code does.

    Args:
        path: submission.
        setup: against what, and how.
        system: name of the system; None for what the submission says.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key; labels of answers that
            there are not, or that contradict each other.
        UsageError: the context set is not clear, or the measures do not fit the benchmark.
    """
    benchmark, measures, options = setup.benchmark, setup.measures, setup.tools.options
    ways = benchmark.kind.readings
    way = next((w for w in ways if any(m.reads == w for m in measures)), next(iter(ways)))
    read: type[SubmissionReader] = benchmark.kind.reading(way)
    submission = Submission(path, benchmark, options.file_format, system, options.only_asked)
    benchmark = submission.benchmark
    n_asked = submission.asked if options.only_asked else None
    reading = read(submission, measures, setup.tools)
    reading.begin()
    judge = reading.tools.judge
    if judge is not None:
        judge.begin()
    for line, answer in submission.answers():
        reading.add(line, answer)
    reading.finish()
    rows, missing = reading.results()
    answers = reading.details() if setup.tools.keeps_answers else []
    counts = reading.counts()
    counts.n_judge_failed = reading.n_failed()
    counts.n_premises_cut = 0 if judge is None else judge.cuts()
    signatures = [_signature(row, reading, n_asked) for row in rows]
    clusters = reading.clusters()
    entries = make_entries(rows, signatures, clusters)
    warnings = reading.warnings()
    if setup.correction is not None:
        signed = {r.measure.name: s for r, s in zip(rows, signatures, strict=True)}
        warnings += setup.correction.correct(reading, rows, entries, signed, submission.system)
    return ScoreFile(
        system=submission.system,
        submission=path.name,
        submission_format=submission.form,
        submission_sha256=submission.digest(),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=options.protocol,
        context=reading.context,
        counts=counts,
        query_ids=benchmark.query_ids,
        clusters=[] if clusters is None else clusters.tolist(),
        measures=entries,
        not_computed=missing,
        design=reading.design,
        answers=answers,
        about=submission.about,
        same_family=(
            judge.family_of(submission.families)
            if judge is not None and any("judge" in r.measure.uses for r in rows)
            else None
        ),
        is_control=submission.header.get(CONTROL) is True,
        gold="private" if benchmark.has_hidden_gold else "public",
        warnings=[*warnings, *filter(None, [setup.warning])],
    )


def _signature(row: Row, reading: SubmissionReader, n_asked: int | None) -> Signature:
    """The recipe of one measure: only what that measure depends on."""
    measure, tools = row.measure, reading.tools
    protocol = tools.options.protocol
    segmenter = tools.segmenter.signature if tools.segmenter is not None else None
    judge = tools.judge.judge.signature if tools.judge is not None else None
    signed_protocol: str = protocol
    if "segmenter" not in measure.uses:
        segmenter = None
    elif segmenter and protocol == "reference" and not segmenter.startswith(reading.splitter):
        signed_protocol = f"reference~seg:{segmenter.partition('-')[0]}"
    options = None if measure.options is None else measure.options(tools, protocol)
    choices = [reading.options_of(measure, options)]
    if (repeats := row.measured.sample.repeats) > 1:
        choices.append(f"judge-repeats {repeats}")
    return Signature(
        measure.name,
        signed_protocol,
        reading.grammar_of(measure),
        reading.context if row.place is None else row.place,
        reading.benchmark.label,
        segmenter=segmenter,
        judge=judge if "judge" in measure.uses else None,
        gold=measure.gold.get(protocol),
        options=",".join(filter(None, choices)) or None,
        asked=str(n_asked) if n_asked else None,
        plugin=measure.origin,
    )
