"""Files of assessments: labels of support, nuggets, criteria of rubrics, DRAGUN's questions.

The layouts are those that the tracks and their tools publish. Files may hold labels of several
runs, or nothing but what an answer should say; then a judge labels.

- JSON Lines, one answer a line, named by ``qid``, ``topic_id``, ``narrative_id``, ``query_id`` or
  ``sample_id``, and by ``run_id``, ``runtag``, ``run_tag`` or ``run`` (none: whatever is scored):
  ``sentences`` (TREC RAG's support), ``nuggets`` (nuggetizer), ``criteria`` or ``rubrics``; or one
  criterion a line (ResearchRubrics' results);
- a JSON file, or a folder of them: the same rows, or DRAGUN's rubrics;
- CSV: DRAGUN's labels, one short answer a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from citeforge.engines.io.files import digest, digest_folder, read_json, sha256_file
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.io.textfiles import read_csv
from citeforge.schemas.errors import InputError

K = TypeVar("K")
V = TypeVar("V")
Key = tuple[str, str]
"""(run, topic); no run where a file names none."""
VITAL = "vital"
ASSIGNMENTS = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, "failed": None}
VERDICTS = {"satisfied": 1.0, "partially_satisfied": 0.5, "not_satisfied": 0.0}
ANNOTATIONS = {"supports": 1.0, "partial": 0.5, "none": 0.0, "contradicts": -1.0}
IMPORTANCE = {"have to know": 4.0, "good to know": 2.0, "nice to know": 1.0}
SUPPORT = {"2": 1.0, "1": 0.5, "0": 0.0, "-1": None}
"""FS, PS, NS, and not judged."""


@dataclass(frozen=True)
class Point:
    """One thing that an answer is held against: a nugget, a criterion, a short answer.

    Attributes:
        text: what it says.
        value: label, from 0 to 1, of DRAGUN from -1; None without one.
        weight: of a criterion, or of the question of a short answer.
        group: importance of a nugget; question of a short answer.
        id: of a short answer.
    """

    text: str
    value: float | None = None
    weight: float = 1.0
    group: str = ""
    id: str = ""


Points = tuple[Point, ...]
SentenceLabels = tuple[tuple[float | None, ...], ...]
"""Support of the citations of each sentence; None for one that nobody judged."""


@dataclass
class PointLists:
    """Points of topics, and their labels in the answers of runs.

    Attributes:
        points: topic to its points, without labels.
        labels: (run, topic) to the same with labels.
    """

    points: dict[str, Points] = field(default_factory=dict)
    labels: dict[Key, Points] = field(default_factory=dict)

    def of(self, names: Sequence[str], topic: str) -> Points | None:
        """Points of a topic, with the labels of a run where there are any.

        Args:
            names: what files may call the run.
            topic: id of a query.
        """
        return answer_labels(self.labels, names, topic) or self.points.get(topic)


def answer_labels(labels: Mapping[Key, V], names: Sequence[str], topic: str) -> V | None:
    """Labels of an answer; None where there are none."""
    return next((labels[n, topic] for n in (*names, "") if (n, topic) in labels), None)


@dataclass
class Assessments:
    """All that the files say."""

    support: dict[Key, SentenceLabels] = field(default_factory=dict)
    nuggets: PointLists = field(default_factory=PointLists)
    criteria: PointLists = field(default_factory=PointLists)
    questions: PointLists = field(default_factory=PointLists)


class _Citation(msgspec.Struct):
    support: int | str


class _Sentence(msgspec.Struct):
    citations: list[_Citation] = []


class _Nugget(msgspec.Struct):
    text: str
    importance: str = "okay"
    assignment: str | None = None


class _ShortAnswer(msgspec.Struct):
    answer_id: str
    answer_text: str = ""
    text: str = ""


class _Criterion(msgspec.Struct):
    """A criterion, or one of DRAGUN's questions; layouts name the same fields differently."""

    text: str = ""
    title: str = ""
    criterion: str = ""
    weight: float | None = None
    points: float | None = None
    verdict: str | None = None
    criteria_met: bool | None = None
    question_id: str = ""
    question_text: str = ""
    importance: str = ""
    short_answers: list[_ShortAnswer] | None = None


