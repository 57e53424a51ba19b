"""Scores in Python, of submission files or of answers that are Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.engines.files import require_writable, write_text
from citeforge.engines.judge.records import Judge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.pipes import pipes_copied
from citeforge.engines.report_table import Displayed, Table
from citeforge.engines.shown import show_value
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.compare import list_json_files, load_scores
from citeforge.evaluator.corrections import LabelCorrection
from citeforge.evaluator.max_row import max_row
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.score import ScoringSetup, prepare_scoring, score_context, score_contexts
from citeforge.evaluator.slices import list_slices, make_slice_file, slice_fields
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.targets import context_target, score_targets
from citeforge.evaluator.withhold import find_revealing_option, withhold_scores
from citeforge.library.answers import Answers, in_python, submission_file
from citeforge.library.benchmarks import load
from citeforge.reports.notes import limit_lines, missing_lines, signature_notes
from citeforge.reports.tables import counts_table, scores_table, slice_tables
from citeforge.schemas.errors import (
    CiteforgeError,
    FailuresError,
    InputError,
    UnknownValueError,
    UsageError,
    extras_named,
)
from citeforge.schemas.recipes.base import RunOptions, make_record
from citeforge.schemas.recipes.command_options import Protocol, ScoreOptions
from citeforge.schemas.recipes.systems import find_lookalike
from citeforge.schemas.scores import Counts, MeasureScore, NotComputed, ScoreFile

if TYPE_CHECKING:
    import pandas


class Scores(Displayed):
    """All scores of one submission: a mapping of measure names to values with intervals.

    Attributes:
        file: the score file, as ``citeforge score --out`` writes it.
    """

    def __init__(self, file: ScoreFile) -> None:
        """Index the measures of a score file by name."""
        self.file = file
        self._measures = {m.name: m for m in file.measures}

    def __getitem__(self, measure: str) -> MeasureScore:
        """Get a measure by name: values as displayed, ``per_query`` raw, and ``signature``.

        Raises:
            UsageError: it was asked for and could not be computed; with the reason.
            UnknownValueError: it was not asked for.
        """
        if measure in self._measures:
            return self._measures[measure]
        for absent in self.file.not_computed:
            if absent.name == measure:
                raise UsageError(
                    f"{measure} was not computed: {absent.reason}", code="not-computed"
                )
        raise UnknownValueError("measure", measure, self._measures)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the measures."""
        return iter(self._measures)

    def __contains__(self, measure: object) -> bool:
        """Whether a measure of this name was computed."""
        return measure in self._measures

    def __len__(self) -> int:
        """Count the measures."""
        return len(self._measures)

    @property
    def system(self) -> str:
        """Name of the system."""
        return self.file.system

    @property
    def counts(self) -> Counts:
        """Counts of queries and answers, and of what is missing or could not be read."""
        return self.file.counts

    @property
    def warnings(self) -> list[str]:
        """Limits of the scores: missing and refused answers, failed verdicts, cautions."""
        return limit_lines([self.file])

    @property
    def not_computed(self) -> list[NotComputed]:
        """Measures that were asked for and could not be computed, with reasons."""
        return self.file.not_computed

    def to_pandas(self, by: str | None = None) -> pandas.DataFrame:
        """Make a table with a row per measure, and per value of the field ``by`` if one is given.

        Args:
            by: field by which the answers were scored: one row per value of it and measure.

        Returns:
            A table whose index has the values of ``by``, if given, and the measures; its ``attrs``
            have ``counts`` and ``warnings``.

        Raises:
            UnknownValueError: the answers were not scored by such a field.
        """
        with extras_named():
            import pandas

        measures, names = self.file.measures, [m.name for m in self.file.measures]
        index = pandas.Index(names, name="measure")
        if by is not None:
            if by not in (fields := slice_fields([self.file])):
                raise UnknownValueError("field of slices", by, fields)
            measures, keys = [], []
            for value, _ in list_slices([self.file], by):
                part = make_slice_file(self.file, by, value)
                measures += [] if part is None else part.measures
                keys += [] if part is None else [(value, m.name) for m in part.measures]
            index = pandas.MultiIndex.from_tuples(keys, names=[by, "measure"])
        columns = ["value", "low", "high", "stderr", "n", "n_undefined", "scale", "signature"]
        rows = [[getattr(m, c) for c in columns] for m in measures]
        frame = pandas.DataFrame(rows, index=index, columns=columns)
        frame.attrs |= {"counts": self.counts.model_dump(), "warnings": self.warnings}
        return frame

    def per_query(self) -> pandas.DataFrame:
        """Make a table of unscaled values: a row per query, a column per measure; NaN if undefined.

        Raw values lie in [0, 1] or in the measure's own range (docs/measures.md).
        """
        with extras_named():
            import pandas

        queries = pandas.Index(self.file.query_ids, name="query_id")
        values = {m.name: m.per_query for m in self.file.measures}
        return pandas.DataFrame(values, index=queries, dtype="float64")

    def save(self, path: str | Path, private: bool = False) -> None:
        """Write the score file; with hidden labels no values per query, unless it is ``private``.

        Args:
            path: of the file.
            private: where gold is hidden: with what single queries score. No site takes it.
        """
        shown = self.file if private else withhold_scores(self.file)
        write_text(Path(path), shown.to_line())

    def _headline(self) -> str:
        """Summarise the scores in one line: the first four values."""
        values = [f"{m.name} {show_value(m)}" for m in self.file.measures if m.value is not None]
        more = f" and {len(self) - 4:,} more" if len(self) > 4 else ""
        counts = self.counts
        n_missing, n_failed = counts.n_missing, counts.n_judge_failed
        n_wanted = counts.n_answered + n_missing
        more += f"; {n_missing:,} of {n_wanted:,} answers missing" if n_missing else ""
        more += f"; {counts.n_uncited:,} uncited" if counts.n_uncited else ""
        more += f"; {counts.n_refused:,} refused" if counts.n_refused else ""
        more += f"; the judge failed on {count_text(n_failed, 'pair')}" if n_failed else ""
        return f"scores of {self.system} on {self.file.benchmark}: {', '.join(values[:4])}{more}"

    def _tables(self) -> Iterator[Table]:
        """Yield the tables of all measures (with notes), of counts, and of slices by fields."""
        files = [self.file]
        notes = [f"not computed: {x}" for x in missing_lines(files)]
        table = scores_table(files, "measure").transposed()
        yield replace(table, notes=notes + self.warnings + signature_notes(files))
        yield counts_table(files)
        yield from slice_tables(files)


