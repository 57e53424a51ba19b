"""``score``: a submission against a benchmark, one way for all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from citeforge.evaluator.labels.correct import Correction, correct
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.reports.entries import Row, make_entries, measure_signature
from citeforge.evaluator.statements.reading import Results, SubmissionReader
from citeforge.evaluator.statistics.estimates import joined
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.tools import Tools
from citeforge.package.kinds import kinds
from citeforge.schemas.commands.command_options import Protocol
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import Signature
from citeforge.schemas.submission import CONTROL


def score(
    path: Path, benchmark: Benchmark, measures: Sequence[Measure], *, context: str | None = None,
    protocol: Protocol = "strict", tools: Tools | None = None, file_format: str = "auto",
    details: bool = False, correction: Correction | None = None, only_asked: bool = False,
    system: str | None = None,
) -> ScoreFile:  # fmt: skip
    """Score a submission.

    ``strict`` loops over the benchmark's queries and gives absent ones the worst value;
    ``reference`` loops over the lines of the file, as the papers' code does.

    Args:
        path: submission.
        benchmark: what it answers.
        measures: declared measures to compute.
        context: context set; None for the one that the submission is about.
        protocol: ``strict`` or ``reference``.
        tools: judge and segmenter, for measures that need them.
        file_format: format of the submission; see :mod:`citeforge.evaluator.submissions.formats`.
        details: keep the answers of the first run, in statements, for reports.
        correction: labels of people, or error rates of the judge, that judged measures are
            corrected with.
        only_asked: look at no other queries than those that the submission's header says were
            asked (``run --limit``).
        system: name of the system; None for what the submission says.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key; labels of answers that
            there are not, or that contradict each other.
        UsageError: the context set is not clear, or the measures do not fit the benchmark.
    """
    read = _reading(benchmark, measures)
    read.require(benchmark, measures, protocol, context)
    submission = Submission(path, benchmark, file_format, system)
    asked = submission.asked if only_asked else None
    if asked is not None:
        benchmark = benchmark.first(asked)
        submission = Submission(path, benchmark, file_format, system)
    reading = read(
        submission, benchmark, measures, protocol, tools or Tools(), context, details=details
    )
    judge = reading.tools.judge
    if judge is not None:
        judge.begin()
    for line, answer in submission.answers():
        reading.add(line, answer)
    reading.finish()
    rows, missing = _results(reading)
    answers = reading.details() if details else []
    counts = reading.counts()
    counts.n_judge_failed = reading.n_failed()
    counts.n_premises_cut = 0 if judge is None else judge.cuts()
    base = Signature(
        "", protocol, "", reading.context, benchmark.label, asked=str(asked) if asked else None
    )

    def sign(row: Row) -> Signature:
        found = measure_signature(row.measure, base, reading.tools, reading.splitter)
        place = found.context if row.place is None else row.place
        options = reading.options_of(row.measure, found.options)
        if (repeats := row.measured.sample.repeats) > 1:
            options = ",".join([*filter(None, [options]), f"judge-repeats {repeats}"])
        grammar = reading.grammar_of(row.measure)
        return replace(found, grammar=grammar, context=place, options=options)

    clusters = reading.clusters()
    entries = make_entries(rows, sign, clusters)
    warnings = reading.warnings()
    if correction is not None:
        signed = {r.measure.name: sign(r) for r in rows}
        warnings += correct(reading, rows, entries, signed, correction, submission.system)
    return ScoreFile(
        system=submission.system,
        submission=path.name,
        submission_format=submission.form,
        submission_sha256=submission.digest(),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=protocol,
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
        warnings=warnings,
    )


def _results(reading: SubmissionReader) -> Results:
    """All measures; those that ask the judge by every one of its repeats."""
    judge, measures = reading.tools.judge, reading.measures
    rows, missing = reading.results()
    if judge is None or judge.repeats == 1:
        return rows, missing
    found = {(r.measure.name, r.place): [r.measured] for r in rows}
    reading.measures = [m for m in measures if "judge" in m.uses]
    for repeat in range(1, judge.repeats):
        judge.repeat = repeat
        again, lost = reading.results()
        missing += [absent for absent in lost if absent not in missing]
        for row in again:
            found.setdefault((row.measure.name, row.place), []).append(row.measured)
    judge.repeat, reading.measures = 0, measures
    kept = []
    for row in rows:
        measured = found[row.measure.name, row.place]
        if "judge" not in row.measure.uses:
            kept.append(row)
        elif len(measured) == judge.repeats:
            kept.append(replace(row, measured=joined(measured)))
    return kept, missing


def _reading(benchmark: Benchmark, measures: Sequence[Measure]) -> type[SubmissionReader]:
    """How a kind reads answers for these measures: the first of its ways that one of them names.

    Raises:
        UsageError: its answers cannot be read so.
    """
    known = benchmark.kind.readings
    foreign = [m for m in measures if m.reads not in known]
    if foreign:
        reads, default = foreign[0].reads, benchmark.kind.default_measures
        names = ",".join(m.name for m in foreign[:3]) + ",…" * (len(foreign) > 3)
        owners = ", ".join(k.name for k in kinds().values() if reads in k.readings)
        raise UsageError(
            f"--measures {names}: these look at {reads}, and {benchmark.manifest.name} shows "
            f"{benchmark.kind.shows}; what fits is --measures {','.join(default)}, or any of that "
            f"family: citeforge list measures ({reads} are shown by the kinds "
            f"{owners or 'of nobody'})"
        )
    name = next((n for n in known if any(m.reads == n for m in measures)), next(iter(known)))
    reading: type[SubmissionReader] = benchmark.kind.reading(name)
    return reading
