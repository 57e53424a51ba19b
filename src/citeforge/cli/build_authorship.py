"""``citeforge build twins`` and ``citeforge build authorship``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

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
from citeforge.schemas.choices import JUDGES, LLMS, listed

_LABEL_SETS = "human_llm, person_machine, names, placebo"


@click.command("twins")
@click.option("--benchmark", type=click.Path(path_type=Path), required=True, help="Package.")
@click.option("--llm", "llm_name", required=True, help=f"{listed(LLMS[:2])}.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder to make; not needed with --dry-run."
)
@click.option("--name", help="Name in signatures and card (default: the folder's).")
@click.option("--context", "contexts", multiple=True, help="Context sets (default: all).")
@click.option("--attempts", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    default=0.1,
    show_default=True,
    help="Of the first attempt.",
)
@click.option(
    "--temperature-step",
    type=click.FloatRange(0),
    default=0.3,
    show_default=True,
    help="Added for every further attempt.",
)
@click.option(
    "--length-ratio",
    metavar="LOW,HIGH",
    default="0.8,1.25",
    show_default=True,
    help="Words of the twin as a share of the passage's.",
)
@click.option(
    "--copy-similarity",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    help="Edit similarity from which a twin is a copy.",
)
@click.option("--ner", help="Installed spaCy model for named entities (default: rules).")
@click.option("--judge", "judge_name", help=f"Check entailment both ways: {listed(JUDGES)}.")
@verdicts_option
@click.option("--keep-failed", is_flag=True, help="Keep queries without an accepted twin.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost.")
@click.option("--overwrite", is_flag=True, help="Replace what is at --out.")
@click.option("--resume", is_flag=True, help="Continue a build that was cut off.")
@model_options
@endpoint_options
def twins(**given: Any) -> None:
    """LLM-written twins of every passage that the contexts name.

    Each twin is checked: length, no copy, numbers, dates, quotations, names, gold answers,
    language, no preamble, no markdown. Answers are kept in --store (by default OUT.replay.db) and
    a judge's verdicts in --verdicts (OUT.verdicts.db), so that nothing is paid for twice, and the
    build can be made again with --llm replay:FILE.
    """
    from citeforge.builders.twins.build import TwinOptions, build_twins, first_requests
    from citeforge.builders.twins.checks import Thresholds
    from citeforge.builders.twins.write import Attempts
    from citeforge.cli.output import summarise
    from citeforge.engines.folders import beside
    from citeforge.engines.llm.client import OpenAiLlm
    from citeforge.engines.llm.writers import make_llm
    from citeforge.schemas.errors import UsageError

    try:
        low, high = (float(n) for n in given["length_ratio"].split(","))
    except ValueError as error:
        raise UsageError("--length-ratio: expected LOW,HIGH, e.g. 0.8,1.25") from error
    if not 0 < low <= high:
        raise UsageError("--length-ratio: LOW must be above 0 and at most HIGH")
    options = TwinOptions(
        benchmark=given["benchmark"],
        out=given["out"] or Path(),  # nothing is made in a dry run
        contexts=given["contexts"],
        attempts=Attempts(given["attempts"], given["temperature"], given["temperature_step"]),
        thresholds=Thresholds(shortest=low, longest=high, copy_similarity=given["copy_similarity"]),
        ner=given["ner"],
        keep_failed=given["keep_failed"],
        if_exists=if_exists(given),
        name=given["name"],
    )
    if given["out"] is not None:
        keep_answers(given, given["llm_name"], given["out"])
    elif not given["dry_run"]:
        raise UsageError("--out is missing: name the folder to make, or give --dry-run")
    llm = make_llm(given["llm_name"], store=open_replay(given), options=client_options(given))
    if given["dry_run"]:
        if not isinstance(llm, OpenAiLlm):
            raise UsageError("--dry-run: only openai: models are asked")
        click.echo("\n".join(llm.plan(first_requests(options, llm)).lines()))
        return
    verdicts = given["verdicts"] or beside(options.out, ".verdicts.db")
    judge = judge_session(given, given["judge_name"], verdicts)
    manifest = build_twins(options, llm, judge)
    summarise(options.out, manifest)


@click.command("authorship")
@click.option("--benchmark", type=click.Path(path_type=Path), help="Package; labels only.")
@click.option("--twins", "twins_folder", type=click.Path(path_type=Path), help="From build twins.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--name", help="Name in signatures and card (default: the folder's).")
@click.option(
    "--origins",
    help="Who wrote relevant and other passages: hh, hl, lh, ll (default: all; without twins hh).",
)
@click.option(
    "--label-set",
    "label_sets",
    multiple=True,
    help=f"{_LABEL_SETS}; repeatable (default: human_llm and placebo).",
)
@click.option(
    "--labels",
    "label_files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="YAML file with label sets of your own.",
)
@click.option(
    "--candidates",
    help="mapping, bm25, dense, context:NAME, or a TREC run file (default: mapping).",
)
@click.option("--embedder", default="offline", show_default=True, help="For --candidates dense.")
@click.option("--k", type=click.IntRange(2), default=10, show_default=True, help="Passages.")
@click.option("--sample", type=click.IntRange(1), help="Sample this many queries.")
@click.option(
    "--relevant",
    "rule",
    type=click.Choice(["one", "one-in-list", "any"]),
    default="one",
    show_default=True,
    help="Queries with exactly one judged relevant passage; with one among their first k "
    "candidates; or with any number.",
)
@click.option("--exclude-answers", is_flag=True, help="No non-relevant passage with a gold answer.")
@click.option(
    "--base",
    type=click.Choice(["0", "1"]),
    default="0",
    show_default=True,
    help="Number that prompts give to the first passage.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace what is at --out.")
@click.option("--resume", is_flag=True, help="Continue a build that was cut off.")
@endpoint_options
def authorship(**given: Any) -> None:
    """The same passages under every authorship label.

    With --twins the design has all origins; with --benchmark it has human passages and labels
    only, and needs no LLM.
    """
    from citeforge.builders.authorship.build import ORIGINS, AuthorshipOptions, build_authorship
    from citeforge.builders.authorship.labels import choose
    from citeforge.builders.authorship.select import Selection
    from citeforge.cli.output import summarise
    from citeforge.schemas.errors import UnknownValueError, UsageError

    if (given["benchmark"] is None) == (given["twins_folder"] is None):
        raise UsageError("give --twins DIR, or --benchmark DIR for labels without rewritten texts")
    origins = tuple(o.strip() for o in (given["origins"] or "").split(",") if o.strip())
    for name in origins:
        if name not in ORIGINS:
            raise UnknownValueError("pair of origins", name, ORIGINS)
    options = AuthorshipOptions(
        benchmark=given["benchmark"] or given["twins_folder"],
        out=given["out"],
        label_sets=choose(given["label_sets"], given["label_files"]),
        origins=tuple(dict.fromkeys(origins)),
        candidates=given["candidates"] or "mapping",
        embedder=given["embedder"] if given["candidates"] == "dense" else None,
        selection=Selection(
            given["k"], given["rule"], given["sample"], given["exclude_answers"], given["seed"]
        ),
        base=int(given["base"]),
        if_exists=if_exists(given),
        name=given["name"],
    )
    summarise(options.out, build_authorship(options, lambda base: _ranked(base, options, given)))


def _ranked(base: Any, options: Any, given: dict[str, Any]) -> Any:
    from citeforge.builders.authorship import candidates
    from citeforge.engines.embed import make_embedder

    name = options.candidates
    # Deep enough that relevant, equal and twin passages can be left out.
    depth = 4 * options.selection.k + 20
    if name == "mapping":
        return candidates.from_mapping(base)
    if name == "bm25":
        return candidates.from_bm25(base, depth)
    if name.startswith("context:"):
        return candidates.from_context(base, name.removeprefix("context:"))
    if name == "dense":
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            embedder = make_embedder(
                options.embedder, options=client_options(given), store=open_replay(given)
            )
            return candidates.from_embeddings(base, depth, embedder, Path(folder))
    return candidates.from_run(base, Path(name))
