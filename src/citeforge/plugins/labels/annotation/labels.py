"""Labels coming back from annotators, kept beside the benchmark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citeforge.engines.io.files import read_json
from citeforge.engines.io.textfiles import original, read_csv
from citeforge.plugins.labels.annotation.agreement import Agreement, agreement
from citeforge.plugins.labels.annotation.export import ANNOTATOR, ITEM, LABEL
from citeforge.plugins.labels.annotation.tasks import AnnotationTask, find_task
from citeforge.schemas.errors import InputError

T = TypeVar("T")


def read_sheet_labels(
    path: Path, task: AnnotationTask, known: set[str]
) -> Iterator[tuple[str, str, str]]:
    """(item, annotator, label) of a CSV or a Label Studio export; unlabelled rows are passed over.

    Raises:
        InputError: an unknown item or label, or another layout.
    """
    rows = _label_studio(path) if path.suffix == ".json" else _table(path)
    for line, item, annotator, label in rows:
        if not label:
            continue
        if item not in known:
            raise InputError(f"{item!r} was not exported", path=path, line=line, field=ITEM)
        if label not in task.labels:
            raise InputError(
                f"{label!r} is no label of {task.name}",
                path=path,
                line=line,
                field=LABEL,
                allowed=", ".join(task.labels),
            )
        yield item, annotator, label


def _table(path: Path) -> Iterator[tuple[int, str, str, str]]:
    for line, row in read_csv(path, (ITEM, LABEL)):
        yield (
            line,
            original(row[ITEM] or ""),
            row.get(ANNOTATOR) or path.stem,
            (row[LABEL] or "").strip(),
        )


class _Choices(msgspec.Struct):
    choices: list[str]


class _Result(msgspec.Struct):
    value: _Choices


class _Person(msgspec.Struct):
    id: int | str | None = None
    email: str | None = None


class _Annotation(msgspec.Struct):
    result: list[_Result]
    completed_by: int | str | _Person | None = None


class _Data(msgspec.Struct):
    item: str


class _Labelled(msgspec.Struct):
    """A task of a Label Studio export; further fields are not needed here."""

    data: _Data
    annotations: list[_Annotation]


class _Key(msgspec.Struct):
    """What ``labels export`` wrote beside the items."""

    task: str
    items: dict[str, dict[str, Any]]


def _label_studio(path: Path) -> Iterator[tuple[int, str, str, str]]:
    rows = read_typed(path, list[_Labelled], "is not a Label Studio export", "its JSON format")
    for number, task in enumerate(rows, 1):
        for annotation in task.annotations:
            who = annotation.completed_by
            name = who.email or who.id if isinstance(who, _Person) else who
            for result in annotation.result:
                for choice in result.value.choices:
                    yield number, task.data.item, str(name or path.stem), choice


def read_typed(path: Path, kind: type[T], message: str, allowed: str) -> T:
    """The content of a JSON file.

    Raises:
        InputError: it cannot be read, or is of another layout.
    """
    try:
        return msgspec.convert(read_json(path), kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{message} ({error})", path=path, allowed=allowed) from error


def import_labels(
    key_file: Path, files: Sequence[Path]
) -> tuple[AnnotationTask, list[dict[str, Any]], Agreement]:
    """Labels of all annotators with whose item each was, and their agreement.

    Args:
        key_file: key written at export.
        files: one or more label files; a CSV without ``annotator`` column is one annotator.

    Raises:
        InputError: see :func:`read_labels`; or one annotator labels an item twice.
    """
    key = read_typed(key_file, _Key, "is not the key of an export", "what labels export wrote")
    task, items = find_task(key.task), key.items
    table: dict[str, dict[str, str]] = {}
    for path in files:
        for item, annotator, label in read_sheet_labels(path, task, set(items)):
            if annotator in table.setdefault(item, {}):
                raise InputError(f"{annotator!r} labels {item!r} twice", path=path)
            table[item][annotator] = label
    rows = [
        {**items[item], "item": item, "labels": by, "label": majority(list(by.values()), task)}
        for item, by in sorted(table.items())
    ]
    return task, rows, agreement(table, task.labels, task.ordinal)


def majority(labels: Sequence[str], task: AnnotationTask) -> str | None:
    """The commonest label; None on a tie. Ordinal tasks take the lower median."""
    if task.ordinal:
        ordered = sorted(labels, key=task.labels.index)
        return ordered[(len(ordered) - 1) // 2]
    (first, count), *rest = Counter(labels).most_common()
    return None if rest and rest[0][1] == count else first


def to_jsonl(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(r, ensure_ascii=False, sort_keys=True) + "\n" for r in rows)
