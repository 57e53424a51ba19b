"""Formats of TREC's report tracks, one per track, with the rules of each for reports.

A broken rule is an error or a warning.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import Fault, Format
from citeforge.plugins.trec.reports import (
    ReportSentence,
    TrecReport,
    cited_ids,
    read_reports,
    read_trec_run,
    run_id,
    style_of,
    track_of,
)
from citeforge.plugins.trec.tracks import TRACKS, Track

_STYLES = {
    "index": "places in references, from 0",
    "ids": "ids",
    "scores": "ids with confidences",
    "mixed": "places and ids at once",
}
Rule = Iterator[tuple[str, str]]
"""Names of rules, as autojudge-base has them, and how they are broken; codes have dashes."""


def breaches(report: TrecReport, track: Track, topic_text: str | None = None) -> list[Fault]:
    """List the rules of a track that a report breaks.

    Args:
        report: as it was read.
        track: whose rules hold.
        topic_text: the topic's text, which some tracks want copied; None where it is not known.
    """
    if not any(s.text.strip() for s in report.sentences):
        faults = [("empty_answer", f"{track.sentences}: has no sentence with text")]
    else:
        faults = [
            *_about(report, track, topic_text),
            *(f for i, s in enumerate(report.sentences) for f in _sentence(report, track, i, s)),
            *_references(report, track),
            *_length(report, track),
        ]
    result = []
    for rule, text in faults:
        field, _, message = text.partition(": ")
        is_error = rule not in track.warns
        code = rule.replace("_", "-")
        result.append(Fault(code, message, report.line, field, is_error=is_error))
    return result


def _about(report: TrecReport, track: Track, topic_text: str | None) -> Rule:
    """Check a report's metadata against the rules of its track."""
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


def _sentence(report: TrecReport, track: Track, number: int, sentence: ReportSentence) -> Rule:
    """Check a sentence and its citations against the rules of the track."""
    place = f"{track.sentences}[{number}]"
    style = style_of(sentence)
    if style is not None and style not in track.styles:
        styles = " or ".join(_STYLES[s] for s in track.styles)
        yield "citation_format", f"{place}.citations: {_STYLES[style]}; {track.title} has {styles}"
        return
    if not sentence.text.strip():
        yield "blank_sentence", f"{place}.text: is empty"
    n = len(sentence.citations or ())
    if track.most_citations is not None and n > track.most_citations:
        yield (
            "citation_count",
            f"{place}.citations: {n} of them; {track.most_citations} are looked at",
        )
    listed = report.references or []
    for citation in sentence.citations or () if style == "index" else ():
        if isinstance(citation, int) and not 0 <= citation < len(listed):
            yield (
                "reference_index",
                f"{place}.citations: {citation} is no place in references, which has "
                f"{len(listed)} (0 is the first)",
            )
    for name in cited_ids(sentence, listed):
        yield from _docid(track, name, f"{place}.citations")


def _docid(track: Track, name: str, place: str) -> Rule:
    """Check an id against the pattern of ids in the track's collection."""
    if track.docid is not None and re.fullmatch(track.docid, name) is None:
        yield (
            "docid_pattern",
            f"{place}: {name!r} is no id of {track.title}'s collection ({track.docid})",
        )


def _references(report: TrecReport, track: Track) -> Rule:
    """Check a report's list of references against the rules of its track."""
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
        yield "references_duplicate", f"references: {twice!r} stands there more than once"
    for name in listed:
        yield from _docid(track, name, "references")
    if undeclared := [name for name in cited if name not in listed_ids]:
        yield (
            "references_undeclared",
            f"references: lacks {len(undeclared):,} cited ids (first: {undeclared[0]})",
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


def _length(report: TrecReport, track: Track) -> Rule:
    """Check a report's number of words against the track's limit."""
    words = len(" ".join(s.text for s in report.sentences).split())
    if track.most_words is not None and words > track.most_words:
        yield "length", f"{track.sentences}: {words:,} words; {track.most_words:,} are allowed"


def run_breaches(track: Track, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
    """List the rules of a track that a run breaks, in its reports and as a whole.

    Args:
        track: whose rules hold.
        path: the run.
        benchmark: its topics.
        options: of ``--format``; a run has none.
    """
    topics = dict(zip(benchmark.query_ids, benchmark.queries["text"].to_pylist(), strict=True))
    lines: dict[str, int] = {}
    for report in list(read_reports(path, track, lambda _: None)):
        yield from breaches(report, track, topics.get(report.topic))
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


def _looks(track: Track, path: Path, start: bytes) -> bool:
    """Whether the first line of a file looks like a report of this track."""
    line = start.split(b"\n", 1)[0]
    return b'"query_id"' not in line and track_of(line) == track.format


def _format(track: Track) -> Format:
    """Declare the file format of a track."""
    return Format(
        track.format,
        partial(read_trec_run, track),
        looks=partial(_looks, track),
        rank=20,
        system=partial(run_id, track),
        faults=partial(run_breaches, track),
    )


# In the order of TRACKS. A name that does not fit is refused when its entry point is loaded.
RAG24, RAG25, RAG26, RAGTIME25, RAGTIME26, DRAGUN25, NEUCLIR24 = map(_format, TRACKS)
