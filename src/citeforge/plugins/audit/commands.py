"""``citeforge audit DIR``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.builders.audit_sentences import write_estimate
from citeforge.cli.command import path_argument
from citeforge.cli.json_output import json_option, present, present_rehearsal
from citeforge.cli.options import (
    add_options,
    endpoint_options,
    field_options,
    model_options,
    record_from,
    run_options,
    verdicts_option,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.plugins.audit.options import AuditOptions
from citeforge.schemas.recipes.base import Judging

if TYPE_CHECKING:
    from citeforge.plugins.audit.run import Audited
    from citeforge.schemas.audit import Exploits

_MAIN_OPTIONS = ("against", "judge")
_OTHER_OPTIONS = [
    n for n in AuditOptions.model_fields if n not in (*_MAIN_OPTIONS, *Judging.model_fields)
]


def _print_exploits(exploits: Exploits) -> None:
    """Print the scores of degenerate systems as a table, with notes and score signatures below."""
    from shutil import get_terminal_size

    from citeforge.builders.card import exploits_table
    from citeforge.engines.report_table import folded_note

    width = get_terminal_size().columns
    table = exploits_table(exploits)
    left_out = (f"not computed: {name}: {reason}" for name, reason in exploits.left_out.items())
    notes = [*table.notes, *left_out, *exploits.signatures]
    lines = (line for note in notes for line in folded_note(note, width))
    click.echo("\n".join(["", *table.text(width), *lines, ""]))


@click.command(cls=ManyOptions)
@path_argument("folder")
@add_options(field_options(AuditOptions, _MAIN_OPTIONS))
@verdicts_option
@add_options(field_options(AuditOptions, _OTHER_OPTIONS))
@model_options
@endpoint_options
@json_option
def audit(folder: Path, **parameters: Any) -> None:
    """Look for flaws in a verified package.

    Near-duplicates of relevant passages among the negatives, negatives that hold a gold answer,
    leaks between splits, odd texts, languages, personal data. Writes audit.json into the package
    and renders its card again.
    """
    from citeforge.plugins.audit.run import audit as run_audit
    from citeforge.plugins.audit.run import rehearse_audit
    from citeforge.schemas.errors import InputError

    options = record_from(AuditOptions, parameters)
    run = run_options(parameters)
    if run.dry_run:
        present_rehearsal(*rehearse_audit(folder, options, run))
        return
    done = run_audit(folder, options, run=run)
    present(done, partial(_print_audit, done, folder, options.known_flaws))
    if done.new or done.stale:
        raise InputError(
            f"{len(done.new):,} new flaws, {len(done.stale):,} stale entries",
            path=options.known_flaws,
            allowed="repair the benchmark or accept the flaw with a reason; remove stale entries",
            code="new-flaws",
        )


def _print_audit(audited: Audited, folder: Path, known_flaws: Path | None) -> None:
    """Print the result of an audit; ``known_flaws`` is the file of accepted flaws.

    Args:
        audited: the result.
        folder: folder of the package.
        known_flaws: file of accepted flaws; None without.
    """
    from citeforge.package.manifest import load_manifest
    from citeforge.plugins.audit.run import FILE
    from citeforge.schemas.audit import SKIPPED_CHECK, checks_made

    result = audited.result
    click.echo(f"audited  {checks_made(result.checks)}")
    for what, how in result.checks.items():
        reason = how.removeprefix(SKIPPED_CHECK)
        click.echo(f"{'checked ' if reason == how else 'not made'} {what}: {reason}")
    for kind, rows in result.flaws.items():
        first = rows[0]
        where = ", ".join(x for x in (first.query, first.passage) if x)
        click.echo(f"found    {len(rows):,} {kind} (first: {where}: {first.detail})")
    warnings = load_manifest(folder).warnings
    for text in warnings:
        click.echo(f"found    {text}")
    if not result.flaws and not warnings:
        click.echo(f"found    no flaw ({checks_made(result.checks)})")
    for what, count in result.personal_data.items():
        click.echo(f"counted  {count:,} passages with {what}")
    if result.cascade is not None:
        parts = ", ".join(f"{n:,} {name}" for name, n in result.cascade.strata.items())
        click.echo(f"decided  {', then '.join(result.cascade.stages)}: {parts}")
    if result.false_negatives is not None:
        s = result.false_negatives
        text = write_estimate(s)
        click.echo(f"estimate {text} of the negatives are relevant ({s.n} labelled; {s.method})")
    if result.cascade is not None and result.cascade.after is not None:
        share = write_estimate(result.cascade.after)
        click.echo(f"estimate {share} of those that stay, without what was decided relevant")
    if result.exploits is not None and result.exploits.rows:
        _print_exploits(result.exploits)
    click.echo(f"{folder / FILE} written; the card shows it")
    if audited.accepted is not None:
        click.echo(f"{known_flaws}: {audited.accepted:,} flaws accepted")
    for flaw in audited.new[:10]:
        click.echo(f"new flaw: {' '.join(filter(None, flaw))}", err=True)
    for entry in audited.stale[:10]:
        click.echo(f"stale entry: {' '.join(filter(None, entry))}", err=True)
