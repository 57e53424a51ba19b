"""``citeforge llm …``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import client_options, endpoint_options, keep_answers, open_replay
from citeforge.schemas.choices import LLMS, listed


@click.group()
def llm() -> None:
    """Ask an LLM, and keep its answers: run, stats, export, import."""


@llm.command("run")
@click.argument("prompts", type=click.Path(path_type=Path))
@click.option("--llm", "name", required=True, help=f"{listed(LLMS[:2])}.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Submission to write.")
@click.option("--system", help="Name of the system (default: the model).")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True)
@click.option("--temperature", type=click.FloatRange(0), default=0.0, show_default=True)
@click.option(
    "--max-answer",
    type=click.IntRange(1),
    default=512,
    show_default=True,
    help="Most tokens of an answer.",
)
@click.option("--logprobs", is_flag=True, help="Keep log probabilities of citation tokens.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost.")
@endpoint_options
def run(prompts: Path, name: str, out: Path, dry_run: bool, **given: Any) -> None:
    """Answer prompts and write a submission.

    PROMPTS is what `citeforge prompts --out` wrote; the submission names the benchmark that they
    are of. A reply that is empty or was cut at --max-answer is an answer; the line of a cut one
    says `"finish_reason": "length"`. Prompts without an answer are left out of the submission and
    counted; exit code 3. Answers are kept in --store (by default OUT.replay.db), so
    that nothing is paid for twice.
    """
    from citeforge.baselines.llm import read_prompts, requests_of, write_submission
    from citeforge.engines.llm.client import OpenAiLlm
    from citeforge.engines.llm.records import TRUNCATED, Answer
    from citeforge.engines.llm.writers import make_llm
    from citeforge.schemas.errors import FailuresError, UsageError

    rows = read_prompts(prompts)
    requests = requests_of(
        rows,
        runs=given["runs"],
        temperature=given["temperature"],
        max_tokens=given["max_answer"],
        logprobs=given["logprobs"],
    )
    keep_answers(given, name, out)
    unwritten = given["store"] is None or (dry_run and not given["store"].exists())
    store = None if unwritten else open_replay(given)
    model = make_llm(name, store=store, options=client_options(given))
    if dry_run:
        if not isinstance(model, OpenAiLlm):
            raise UsageError("--dry-run: only openai: models are asked")
        click.echo("\n".join(model.plan(requests).lines()))
        return
    results = model.complete(requests)
    system = given["system"] or model.identity()["name"]
    failures = write_submission(out, system, rows, results, given["runs"])
    found = [r for r in results if isinstance(r, Answer)]
    notes = {
        f"cut at --max-answer {given['max_answer']}": sum(
            r.finish_reason == TRUNCATED for r in found
        ),
        "empty": sum(not r.text.strip() for r in found),
    }
    told = ", ".join(f"{n:,} {what}" for what, n in notes.items() if n)
    click.echo(f"{out}: {len(found):,} answers of {system}" + (f" ({told})" if told else ""))
    if failures:
        for query, failure in failures[:5]:
            click.echo(f"{query}: {failure.reason}: {failure.message}", err=True)
        raise FailuresError(f"{len(failures):,} prompts have no answer; run again to ask them")


@llm.command("stats")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--price", metavar="IN,OUT", help="Prices per million tokens.")
def stats(store: Path, price: str | None) -> None:
    """Count the answers, failures and tokens of a store."""
    from citeforge.engines.llm.records import Price
    from citeforge.engines.llm.store import ReplayStore

    with ReplayStore(store, readonly=True) as opened:
        found = opened.stats()
    click.echo(f"answers            {found.answers:,}")
    for model, count in found.models.items():
        click.echo(f"  {model:<16} {count:,}")
    click.echo(f"failures           {found.failures:,}")
    for kind, count in found.kinds.items():
        click.echo(f"  {kind:<16} {count:,}")
    click.echo(f"prompt tokens      {found.prompt_tokens:,}")
    click.echo(f"completion tokens  {found.completion_tokens:,}")
    if price is not None:
        parsed: Price = client_options(
            {
                **dict.fromkeys(("base_url", "rpm", "tpm", "max_cost")),
                "price": price,
                "concurrency": 1,
                "timeout": 1.0,
            }
        ).price
        click.echo(
            f"cost               {parsed.cost(found.prompt_tokens, found.completion_tokens):.4f}"
        )


@llm.command("export")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="JSON Lines file.")
def export(store: Path, out: Path) -> None:
    """Write all answers of a store as JSON Lines."""
    from citeforge.engines.files import atomic_file
    from citeforge.engines.llm.store import ReplayStore

    count = 0
    with ReplayStore(store, readonly=True) as opened, atomic_file(out) as file:
        for row in opened.export():
            file.write(json.dumps(row, ensure_ascii=False, sort_keys=True).encode() + b"\n")
            count += 1
    click.echo(f"{out}: {count:,} answers")


@llm.command("import")
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def import_(store: Path, file: Path) -> None:
    """Take exported answers into a store; what is there stands."""
    from citeforge.engines.jsonlines import read_rows
    from citeforge.engines.llm.store import ExportedRow, ReplayStore
    from citeforge.schemas.errors import InputError

    rows = (row.as_dict() for _, row in read_rows(file, ExportedRow))
    with ReplayStore(store) as opened:
        try:
            added, known = opened.import_rows(rows)
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(
                error.message, path=file, line=error.line, field=error.field
            ) from error
    click.echo(f"{store}: {added:,} answers added, {known:,} were there")
