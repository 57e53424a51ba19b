"""``citeforge audit DIR``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import endpoint_options, judge_session, model_options, verdicts_option
from citeforge.schemas.choices import JUDGES, listed


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Another split, for leaks; repeatable.",
)
@click.option("--judge", "judge_name", help=f"Do negatives entail gold answers? {listed(JUDGES)}.")
@verdicts_option
@click.option("--cross-encoder", help="Model that scores negatives: a folder or a Hub id.")
@click.option(
    "--least-score",
    type=float,
    default=0.5,
    show_default=True,
    help="Score from which the cross-encoder finds a negative relevant.",
)
@click.option("--labels", type=click.Path(path_type=Path), help="Labels of annotate import.")
@click.option("--known-flaws", type=click.Path(path_type=Path), help="Accepted flaws (JSON Lines).")
@click.option("--accept", is_flag=True, help="Write all flaws found to --known-flaws.")
@click.option(
    "--strict", is_flag=True, help="Fail on a flaw that is not accepted, and on a stale entry."
)
@model_options
@endpoint_options
def audit(folder: Path, strict: bool, accept: bool, **given: Any) -> None:
    """Look for flaws in a package that verifies.

    Near-duplicates of relevant passages among the negatives, negatives that hold a gold answer,
    leaks between splits, odd texts, languages, personal data. Writes audit.json into the package
    and renders its card again.
    """
    from citeforge.builders.audit.run import FILE, AuditOptions, ratchet, read_known, write_known
    from citeforge.builders.audit.run import audit as run_audit
    from citeforge.package.package import Package
    from citeforge.publish.card import write_card
    from citeforge.schemas.errors import InputError, UsageError

    known_file = given["known_flaws"]
    if (strict or accept) and known_file is None:
        raise UsageError("--strict and --accept need --known-flaws FILE")
    options = AuditOptions(
        against=given["against"],
        judge=judge_session(given, given["judge_name"], given["verdicts"]),
        cross_encoder=given["cross_encoder"],
        threshold=given["least_score"],
        device=given["device"],
        labels=given["labels"],
    )
    package = Package(folder)
    found, seen = run_audit(package, options)
    text = found.model_dump_json(indent=1) + "\n"
    write_card(folder, audit=text, checked=package, lengths=seen.lengths)
    for what, how in found.checks.items():
        click.echo(f"checked  {what}: {how}")
    for kind, rows in found.flaws.items():
        first = rows[0]
        where = ", ".join(x for x in (first.query, first.passage) if x)
        click.echo(f"found    {len(rows):,} {kind} (first: {where}: {first.detail})")
    if not found.flaws:
        click.echo("found    no flaw")
    for what, count in found.personal_data.items():
        click.echo(f"counted  {count:,} passages with {what}")
    if found.false_negatives is not None:
        s = found.false_negatives
        click.echo(
            f"estimate {100 * s.share:.1f} % [{100 * s.low:.1f}, {100 * s.high:.1f}] of the "
            f"negatives are relevant ({s.n} labelled)"
        )
    click.echo(f"{folder / FILE} written; the card shows it")
    if accept:
        click.echo(f"{known_file}: {write_known(known_file, found):,} flaws accepted")
    if strict:
        new, stale = ratchet(found, read_known(known_file))
        for flaw in new[:10]:
            click.echo(f"new flaw: {' '.join(filter(None, flaw))}", err=True)
        for entry in stale[:10]:
            click.echo(f"stale entry: {' '.join(filter(None, entry))}", err=True)
        if new or stale:
            raise InputError(
                f"{len(new):,} new flaws, {len(stale):,} stale entries",
                path=known_file,
                allowed="mend the benchmark or accept the flaw with a reason; remove stale entries",
            )
