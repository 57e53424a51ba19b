"""``citeforge annotate …``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from citeforge.evaluator.annotation.agreement import Agreement


@click.group()
def annotate() -> None:
    """Send answers to annotators and take their labels back."""


@annotate.command("export")
@click.argument("scores", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--task",
    "name",
    required=True,
    help="utility, statement-support, citation-support, knowledge-support (of score files); "
    "audit-negative, twin-relevant, twin-nonrelevant, kalma-authenticity, kalma-relevance, "
    "kalma-naturalness, "
    "kalma-significance (of a benchmark).",
)
@click.option(
    "--benchmark", type=click.Path(path_type=Path), help="Benchmark, for tasks that look at it."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="FILE.csv, or FILE.json for Label Studio.",
)
@click.option("--sample", type=click.IntRange(1), help="Queries to sample (default: all; "
    "twin-nonrelevant: a tenth).")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True)
def export(
    scores: tuple[Path, ...],
    name: str,
    benchmark: Path | None,
    out: Path,
    sample: int | None,
    seed: int,
) -> None:
    """Write a blind, shuffled sample for annotators.

    SCORES are score files made with --details. Beside OUT stands OUT.key.json, which tells whose
    each item is; keep it from the annotators.
    """
    from citeforge.engines.files import write_text
    from citeforge.evaluator.annotation.export import (
        label_studio_config,
        rows_of,
        to_csv,
        to_label_studio,
    )
    from citeforge.evaluator.annotation.of_benchmark import benchmark_rows
    from citeforge.evaluator.annotation.tasks import find_task
    from citeforge.evaluator.compare import load_scores
    from citeforge.schemas.errors import UsageError

    task = find_task(name)
    if task.of_benchmark != (benchmark is not None) or bool(scores) == task.of_benchmark:
        what = "--benchmark DIR and no score files" if task.of_benchmark else "score files"
        raise UsageError(f"--task {task.name} takes {what}")
    if benchmark is not None:
        rows, key = benchmark_rows(task, benchmark, sample, seed)
    else:
        rows, key = rows_of(task, [load_scores(p) for p in scores], sample, seed)
    is_json = out.suffix == ".json"
    write_text(out, to_label_studio(task, rows) if is_json else to_csv(task, rows))
    if is_json:
        write_text(out.with_suffix(".xml"), label_studio_config(task))
    content = {"task": task.name, "seed": seed, "items": key}
    write_text(
        out.with_name(f"{out.name}.key.json"), json.dumps(content, ensure_ascii=False, indent=1)
    )
    click.echo(f"{out}: {len(rows):,} items. {task.instruction} ({', '.join(task.labels)})")


@annotate.command("import")
@click.argument("labels", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path),
    required=True,
    help="The OUT.key.json of the export.",
)
@click.option("--out", type=click.Path(path_type=Path), help="JSON Lines file.")
@click.option(
    "--benchmark",
    type=click.Path(path_type=Path),
    help="Keep the labels beside this benchmark, in NAME.labels/TASK.jsonl.",
)
def import_(
    labels: tuple[Path, ...], key_file: Path, out: Path | None, benchmark: Path | None
) -> None:
    """Take labels back, one file an annotator, and report their agreement."""
    from citeforge.engines.files import write_text
    from citeforge.evaluator.annotation.labels import import_labels, to_jsonl
    from citeforge.schemas.errors import UsageError

    if (out is None) == (benchmark is None):
        raise UsageError("give --out FILE, or --benchmark DIR to keep the labels beside it")
    task, rows, found = import_labels(key_file, labels)
    if out is None:
        assert benchmark is not None
        out = benchmark.with_name(f"{benchmark.name}.labels") / f"{task.name}.jsonl"
    write_text(out, to_jsonl(rows))
    if benchmark is not None and task.of_benchmark:
        _into_stats(benchmark, task.name, rows, found)
    click.echo(f"{out}: {len(rows):,} items of {task.name}, {found.annotators} annotators")
    click.echo(
        f"agreement on {found.items:,} items with several labels: raw {found.raw:.3f}, "
        f"Cohen's kappa {found.kappa:.3f}, Krippendorff's alpha {found.alpha:.3f}"
    )


def _into_stats(benchmark: Path, task: str, rows: list[dict[str, Any]], found: Agreement) -> None:
    """Keep labels and agreement in the statistics of a benchmark; its tables stay."""
    from citeforge.builders.package import amend_stats

    decided = [r["label"] for r in rows if r["label"] is not None]
    figures: dict[str, object] = {f"annotation {task}: items": len(rows)}
    for label in sorted(set(decided)):
        share = round(decided.count(label) / len(decided), 4)
        figures[f"annotation {task}: share of {label}"] = share
    for name, value in (("raw", found.raw), ("kappa", found.kappa), ("alpha", found.alpha)):
        if not math.isnan(value):
            figures[f"annotation {task}: agreement, {name}"] = round(value, 4)
    amend_stats(benchmark, figures)
