"""Rules of TREC's report tracks for reports.

A broken rule is an error or a warning, as the track declares.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import Fault
from citeforge.plugins.trec.reports import (
    TrecReport,
    citation_style,
    cited_ids,
    guess_tracks,
    read_reports,
    require_option,
)
from citeforge.plugins.trec.tracks import ANY, Track
from citeforge.schemas.submission import HEADER

_STYLES = {
    "index": "places in references, from 0",
    "ids": "ids",
    "scores": "ids with confidences",
    "mixed": "places and ids at once",
}
_MOST_IDS = 1000
"""Passages whose ids tell the collection."""
BrokenRules = Iterator[tuple[str, str]]
"""(rule's name in autojudge-base, with ``_`` for the ``-`` of codes; message) per broken rule."""


def check_report(report: TrecReport, track: Track, topic_text: str | None = None) -> list[Fault]:
    """List the TREC track's rules that a report breaks, as errors and warnings.

    Args:
        report: report to check.
        track: track with the rules.
        topic_text: text of the topic, which some tracks want copied; None where it is unknown.
    """
    if not any(s.text.strip() for s in report.sentences):
        faults = [("empty_answer", f"{track.sentences}: has no sentence with text")]
    else:
        faults = [
            *_check_metadata(report, track, topic_text),
            *(f for i in range(len(report.sentences)) for f in _check_sentence(report, track, i)),
            *_check_references(report, track),
            *_check_length(report, track),
        ]
    result = []
    for rule, text in faults:
        field, _, message = text.partition(": ")
        is_error = rule not in track.warns
        code = rule.replace("_", "-")
        result.append(Fault(code, message, report.line, field, is_error=is_error))
    return result


def _check_metadata(report: TrecReport, track: Track, topic_text: str | None) -> BrokenRules:
    """Yield the rules on metadata (fields, run's id, topic) that a report breaks.

    Returns:
        (rule, field and what is wrong in it) of each broken rule.
    """
    where = "" if track.is_flat else "metadata."
    for rule, names in (("metadata", track.required), ("metadata_recommended", track.advised)):
        for name in names:
            value = report.about.get(name)
            if value is None or (isinstance(value, str) and not value.strip()):
                verb = "asks for" if rule == "metadata" else "recommends"
                yield rule, f"{where}{name}: is missing or empty; {track.title} {verb} it"
    run_id = str(report.about.get("run_id") or "")
    if track.most_run_id is not None and len(run_id) > track.most_run_id:
        yield (
            "run_id_length",
            f"{where}run_id: has {len(run_id)} characters; {track.most_run_id} are allowed",
        )
    if track.copies_topic and topic_text is not None:
        narrative = report.about.get("narrative")
        if narrative not in (None, "", topic_text):
            yield "narrative", f"{where}narrative: is not the text of the topic, word for word"


def _check_sentence(report: TrecReport, track: Track, sentence_number: int) -> BrokenRules:
    """Yield the rules on citations and text that a report's sentence breaks.

    Args:
        report: the report.
        track: track with the rules.
        sentence_number: index of the sentence.

    Returns:
        (rule, field and what is wrong in it) of each broken rule.
    """
    sentence, field = report.sentences[sentence_number], f"{track.sentences}[{sentence_number}]"
    style = citation_style(sentence)
    if style is not None and style not in track.styles:
        styles = " or ".join(_STYLES[s] for s in track.styles)
        yield "citation_format", f"{field}.citations: {_STYLES[style]}; {track.title} has {styles}"
        return
    if not sentence.text.strip():
        yield "blank_sentence", f"{field}.text: is empty"
    n = len(sentence.citations or ())
    if track.most_citations is not None and n > track.most_citations:
        yield (
            "citation_count",
            f"{field}.citations: {n} of them; {track.most_citations} are looked at",
        )
    listed = report.references or []
    for citation in sentence.citations or () if style == "index" else ():
        if isinstance(citation, int) and not 0 <= citation < len(listed):
            yield (
                "reference_index",
                f"{field}.citations: {citation} is no place in references, which has "
                f"{len(listed)} (0 is the first)",
            )
    for name in cited_ids(sentence, listed):
        yield from _check_docid(track, name, f"{field}.citations")


def _check_docid(track: Track, passage_id: str, field: str) -> BrokenRules:
    """Yield a broken rule if a passage id does not match the track's collection."""
    if track.docid is not None and re.fullmatch(track.docid, passage_id) is None:
        yield (
            "docid_pattern",
            f"{field}: {passage_id!r} is no id of {track.title}'s collection ({track.docid})",
        )


def _check_references(report: TrecReport, track: Track) -> BrokenRules:
    """Yield the rules on references (duplicates, ids, number, use) that a report breaks."""
    if track.references == "free":
        return
    listed = report.references
    if listed is None:
        yield "references_missing", f"references: is missing; {track.title} asks for it"
        return
    cited = dict.fromkeys(i for s in report.sentences for i in cited_ids(s, listed))
    listed_ids = set(listed)
    if len(listed_ids) < len(listed):
        ((twice, _),) = Counter(listed).most_common(1)
        yield "references_duplicate", f"references: {twice!r} is listed more than once"
    for name in listed:
        yield from _check_docid(track, name, "references")
    if undeclared := [name for name in cited if name not in listed_ids]:
        yield (
            "references_undeclared",
            f"references: {len(undeclared):,} cited ids are missing (first: {undeclared[0]})",
        )
    if track.most_references is not None and len(listed) > track.most_references:
        yield (
            "references_max",
            f"references: has {len(listed):,} entries; {track.most_references} are allowed",
        )
    if unused := [name for name in dict.fromkeys(listed) if name not in cited]:
        yield (
            "references_uncited",
            f"references: {len(unused):,} entries are not cited (first: {unused[0]})",
        )


def _check_length(report: TrecReport, track: Track) -> BrokenRules:
    """Yield a broken rule if a report has more words than the track allows."""
    words = len(" ".join(s.text for s in report.sentences).split())
    if track.most_words is not None and words > track.most_words:
        yield "length", f"{track.sentences}: {words:,} words; {track.most_words:,} are allowed"


def check_run(track: Track, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
    """Yield the TREC track's rules that a run file breaks, as errors and warnings.

    Ids have to be of the track's collection only where the benchmark's corpus is.

    Args:
        track: track with the rules.
        path: file of the run.
        benchmark: benchmark with the topics.
        options: ``any`` to take a run that the track would refuse, with warnings.
    """
    require_option(track, options)
    if not _has_collection(benchmark, track):
        track = track.model_copy(update={"docid": None})
    for fault in _check_reports(track, path, benchmark):
        yield replace(fault, is_error=False) if options == ANY else fault


def _has_collection(benchmark: Benchmark, track: Track) -> bool:
    """Whether a benchmark's passages are of the TREC track's collection, by their first ids."""
    if track.docid is None or benchmark.has_graphs:
        return False
    first = next(iter(benchmark.passages(["_id"])), None)
    ids = [] if first is None else first["_id"][:_MOST_IDS].to_pylist()
    return bool(ids) and all(re.fullmatch(track.docid, name) for name in ids)


def _check_reports(track: Track, path: Path, benchmark: Benchmark) -> Iterator[Fault]:
    """Yield the rules that reports of a run file break, and that of one run per file."""
    topics = dict(zip(benchmark.query_ids, benchmark.queries["text"].to_pylist(), strict=True))
    lines: dict[str, int] = {}
    for report in list(read_reports(path, track, lambda _: None)):
        yield from check_report(report, track, topics.get(report.topic))
        run = str(report.about.get("run_id") or "")
        if run and lines and run not in lines:
            first = next(iter(lines))
            yield Fault(
                "run-ids",
                f"{run!r}, and {first!r} at line {lines[first]}; a file contains one run",
                report.line,
                "run_id",
            )
        if run:
            lines.setdefault(run, report.line)


def find_formats(start: bytes) -> tuple[str, ...]:
    """List the names of the TREC formats that a file's first bytes fit, most likely first."""
    first, _, rest = start.partition(b"\n")
    start = rest if HEADER.match(first) else start
    return () if b'"query_id"' in start.partition(b"\n")[0] else guess_tracks(start)