class _Row(msgspec.Struct):
    """All layouts at once; fields of no interest are passed over."""

    qid: str | int | None = None
    topic_id: str | int | None = None
    narrative_id: str | int | None = None
    query_id: str | int | None = None
    sample_id: str | int | None = None
    run_id: str | int | None = None
    runtag: str | int | None = None
    run_tag: str | int | None = None
    run: str | int | None = None
    sentences: list[_Sentence] | None = None
    nuggets: list[_Nugget] | None = None
    criteria: list[_Criterion] | None = None
    rubrics: list[_Criterion] | None = None
    rubric_title: str | None = None
    weight: float | None = None
    verdict: str | None = None


def assessments_digest(paths: Sequence[Path]) -> str:
    """Eight hex digits over the content of the files, for signatures.

    Raises:
        InputError: one cannot be read.
    """
    return digest([digest_folder(p) if p.is_dir() else sha256_file(p) for p in paths])[:8]


def read_assessments(paths: Sequence[Path]) -> Assessments:
    """What files of assessments say.

    Args:
        paths: files, or folders of JSON files.

    Raises:
        InputError: file, line, what is wrong, and what would be right.
    """
    reader = _Reader()
    for path in paths:
        reader.read(path)
    return reader.finish()


class _Reader:
    """Reads one file after the other; DRAGUN's labels and rubrics are joined at the end."""

    def __init__(self) -> None:
        self._found = Assessments()
        self._flat: dict[Key, list[tuple[Point, _Place]]] = {}
        self._annotations: dict[Key, dict[str, tuple[float, Path, int]]] = {}

    def read(self, path: Path) -> None:
        if path.is_dir():
            files = sorted(path.glob("*.json"))
            if not files:
                raise InputError("holds no .json file", path=path, allowed="DRAGUN's rubrics")
            for file in files:
                self.read(file)
        elif path.suffix == ".csv":
            self._read_annotations(path)
        else:
            rows = _json_rows(path) if path.suffix == ".json" else read_rows(path, _Row)
            for line, row in rows:
                self._add(row, _Place(path, line))

    def finish(self) -> Assessments:
        for (run, topic), several in self._flat.items():
            points = tuple(point for point, _ in several)
            _keep(self._found.criteria, run, topic, points, True, several[0][1])
        questions = self._found.questions
        for (run, topic), labels in self._annotations.items():
            points = questions.points.get(topic, ())
            point_ids = {p.id for p in points}
            for name, (_, path, line) in labels.items():
                if name not in point_ids:
                    raise InputError(
                        f"{name!r} of topic {topic!r} stands in no rubric",
                        path=path, line=line, field="answer_id",
                        allowed="give the track's rubrics (human_rubrics) with --assessments, too",
                    )  # fmt: skip
            questions.labels[run, topic] = tuple(
                replace(p, value=labels[p.id][0] if p.id in labels else None) for p in points
            )
        return self._found

    def _add(self, row: _Row, place: _Place) -> None:
        topic = _name(row.qid, row.topic_id, row.narrative_id, row.query_id, row.sample_id)
        run = _name(row.run_id, row.runtag, row.run_tag, row.run)
        if not topic:
            raise place.wrong("names no topic", "qid", "the id of a query of the benchmark")
        if row.sentences is not None:
            labels = tuple(
                tuple(place.label(c.support, SUPPORT, "support") for c in s.citations)
                for s in row.sentences
            )
            _once(self._found.support, (run, topic), labels, place)
        elif row.nuggets is not None:
            nuggets = tuple(
                Point(n.text, place.label(n.assignment, ASSIGNMENTS, "assignment"),
                      group=n.importance)
                for n in row.nuggets
            )  # fmt: skip
            is_labelled = any(n.assignment is not None for n in row.nuggets)
            _keep(self._found.nuggets, run, topic, nuggets, is_labelled, place)
        elif (several := row.criteria if row.rubrics is None else row.rubrics) is not None:
            if any(c.short_answers is not None for c in several):
                answers = tuple(p for c in several for p in _short_answers(c, place))
                _keep(self._found.questions, run, topic, answers, False, place)
            else:
                points = tuple(_criterion(c, place) for c in several)
                is_labelled = any(p.value is not None for p in points)
                _keep(self._found.criteria, run, topic, points, is_labelled, place)
        elif row.rubric_title is not None:
            one = _Criterion(row.rubric_title, weight=row.weight, verdict=row.verdict)
            self._flat.setdefault((run, topic), []).append((_criterion(one, place), place))
        else:
            raise place.wrong("assesses nothing", None, "sentences, nuggets, criteria or rubrics")

    def _read_annotations(self, path: Path) -> None:
        """DRAGUN's labels: of people (``annotation``), or of its judge (``auto_assessment``)."""
        for line, row in read_csv(path, ("topic_id", "run_tag", "answer_id")):
            place = _Place(path, line)
            column = "annotation" if "annotation" in row else "auto_assessment"
            if column not in row:
                raise place.wrong("has no label", None, "the column annotation or auto_assessment")
            value = place.label(row[column], ANNOTATIONS, column)
            if value is None:
                raise place.wrong("is empty", column, ", ".join(ANNOTATIONS))
            labels = self._annotations.setdefault((row["run_tag"], row["topic_id"]), {})
            first = labels.setdefault(row["answer_id"], (value, path, line))
            if first[0] != value:
                raise place.wrong(f"says otherwise than line {first[2]}", column, "one label each")


