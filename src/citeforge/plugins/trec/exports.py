"""Submissions as runs of TREC's report tracks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from citeforge.engines.io.files import write_text
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.statements.split import strict_statements
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.reader import CLOSED_BOOK, OWN
from citeforge.plugins.trec.tracks import TRACKS, Track
from citeforge.publish.export.declared import ContextOptions, DroppedFields, Export
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.systems.names import fault_of
from citeforge.schemas.text import printable

RUN, TOPICS = "run.jsonl", "topics.jsonl"
_NO_ID = "citations of passages that were not shown, or have no id"
_STRAY = "citations that belong to no statement"
_TWICE = "citations that a sentence makes again: the track has each id once"
_REPEATED = "answers of repeated runs: a TREC run has one a topic"
_OTHER = "answers to other context sets"


class TrecOptions(ContextOptions):
    """Options of ``export trec-…``: the answers, and what a run says of itself."""

    context: str | None = None
    """Context set (default: the one that the answers are of)."""
    submission: Path
    """Answers of the run."""
    team: str | None = None
    """Id of the team."""
    run_id: str | None = None
    """Id of the run (default: the system's name)."""
    run_desc: str | None = None
    """What the run is, in a sentence."""
    run_type: Literal["automatic", "manual"] = "automatic"
    """Whether people took part."""
    task: str | None = None
    """RAGTIME 2025: multilingual or english."""
    starter_kit: bool = False
    """DRAGUN 2025: the run is made with the starter kit."""


@dataclass
class _Writer:
    """Makes reports of answers, and counts what they cannot carry."""

    benchmark: Benchmark
    track: Track
    options: TrecOptions
    run_id: str
    lost: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._segmenter = SentenceSegmenter()

    def report(self, query: str, text: str, answer: SubmissionLine, ids: Sequence[str]) -> Any:
        """One report, as the track lays it out.

        Args:
            query: id of the topic.
            text: text of the topic.
            answer: to it.
            ids: of the passages shown, in order; empty strings where they have none.
        """
        sentences = list(self._sentences(answer, ids))
        cited = list(dict.fromkeys(i for _, names in sentences for i in names))
        listed = self._listed(ids, cited)
        place = {name: i for i, name in enumerate(listed)}
        entries = [{"text": sentence, "citations": self._citations(names, place)}
                   for sentence, names in sentences]  # fmt: skip
        about = self._about(query, text, sentences)
        rows: dict[str, Any] = dict(about) if self.track.is_flat else {"metadata": about}
        # RAGTIME 2026 asks for no list, and rag-run-validator, which its runs pass through, does.
        if self.track.references != "free" or "scores" in self.track.styles:
            rows["references"] = listed
        return rows | {self.track.sentences: entries}

    def _sentences(
        self, answer: SubmissionLine, ids: Sequence[str]
    ) -> Iterator[tuple[str, list[str]]]:
        """The system's own sentences, else its statements, with the ids that each cites."""
        for text, positions in self._cited(answer, ids):
            names = [ids[p] if p is not None and 0 <= p < len(ids) else "" for p in positions]
            self.lost[_NO_ID] += names.count("")
            names = [name for name in names if name]
            if self.track.styles[0] == "scores":
                distinct = list(dict.fromkeys(names))
                self.lost[_TWICE] += len(names) - len(distinct)
                names = distinct
            yield text, names

    def _cited(
        self, answer: SubmissionLine, ids: Sequence[str]
    ) -> Iterator[tuple[str, Iterable[int | None]]]:
        if answer.sentences is not None:
            yield from ((sentence.text, sentence.citations) for sentence in answer.sentences)
            return
        grammar = self.benchmark.grammar
        reading = strict_statements(answer.output, grammar, self._segmenter, len(ids))
        self.lost[_STRAY] += sum(len(marker.numbers) for marker in reading.stray)
        for statement in reading.statements:
            positions = (n - grammar.base for n in statement.numbers)
            yield statement.text, list(dict.fromkeys(positions))

    def _listed(self, ids: Sequence[str], cited: list[str]) -> list[str]:
        """What ``references`` holds: what was shown, else what is cited."""
        if self.track.references != "shown" or "references_uncited" not in self.track.warns:
            return cited
        distinct = list(dict.fromkeys(i for i in ids if i))
        most = self.track.most_references
        if most is None:  # nothing is gained by entries that nobody cites
            return cited
        listed = {*list(dict.fromkeys([*cited, *distinct]))[: max(most, len(cited))]}
        return [name for name in distinct if name in listed]

    def _citations(self, names: list[str], place: dict[str, int]) -> Any:
        style = self.track.styles[0]
        if style == "index":
            return [place[name] for name in names]
        if style == "scores":  # falling, as the order says which support more
            return {name: 1 / rank for rank, name in enumerate(names, 1)}
        return names

    def _about(
        self, query: str, text: str, sentences: Sequence[tuple[str, list[str]]]
    ) -> dict[str, Any]:
        options = self.options
        metadata: dict[str, Any] = {
            "team_id": options.team,
            "run_id": self.run_id,
            "run_desc": options.run_desc,
            "type": options.run_type,
            "task": options.task,
            "use_starter_kit": int(options.starter_kit),
            "topic_id": query,
            "narrative_id": query,
            "topic": text,
            "narrative": text,
            "response_length": sum(len(sentence.split()) for sentence, _ in sentences),
        }
        field_names = (*self.track.required, *self.track.advised)
        return {name: metadata[name] for name in field_names if metadata[name] is not None}


def export_run(track: Track, folder: Path, out: Path, options: TrecOptions) -> DroppedFields:
    """Write a submission as a run of a track, with the topics that it answers.

    Args:
        track: whose layout is written.
        folder: benchmark that the submission answers.
        out: folder that gets ``run.jsonl`` and ``topics.jsonl``.
        options: answers, in any format that ``score`` reads, and what the run says of itself.

    Returns:
        What the format cannot carry.

    Raises:
        UsageError: there is no team where the track asks for one.
        InputError: an unreadable line, an unknown query, or no answer at all.
    """
    for name, value in (("team", options.team), ("run_desc", options.run_desc)):
        if {"team": "team_id"}.get(name, name) in track.required and not (value or "").strip():
            option = name.replace("_", "-")
            raise UsageError(f"{track.format}: {track.title} asks for --{option}")
    benchmark = Benchmark(folder)
    opened = Submission(options.submission, benchmark)
    run_id = opened.system if options.run_id is None else options.run_id
    for option, value in (("--team", options.team), ("--run-id", run_id)):
        if value is not None and (fault := fault_of(value)) is not None:
            raise UsageError(f"{option} {fault}")
    if track.most_run_id is not None and len(run_id) > track.most_run_id:
        raise UsageError(
            f"--run-id: {run_id!r} has {len(run_id)} characters; {track.title} allows "
            f"{track.most_run_id}"
        )
    context = opened.choose_context(options.context)
    frozen = context not in (OWN, CLOSED_BOOK)
    table = benchmark.context(context) if frozen else None
    writer = _Writer(benchmark, track, options, run_id)
    answers: dict[int, SubmissionLine] = {}
    for line, answer in opened.answers():
        row = benchmark.row_of.get(answer.query_id)
        if row is None:
            raise InputError(
                f"query_id {printable(answer.query_id)} is not in the benchmark",
                path=options.submission, line=line, allowed="see: citeforge check",
            )  # fmt: skip
        if frozen and (answer.passages is not None or answer.context not in (None, context)):
            writer.lost[_OTHER] += 1
        elif answer.run != 0 or row in answers:
            writer.lost[_REPEATED] += 1
        else:
            answers[row] = answer
    if not answers:
        raise InputError("holds no answer that a run could have", path=options.submission)
    texts: list[str] = benchmark.queries["text"].to_pylist()
    rows, topics = [], []
    for row in sorted(answers):
        query = benchmark.query_ids[row]
        brought = answers[row].passages or []
        ids = table.ids_of(row) if table is not None else [p.docid or "" for p in brought]
        rows.append(writer.report(query, texts[row], answers[row], ids))
        topics.append({"request_id": query, "title": texts[row]})
    for name, content in ((RUN, rows), (TOPICS, topics)):
        write_text(out / name, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in content))
    missing = len(texts) - len(answers)
    lost = [f"{n:,} {what}" for what, n in sorted(writer.lost.items()) if n]
    return [*lost, *([f"{missing:,} queries without an answer"] if missing else [])]


def _export(track: Track) -> Export:
    about = f"Answers as a run of {track.title}."
    return Export(track.format, about, partial(export_run, track), TrecOptions)


# In the order of TRACKS. A name that does not fit is refused when its entry point is loaded.
RAG24, RAG25, RAG26, RAGTIME25, RAGTIME26, DRAGUN25, NEUCLIR24 = map(_export, TRACKS)
