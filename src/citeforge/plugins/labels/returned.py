"""Read the labels that annotators return, and store them beside the benchmark."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citeforge.builders.package import amend_stats
from citeforge.engines.files import write_text
from citeforge.engines.textfiles import read_csv, unescape_formula
from citeforge.evaluator.label_files import plain_label
from citeforge.library.benchmarks import writable_folder
from citeforge.plugins.labels.annotators import Agreement, agreement
from citeforge.plugins.labels.sheets import ITEM, LABEL, AnnotationTask, find_task, read_typed
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError, UsageError

ANNOTATOR = "annotator"


def read_sheet_labels(
    path: Path, task: AnnotationTask, items: set[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield (item, annotator, label) from annotators' CSV sheet or Label Studio export.

    Upper case, and spaces around and between words, do not matter.

    Raises:
        InputError: an item or label is unknown, or the file has another layout.
    """
    rows = _read_label_studio(path) if path.suffix == ".json" else _read_sheet(path)
    for line, item, annotator, label in rows:
        if not label.strip():
            continue
        if item not in items:
            raise InputError(
                f"{item!r} was not exported", path=path, line=line, field=ITEM, code="unknown-id"
            )
        known = {plain_label(name): name for name in task.labels}
        if (plain := plain_label(label)) not in known:
            raise InputError(
                f"{label!r} is not a label of {task.name}",
                path=path,
                line=line,
                field=LABEL,
                allowed=", ".join(task.labels),
                code="wrong-value",
            )
        yield item, annotator, known[plain]


def _read_sheet(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield (line, item, annotator, label) of a CSV sheet; annotators default to the file name."""
    # A file without the column `annotator` is one annotator's, named as the file.
    for line, row in read_csv(path, (ITEM, LABEL)):
        yield (
            line,
            unescape_formula(row[ITEM] or ""),
            row.get(ANNOTATOR) or path.stem,
            row[LABEL] or "",
        )


class _StudioChoices(msgspec.Struct):
    """Choices of one label in a Label Studio export."""

    choices: list[str]


class _StudioResult(msgspec.Struct):
    """One label of an annotation."""

    value: _StudioChoices


class _StudioUser(msgspec.Struct):
    """User of Label Studio who annotated."""

    id: int | str | None = None
    email: str | None = None


class _StudioAnnotation(msgspec.Struct):
    """Annotation of a task by one user."""

    result: list[_StudioResult]
    completed_by: int | str | _StudioUser | None = None


class _StudioData(msgspec.Struct):
    """Data of a task; further columns are not needed here."""

    item: str


class _StudioTask(msgspec.Struct):
    """A task of a Label Studio export; further fields are not needed here."""

    data: _StudioData
    annotations: list[_StudioAnnotation]


class _Key(msgspec.Struct):
    """Key file of ``labels export``: the origin of each item, hidden from annotators."""

    task: str
    items: dict[str, dict[str, Any]]


def _read_label_studio(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield (task number, item, annotator, label) from an export of Label Studio."""
    rows = read_typed(path, list[_StudioTask], "is not a Label Studio export", "its JSON format")
    for number, task in enumerate(rows, 1):
        for annotation in task.annotations:
            who = annotation.completed_by
            name = who.email or who.id if isinstance(who, _StudioUser) else who
            for result in annotation.result:
                for choice in result.value.choices:
                    yield number, task.data.item, str(name or path.stem), choice


@dataclass(frozen=True)
class Imported:
    """Labels of annotators, read and written to a file.

    Attributes:
        out: file that they were written to.
        task: the annotation task.
        items: number of labelled items.
        undecided: number of items on which no label has a majority.
        agreement: agreement of the annotators.
    """

    out: Path
    task: AnnotationTask
    items: int
    undecided: int
    agreement: Agreement


def import_sheets(
    labels: Sequence[Path],
    key: Path,
    *,
    out: Path | None = None,
    benchmark: Path | None = None,
) -> Imported:
    """Read annotators' labels and store them, as ``citeforge labels import`` does.

    Args:
        labels: one file per annotator; in a CSV, a column ``annotator`` may name several.
        key: key file that the export wrote.
        out: JSON Lines file to write.
        benchmark: benchmark beside which to write them instead, in ``NAME.labels/TASK.jsonl``; if
            the task is about benchmarks, they are counted in its statistics.

    Raises:
        InputError: an item or label is unknown, a file has another layout, or one annotator labels
            an item twice.
        UsageError: neither or both of ``out`` and ``benchmark`` are given.
    """
    if (out is None) == (benchmark is None):
        raise UsageError(
            "give either --out FILE or --benchmark DIR, which keeps the labels next to it",
            code="missing-option",
        )
    exported = read_typed(key, _Key, "is not the key of an export", "what labels export wrote")
    task, items = find_task(exported.task), exported.items
    table: dict[str, dict[str, str]] = {}
    for path in labels:
        for item, annotator, label in read_sheet_labels(path, task, set(items)):
            if annotator in table.setdefault(item, {}):
                raise InputError(
                    f"annotator {annotator!r} labels {item!r} twice", path=path, code="duplicate-id"
                )
            table[item][annotator] = label
    rows = [
        {**items[item], "item": item, "labels": by, "label": majority(list(by.values()), task)}
        for item, by in sorted(table.items())
    ]
    alike = agreement(table, task.labels, task.ordinal)
    if benchmark is not None:
        benchmark = writable_folder(benchmark)
        out = benchmark.with_name(f"{benchmark.name}.labels") / f"{task.name}.jsonl"
    assert out is not None
    lines = (json.dumps(r, ensure_ascii=False, sort_keys=True) + "\n" for r in rows)
    write_text(out, "".join(lines))
    if benchmark is not None and task.of_benchmark:
        amend_stats(benchmark, _summarise_labels(task.name, rows, alike))
    undecided = sum(row["label"] is None for row in rows)
    return Imported(out, task, len(rows), undecided, alike)


def _summarise_labels(
    task: str, rows: Sequence[Mapping[str, Any]], result: Agreement
) -> dict[str, object]:
    """Summarise labels and agreement as figures for a benchmark's ``stats.json``.

    Args:
        task: name of the annotation task.
        rows: items, each with the label that a majority gave, or None.
        result: agreement of the annotators.

    Returns:
        Value by name of the count.
    """
    decided = [r["label"] for r in rows if r["label"] is not None]
    figures: dict[str, object] = {count_key("annotation_items", task): len(rows)}
    for label in sorted(set(decided)):
        share = round(decided.count(label) / len(decided), 4)
        figures[count_key("annotation_label_share", task, label)] = share
    for name, value in (("raw", result.raw), ("kappa", result.kappa), ("alpha", result.alpha)):
        if not math.isnan(value):
            figures[count_key("annotation_agreement", task, name)] = round(value, 4)
    return figures


def majority(labels: Sequence[str], task: AnnotationTask) -> str | None:
    """Find an item's most frequent label (None on a tie); for ordinal tasks the lower median."""
    if task.ordinal:
        ordered = sorted(labels, key=task.labels.index)
        return ordered[(len(ordered) - 1) // 2]
    (first, count), *rest = Counter(labels).most_common()
    return None if rest and rest[0][1] == count else first
