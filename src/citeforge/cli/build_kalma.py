"""``citeforge build kalma``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.kg_options import kg_options, open_kg
from citeforge.cli.options import (
    client_options,
    endpoint_options,
    if_exists,
    judge_session,
    keep_answers,
    model_options,
    open_replay,
    verdicts_option,
)
from citeforge.schemas.choices import JUDGES, LLMS, PERPLEXITY, listed


@click.command("kalma")
@kg_options
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
@click.option(
    "--gold-later", type=click.Path(path_type=Path), help="The same without facts of round 1."
)
@click.option("--writer", default="template", show_default=True, help=f"{listed(LLMS)}.")
@click.option(
    "--perplexity",
    default="ngram",
    show_default=True,
    help=f"{listed(PERPLEXITY)}.",
)
@click.option("--judge", "judge_name", help=f"Does a sentence say its fact? {listed(JUDGES)}.")
@verdicts_option
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
@model_options
@endpoint_options
def kalma(**given: Any) -> None:
    """Questions whose answers must cite triples of a knowledge graph (KaLMA).

    Answers of a writer are kept in --store (by default OUT.replay.db), verdicts of a judge in
    --verdicts (OUT.verdicts.db).
    """
    from citeforge.builders.kalma.build import KalmaOptions, build_kalma
    from citeforge.builders.kalma.evolve import Choices
    from citeforge.builders.kalma.tasks import template_writer_templates
    from citeforge.cli.output import summarise
    from citeforge.engines.folders import beside
    from citeforge.engines.llm.writers import make_llm
    from citeforge.engines.perplexity.records import make_perplexity, perplexity_name

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
        if_exists=if_exists(given),
        name=given["name"],
        licence=given["licence"],
        perplexity=perplexity_name(given["perplexity"]),
    )
    if given["source"] is not None:
        summarise(out, _published(options, given))
        return
    graph = open_kg(given)
    for name in (given["writer"], given["perplexity"]):
        keep_answers(given, name, out)
    client = client_options(given)
    store = open_replay(given)
    llm = make_llm(
        given["writer"],
        store=store,
        options=client,
        templates=template_writer_templates(graph.domain),
    )
    verdicts = given["verdicts"] or beside(out, ".verdicts.db")
    judge = judge_session(given, given["judge_name"], verdicts)
    manifest = build_kalma(
        options,
        graph,
        llm,
        lambda texts: make_perplexity(
            given["perplexity"], texts, device=given["device"], options=client, store=store
        ),
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
    found = read_published(
        Path(argument), given["general"], given["gold"], options.limit, given["gold_later"]
    )
    return build_published(options, found, load_domain(given["domain"]))
