"""``citeforge export FORMAT DIR``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.record_options import add, options_of, record_from
from citeforge.schemas.recipes.results import RecordOptions
from citeforge.schemas.recipes.training import TrainingOptions


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--context", help="Context set, where a format has one a question.")
@add(options_of(TrainingOptions))
@add(options_of(RecordOptions))
def export(format_name: str, folder: Path, out: Path, context: str | None, **given: Any) -> None:
    """Write a package in the layout of another tool, or as training data.

    FORMAT is beir, mteb, trec, alce, attrieval, attributed-ir, rage-toolkit, kalma or hf-csv; or
    sft (answers that cite well, for supervised fine-tuning) or rl-prompts (prompts with what
    citeforge.rewards needs). What the format cannot carry is listed. FORMAT every-eval-ever takes
    a score file, or a folder of them, and writes records for evaleval's collection.
    """
    from citeforge.publish.export.registry import export as write

    training = record_from(TrainingOptions, given)
    lost = write(format_name, folder, out, context, training, record_from(RecordOptions, given))
    files = [p for p in sorted(out.rglob("*")) if p.is_file()]
    click.echo(f"{out}: {len(files)} files, {sum(p.stat().st_size for p in files):,} B")
    for what in lost:
        click.echo(f"not carried: {what}")
