"""Commands that show or verify a package, and diagnose the installation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import path_argument, path_option
from citeforge.cli.json_output import json_option, present
from citeforge.cli.options import add_options, field_options, run_options
from citeforge.cli.terminal import echo_wrapped
from citeforge.schemas.recipes.base import RunOptions

if TYPE_CHECKING:
    from citeforge.builders.verify import Verification
    from citeforge.engines.running.doctor import Finding
    from citeforge.package.items import Item
    from citeforge.package.package import Package
    from citeforge.schemas.manifest import Manifest


_MOST_DESCRIBED = 5
"""Largest number of context sets that a summary describes; of more it lists the names."""
_MOST_LISTED = 10
"""Number of questions, or rejected twins, that are listed without ``--full``."""


def summarise(folder: Path, manifest: Manifest) -> None:
    """Print a summary of a package: sources, statistics, context sets, warnings."""
    from citeforge.builders.card import format_statistic
    from citeforge.package.manifest import read_stats
    from citeforge.schemas.counts import EXTRA_FIELDS, SUSPECTS, count_name, describe_count

    click.echo(f"{manifest.name} ({manifest.kind}) at {folder}")
    click.echo(f"benchmark hash {manifest.benchmark_hash}")
    for source in manifest.sources:
        click.echo(f"source {source.spec}; licence {source.licence or 'not stated'}")
        for rule, text in source.rules.items():
            click.echo(f"  {rule}: {text}")
        for key, count in source.counts.items():
            click.echo(f"  {count:,} {describe_count(key)}")
            if count_name(key) in EXTRA_FIELDS:
                click.echo(f"warning: {source.spec}: {count:,} {describe_count(key)}", err=True)
    stats = read_stats(folder)
    numbers = (stats | manifest.counts).items()
    figures = {
        describe_count(k): format_statistic(v) for k, v in numbers if type(v) not in (dict, str)
    }
    width, digits = (max(map(len, texts), default=0) for texts in (figures, figures.values()))
    for what, text in figures.items():
        click.echo(f"  {what:<{width}}  {text:>{digits}}")
    for key, value in stats.items():
        if isinstance(value, dict | str):
            echo_wrapped(f"{describe_count(key)}: {format_statistic(value)}", 2)
    if manifest.config.get("drop_suspects"):
        dropped = sum(n for k, n in manifest.counts.items() if count_name(k) == SUSPECTS)
        click.echo(f"{dropped:,} suspect negatives were dropped (--drop-suspects)")
    if manifest.short_mappings:
        n = len(manifest.short_mappings)
        click.echo(f"{n} queries have fewer negatives than asked (see manifest.json)")
    contexts = manifest.contexts
    if len(contexts) > _MOST_DESCRIBED:
        echo_wrapped(f"{len(contexts)} context sets: {', '.join(contexts)}")
        contexts = {}
    for name, info in contexts.items():
        labels = sorted({label for found in info.short.values() for label in found})
        few = ", ".join(labels).replace("_", " ")
        short = f"; {len(info.short)} queries have fewer than asked: {few}" if info.short else ""
        echo_wrapped(f"context {name}: {info.description}{short}")
    for text in manifest.warnings:
        click.echo(f"warning: {text}", err=True)


@click.command()
@path_argument("folder")
@click.option("--query", help="Show this query with its labelled context.")
@click.option("--context", help="Context set to show (default: all).")
@click.option("--full", is_flag=True, help="Show whole passages and lists, not their beginnings.")
@click.option("--trace", is_flag=True, help="Show how a KaLMA question grew (with --query).")
def show(folder: Path, query: str | None, context: str | None, full: bool, trace: bool) -> None:
    """Summarise a package, or show one query in context.

    The summary lists the passages without an accepted twin, and the questions of KaLMA with their
    gold facts. A query shows the author labels, the twins and the gold facts of its contexts.
    """
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest
    from citeforge.package.package import Package
    from citeforge.schemas.errors import UsageError

    folder = package_folder(folder)
    manifest = load_manifest(folder)
    if query is None and trace:
        raise UsageError("--trace requires --query ID", code="missing-option")
    package = Package(folder, manifest)
    if query is None:
        summarise(folder, manifest)
        _list_fields(package)
        _list_rejected(package, full)
        _list_questions(package, full)
    elif trace:
        _show_trace(package, query)
    else:
        _show_query(package, query, [context] if context else package.contexts, full)


def _list_fields(package: Package) -> None:
    """Print the fields of the queries by which scores can be split, with their values."""
    from citeforge.package.fields import describe_fields

    if fields := describe_fields(package.queries):
        click.echo("fields of the queries (score --by FIELD):")
    for name, text in fields.items():
        echo_wrapped(f"{name}: {text}", 2)


def _list_rejected(package: Package, full: bool) -> None:
    """Print the passages without an accepted twin (LLM-written version), with the reasons."""
    from citeforge.engines.textfiles import count_text

    rows = [row for row in package.twins.to_pylist() if not row["accepted"]]
    if rows:
        click.echo(f"{count_text(len(rows), 'passage')} without an accepted twin:")
    for row in rows if full else rows[:_MOST_LISTED]:
        echo_wrapped(f"{row['_id']}: {_describe_rejection(row)}", 2)
    _echo_omitted(len(rows), full)


def _describe_rejection(row: dict[str, Any]) -> str:
    """Describe why a twin (LLM-written version) was rejected, and after how many attempts."""
    return f"rejected (attempts: {row['attempts']}): {'; '.join(row['notes'])}"


def _list_questions(package: Package, full: bool) -> None:
    """Print the questions of a knowledge-graph package in each wording, with gold facts."""
    if not package.has_graphs:
        return
    others = [(name, form["text"]) for name, form in list(package.forms.items())[1:]]
    click.echo(f"{len(package):,} questions:")
    for row, item in enumerate(islice(package.items(), None if full else _MOST_LISTED)):
        echo_wrapped(f"{item.query_id}: {item.query}", 2)
        for form, texts in others:
            echo_wrapped(f"{form}: {texts[row]}", 6)
        for fact in item.knowledge:
            echo_wrapped(f"gold: {fact.name}, {fact.relation}: {fact.value}", 6)
    _echo_omitted(len(package), full)


def _echo_omitted(count: int, full: bool) -> None:
    """Print how many of ``count`` items a list without ``--full`` left out, if any."""
    if not full and count > _MOST_LISTED:
        click.echo(f"  … and {count - _MOST_LISTED:,} more (--full)")


def _show_query(package: Package, query: str, contexts: list[str], full: bool) -> None:
    """Print a query with what each context set shows for it, and the passages' rewritten twins.

    Args:
        package: the package.
        query: id of the query.
        contexts: context sets to show.
        full: whether texts are shown whole.
    """
    from citeforge.package.items import name_label

    # The cells of a design show the same passages: their texts are printed once.
    is_design, printed = package.kind.facts.is_design, set[str]()
    twins = {} if is_design else {row["_id"]: row for row in package.twins.to_pylist()}

    def echo(text: str) -> None:
        """Print a text, cut to 300 characters without ``--full``."""
        echo_wrapped(text if full or len(text) <= 300 else f"{text[:299]}…", 6)

    for name in contexts:
        labels = package.kind.labelling(package, name)
        for item in package.items(name, query):
            echo_wrapped(f"query {item.query_id}: {item.query}")
            click.echo(f"context {name}:")
            rows = [twins[p.id] for p in item.passages if p.id in twins]
            texts = package.texts(row["twin_id"] for row in rows) if rows else {}
            for index, passage in enumerate(item.passages):
                said = labels.get_label(query, index) if labels else ""
                number = index + package.grammar.base
                label = name_label(passage.label, package.manifest)
                click.echo(f"  [{number}] {label} ({passage.id}){said and ', ' + said}")
                if not (is_design and passage.id in printed):
                    echo(f"{passage.title}: {passage.text}" if passage.title else passage.text)
                printed.add(passage.id)
                if (row := twins.get(passage.id)) is None:
                    continue
                if not row["accepted"]:
                    echo(f"twin {_describe_rejection(row)}")
                if row["twin_id"] in texts:
                    echo(f"twin ({row['twin_id']}): {texts[row['twin_id']][1]}")
            _echo_graphs(item)


def _echo_graphs(item: Item) -> None:
    """Print the knowledge graphs of an item, one triple per line, gold ones labelled."""
    for graph in item.graphs:
        click.echo(f"  {graph.qid} {graph.name}")
        for triple in graph.triples:
            mark = f" ({label})" if (label := item.gold_label(triple)) else ""
            echo_wrapped(f"{triple.relation}: {triple.value}{mark}", 6)
    for text in item.describe_removed():
        echo_wrapped(f"removed: {text}", 2)


def _show_trace(package: Package, query: str) -> None:
    """Print how ``build kalma`` made a question; raise an error for other kinds of packages."""
    from citeforge.schemas.errors import InputError

    text = package.kind.trace(package, query)
    if text is None:
        raise InputError(
            f"is a {package.kind.name} benchmark",
            path=package.folder,
            allowed="--trace is for those of build kalma",
            code="wrong-kind",
        )
    click.echo(text, nl=False)


@click.command()
@path_argument("folder")
@json_option
def verify(folder: Path) -> None:
    """Check a package: hashes, schemas, ids, contexts.

    Exit code 0 when it is sound, 1 with one line for each problem.
    """
    from citeforge.builders.verify import Verification
    from citeforge.builders.verify import verify as find_problems
    from citeforge.engines.textfiles import count_text
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError

    folder = package_folder(folder)
    problems = find_problems(folder)
    manifest = load_manifest(folder, has_links=bool(problems))
    result = Verification(folder, len(manifest.files), manifest.benchmark_hash, problems)
    present(result, partial(_print_verification, result))
    if problems:
        raise InputError(count_text(len(problems), "problem"), path=folder, code="schema-mismatch")


def _print_verification(result: Verification) -> None:
    """Print the problems of a package on standard error; the benchmark's hash if it is sound."""
    for problem in result.problems:
        click.echo(f"{result.folder / problem.file}: {problem.message}", err=True)
    if not result.problems:
        click.echo(f"{result.folder}: {result.n_files} files verified")
        click.echo(f"benchmark hash {result.benchmark_hash}")


