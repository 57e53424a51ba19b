"""``citeforge judge PAIRS``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import (
    client_options,
    endpoint_options,
    judge_session,
    model_options,
    verdicts_option,
)
from citeforge.schemas.choices import JUDGES, listed


@click.command()
@click.argument("pairs", type=click.Path(path_type=Path))
@click.option("--judge", "name", required=True, help=f"{listed(JUDGES)}.")
@click.option("--out", type=click.Path(path_type=Path), help="Verdicts as JSON Lines.")
@verdicts_option
@click.option("--dry-run", is_flag=True, help="Say what would be asked.")
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
def judge(
    pairs: Path, name: str, out: Path | None, verdicts: Path | None, dry_run: bool, **given: Any
) -> None:
    """Judge whether premises entail hypotheses.

    PAIRS is JSON Lines of {"premise", "hypothesis"}. What is written can be read back as
    table:FILE. With --verdicts no pair is asked twice, in any command.
    """
    from citeforge.engines.judge.llm import ANSWER_TOKENS
    from citeforge.engines.judge.pairs import read_pairs, write_verdicts
    from citeforge.schemas.errors import FailuresError, UsageError

    if out is None and not dry_run:
        raise UsageError("give --out FILE, or --dry-run")
    asked = read_pairs(pairs)
    session = judge_session(given, name, verdicts)
    if dry_run:
        plan = session.plan(asked)
        click.echo("\n".join(plan.lines()))
        price = client_options(given).price
        if price is not None and plan.tokens is not None:
            cost = price.cost(plan.tokens, ANSWER_TOKENS * (plan.distinct - plan.stored))
            click.echo(f"cost               at most about {cost:,.4f}")
        return
    found = session.ask(asked)
    assert out is not None
    entailed = write_verdicts(out, asked, found)
    click.echo(
        f"{out}: {len(asked):,} pairs, {entailed:,} entailed; {session.n_asked:,} asked, "
        f"{session.n_stored:,} stored, {session.n_truncated:,} premises cut, "
        f"{session.n_failed:,} failed; judge {session.judge.signature}"
    )
    if not session.judge.comparable:
        click.echo("this judge's verdicts are not comparable with published numbers")
    if session.n_failed and not given["allow_judge_failures"]:
        raise FailuresError(f"the judge failed on {session.n_failed:,} pairs")
