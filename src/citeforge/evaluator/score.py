"""``score``: computes the scores of submissions, in the same way for all kinds of benchmark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from citeforge.engines.files import digest_path
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.progress_files import progress_file
from citeforge.engines.running.setup import judge_session, replay_store
from citeforge.evaluator.corrections import Correction, LabelCorrection, read_calibration
from citeforge.evaluator.label_files import read_labels
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.registry import measures as known_measures
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import (
    ScoredSubmission,
    entry_name,
    make_entries,
    read_passages,
)
from citeforge.evaluator.noise import copy_figures, make_figures, noise_key
from citeforge.evaluator.option_effects import require_effects
from citeforge.evaluator.slices import label_slices, make_slices, query_labels
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import Need, ScoringTools
from citeforge.evaluator.withhold import PUBLISHED_WARNINGS
from citeforge.package.kinds import KINDS
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.scores import MeasureScore, ScoreFile, Slice
from citeforge.schemas.signature import Signature
from citeforge.schemas.submission import CONTROL


@dataclass(frozen=True)
class ScoringSetup:
    """Settings by which all submissions of one call are scored.

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
    tools: ScoringTools = field(default_factory=ScoringTools)
    correction: Correction | None = None
    warning: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether some measure asks the judge."""
        return self.tools.judge is not None and _ask_judge(self.measures)


def prepare_scoring(
    benchmark: Benchmark, options: ScoreOptions, judge: JudgeSession | None = None,
    run: RunOptions | None = None,
) -> ScoringSetup:  # fmt: skip
    """Select measures, judge, LLM and sentence segmenter to score submissions to a benchmark.

    The segmenter is made only where a measure needs it.

    Args:
        benchmark: what they answer.
        options: what is computed, and how; what fits the benchmark where they name no measures.
            Where the protocol's own segmenter is not installed, measures that need sentences are
            not computed, and say why.
        judge: decides entailment, in place of the one that the options name.
        run: where the judge and the LLM of the options run; None to make neither.

    Raises:
        InputError: a file of labels is at fault, the segmenter that was named is not installed, or
            a model cannot be had.
        UnknownValueError: there is no measure, model or segmenter of that name.
        UsageError: KaLMA's reference measures, which have a splitter of their own; an option that
            no measure reads.
    """
    measures = select(options.measures or benchmark.kind.facts.default_measures)
    tools = ScoringTools(judge, options=options)
    if run is not None:
        tools = _add_models(tools, run)
    require_effects(measures, tools)
    is_of_graphs = all(m.reads == "triples" for m in measures)
    if is_of_graphs and options.protocol == "reference":
        tools = _with_kalma_splitter(tools)
    elif any(
        # Measures of graphs that ask a judge look at sentences with one alone.
        m.is_segmented and (tools.judge or not m.asks_judge or m.reads != "triples")
        for m in measures
    ):
        tools = _with_segmenter(tools)
    if options.labels:
        labels = [label for path in options.labels for label in read_labels(path)]
        return ScoringSetup(benchmark, measures, tools, LabelCorrection(labels))
    if tools.judge is not None and not _ask_judge(measures):
        hint = _hint_of_judged(benchmark, tools.judge)
        return ScoringSetup(benchmark, measures, tools, warning=hint)
    if options.protocol != "strict":
        return ScoringSetup(benchmark, measures, tools)
    return ScoringSetup(benchmark, measures, tools, *read_calibration(benchmark, tools.judge))


def _ask_judge(measures: Iterable[Measure]) -> bool:
    """Whether some measure asks the judge."""
    return any(m.asks_judge for m in measures)


def _hint_of_judged(benchmark: Benchmark, judge: JudgeSession) -> str:
    """Write a hint that no selected measure asks the chosen judge, and which families would."""
    fitting = (m for m in known_measures().values() if m.reads in benchmark.kind.facts.readings)
    families = dict.fromkeys(m.family for m in fitting if _ask_judge([m]))
    hint = f"; add --measures {' or '.join(families)}" if families else ""
    return f"no measure here asks the judge {judge.judge.signature}{hint}"


def _add_models(tools: ScoringTools, run: RunOptions) -> ScoringTools:
    """Copy tools with the judge (unless there is one) and the LLM that the options name."""
    options, judge, llm = tools.options, tools.judge, None
    if judge is None:
        judge = judge_session(options, run, repeats=options.judge_repeats)
    if options.llm is not None:
        from citeforge.engines.running.names import make_llm

        llm = make_llm(options.llm, store=replay_store(run), options=run)
    return replace(tools, judge=judge, llm=llm)


def _with_segmenter(tools: ScoringTools) -> ScoringTools:
    """Copy tools with the sentence segmenter to use, or the reason why it is not installed."""
    from citeforge.engines.running.names import make_segmenter

    segmenter = tools.options.segmenter
    name = segmenter or ("nupunkt" if tools.options.protocol == "strict" else "punkt")
    try:
        return replace(tools, segmenter=make_segmenter(name))
    except InputError as error:
        if segmenter is not None:
            raise
        return replace(tools, why_no_segmenter=str(error))


def _with_kalma_splitter(tools: ScoringTools) -> ScoringTools:
    """Copy tools with KaLMA's sentence splitter; raise an error if the options name a segmenter."""
    if (segmenter := tools.options.segmenter) is not None:
        raise UsageError(
            f"--segmenter {segmenter}: KaLMA's reference measures split as KaLMA's code does; "
            "leave the option out, or score with --protocol strict",
            code="conflicting-options",
        )
    from citeforge.evaluator.statements.kalma import SENTENCES

    return tools if tools.judge is None else replace(tools, segmenter=SENTENCES)


