"""Files of TREC's assessments: labels of support, nuggets, rubrics' criteria, DRAGUN's questions.

The layouts are those that the tracks and their tools publish. Files may contain labels of several
runs, or points of a good answer without labels; a judge labels those.

- JSON Lines, one answer per line, named by ``qid``, ``topic_id``, ``narrative_id`` or ``query_id``,
  and by ``run_id``, ``runtag``, ``run_tag`` or ``run`` (none: any run):
  ``sentences`` (TREC RAG's support), ``nuggets`` (nuggetizer), ``criteria`` or ``rubrics``;
- a JSON file, or a folder of them: the same rows, or DRAGUN's rubrics;
- CSV: a sheet of nuggets (``labels propose nuggets``), or DRAGUN's labels, a row each.

Measures get them by :func:`load_assessments`, once per submission; signatures have their hash.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from citeforge.engines.files import digest, digest_path, read_json
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.textfiles import read_csv, unescape_formula
from citeforge.evaluator.measures.values import Value
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.evaluator.submissions.tools import CannotError, ScoringTools
from citeforge.schemas.errors import InputError
from citeforge.schemas.nuggets import (
    KEEP,
    NO,
    NUGGET,
    NUGGET_IMPORTANCE,
    OKAY,
    QUERY,
    VITAL,
    YES,
)

K = TypeVar("K")
V = TypeVar("V")
Key = tuple[str, str]
"""(run, topic); no run where a file names none."""
ASSIGNMENTS = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, "failed": None}
VERDICTS = {"satisfied": 1.0, "partially_satisfied": 0.5, "not_satisfied": 0.0}
ANNOTATIONS = {"supports": 1.0, "partial": 0.5, "none": 0.0, "contradicts": -1.0}
IMPORTANCE = {"have to know": 4.0, "good to know": 2.0, "nice to know": 1.0}
SUPPORT = {"2": 1.0, "1": 0.5, "0": 0.0, "-1": None}
"""FS, PS, NS, and not judged."""


@dataclass(frozen=True)
class Point:
    """A nugget, criterion or short answer that an answer should contain.

    Attributes:
        text: content of the point.
        value: label from 0 to 1, for DRAGUN from -1; None without one.
        weight: weight of a criterion, or of a short answer's question.
        group: importance of a nugget; question of a short answer.
        id: id of a short answer.
    """

    text: str
    value: float | None = None
    weight: float = 1.0
    group: str = ""
    id: str = ""


Points = tuple[Point, ...]
SentenceLabels = tuple[tuple[float | None, ...], ...]
"""Support of the citations of each sentence; None for one that is not judged."""


@dataclass
class PointLists:
    """Points that topics' answers should contain, and their labels in the answers of runs.

    Attributes:
        points: topic to its points, without labels.
        labels: (run, topic) to the points with labels.
    """

    points: dict[str, Points] = field(default_factory=dict)
    labels: dict[Key, Points] = field(default_factory=dict)

    def find(self, run_names: Sequence[str], topic: str) -> Points | None:
        """Get a topic's points (nuggets, criteria), with labels of the named run's answer if any.

        Args:
            run_names: names that files may have for the run.
            topic: id of a query.
        """
        return find_labels(self.labels, run_names, topic) or self.points.get(topic)


def find_labels(labels: Mapping[Key, V], run_names: Sequence[str], topic: str) -> V | None:
    """Look up assessors' labels of a run (by its possible names) on a topic; None without any.

    Args:
        labels: of (run, topic); those without a run hold for every run.
        run_names: names that files may have for the run.
        topic: id of a query.
    """
    return next((labels[n, topic] for n in (*run_names, "") if (n, topic) in labels), None)


@dataclass
class Assessments:
    """Labels of citations, and points of topics, from all files of assessments.

    Attributes:
        support: labels of citations.
        lists: family of measures to its points.
    """

    support: dict[Key, SentenceLabels] = field(default_factory=dict)
    lists: dict[str, PointLists] = field(default_factory=lambda: defaultdict(PointLists))


class _Citation(msgspec.Struct):
    """A citation's label of support, as TREC RAG publishes it."""

    support: int | str


class _Sentence(msgspec.Struct):
    """A sentence of an answer, with the labels of its citations."""

    citations: list[_Citation] = []


