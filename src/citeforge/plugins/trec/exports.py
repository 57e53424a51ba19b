"""``export trec-…``: submissions written as runs of TREC's report tracks."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from citeforge.engines.files import write_text
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, OWN, Benchmark, LineIndex
from citeforge.evaluator.submissions.submission import Submission
from citeforge.plugins.trec.tracks import TRACKS, Style, Track
from citeforge.publishing.export import ContextOptions, DroppedFields, Export
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.counts import count_line
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.systems import name_problem
from citeforge.schemas.submission import CitedSentence, SubmissionLine

RUN, TOPICS = "run.jsonl", "topics.jsonl"
_WITHOUT_ID = "citations of passages that were not shown, or have no id"
_STRAY = "citations that belong to no statement"
_TWICE = "citations that a sentence makes again: the track has each id once"
_REPEATED = "answers of repeated runs: a TREC run has one per topic"
_OTHER = "answers to other context sets"


class TrecOptions(ContextOptions):
    """Options of ``export trec-…``: the answers, and the metadata of the run."""

    context: str | None = None
    """Context set (default: the one that the answers are of)."""
    submission: Path
    """Answers of the run."""
    team: str | None = None
    """Id of the team."""
    run_id: str | None = None
    """Id of the run (default: the system's name)."""
    run_desc: str | None = None
    """Description of the run, in a sentence."""
    run_type: Literal["automatic", "manual"] = "automatic"
    """Whether people took part."""
    task: str | None = None
    """RAGTIME 2025: multilingual or english."""
    starter_kit: bool = False
    """DRAGUN 2025: the run is made with the starter kit."""


@dataclass
class _ReportWriter:
    """Writes answers as reports of a track, and counts what these cannot contain."""

    grammar: Grammar
    track: Track
    about: dict[str, Any]
    dropped: Counter[str] = field(default_factory=Counter)
    _segmenter: SentenceSegmenter = field(default_factory=SentenceSegmenter)

    def make_report(self, query: str, text: str, answer: SubmissionLine, ids: Sequence[str]) -> Any:
        """Convert one answer to a report in the TREC track's layout.

        Args:
            query: id of the topic.
            text: text of the topic.
            answer: answer to the topic.
            ids: ids of the passages shown, in order; an empty text for one without an id.
        """
        sentences = [
            (s.text, self._cited_ids(s, ids)) for s in self._split_sentences(answer, len(ids))
        ]
        listed = self._select_references(
            ids, list(dict.fromkeys(i for _, names in sentences for i in names))
        )
        values = self.about | {
            "topic_id": query,
            "narrative_id": query,
            "topic": text,
            "narrative": text,
            "response_length": sum(len(sentence.split()) for sentence, _ in sentences),
        }
        about = {
            name: values[name]
            for name in (*self.track.required, *self.track.advised)
            if values[name] is not None
        }
        rows: dict[str, Any] = about if self.track.is_flat else {"metadata": about}
        # RAGTIME 2026 requires no references, but rag-run-validator, which checks its runs, does.
        if self.track.references != "free" or "scores" in self.track.styles:
            rows["references"] = listed
        cited: dict[Style, Callable[[list[str]], Any]] = {
            "index": lambda names: [listed.index(name) for name in names],
            "ids": list,
            # falling confidences, because the order shows which passages support more
            "scores": lambda names: {name: 1 / rank for rank, name in enumerate(names, 1)},
        }
        entries = [
            {"text": sentence, "citations": cited[self.track.styles[0]](names)}
            for sentence, names in sentences
        ]
        return rows | {self.track.sentences: entries}

    def _split_sentences(self, answer: SubmissionLine, n_shown: int) -> Sequence[CitedSentence]:
        """Get an answer's cited sentences: as the system split them, else from its text."""
        if answer.sentences is not None:
            return answer.sentences
        grammar = self.grammar
        reading = split_statements(answer.output, grammar, self._segmenter, n_shown)
        self.dropped[_STRAY] += sum(len(marker.numbers) for marker in reading.stray)
        return [
            CitedSentence(s.text, [n - grammar.base for n in dict.fromkeys(s.numbers)])
            for s in reading.statements
        ]

    def _cited_ids(self, sentence: CitedSentence, ids: Sequence[str]) -> list[str]:
        """List the ids of the passages that a sentence cites; count passages without an id.

        Args:
            sentence: sentence with the positions of the passages that it cites.
            ids: ids of the passages shown, in order; an empty text for one without an id.
        """
        positions = sentence.citations
        names = [ids[p] if p is not None and 0 <= p < len(ids) else "" for p in positions]
        self.dropped[_WITHOUT_ID] += names.count("")
        names = [name for name in names if name]
        if self.track.styles[0] == "scores":
            distinct = list(dict.fromkeys(names))
            self.dropped[_TWICE] += len(names) - len(distinct)
            names = distinct
        return names

    def _select_references(self, ids: Sequence[str], cited: list[str]) -> list[str]:
        """Select the passage ids in a report's ``references``: cited ones, then shown ones.

        A track takes entries that are not cited where it has a limit and its checker has a warning
        for them; others want the cited ones alone.
        """
        most = self.track.most_references
        if most is None or "references_uncited" not in self.track.warns:
            return cited
        distinct = list(dict.fromkeys(i for i in ids if i))
        listed = {*list(dict.fromkeys([*cited, *distinct]))[: max(most, len(cited))]}
        return [name for name in distinct if name in listed]


def export_run(track: Track, folder: Path, out: Path, options: TrecOptions) -> DroppedFields:
    """Export a submission as a run of a TREC track with its topics; return what is left out.

    Args:
        track: track in whose layout the run is written.
        folder: benchmark that the submission answers.
        out: folder that gets ``run.jsonl`` and ``topics.jsonl``.
        options: answers, in any format that ``score`` reads, and the run's metadata.

    Returns:
        What the format cannot contain, one line each.

    Raises:
        UsageError: the track requires a team or a description that is missing.
        InputError: an unreadable line, an unknown query, or no answer at all.
    """
    benchmark = Benchmark(folder)
    opened = Submission(options.submission, benchmark)
    run_id = opened.system if options.run_id is None else options.run_id
    for name, option in (("team_id", "team"), ("run_desc", "run-desc")):
        value: str | None = getattr(options, option.replace("-", "_"))
        if name in track.required and not (value or "").strip():
            raise UsageError(
                f"{track.format}: {track.title} requires --{option}", code="missing-option"
            )
    for option, value in (("--team", options.team), ("--run-id", run_id)):
        if value is not None and (fault := name_problem(value)) is not None:
            raise UsageError(f"{option} {fault}", code="bad-name")
    if track.most_run_id is not None and len(run_id) > track.most_run_id:
        raise UsageError(
            f"--run-id: {run_id!r} has {len(run_id)} characters; {track.title} allows "
            f"{track.most_run_id}",
            code="too-long",
        )
    context = opened.choose_context(options.context)
    table = None if context in (OWN, CLOSED_BOOK) else benchmark.context(context)
    about = {
        "team_id": options.team, "run_id": run_id, "run_desc": options.run_desc,
        "type": options.run_type, "task": options.task, "use_starter_kit": int(options.starter_kit),
    }  # fmt: skip
    writer = _ReportWriter(opened.grammar, track, about)
    line_index = LineIndex(options.submission, benchmark)
    answers: dict[int, SubmissionLine] = {}
    for line, answer in opened.answers():
        if table is not None and not line_index.is_about(line, answer, context):
            writer.dropped[_OTHER] += 1
            continue
        row = line_index.row(line, answer, context)
        if answer.run != 0:
            writer.dropped[_REPEATED] += 1
        else:
            answers[row] = answer
    if not answers:
        raise InputError(
            "contains no answer for a run of the track", path=options.submission, code="no-answers"
        )
    texts: list[str] = benchmark.queries["text"].to_pylist()
    rows, topics = [], []
    for row in sorted(answers):
        query = benchmark.query_ids[row]
        brought = answers[row].passages or []
        ids = table.ids_of(row) if table is not None else [p.docid or "" for p in brought]
        rows.append(writer.make_report(query, texts[row], answers[row], ids))
        topics.append({"request_id": query, "title": texts[row]})
    for name, content in ((RUN, rows), (TOPICS, topics)):
        write_text(out / name, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in content))
    missing = len(texts) - len(answers)
    dropped = [count_line(what, n) for what, n in sorted(writer.dropped.items()) if n]
    return [*dropped, *([f"{count_text(missing, 'query')} without an answer"] if missing else [])]


# In the order of TRACKS. A name that does not fit is refused when its entry point is loaded.
RAG24, RAG25, RAG26, RAGTIME25, RAGTIME26, DRAGUN25, NEUCLIR24 = (
    Export(t.format, f"Answers as a run of {t.title}.", partial(export_run, t), TrecOptions)
    for t in TRACKS
)
