"""``citeforge annotate …``."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group()
def annotate() -> None:
    """Send answers to annotators and take their labels back."""


@annotate.command("export")
@click.argument("scores", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--task", "name", required=True, help="utility, statement-support or citation-support."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="FILE.csv, or FILE.json for Label Studio.",
)
@click.option("--sample", type=click.IntRange(1), help="Queries to sample (default: all).")
@click.option("--seed", type=int, default=0, show_default=True)
def export(scores: tuple[Path, ...], name: str, out: Path, sample: int | None, seed: int) -> None:
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
    from citeforge.evaluator.annotation.tasks import find_task
    from citeforge.evaluator.compare import load_scores

    task = find_task(name)
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
    click.echo(f"{out}: {len(rows):,} items of {task.name}, {found.annotators} annotators")
    click.echo(
        f"agreement on {found.items:,} items with several labels: raw {found.raw:.3f}, "
        f"Cohen's kappa {found.kappa:.3f}, Krippendorff's alpha {found.alpha:.3f}"
    )