def score_contexts(
    path: Path, setup: ScoringSetup, system: str | None = None, out: Path | None = None
) -> list[ScoreFile]:
    """Score a submission on the context set in the options, or else on each that it answers.

    Args:
        path: submission.
        setup: against what, and how.
        system: name of the system; None for what the submission says.
        out: score file that will be written, beside which progress is kept; None for none.

    Raises:
        InputError: as :func:`score_context`.
        UsageError: likewise.
    """
    submission = _open_submission(path, setup, system)
    is_open = setup.tools.options.context is None and not _reads_cells(setup)
    names = submission.contexts if is_open else []
    setups = [setup]
    if len(names) > 1:
        setups = [replace(setup, tools=setup.tools.with_options(context=n)) for n in names]
    with progress_file("score", out):
        return [_score_submission(submission, one) for one in setups]


def _reads_cells(setup: ScoringSetup) -> bool:
    """Whether measures need the answers to all experimental conditions (cells) together."""
    facts = setup.benchmark.kind.facts
    return facts.is_design and _choose_reading(setup) == facts.readings[0]


def score_context(path: Path, setup: ScoringSetup, system: str | None = None) -> ScoreFile:
    """Score a submission in one context set.

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
    return _score_submission(_open_submission(path, setup, system), setup)


def _open_submission(path: Path, setup: ScoringSetup, system: str | None) -> Submission:
    """Open a submission; raise an error if a measure does not fit its benchmark."""
    options = setup.tools.options
    submission = Submission(
        path, setup.benchmark, options.file_format, system, options.only_asked,
        options.only_answered, is_raw=not setup.tools.is_strict, more=options.also,
    )  # fmt: skip
    _require_fitting(submission.benchmark, setup.measures)
    submission.require_sound()
    if submission.more:
        _require_one_system(submission, system)
        _require_read(submission, setup)
    return submission


def _require_one_system(submission: Submission, system: str | None) -> None:
    """Refuse further files (``--also``) that repeat a file or are of another system.

    Args:
        submission: the submission, with its further files.
        system: name given for all of them, which outweighs what they say; None for none.

    Raises:
        UsageError: there is such a file.
    """
    paths = dict[str, Path]()
    named: tuple[Path, object] | None = None
    for one in (submission, *submission.more):
        content, path = digest_path(one.path), one.path
        if content in paths:
            raise UsageError(
                f"--also {path}: the same as {paths[content]}, so that its answers would count "
                "twice; give each file once (runs that answered alike: lines of one file, "
                "numbered by `run`)",
                code="duplicate-id",
            )
        paths[content] = path
        name = one.format.system_in(path) or one.header.get("system")
        if system is None and name:
            named = named or (path, name)
            if name != named[1]:
                raise UsageError(
                    f"--also {path}: answers of {name!r}, and those of {named[0]} are of "
                    f"{named[1]!r}; give files of one system, or their common name: --name",
                    code="conflicting-options",
                )


def _require_read(submission: Submission, setup: ScoringSetup) -> None:
    """Raise an error for further files (``--also``) whose answers no selected measure needs.

    Raises:
        UsageError: there is such a file.
    """
    if any(Need.CONTEXTS in measure.group.needs for measure in setup.measures):
        return
    chosen = setup.tools.options.context
    read = [] if _reads_cells(setup) else submission.contexts if chosen is None else [chosen]
    for one in submission.more:
        if set(read).isdisjoint(one.contexts):
            raise UsageError(
                f"--also {one.path}: no measure asked for reads its answers to "
                f"{', '.join(one.contexts)}; leave it out, or ask for one that compares context "
                "sets (mirage)",
                code="option-without-effect",
            )


def _require_fitting(benchmark: Benchmark, measures: Sequence[Measure]) -> None:
    """Raise an error if a measure needs data, such as triples, that the benchmark does not show."""
    facts = benchmark.kind.facts
    foreign = [m for m in measures if m.reads not in facts.readings]
    if not foreign:
        return
    reads, default = foreign[0].reads, facts.default_measures
    names = ",".join(m.name for m in foreign[:3]) + ",…" * (len(foreign) > 3)
    owners = ", ".join(name for name, k in KINDS.all().items() if reads in k.facts.readings)
    raise UsageError(
        f"--measures {names}: needs {reads}{owners and f' (kinds: {owners})'}, and "
        f"{benchmark.manifest.name} shows {facts.shows}; use --measures {','.join(default)}, or "
        "any of that family: citeforge list measures",
        code="wrong-kind",
    )


def _choose_reading(setup: ScoringSetup) -> str:
    """Choose what kind of answers to read, such as ``passages``: the first that a measure needs."""
    ways, wanted = setup.benchmark.kind.facts.readings, {m.reads for m in setup.measures}
    return next((way for way in ways if way in wanted), ways[0])


def _score_submission(submission: Submission, setup: ScoringSetup) -> ScoreFile:
    """Read a submission, compute the measures, and make the score file."""
    benchmark, options = submission.benchmark, setup.tools.options
    if setup.tools.judge is not None:
        setup.tools.judge.begin()
    if (reads := _choose_reading(setup)) == "passages":
        scored = read_passages(submission, setup.measures, setup.tools)
    else:
        scored = benchmark.kind.read_answers(reads, submission, setup.measures, setup.tools)
    samples, missing = scored.results
    judge, counts, clusters = scored.tools.judge, scored.counts, benchmark.clusters
    counts.n_judge_failed = scored.n_failed
    if judge is not None:
        counts.n_judge_failed += judge.failures()
        counts.n_premises_cut = judge.cuts()
    signatures = _signatures(samples, submission, scored)
    entries = make_entries(samples, signatures, clusters)
    asks = _ask_judge(measure for measure, _ in samples)
    findings = [*scored.warnings, *submission.text_warnings()]
    if scored.design is None:  # else a missing cell is not computed
        findings += submission.missing_warnings(counts.n_missing)
    is_hidden, corrected = benchmark.has_hidden_gold, list[str]()
    if is_hidden:
        _add_figures(entries, samples, submission)
    private = [f for f in findings if is_hidden and f.code not in PUBLISHED_WARNINGS]
    warnings = [str(finding) for finding in findings if finding not in private]
    if setup.correction is not None:
        corrected = setup.correction.correct(submission, scored, entries, signatures)
    return ScoreFile(
        system=submission.system,
        submission=submission.path.name,
        submission_format=submission.form,
        submission_sha256=submission.digest(),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=options.protocol,
        context=scored.context,
        counts=counts,
        query_ids=benchmark.query_ids,
        clusters=[] if clusters is None else clusters.tolist(),
        measures=entries,
        slices=_slices(submission, scored, signatures),
        not_computed=missing,
        design=scored.design,
        answers=scored.details,
        about=submission.about,
        same_family=judge.match_family(submission.families) if judge is not None and asks else None,
        unpublished_judge=(
            judge.judge.signature
            if judge is not None and asks and not judge.judge.comparable
            else None
        ),
        is_control=submission.header.get(CONTROL) is True,
        headline=list(benchmark.kind.facts.headline),
        gold="private" if is_hidden else "public",
        is_build_known=not submission.is_anonymous,
        warnings=[*warnings, *([] if is_hidden else corrected), *filter(None, [setup.warning])],
        private_warnings=[*map(str, private), *(corrected if is_hidden else [])],
    )


def _add_figures(
    entries: Sequence[MeasureScore], samples: Sequence[tuple[Measure, Sample]],
    submission: Submission,
) -> None:  # fmt: skip
    """Add publishable values, with privacy noise, to score file entries if gold data are hidden."""
    benchmark = submission.benchmark
    key = noise_key(submission, benchmark)
    for entry, (measure, sample) in zip(entries, samples, strict=True):
        if measure.reads_labels and not benchmark.is_public_half:
            entry.published = make_figures(entry, measure, sample, key, benchmark.clusters)
        else:
            entry.published = copy_figures(entry)


def _slices(
    submission: Submission, scored: ScoredSubmission, signatures: Sequence[Signature]
) -> list[Slice]:
    """Score each slice: the queries that share a value of a field named in ``--by``.

    With ``--details``, slices by other fields follow without scores, for filters of pages.
    """
    fields, benchmark = scored.tools.options.by, submission.benchmark
    if fields and scored.design is not None:
        raise UsageError("--by is for measures of one context set", code="wrong-kind")
    others = label_slices(benchmark, fields) if scored.details else []
    if not fields:
        return others
    labels = query_labels(benchmark, scored.context, fields)
    return make_slices(scored.results[0], signatures, labels, benchmark.clusters) + others


def _signatures(
    samples: Sequence[tuple[Measure, Sample]], submission: Submission, scored: ScoredSubmission
) -> list[Signature]:
    """Make the signatures of all values; derived values take the settings of their source."""
    own = [_signature(measure, sample, submission, scored) for measure, sample in samples]
    made = {entry_name(m, s): one for (m, s), one in zip(samples, own, strict=True)}
    return [
        one
        if s.derived_from is None
        else _derive_signature(made[s.derived_from], m, s.derived_from)
        for (m, s), one in zip(samples, own, strict=True)
    ]


def _derive_signature(source: Signature, measure: Measure, name: str) -> Signature:
    """Make the signature of a value derived from another measure's, whose name is ``name``."""
    options = ",".join(filter(None, (f"of {name}", source.options)))
    return replace(source, measure=measure.name, options=options, plugin=measure.origin)