class _Nugget(msgspec.Struct):
    """A nugget as nuggetizer writes it; ``assignment`` is its label."""

    text: str
    importance: str = "okay"
    assignment: str | None = None


class _ShortAnswer(msgspec.Struct):
    """A short answer to a question of DRAGUN's rubrics."""

    answer_id: str
    answer_text: str = ""
    text: str = ""


class _Criterion(msgspec.Struct):
    """A criterion of a rubric or a question of DRAGUN, with the field names of all layouts."""

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
    """A row of a file of assessments, with the fields of all layouts; others are skipped."""

    qid: str | int | None = None
    topic_id: str | int | None = None
    narrative_id: str | int | None = None
    query_id: str | int | None = None
    run_id: str | int | None = None
    runtag: str | int | None = None
    run_tag: str | int | None = None
    run: str | int | None = None
    sentences: list[_Sentence] | None = None
    nuggets: list[_Nugget] | None = None
    criteria: list[_Criterion] | None = None
    rubrics: list[_Criterion] | None = None


MakeError = Callable[..., InputError]
"""Makes the error of a row, with file and line of the row."""


def read_assessments(paths: Iterable[Path]) -> Assessments:
    """Read assessors' labels and points (nuggets, criteria) from files in any layout.

    Args:
        paths: files, or folders of JSON files.

    Raises:
        InputError: file, line, what is wrong, and what would be right.
    """
    assessments = Assessments()
    files = [file for path in paths for file in _list_files(path)]
    for path in files:
        if path.suffix != ".csv":
            for line, row in _json_rows(path) if path.suffix == ".json" else read_rows(path, _Row):
                _add_row(row, assessments, partial(InputError, path=path, line=line))
    sheets = [path for path in files if path.suffix == ".csv"]
    annotations = [path for path in sheets if not _is_nugget_sheet(path)]
    for path in sheets:
        if path not in annotations:
            _read_nugget_sheet(path, assessments.lists["nuggets"])
    _read_annotations(annotations, assessments.lists["dragun"])
    return assessments


def _list_files(path: Path) -> Sequence[Path]:
    """List the assessment files at a path: the file itself, or a folder's ``.json`` files."""
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob("*.json")):
        return files
    raise InputError(
        "contains no .json file", path=path, allowed="DRAGUN's rubrics", code="missing-file"
    )


def _json_rows(path: Path) -> Iterator[tuple[None, _Row]]:
    """Yield (None in place of a line number, row) of a JSON file of assessments."""
    content = read_json(path)
    for row in content if isinstance(content, list) else [content]:
        try:
            yield None, msgspec.convert(row, _Row)
        except msgspec.ValidationError as error:
            raise InputError(
                str(error), path=path, allowed="see docs/scoring.md", code="wrong-type"
            ) from error


def _add_row(row: _Row, assessments: Assessments, make_error: MakeError) -> None:
    """Add the labels or points (nuggets, criteria) of a row to the assessments.

    Args:
        row: a line of any layout.
        assessments: labels and points are added.
        make_error: makes an error that names file and line.
    """
    topic = _get_first_text(row.qid, row.topic_id, row.narrative_id, row.query_id)
    key = _get_first_text(row.run_id, row.runtag, row.run_tag, row.run), topic
    lists, criteria = assessments.lists, row.criteria if row.rubrics is None else row.rubrics
    if not topic:
        raise make_error(
            "is missing", field="qid", allowed="the id of a query of the benchmark",
            code="missing-field"
        )  # fmt: skip
    if row.sentences is not None:
        labels = tuple(
            tuple(_parse_label(c.support, SUPPORT, "support", make_error) for c in s.citations)
            for s in row.sentences
        )
        _set_once(assessments.support, key, labels, make_error)
    elif row.nuggets is not None:
        values = (
            _parse_label(n.assignment, ASSIGNMENTS, "assignment", make_error) for n in row.nuggets
        )
        pairs = zip(row.nuggets, values, strict=True)
        nuggets = (Point(n.text, value, group=n.importance) for n, value in pairs)
        _add_points(lists["nuggets"], key, tuple(nuggets), make_error)
    elif criteria is not None and any(c.short_answers is not None for c in criteria):
        answers = (p for c in criteria for p in _read_short_answers(c, make_error))
        _add_points(lists["dragun"], key, tuple(answers), make_error)
    elif criteria is not None:
        _add_points(
            lists["rubric"],
            key,
            tuple(_read_criterion(c, make_error) for c in criteria),
            make_error,
        )
    else:
        raise make_error(
            "assesses nothing", allowed="sentences, nuggets, criteria or rubrics",
            code="missing-field"
        )  # fmt: skip


