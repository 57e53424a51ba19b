"""``citeforge export FORMAT DIR``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.commands.results import RecordOptions
from citeforge.schemas.commands.training import TrainingOptions
from citeforge.schemas.commands.trec import TrecOptions


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--context", help="Context set, where a format has one a question.")
@add_options(field_options(TrainingOptions))
@add_options(field_options(RecordOptions))
@add_options(field_options(TrecOptions))
def export(format_name: str, folder: Path, out: Path, context: str | None, **given: Any) -> None:
    """Write a package in the layout of another tool, or as training data.

    FORMAT is beir, mteb, trec, alce, attrieval, attributed-ir, rage-toolkit, kalma or hf-csv; or
    sft (answers that cite well, for supervised fine-tuning) or rl-prompts (prompts with what
    citeforge.library.rewards needs); or a track of TREC, which makes a run of --submission:
    trec-rag24, trec-rag25, trec-rag26, trec-ragtime25, trec-ragtime26, trec-dragun25 or
    trec-neuclir24 (its rules are looked at by citeforge check). What the format cannot carry is
    listed. FORMAT every-eval-ever takes a score file, or a folder of them, and writes records for
    evaleval's collection.
    """
    from citeforge.publish.export.registry import export as write

    training, records = record_from(TrainingOptions, given), record_from(RecordOptions, given)
    about = record_from(TrecOptions, given)
    lost = write(format_name, folder, out, context, training, records, about)
    files = [p for p in sorted(out.rglob("*")) if p.is_file()]
    click.echo(f"{out}: {len(files)} files, {sum(p.stat().st_size for p in files):,} B")
    for what in lost:
        click.echo(f"not carried: {what}")
