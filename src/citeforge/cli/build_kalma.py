"""``citeforge build kalma``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.kg_options import kg_options, open_kg
from citeforge.cli.options import client_options, endpoint_options, judge_of, open_replay


def _kg_options_optional(command: Any) -> Any:
    """``--kg`` is not needed where the published files bring their own sub-graphs."""
    command = kg_options(command)
    for parameter in command.__click_params__:
        if parameter.name == "kg_name":
            parameter.required = False
    return command


@click.command("kalma")
@_kg_options_optional
@click.option(
    "--pairs",
    type=click.Path(path_type=Path),
    help="JSON Lines or CSV: paragraph, first, relation, second.",
)
@click.option(
    "--pairs-from-kg",
    metavar="RELATION,…",
    help="Take connected pairs from the graph itself, by these relations.",
)
@click.option("--source", help="kalma:PATH of BioKaLMA's published specific questions.")
@click.option("--general", type=click.Path(path_type=Path), help="Its general questions.")
@click.option("--gold", type=click.Path(path_type=Path), help="Its minimum knowledge sets.")
@click.option("--writer", default="template", show_default=True, help="template, openai:, replay:.")
@click.option(
    "--perplexity",
    default="ngram",
    show_default=True,
    help="ngram, hf:MODEL (causal), or openai:MODEL (completions with echo).",
)
@click.option("--judge", "judge_name", help="Checks that a sentence says its fact.")
@click.option("--alpha", type=click.FloatRange(0, 1), default=0.5, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--attempts", type=click.IntRange(1), default=3, show_default=True)
@click.option("--limit", type=click.IntRange(1), help="Pairs at most.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--name", help="Name in signatures and card (default: the folder's).")
@click.option("--licence", help="Licence of the graph's facts (Wikidata: CC0-1.0).")
@click.option("--overwrite", is_flag=True, help="Replace what is at --out.")
@click.option("--resume", is_flag=True, help="Continue a build that was cut off.")
@endpoint_options
def kalma(**given: Any) -> None:
    """Questions whose answers must cite triples of a knowledge graph (KaLMA).

    Answers of a writer are kept in --store (by default OUT.replay.db).
    """
    from citeforge.builders.kalma.build import KalmaOptions, build_kalma
    from citeforge.builders.kalma.evolve import Choices
    from citeforge.builders.kalma.tasks import template_writer_templates
    from citeforge.cli.output import summarise
    from citeforge.engines.judge.session import JudgeSession
    from citeforge.engines.llm.writers import make_llm
    from citeforge.engines.perplexity.records import make_perplexity
    from citeforge.schemas.errors import UsageError

    if given["overwrite"] and given["resume"]:
        raise UsageError("--overwrite and --resume exclude each other")
    relations = tuple(
        r.strip() for r in (given["pairs_from_kg"] or "").split(",") if r.strip()
    )  # fmt: skip
    out: Path = given["out"]
    options = KalmaOptions(
        out=out,
        pairs=given["pairs"],
        relations=relations,
        limit=given["limit"],
        choices=Choices(given["rounds"], given["alpha"], given["attempts"]),
        seed=given["seed"],
        if_exists="overwrite" if given["overwrite"] else "resume" if given["resume"] else "refuse",
        name=given["name"],
        licence=given["licence"],
    )
    if given["source"] is not None:
        summarise(out, _published(options, given))
        return
    if given["kg_name"] is None:
        raise UsageError("give --kg, or --source kalma:PATH")
    graph = open_kg(given)
    if given["writer"].startswith("openai:") and given["store"] is None:
        given["store"] = out.with_name(f"{out.name}.replay.db")
    client = client_options(given)
    llm = make_llm(
        given["writer"],
        store=open_replay(given),
        options=client,
        templates=template_writer_templates(graph.domain),
    )
    judge = None
    if given["judge_name"] is not None:
        defaults = {"revision": None, "device": "auto", "batch_size": None, "threshold": 0.5,
                    "max_tokens": None, "entailment_label": None, "workers": 1}  # fmt: skip
        judge = JudgeSession(judge_of({**given, **defaults}, given["judge_name"]), None)
    manifest = build_kalma(
        options,
        graph,
        llm,
        lambda texts: make_perplexity(given["perplexity"], texts, options=client),
        judge,
    )
    summarise(out, manifest)


def _published(options: Any, given: dict[str, Any]) -> Any:
    """A benchmark of BioKaLMA's own files."""
    from citeforge.builders.kalma.build import build_published
    from citeforge.builders.kalma.published import read_published
    from citeforge.kg.domain import load_domain
    from citeforge.schemas.errors import UsageError

    kind, _, argument = given["source"].partition(":")
    if kind != "kalma" or not argument:
        raise UsageError(f"--source {given['source']!r}: expected kalma:PATH")
    found = read_published(Path(argument), given["general"], given["gold"], options.limit)
    return build_published(
        options, found.questions, found.entries, found.gold, load_domain(given["domain"]),
        found.source,
    )  # fmt: skip