def _is_nugget_sheet(path: Path) -> bool:
    """Whether a CSV file is a sheet of nuggets, by its columns."""
    return next((NUGGET in row for _, row in read_csv(path)), False)


def _read_nugget_sheet(path: Path, lists: PointLists) -> None:
    """Add the nuggets that annotators kept in a CSV sheet to the points of their queries.

    Args:
        path: CSV file of ``labels propose nuggets``.
        lists: points of nuggets, by topic.
    """
    kept: dict[str, list[Point]] = defaultdict(list)
    for line, row in read_csv(path, (QUERY, NUGGET, NUGGET_IMPORTANCE, KEEP)):
        fault = partial(InputError, path=path, line=line)
        words = {name: row[name].strip().lower() for name in (NUGGET_IMPORTANCE, KEEP)}
        for name, allowed in ((NUGGET_IMPORTANCE, (VITAL, OKAY)), (KEEP, (YES, NO))):
            if (word := words[name]) not in allowed:
                raise fault(
                    f"unknown value {word!r}", field=name, allowed=" or ".join(allowed),
                    code="wrong-value",
                )  # fmt: skip
        text = unescape_formula(row[NUGGET]).strip()
        if not text:
            raise fault("is empty", field=NUGGET, allowed="a fact", code="empty-text")
        if words[KEEP] == YES:
            kept[unescape_formula(row[QUERY])].append(Point(text, group=words[NUGGET_IMPORTANCE]))
    for topic, points in kept.items():
        _set_once(lists.points, topic, tuple(points), partial(InputError, path=path))


def _read_annotations(paths: Iterable[Path], rubrics: PointLists) -> None:
    """Add DRAGUN's labels from CSV files to short answers (points) of its rubrics.

    Args:
        paths: files with a label per short answer.
        rubrics: DRAGUN's points, by topic; labelled ones are added, by run and topic.
    """
    point_ids = {topic: {p.id for p in points} for topic, points in rubrics.points.items()}
    labels: dict[Key, dict[str, float]] = defaultdict(dict)
    for path in paths:
        for line, row in read_csv(path, ("topic_id", "run_tag", "answer_id")):
            fault = partial(InputError, path=path, line=line)
            column = "annotation" if "annotation" in row else "auto_assessment"
            if column not in row:
                raise fault(
                    "has no label", allowed="the column annotation or auto_assessment",
                    code="missing-field"
                )  # fmt: skip
            value = _parse_label(row[column], ANNOTATIONS, column, fault)
            if value is None:
                raise fault(
                    "is empty", field=column, allowed=", ".join(ANNOTATIONS), code="empty-text"
                )
            topic, name = row["topic_id"], row["answer_id"]
            if name not in point_ids.get(topic, ()):
                raise fault(
                    f"{name!r} of topic {topic!r} is in no rubric", field="answer_id",
                    allowed="give the track's rubrics (human_rubrics) with --assessments, too",
                    code="unknown-id"
                )  # fmt: skip
            if labels[row["run_tag"], topic].setdefault(name, value) != value:
                raise fault(
                    f"two different labels for {name!r}", field=column, allowed="one label each",
                    code="duplicate-id"
                )  # fmt: skip
    for key, values in labels.items():
        points = (replace(p, value=values.get(p.id)) for p in rubrics.points[key[1]])
        rubrics.labels[key] = tuple(points)


def _parse_label(
    label: str | int | None,
    numbers_by_label: Mapping[str, float | None],
    field_name: str,
    make_error: MakeError,
) -> float | None:
    """Convert a field's label such as ``partial_support`` to its number; None if unjudged.

    Args:
        label: as the file has it.
        numbers_by_label: number of each known label.
        field_name: field of the label, for the error.
        make_error: makes an error that names file and line.

    Raises:
        InputError: the label is unknown.
    """
    word = "" if label is None else "_".join(str(label).lower().split())
    word = "failed" if word == "fail" else word
    if word and word not in numbers_by_label:
        raise make_error(
            f"unknown label {label!r}",
            field=field_name,
            allowed=", ".join(numbers_by_label),
            code="wrong-value",
        )
    return numbers_by_label[word] if word else None


