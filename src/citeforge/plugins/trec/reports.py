"""Readers of runs of TREC's report tracks, and their conversion to answers of a submission."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.jsonlines import read_rows
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import OnError
from citeforge.plugins.trec.tracks import ANY, Track
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import HEADER, CitedSentence, Lines, OwnPassage, SubmissionLine

Citations = list[int | str] | dict[str, float] | None
_CONFIDENCES = re.compile(rb'"citations"\s*:\s*\{')
_RAGTIME_ID = re.compile(rb'"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d+"')
"""Id of a passage of RAGTIME's collection."""
_FULL_STOP = re.compile(r"(?<=[\w%°)])[.!?]+[\"'”’»]*\Z")


class ReportSentence(msgspec.Struct):
    """A sentence of a report with its citations."""

    text: str
    citations: Citations = None


class _RunLine(msgspec.Struct):
    """A line of a run, with the fields of all tracks; other fields are skipped."""

    metadata: dict[str, Any] | None = None
    references: list[str] | None = None
    answer: list[ReportSentence] | None = None
    responses: list[ReportSentence] | None = None
    run_id: str | int | None = None
    topic_id: str | int | None = None
    topic: str | None = None
    response_length: int | None = None


@dataclass(frozen=True)
class TrecReport:
    """One report of a run.

    Attributes:
        line: its line number in the file.
        topic: id of its topic.
        about: its metadata of run and topic.
        references: ids in its list ``references``; None without the list.
        sentences: its sentences, in order.
    """

    line: int
    topic: str
    about: dict[str, Any]
    references: list[str] | None
    sentences: list[ReportSentence]


def citation_style(sentence: ReportSentence) -> str | None:
    """Classify a sentence's citations: index, ids, scores or mixed; None without any."""
    if not sentence.citations:
        return None
    if isinstance(sentence.citations, dict):
        return "scores"
    kinds = {type(citation) for citation in sentence.citations}
    if len(kinds) > 1:
        return "mixed"
    return "index" if kinds == {int} else "ids"


def rank_citations(citations: Citations) -> list[int | str]:
    """List a sentence's citations: most confident first, or as given without confidences."""
    if isinstance(citations, dict):
        return [name for name, _ in sorted(citations.items(), key=lambda pair: -pair[1])]
    return list(citations or ())


def cited_ids(sentence: ReportSentence, references: Sequence[str]) -> list[str]:
    """List the ids of passages that a sentence cites; invalid positions are left out."""
    ids = []
    for citation in rank_citations(sentence.citations):
        if isinstance(citation, str):
            ids.append(citation)
        elif 0 <= citation < len(references):
            ids.append(references[citation])
    return ids


def read_reports(path: Path, track: Track, on_error: OnError = None) -> Iterator[TrecReport]:
    """Yield the reports (answers) of a TREC run file, in order.

    Args:
        path: JSON Lines, plain or .gz.
        track: track in whose layout the run is.
        on_error: gets the error of every report that cannot be read, which is then skipped;
            None to raise it.

    Raises:
        InputError: file, line, field, and what would be right.
    """
    for line, row in read_rows(path, _RunLine, HEADER, on_error):
        try:
            report = _make_report(path, line, row, track)
        except InputError as error:
            if on_error is None:
                raise
            on_error(error)
            continue
        yield report


def _make_report(path: Path, line: int, row: _RunLine, track: Track) -> TrecReport:
    """Convert a line of a TREC run to a report; raise an error if it is incomplete.

    Args:
        path: the file, for errors.
        line: number of the line.
        row: its content.
        track: says where topic and sentences are.
    """
    about = row.metadata
    if track.is_flat:
        fields = ("run_id", "topic_id", "topic", "response_length")
        about = {name: value for name in fields if (value := getattr(row, name)) is not None}
    topic_field = track.topic if track.is_flat else f"metadata.{track.topic}"
    topic = (about or {}).get(track.topic)
    if not isinstance(topic, str | int) or isinstance(topic, bool) or topic == "":
        raise InputError(
            f"is missing or not an id; {track.title} names the topic there",
            path=path, line=line, field=topic_field, allowed="the id of a query of the benchmark",
            code="missing-field"
        )  # fmt: skip
    sentences = row.answer if track.sentences == "answer" else row.responses
    if sentences is None:
        raise InputError(
            f"is missing; {track.title} has the sentences of the report there",
            path=path, line=line, field=track.sentences,
            allowed='a list of {"text": …, "citations": […]}', code="missing-field"
        )  # fmt: skip
    return TrecReport(line, str(topic), about or {}, row.references, sentences)