Scored = Scores | str | Path
"""Scores, or the path of a score file."""


@extras_named()
@pipes_copied()
def score(
    answers: Answers, benchmark: Benchmark | str | Path, measures: Sequence[str] = (), *,
    context: str | None = None, protocol: Protocol = "strict",
    judge: str | Judge | JudgeSession | None = None, judge_repeats: int = 1,
    segmenter: str | None = None, file_format: str = "auto", system: str | None = None,
    details: bool = False, labels: Sequence[str | Path] = (),
    assessments: Sequence[str | Path] = (), also: Sequence[str | Path] = (),
    only_asked: bool = False, only_answered: bool = False, by: Sequence[str] = (),
) -> Scores:  # fmt: skip
    """Score answers against a benchmark; the same numbers as ``citeforge score``.

    Args:
        answers: submission file (any format of ``--format``), dictionaries with ``query_id`` and
            ``output``, or a DataFrame with such columns.
        benchmark: what they answer: opened, a folder, or ``hub:ORG/NAME``.
        measures: measures or families; none for those that fit the benchmark.
        context: context set; None for the one that the answers are about.
        protocol: ``strict``, or ``reference``: what the paper's own code prints.
        judge: decides entailment: a name (``lexical``, ``hf:MODEL``, ``openai:MODEL``,
            ``table:FILE``) or an object with the protocol ``Judge``.
        judge_repeats: verdicts of an LLM judge on every pair.
        segmenter: splits sentences; None for the protocol's own.
        file_format: format of a submission file.
        system: name of the system; None for what the submission, or else its file, says.
        details: keep the answers in statements, for reports.
        labels: files of labels by people, which judged measures are corrected with.
        assessments: files of nuggets, rubrics, DRAGUN's questions and TREC's support.
        also: files with more answers of the same system: to other context sets, or of more runs.
        only_asked: score only the queries that were asked, as the submission's header says.
        only_answered: score only the queries that are answered; others are not counted as wrong.
        by: fields of the queries whose slices are scored, too.

    Returns:
        Values with 95 % intervals, counts, and the signature of every number.

    Raises:
        InputError: an answer to no query of the benchmark, twice the same, or unreadable.
        UsageError: a measure, context or judge that does not exist or fit.
    """
    opened = load(benchmark)
    options = make_record(
        ScoreOptions, measures=measures, context=context, protocol=protocol,
        file_format=file_format, segmenter=segmenter, details=details, only_asked=only_asked,
        only_answered=only_answered, by=by, labels=tuple(map(Path, labels)),
        assessments=tuple(map(Path, assessments)), also=tuple(map(Path, also)),
        judge="given" if labels and judge is not None else None,
    )  # fmt: skip
    setup = prepare_scoring(opened, options, open_judge(judge, judge_repeats))
    with submission_file(answers, system) as path:
        file = score_context(path, setup, system)
    if not isinstance(answers, str | Path):
        file = file.model_copy(update={"warnings": [*map(in_python, file.warnings)]})
    return Scores(file)


