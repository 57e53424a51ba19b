"""``citeforge build …``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.build_authorship import authorship, twins
from citeforge.cli.build_kalma import kalma
from citeforge.cli.options import client_options, endpoint_options, if_exists, open_replay
from citeforge.engines.embed import DEFAULT_EMBEDDER, make_embedder
from citeforge.engines.embedder import Prefixes
from citeforge.engines.vectors import SHARD_ROWS
from citeforge.schemas.choices import EMBEDDERS, listed
from citeforge.schemas.config import Mining, RageConfig, parse_mixture


@click.group()
def build() -> None:
    """Build a benchmark package from a source."""


@build.command("rage")
@click.option("--source", required=True, help="KIND:ARGUMENT; see `citeforge sources`.")
@click.option("--split", help="Split of the source (BEIR: name of the qrels file; default test).")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--name", help="Name in signatures and card (default: the folder's).")
@click.option("--licence", help="SPDX identifier, when the source does not say.")
@click.option("--extra-corpus", help="A further source of passages to mine from.")
@click.option("--limit", type=click.IntRange(1), help="Sample this many queries.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every draw.")
@click.option(
    "--embedder",
    default=DEFAULT_EMBEDDER,
    show_default=True,
    help=f"{listed(EMBEDDERS)}.",
)
@click.option("--embedder-revision", help="Commit, tag or branch of a Hub model.")
@click.option("--query-prefix", help="Put before queries (default: the model family's).")
@click.option("--passage-prefix", help="Put before passages (default: the model family's).")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …")
@click.option("--embeddings", type=click.Path(path_type=Path), help="Keep and reuse shards here.")
@click.option(
    "--shard-rows",
    type=click.IntRange(1),
    default=SHARD_ROWS,
    show_default=True,
    help="Passages an embedding shard; a killed build resumes at the next shard.",
)
@click.option(
    "--n-seemingly",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Seemingly relevant passages a query.",
)
@click.option(
    "--n-irrelevant",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Irrelevant passages a query.",
)
@click.option(
    "--skip-top",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Pass over this many nearest candidates.",
)
@click.option(
    "--max-score",
    type=click.FloatRange(-1, 1),
    help="Highest cosine of a seemingly relevant passage.",
)
@click.option("--margin", type=float, help="Keep candidates with cosine ≤ best relevant − margin.")
@click.option("--exclude-answers", is_flag=True, help="Drop negatives that contain a gold answer.")
@click.option("--drop-self", is_flag=True, help="Drop passages that are the query's own text.")
@click.option("--remine", is_flag=True, help="Replace the negatives that a rage: source brings.")
@click.option(
    "--mixture",
    "mixtures",
    multiple=True,
    metavar="NAME=REL,IRR,SEEM",
    help="Context set, repeatable (default mix=3,3,3); presets: paper_mix, "
    "paper_irrelevant, paper_seemingly.",
)
@click.option(
    "--corpus",
    type=click.Choice(["all", "pool"]),
    default="all",
    show_default=True,
    help="Keep all passages, or those that some mapping names.",
)
@click.option(
    "--base",
    type=click.Choice(["0", "1"]),
    default="1",
    show_default=True,
    help="Number that prompts give to the first passage.",
)
@click.option("--allow-no-relevant", is_flag=True, help="Keep queries without relevant passages.")
@click.option("--skip-empty", is_flag=True, help="Skip, and count, rows without text.")
@click.option("--skip-dangling", is_flag=True, help="Skip, and count, judgements of missing rows.")
@click.option(
    "--skip-contradictions",
    is_flag=True,
    help="Of judgements that contradict each other, keep the highest and count the others.",
)
@click.option(
    "--drop-suspects",
    is_flag=True,
    help="Drop negatives that nearly repeat a relevant passage or hold a gold answer.",
)
@click.option("--overwrite", is_flag=True, help="Replace what is at --out.")
@click.option("--resume", is_flag=True, help="Continue a build that was cut off.")
@endpoint_options
def rage(**given: Any) -> None:
    """Queries with relevant, irrelevant and seemingly relevant passages (RAGE)."""
    from citeforge.builders.rage import BuildOptions, build_rage
    from citeforge.cli.output import summarise
    from citeforge.schemas.errors import UsageError

    mixtures = tuple(parse_mixture(text) for text in given["mixtures"] or ["mix=3,3,3"])
    names = [m.name for m in mixtures]
    if len(set(names)) != len(names):
        raise UsageError(f"--mixture: a name comes twice ({', '.join(names)})")
    mining = Mining(
        seemingly_relevant=given["n_seemingly"],
        irrelevant=given["n_irrelevant"],
        **{
            k: given[k] for k in ("skip_top", "max_score", "margin", "exclude_answers", "drop_self")
        },
    )
    same = (
        "source",
        "split",
        "extra_corpus",
        "limit",
        "seed",
        "embedder",
        "embedder_revision",
        "remine",
        "corpus",
        "allow_no_relevant",
        "skip_empty",
        "skip_dangling",
        "skip_contradictions",
        "drop_suspects",
    )
    config = RageConfig(
        mining=mining, mixtures=mixtures, base=int(given["base"]), **{k: given[k] for k in same}
    )
    options = BuildOptions(
        out=given["out"],
        if_exists=if_exists(given),
        name=given["name"],
        licence=given["licence"],
        embeddings=given["embeddings"],
        shard_rows=given["shard_rows"],
    )
    prefixes = None
    if given["query_prefix"] is not None or given["passage_prefix"] is not None:
        prefixes = Prefixes(given["query_prefix"] or "", given["passage_prefix"] or "")
    manifest = build_rage(
        config,
        options,
        lambda: make_embedder(
            config.embedder,
            revision=config.embedder_revision,
            device=given["device"],
            prefixes=prefixes,
            options=client_options(given),
            store=open_replay(given),
        ),
    )
    summarise(given["out"], manifest)


def _frozen_options(command: Any) -> Any:
    for option in (
        click.option("--resume", is_flag=True, help="Continue a build that was cut off."),
        click.option("--overwrite", is_flag=True, help="Replace what is at --out."),
        click.option("--skip-empty", is_flag=True, help="Skip, and count, passages without text."),
        click.option("--licence", help="SPDX identifier, when the source does not say."),
        click.option("--name", help="Name in signatures and card (default: the folder's)."),
        click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder."),
        click.option("--source", required=True, help="KIND:ARGUMENT."),
    ):
        command = option(command)
    return command


@build.command("hagrid")
@_frozen_options
def hagrid(**given: Any) -> None:
    """HAGRID's questions with their quotes as contexts, and all gold answers."""
    from citeforge.builders.frozen import build_hagrid

    _build_frozen(build_hagrid, given)


@build.command("alce")
@_frozen_options
@click.option(
    "--k", type=click.IntRange(1), default=5, show_default=True, help="Documents a context."
)
def alce(**given: Any) -> None:
    """ALCE's items with their first documents as contexts, and all gold."""
    from citeforge.builders.frozen import build_alce

    _build_frozen(build_alce, given)


def _build_frozen(build_one: Any, given: dict[str, Any]) -> None:
    from citeforge.builders.frozen import FrozenOptions
    from citeforge.cli.output import summarise

    exists = if_exists(given)
    del given["overwrite"], given["resume"]
    options = FrozenOptions(if_exists=exists, **given)
    summarise(options.out, build_one(options))


build.add_command(twins)
build.add_command(authorship)
build.add_command(kalma)