def _get_first_text(*names: str | int | None) -> str:
    """Get the first non-empty of several field values, as text; empty if there is none."""
    return next((str(n) for n in names if n not in (None, "")), "")


def _read_criterion(row: _Criterion, make_error: MakeError) -> Point:
    """Convert a rubric's criterion to a point with weight and label.

    Args:
        row: the criterion, with weight and verdict.
        make_error: makes an error that names file and line.
    """
    weight = row.points if row.weight is None else row.weight
    if weight is None:
        raise make_error(
            "a criterion has no weight", field="weight", allowed="a number; negative for faults",
            code="missing-field"
        )  # fmt: skip
    verdict = row.verdict
    if row.criteria_met is not None:
        verdict = "satisfied" if row.criteria_met else "not_satisfied"
    text = row.text or row.title or row.criterion
    return Point(text, _parse_label(verdict, VERDICTS, "verdict", make_error), weight)


def _read_short_answers(row: _Criterion, make_error: MakeError) -> Iterator[Point]:
    """Yield the short answers to a DRAGUN question as points with weights, without labels.

    Args:
        row: the question, with its importance and short answers.
        make_error: makes an error that names file and line.
    """
    importance = row.importance.rpartition(":")[2].strip().lower()
    if importance not in IMPORTANCE:
        raise make_error(
            f"unknown importance {row.importance!r}", field="importance",
            allowed=", ".join(IMPORTANCE), code="wrong-value"
        )  # fmt: skip
    for answer in row.short_answers or ():
        text = f"{row.question_text} {answer.answer_text or answer.text}".strip()
        yield Point(text, None, IMPORTANCE[importance], row.question_id, answer.answer_id)


def _add_points(
    lists: PointLists, run_and_topic: Key, points: Points, make_error: MakeError
) -> None:
    """Add points to a topic and, if they are labelled, to a run's answer to it.

    Args:
        lists: points by topic, and labelled ones by run and topic.
        run_and_topic: (run, topic).
        points: points of the row.
        make_error: makes an error that names file and line.
    """
    bare = tuple(replace(p, value=None) for p in points)
    if points == bare:
        _set_once(lists.points, run_and_topic[1], bare, make_error)
    else:
        _set_once(lists.labels, run_and_topic, points, make_error)
        lists.points.setdefault(run_and_topic[1], bare)


def _set_once(table: dict[K, V], key: K, value: V, make_error: MakeError) -> None:
    """Set an entry in ``table`` (of assessments); raise ``make_error(…)`` if its value differs."""
    if table.setdefault(key, value) != value:
        raise make_error(
            f"a second, different row for {key!r}", allowed="one row each", code="duplicate-id"
        )


def load_assessments(answers: Inputs) -> Assessments:
    """Read the files of ``--assessments``, once per submission; empty if none are given.

    Raises:
        InputError: a file is wrong.
    """
    return answers.once(_read_assessments, is_judged=False)


def _read_assessments(answers: Inputs) -> Assessments:
    """Read the assessment files that the scoring options (of ``answers``) name; empty if none."""
    return read_assessments(answers.tools.options.assessments)


def require_one_run(answers: Inputs, labels: Sized) -> None:
    """Raise an error if a submission with assessors' labels has several runs.

    Raises:
        CannotError: there are several runs, and files do not tell which one was labelled.
    """
    if labels and len(answers.runs) > 1:
        raise CannotError(
            "labels are of one answer per query, and the submission has several runs of each",
            code="not-comparable",
        )


def write_assessments_option(tools: ScoringTools, protocol: str) -> str | None:
    """Write the score signature's option that names the assessment files by hash; or None.

    Raises:
        InputError: a file cannot be read.
    """
    paths = tools.options.assessments
    hashes = [digest_path(p) for p in paths]
    return f"assessments:{digest(hashes)[:8]}" if paths else None


def binarise_support(value: Value) -> Value:
    """Map a label's value to 1 for full support, else to 0."""
    return Value(float(value.low >= 1), float(value.high >= 1))