@dataclass(frozen=True)
class ScoredFiles:
    """Result of :func:`score_files`.

    Attributes:
        scores: of every submission and context set, then the best of each set if asked for.
        judge: who was asked, and on how many pairs it failed; None without a judge.
        headline: measures that tell most of this kind of benchmark.
        is_judged: whether some measure asks the judge.
    """

    scores: list[Scores]
    judge: JudgeSession | None
    headline: tuple[str, ...]
    is_judged: bool


@extras_named()
@pipes_copied()
def score_files(
    submissions: Sequence[str | Path], benchmark: Benchmark | str | Path,
    options: ScoreOptions | None = None, *, names: Sequence[str] = (),
    gold: str | Path | None = None, out: str | Path | None = None, private: bool = False,
    run: RunOptions | None = None,
    on_error: Callable[[Path, CiteforgeError], None] | None = None,
) -> ScoredFiles:  # fmt: skip
    """Score prediction files, and write score files: all of ``citeforge score`` but printing.

    Args:
        submissions: files or folders.
        benchmark: what they answer: opened, a folder, or ``hub:ORG/NAME``.
        options: measures, protocol, judge and what else scores depend on.
        names: names of the systems, one per submission; none for their own, or their files'.
        gold: the hidden half, as for ``load``.
        out: score file to write; a folder for several submissions.
        private: where gold is hidden: write what single queries score, too.
        run: where a judge runs, what it may cost, where its verdicts are kept.
        on_error: gets a submission that cannot be scored, which is left out; None to raise.

    Raises:
        InputError: an answer to no query of the benchmark, twice the same, or unreadable; or a
            file at ``out`` that holds other scores.
        UsageError: a measure, context, judge or ``out`` that does not exist or fit; or nothing that
            was asked for can be computed, with the reasons.
    """
    options, paths = options or ScoreOptions(), [Path(s) for s in submissions]
    select(options.measures)  # a wrong name is said before anything is opened
    systems = _check_names(paths, names)
    target = None if out is None else Path(out)
    if target is not None and len(paths) > 1 and target.suffix == ".json":
        raise UsageError(
            "--out: with several submissions, name a folder for the score files", code="bad-option"
        )
    if options.also and len(paths) > 1:
        raise UsageError(
            f"--also: more answers of one system, and there are {len(paths)} submissions; score "
            "each with its own",
            code="conflicting-options",
        )
    opened = load(benchmark, gold)
    if private and not opened.has_hidden_gold:
        raise UsageError(
            "--private is for benchmarks with hidden gold; the labels of this one are public",
            code="option-without-effect",
        )
    if opened.has_hidden_gold and not private and (name := find_revealing_option(options)):
        raise UsageError(
            f"--{name.replace('_', '-')} needs --private: scores of chosen queries or passages, "
            "and the best values per query, would reveal hidden gold",
            code="hidden-gold",
        )
    setup = prepare_scoring(opened, options, run=run or RunOptions())
    _require_distinct_names(paths, systems, setup)
    targets = score_targets(target, paths, systems)
    require_writable(*targets.values())
    results: list[tuple[Path | None, ScoreFile]] = []
    for path, system in zip(paths, systems, strict=True):
        try:
            files = score_contexts(path, setup, system, targets.get(path))
            if on_error is not None:
                _require_scores(files)
        except (InputError, UsageError) as error:
            if on_error is None:
                raise
            on_error(path, error)
            continue
        for file in files:
            score_path = targets.get(path)
            if score_path is not None and len(files) > 1:
                score_path = context_target(score_path, file.context, path, system)
            results.append((score_path, file))
            if score_path is not None and file.measures:
                Scores(file).save(score_path, private)
    _require_scores([file for _, file in results])
    for score_path, file in results:
        if score_path is not None and not file.measures:
            Scores(file).save(score_path, private)
    scored = [file for _, file in results]
    if options.max_row:
        contexts = dict.fromkeys(file.context for file in scored)
        scored += [max_row([f for f in scored if f.context == name]) for name in contexts]
    return ScoredFiles(
        [Scores(f) for f in scored], setup.tools.judge, opened.kind.facts.leading, setup.is_judged
    )