@click.command()
@click.option("--base-url", help="Endpoint to ask (default: OPENAI_BASE_URL).")
@path_option("--store", help="Replay store to look at.")
@click.option("--offline", is_flag=True, help="Ask no network.")
@add_options(field_options(RunOptions, ("cache", "cache_size")))
@json_option
def doctor(base_url: str | None, store: Path | None, offline: bool, **cache: Any) -> None:
    """Check installation, cache, endpoint, Hub and store; say what to do.

    Never shows a key. Exit code 1 when a store is there and cannot be read.
    """
    from citeforge.engines.running.doctor import examine
    from citeforge.schemas.errors import InputError

    run = run_options(cache, base_url=base_url)
    findings = examine(run, store, ask_network=not offline)
    present(findings, partial(_print_diagnosis, findings))
    if any(f.good is False for f in findings):
        raise InputError("something cannot be used; see the lines marked NO", code="unusable")


def _print_diagnosis(findings: Sequence[Finding]) -> None:
    """Print what was found of the installation, with what to do next."""
    width = max(len(f.what) for f in findings)
    for finding in findings:
        mark = {True: "ok", False: "NO", None: "--"}[finding.good]
        click.echo(f"{mark}  {finding.what:<{width}}  {finding.text}")
        if finding.advice:
            click.echo(f"    {'':<{width}}  → {finding.advice}")
