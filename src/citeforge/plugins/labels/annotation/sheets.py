"""What annotators are sent, and what comes back, as files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citeforge.builders.packaging.package import amend_stats
from citeforge.engines.io.files import write_text
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.plugins.labels.annotation.agreement import Agreement
from citeforge.plugins.labels.annotation.export import (
    label_studio_config,
    sheet_csv,
    sheet_rows,
    to_label_studio,
)
from citeforge.plugins.labels.annotation.labels import import_labels, read_typed, to_jsonl
from citeforge.plugins.labels.annotation.of_benchmark import benchmark_rows
from citeforge.plugins.labels.annotation.tasks import AnnotationTask, find_task
from citeforge.plugins.labels.options import AnnotationOptions, LabelPlanOptions
from citeforge.plugins.labels.planning.planning import LabelPlan
from citeforge.schemas.errors import UsageError


def export_sheet(
    options: AnnotationOptions, scores: Sequence[Path] = ()
) -> tuple[AnnotationTask, int]:
    """Write a blind, shuffled sample for annotators, as ``citeforge labels export`` does.

    Beside it stands the key that tells whose each item is; for Label Studio, its configuration.

    Args:
        options: task, sample, and the file to write.
        scores: score files made with ``--details``, for tasks that look at answers.

    Returns:
        (task, number of items).

    Raises:
        InputError: nothing to annotate, or a score file without answers.
        UsageError: there is no such task, or it is about something else.
    """
    task, out = find_task(options.task), options.out
    if task.of_benchmark != (options.benchmark is not None) or bool(scores) == task.of_benchmark:
        what = "--benchmark DIR and no score files" if task.of_benchmark else "score files"
        raise UsageError(f"--task {task.name} takes {what}")
    if options.queries is not None and (options.sample is not None or task.of_benchmark):
        raise UsageError("--queries stands for --sample, for tasks that look at score files")
    if options.benchmark is not None:
        rows, key = benchmark_rows(task, options.benchmark, options.sample, options.seed)
    else:
        files = [load_scores(p) for p in scores]
        only = None if options.queries is None else read_plan(options.queries)
        rows, key = sheet_rows(task, files, options.sample, options.seed, only)
    is_json = out.suffix == ".json"
    write_text(out, to_label_studio(task, rows) if is_json else sheet_csv(task, rows))
    if is_json:
        write_text(out.with_suffix(".xml"), label_studio_config(task))
    content = {"task": task.name, "seed": options.seed, "items": key}
    write_text(
        out.with_name(f"{out.name}.key.json"), json.dumps(content, ensure_ascii=False, indent=1)
    )
    return task, len(rows)


class _Plan(msgspec.Struct):
    """What ``labels plan --out`` wrote; further fields are for people."""

    queries: list[str]


def read_plan(path: Path) -> list[str]:
    """Queries that ``labels plan`` drew.

    Raises:
        InputError: not such a file.
    """
    return read_typed(path, _Plan, "is no plan", "what labels plan --out wrote").queries


def write_plan(plan: LabelPlan, options: LabelPlanOptions) -> None:
    """Keep the drawn queries, with what they were drawn for."""
    assert options.out is not None
    content = {
        "measure": plan.measure,
        "system": plan.system,
        "half_width": options.half_width,
        "design": options.design,
        "seed": options.seed,
        "queries": plan.queries,
    }
    write_text(options.out, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


@dataclass(frozen=True)
class Imported:
    """Labels that came back.

    Attributes:
        out: where they are kept.
        task: what was annotated.
        items: labelled ones.
        agreement: of the annotators.
    """

    out: Path
    task: AnnotationTask
    items: int
    agreement: Agreement


def import_sheets(
    labels: Sequence[Path], key: Path, *, out: Path | None = None, benchmark: Path | None = None
) -> Imported:
    """Take labels back and keep them, as ``citeforge labels import`` does.

    Args:
        labels: one file an annotator.
        key: what the export wrote beside the items.
        out: JSON Lines file to write.
        benchmark: keep them beside this benchmark instead, in ``NAME.labels/TASK.jsonl``; those of
            a task about a benchmark are counted in its statistics.

    Raises:
        InputError: an unknown item or label, another layout, or an item labelled twice by one.
        UsageError: neither or both of ``out`` and ``benchmark`` are given.
    """
    if (out is None) == (benchmark is None):
        raise UsageError("give --out FILE, or --benchmark DIR to keep the labels beside it")
    task, rows, agreement = import_labels(key, labels)
    if benchmark is not None:
        out = benchmark.with_name(f"{benchmark.name}.labels") / f"{task.name}.jsonl"
    assert out is not None
    write_text(out, to_jsonl(rows))
    if benchmark is not None and task.of_benchmark:
        amend_stats(benchmark, _figures(task.name, rows, agreement))
    return Imported(out, task, len(rows), agreement)


def _figures(task: str, rows: Sequence[Mapping[str, Any]], result: Agreement) -> dict[str, object]:
    """Labels and agreement as statistics of a benchmark."""
    decided = [r["label"] for r in rows if r["label"] is not None]
    figures: dict[str, object] = {f"annotation {task}: items": len(rows)}
    for label in sorted(set(decided)):
        share = round(decided.count(label) / len(decided), 4)
        figures[f"annotation {task}: share of {label}"] = share
    for name, value in (("raw", result.raw), ("kappa", result.kappa), ("alpha", result.alpha)):
        if not math.isnan(value):
            figures[f"annotation {task}: agreement, {name}"] = round(value, 4)
    return figures