def guess_tracks(start: bytes) -> tuple[str, ...]:
    """Guess the TREC tracks of a run file from its beginning: format names, likeliest first.

    Several can be meant where a run leaves out what only one of them has: RAGTIME's task of 2025 or
    description of 2026, or confidences, which NeuCLIR does not have.

    Args:
        start: beginning of the file, without a header.
    """
    line = start.partition(b"\n")[0]
    if b'"references"' in line and b'"topic_id"' in line and b'"metadata"' not in line:
        return ("trec-rag24",)
    is_named = b'"topic_id"' in line or b'"narrative_id"' in line
    if b'"metadata"' not in line or not is_named:
        return ()
    is_described = b'"run_desc"' in line
    if b'"use_starter_kit"' in line:
        return ("trec-dragun25",)
    if b'"responses"' in line:
        if is_described:
            return ("trec-ragtime26",)
        if b'"task"' in line:
            return ("trec-ragtime25",)
        ragtime = ("trec-ragtime25", "trec-ragtime26")
        is_ragtime = _CONFIDENCES.search(start) or _RAGTIME_ID.search(start)
        return ragtime if is_ragtime else ("trec-neuclir24", *ragtime)
    if b'"answer"' in line or b'"references"' in line:
        return ("trec-rag26",) if is_described else ("trec-rag25",)
    return ()


def read_run_id(track: Track, path: Path) -> str | None:
    """Read a TREC run's id from its file's first line; None if unreadable or without one."""
    try:
        _, row = next(read_rows(path, _RunLine, HEADER))
    except (InputError, StopIteration):
        return None  # the reader reports what is wrong, with the line
    name = row.run_id if track.is_flat else (row.metadata or {}).get("run_id")
    return str(name) if name else None


def require_option(track: Track, option: str) -> None:
    """Raise an error if the option in ``--format trec-TRACK:OPTION`` is unknown.

    Raises:
        UsageError: it is unknown.
    """
    if option not in ("", ANY):
        raise UsageError(f"--format {track.format}:{option}: expected {ANY}", code="bad-option")


def read_trec_run(
    track: Track, path: Path, benchmark: Benchmark, way: str, on_error: OnError
) -> Lines:
    """Yield (line number, answer) of a TREC run; ``way`` any allows runs that break rules.

    An answer's passages are its ``references``, then others cited by id; texts are the benchmark's.
    Citations of positions outside ``references`` count as wrong.

    Args:
        track: track in whose layout the run is.
        path: the file.
        benchmark: gives the texts of passages.
        way: ``any`` for runs that break the track's rules; else empty.
        on_error: gets the error of every report that cannot be read; None to raise it.

    Raises:
        UsageError: ``way`` is no option of these formats.
        InputError: file, line, field, and what would be right.
    """
    require_option(track, way)
    reports = list(read_reports(path, track, on_error))
    texts = benchmark.texts({i for r in reports for i in _list_passage_ids(r)})
    for report in reports:
        yield report.line, _to_submission_line(report, texts, benchmark.grammar.base)


def _list_passage_ids(report: TrecReport) -> list[str]:
    """List the passage ids of a report: its references, then other ids that it cites."""
    listed = report.references or []
    ids = set(listed)
    cited = (c for s in report.sentences for c in rank_citations(s.citations) if isinstance(c, str))
    return listed + [i for i in dict.fromkeys(cited) if i not in ids]


def _to_submission_line(
    report: TrecReport, texts: Mapping[str, tuple[str, str]], first_number: int
) -> SubmissionLine:
    """Convert a TREC report to a submission line, with a line of text per sentence.

    Args:
        report: the report.
        texts: (title, text) of passages, by id.
        first_number: number of the first passage in marks.
    """
    ids, n_listed = _list_passage_ids(report), len(report.references or [])
    n = len(ids)
    positions: dict[int | str, int] = {at: at for at in range(n_listed)}
    positions |= {name: i for i, name in reversed(list(enumerate(ids)))}
    beyond = count(n)  # citations of no passage
    lines, sentences = [], []
    for sentence in report.sentences:
        cited = rank_citations(sentence.citations)
        for citation in cited:
            if citation not in positions:
                positions[citation] = next(beyond)
        cited_positions = [positions[citation] for citation in cited]
        sentences.append(
            CitedSentence(sentence.text, [p if p < len(ids) else None for p in cited_positions])
        )
        if text := " ".join(sentence.text.split()):  # else its marks would be the line's before
            marks = "".join(
                f"[{first_number + position}]" for position in dict.fromkeys(cited_positions)
            )
            lines.append(_insert_marks(text, marks))
    passages = [OwnPassage(texts.get(i, ("", ""))[1], i, texts.get(i, ("", ""))[0]) for i in ids]
    return SubmissionLine(report.topic, "\n".join(lines), passages=passages, sentences=sentences)


def _insert_marks(sentence: str, marks: str) -> str:
    """Insert citation marks before a sentence's full stop.

    Behind it they would belong to the next sentence. A sentence that ends otherwise gets them after
    its last character.
    """
    stop = _FULL_STOP.search(sentence) if marks else None
    end = len(sentence) if stop is None else stop.start()
    return f"{sentence[:end]} {marks}{sentence[end:]}".strip()