def _signature(
    measure: Measure, sample: Sample, submission: Submission, scored: ScoredSubmission
) -> Signature:
    """Make the signature of a measure's score from the settings that the score depends on."""
    tools, protocol = scored.tools, scored.tools.options.protocol
    segmenter = tools.segmenter.signature if tools.segmenter is not None else None
    judge = tools.judge.judge.signature if tools.judge is not None else None
    signed_protocol: str = protocol
    if not measure.is_segmented:
        segmenter = None
    elif segmenter and protocol == "reference" and not segmenter.startswith(scored.splitter):
        signed_protocol = f"reference~seg:{segmenter.partition('-')[0]}"
    grammar = scored.grammar
    if scored.is_read_by_family:
        grammar += f",{measure.family}"
    options = submission.format.verdicts.get(measure.family) or scored.options
    if options is None and measure.options is not None:
        options = measure.options(tools, protocol)
    choices = [options, *sample.choices]
    if submission.benchmark.has_hidden_gold:
        choices.append("undefined worst")
    if sample.repeats > 1:
        choices.append(f"judge-repeats {sample.repeats}")
    return Signature(
        measure.name,
        signed_protocol,
        grammar,
        scored.context if sample.place is None else sample.place,
        submission.benchmark.label,
        definition=measure.version(protocol),
        segmenter=segmenter,
        judge=judge if measure.asks_judge else None,
        gold=measure.gold.get(protocol),
        options=",".join(filter(None, choices)) or None,
        asked=submission.scored_queries,
        plugin=measure.origin,
    )