def plan_scores(
    submissions: Sequence[str | Path], benchmark: Benchmark | str | Path, options: ScoreOptions, *,
    gold: str | Path | None = None, run: RunOptions | None = None,
) -> JudgeSession | None:  # fmt: skip
    """Count the model calls of :func:`score_files` without making any; return the judge.

    A question that depends on an answer that is not stored is counted.

    Args:
        submissions: files.
        benchmark: what they answer: opened, a folder, or ``hub:ORG/NAME``.
        options: measures, protocol, judge and what else scores depend on.
        gold: the hidden half, as for ``load``.
        run: prices and stores.

    Returns:
        The session of the judge, which counts the pairs; None without a judge.

    Raises:
        UsageError: there is no judge and no LLM; else as :func:`score_files`.
    """
    opened = load(benchmark, gold)
    run = (run or RunOptions()).model_copy(update={"dry_run": True})
    setup = prepare_scoring(opened, options, run=run)
    if setup.tools.judge is None and setup.tools.llm is None:
        raise UsageError("--dry-run requires --judge or --llm", code="missing-option")
    setup = replace(setup, correction=None)
    for path in submissions:
        score_contexts(Path(path), setup)
    return setup.tools.judge


def _check_names(paths: Sequence[Path], names: Sequence[str]) -> list[str | None]:
    """Check the names given to systems, one per submission; return them, or None for each.

    Raises:
        UsageError: not as many names as submissions, an empty one, or one twice.
    """
    if not names:
        return [None for _ in paths]
    if len(names) != len(paths):
        raise UsageError(
            f"--name: {len(names)} for {len(paths)} submissions; give one each, in their order",
            code="bad-option",
        )
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise UsageError("--name: the systems' names are empty or the same", code="bad-option")
    return list(names)


def _require_distinct_names(
    paths: Sequence[Path], systems: Sequence[str | None], setup: ScoringSetup
) -> None:
    """Raise an error for system names that look alike, or human labels of unknown systems.

    Args:
        paths: submissions.
        systems: name that the user gives to each system; None for its own.
        setup: benchmark, options and labels.

    Raises:
        InputError: names both, or whom the labels are of.
    """
    if not setup.tools.options.labels and len(paths) == 1:
        return
    form = setup.tools.options.file_format
    submissions = [
        Submission(path, setup.benchmark, form, system)
        for path, system in zip(paths, systems, strict=True)
    ]
    names = [s.system for s in submissions]
    for at, name in enumerate(names):
        if (twin := find_lookalike(name, names[:at])) is not None:
            raise InputError(
                f"the systems {twin!a} and {name!a} look the same",
                allowed="names that differ to the eye (--name)",
                code="bad-option",
            )
    if isinstance(setup.correction, LabelCorrection):
        setup.correction.require_known([(s.system, s.path.name) for s in submissions])


def _require_scores(files: Sequence[ScoreFile]) -> None:
    """Raise an error if no measure could be computed for any submission.

    Raises:
        UsageError: no measure could be computed for any submission; with the reasons.
        FailuresError: the same, because every call of the LLM failed.
    """
    if files and not any(file.measures for file in files):
        reasons = "; ".join(missing_lines(files))
        if any(file.counts.n_judge_failed for file in files):
            raise FailuresError(f"nothing can be computed; {reasons}", code="counted-failures")
        raise UsageError(
            f"nothing that was asked for can be computed; {reasons}", code="not-computed"
        )


def open_judge(judge: str | Judge | JudgeSession | None, repeats: int = 1) -> JudgeSession | None:
    """Make the session of a judge from its name or object; None without one."""
    if judge is None or isinstance(judge, JudgeSession):
        return judge
    if not isinstance(judge, str):
        return JudgeSession(judge, repeats=repeats)
    from citeforge.engines.running.names import make_judge

    return JudgeSession(make_judge(judge), repeats=repeats)


def read_scores(path: str | Path) -> Scores:
    """Read a score file that ``citeforge score --out`` or :meth:`Scores.save` wrote.

    Raises:
        InputError: it cannot be read, or is none.
    """
    return Scores(load_scores(Path(path)))


def list_scores(scores: Scored | Sequence[Scored]) -> list[Scored]:
    """List one or several scores or score files; a folder becomes its JSON files.

    Raises:
        InputError: a folder without any.
    """
    several: list[Scored] = []
    for one in [scores] if isinstance(scores, Scores | str | Path) else scores:
        if not isinstance(one, str | Path) or not Path(one).is_dir():
            several.append(one)
        elif found := list_json_files(Path(one)):
            several += found
        else:
            raise InputError("has no score file (*.json)", path=one, code="missing-file")
    return several


def get_score_file(scores: Scored) -> ScoreFile:
    """Return the score file that ``scores`` holds, or read it if ``scores`` is a path.

    Raises:
        InputError: the path is of no score file.
        UsageError: neither scores nor a path.
    """
    if not isinstance(scores, Scores | str | Path):
        raise UsageError(
            f"expected scores or the path of a score file, got {type(scores).__name__}",
            code="wrong-type",
        )
    return scores.file if isinstance(scores, Scores) else load_scores(Path(scores))