@dataclass(frozen=True)
class _Place:
    """Where a row stands."""

    path: Path
    line: int | None

    def wrong(self, message: str, name: str | None, allowed: str) -> InputError:
        return InputError(message, path=self.path, line=self.line, field=name, allowed=allowed)

    def label(
        self, label: str | int | None, values: Mapping[str, float | None], name: str
    ) -> float | None:
        """The value of a label; None without one.

        Raises:
            InputError: it is unknown.
        """
        word = "" if label is None else "_".join(str(label).lower().split())
        word = "failed" if word == "fail" else word
        if not word:
            return None
        if word not in values:
            raise self.wrong(f"{label!r} is no label", name, ", ".join(values))
        return values[word]


def _json_rows(path: Path) -> Iterator[tuple[None, _Row]]:
    content = read_json(path)
    for row in content if isinstance(content, list) else [content]:
        try:
            yield None, msgspec.convert(row, _Row)
        except msgspec.ValidationError as error:
            raise InputError(str(error), path=path, allowed="as docs/scoring.md shows") from error


def _name(*names: str | int | None) -> str:
    return next((str(n) for n in names if n not in (None, "")), "")


def _criterion(row: _Criterion, place: _Place) -> Point:
    weight = row.points if row.weight is None else row.weight
    if weight is None:
        raise place.wrong("a criterion has no weight", "weight", "a number; negative for faults")
    verdict = row.verdict
    if row.criteria_met is not None:
        verdict = "satisfied" if row.criteria_met else "not_satisfied"
    text = row.text or row.title or row.criterion
    return Point(text, place.label(verdict, VERDICTS, "verdict"), weight)


def _short_answers(row: _Criterion, place: _Place) -> Iterator[Point]:
    importance = row.importance.rpartition(":")[2].strip().lower()
    if importance not in IMPORTANCE:
        raise place.wrong(
            f"{row.importance!r} is no importance", "importance", ", ".join(IMPORTANCE)
        )
    for answer in row.short_answers or ():
        text = f"{row.question_text} {answer.answer_text or answer.text}".strip()
        weight = IMPORTANCE[importance]
        yield Point(text, None, weight, row.question_id, answer.answer_id)


def _keep(
    lists: PointLists, run: str, topic: str, points: Points, is_labelled: bool, place: _Place
) -> None:
    """Keep the points of a row, and its labels where it has any."""
    bare = tuple(replace(p, value=None) for p in points)
    if is_labelled:
        _once(lists.labels, (run, topic), points, place)
        lists.points.setdefault(topic, bare)
    else:
        _once(lists.points, topic, bare, place)


def _once(table: dict[K, V], key: K, value: V, place: _Place) -> None:
    """Set what may be set once; the same again changes nothing."""
    if table.setdefault(key, value) != value:
        raise place.wrong(
            f"is about {key!r}, which stands in the files already, and differs",
            None,
            "one row each",
        )
