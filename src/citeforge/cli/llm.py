"""``citeforge llm …``: run prompts, and manage the stores of answers."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import NamedCommands, path_argument, path_option
from citeforge.cli.options import (
    add_options,
    endpoint_options,
    field_options,
    record_from,
    run_options,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.engines.shown import show_number
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.command_options import PromptingOptions

_OTHER_OPTIONS = [n for n in PromptingOptions.model_fields if n != "llm"]


@click.group(cls=NamedCommands)
def llm() -> None:
    """Ask an LLM, and keep its answers: run, stats, export, import, forget."""


@llm.command("run", cls=ManyOptions)
@path_argument("prompts")
@add_options(field_options(PromptingOptions, ("llm",)))
@path_option("--out", help="Submission to write.")
@add_options(field_options(PromptingOptions, _OTHER_OPTIONS))
@endpoint_options
def run(prompts: Path, out: Path | None, **parameters: Any) -> None:
    """Answer prompts and write a submission.

    PROMPTS is what `citeforge export prompts --out` wrote; the submission names the benchmark that
    they are of. A reply that is empty or was cut at --max-answer is an answer; the line of a cut
    one says `"finish_reason": "length"`. Prompts without an answer are left out of the submission
    and counted; exit code 3. Answers are kept in --store (by default OUT.replay.db), so that
    nothing is paid for twice.
    """
    from citeforge.cli.running import print_outcome
    from citeforge.systems.prompt_files import answer_prompts, plan_prompts

    options, how = record_from(PromptingOptions, parameters), run_options(parameters, out=out)
    if how.dry_run:
        click.echo("\n".join(plan_prompts(prompts, options, how).to_text_lines()))
        return
    print_outcome(how.folder, answer_prompts(prompts, options, how), "prompt")


@llm.command("stats")
@path_argument("store")
@add_options(field_options(RunOptions, ("price",)))
def stats(store: Path, **parameters: Any) -> None:
    """Count the answers, failures and tokens in a store of LLM answers."""
    from citeforge.engines.llm.budget import total_cost
    from citeforge.engines.llm.replay import ReplayStore

    with ReplayStore(store, readonly=True) as opened:
        figures = opened.stats()
    click.echo(f"answers            {figures.answers:,}")
    for model, count in figures.models.items():
        click.echo(f"  {model:<16} {count:,}")
    for server, count in figures.servers.items():
        click.echo(f"  from {server} {count:,}")
    click.echo(f"failures           {figures.failures:,}")
    for kind, count in figures.kinds.items():
        click.echo(f"  {kind:<16} {count:,}")
    click.echo(f"prompt tokens      {figures.prompt_tokens:,}")
    click.echo(f"completion tokens  {figures.completion_tokens:,}")
    if any(figures.batch_tokens):
        click.echo("of batches         {:,} and {:,}".format(*figures.batch_tokens))
    price = run_options(parameters).price
    if price is not None:
        tokens = (figures.prompt_tokens, figures.completion_tokens)
        cost = total_cost(price, tokens, figures.batch_tokens)
        click.echo(f"cost               {show_number(cost, 4)}")


@llm.command("export")
@path_argument("store")
@path_option("--out", required=True, help="JSON Lines file.")
def export(store: Path, out: Path) -> None:
    """Write all LLM answers of a store as JSON Lines."""
    from citeforge.engines.llm.replay import export_store

    click.echo(f"{out}: {export_store(store, out):,} answers")


@llm.command("import")
@path_argument("store")
@path_argument("file")
def import_(store: Path, file: Path) -> None:
    """Add exported LLM answers to a store; answers that it already has are kept."""
    from citeforge.engines.llm.replay import import_store

    added, old = import_store(store, file)
    click.echo(f"{store}: {added:,} answers added, {old:,} were there")


@llm.command("forget")
@path_argument("store")
@click.argument("batch")
def forget(store: Path, batch: str) -> None:
    """Forget a submitted batch that the provider no longer has, so that its requests are resent.

    BATCH is the id of its uploaded file. The next run asks its requests again: look into the
    provider's list of batches first, for a batch that is there would be paid twice.
    """
    from citeforge.engines.llm.replay import ReplayStore

    with ReplayStore(store) as opened:
        count = opened.forget_batch(batch)
    click.echo(f"{store}: {count:,} requests will be asked again")
