"""The command ``show``, and the summary of a package that builds print, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citeforge.cli.command import path_argument
from citeforge.cli.json_output import is_json_wanted, json_option, present
from citeforge.cli.terminal import echo_wrapped

if TYPE_CHECKING:
    from citeforge.package.overview import Overview, ShownContext, ShownPassage, ShownQuery, Summary
    from citeforge.package.package import Package
    from citeforge.schemas.manifest import Manifest

_MOST_DESCRIBED = 5
"""Largest number of context sets that a summary describes; of more it lists the names."""
_MOST_LISTED = 10
"""Number of questions, or rejected twins, that are listed without ``--full``."""


def print_summary(summary: Summary) -> None:
    """Print a summary of a package: sources, statistics, context sets; warnings on stderr."""
    from citeforge.builders.card import format_statistic
    from citeforge.engines.textfiles import count_text
    from citeforge.schemas.counts import SUSPECTS, count_line, count_name, describe_count

    manifest, stats = summary.manifest, summary.statistics
    click.echo(f"{manifest.name} ({manifest.kind}) at {summary.folder}")
    click.echo(f"benchmark hash {manifest.benchmark_hash}")
    for source in manifest.sources:
        click.echo(f"source {source.spec}; licence {source.licence or 'not stated'}")
        for rule, text in source.rules.items():
            click.echo(f"  {rule}: {text}")
        for key, count in source.counts.items():
            click.echo(f"  {count_line(key, count)}")
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
        click.echo(f"{count_text(dropped, 'suspect negative')} dropped (--drop-suspects)")
    if manifest.short_mappings:
        n = len(manifest.short_mappings)
        click.echo(f"{count_text(n, 'query')} with fewer negatives than asked (see manifest.json)")
    _print_contexts(manifest)
    for text in summary.warnings:
        click.echo(f"warning: {text}", err=True)


def _print_contexts(manifest: Manifest) -> None:
    """Print a package's context sets with descriptions; only their names if they are many."""
    contexts = manifest.contexts
    if len(contexts) > _MOST_DESCRIBED:
        echo_wrapped(f"{len(contexts)} context sets: {', '.join(contexts)}")
        return
    for name, info in contexts.items():
        labels = sorted({label for found in info.short.values() for label in found})
        few = ", ".join(labels).replace("_", " ")
        short = f"; {len(info.short)} queries have fewer than asked: {few}" if info.short else ""
        echo_wrapped(f"context {name}: {info.description}{short}")


@click.command()
@path_argument("folder")
@click.option("--query", help="Show this query with its labelled context.")
@click.option("--context", help="Context set to show (default: all).")
@click.option("--full", is_flag=True, help="Show whole passages and lists, not their beginnings.")
@click.option("--trace", is_flag=True, help="Show how a KaLMA question grew (with --query).")
@json_option
def show(folder: Path, query: str | None, context: str | None, full: bool, trace: bool) -> None:
    """Summarise a package, or show one query in context.

    The summary lists the passages without an accepted twin, and the questions of KaLMA with their
    gold facts. A query shows the author labels, the twins and the gold facts of its contexts.
    """
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest
    from citeforge.package.overview import describe_package, read_query
    from citeforge.package.package import Package
    from citeforge.schemas.errors import UsageError

    folder = package_folder(folder)
    manifest = load_manifest(folder)
    if query is None and trace:
        raise UsageError("--trace requires --query ID", code="missing-option")
    package = Package(folder, manifest)
    if query is None:
        is_whole = full or is_json_wanted()
        overview = describe_package(package, None if is_whole else _MOST_LISTED)
        present(overview, partial(_print_overview, overview, package, full))
    elif trace:
        _show_trace(package, query)
    else:
        shown = read_query(package, query, [context] if context else package.contexts)
        present(shown, partial(_print_query, shown, package, full))


def _print_overview(overview: Overview, package: Package, full: bool) -> None:
    """Print a package's summary, query fields, rejected LLM rewrites and questions on graphs.

    Args:
        overview: what to print.
        package: the package.
        full: whether lists are printed whole.
    """
    from citeforge.engines.textfiles import count_text

    print_summary(overview.summary)
    if overview.fields:
        click.echo("fields of the queries (score --by FIELD):")
    for name, values in overview.fields.items():
        echo_wrapped(f"{name}: {values.describe()}", 2)
    if rejections := overview.rejections:
        click.echo(f"{count_text(len(rejections), 'passage')} without an accepted twin:")
    for rejection in rejections if full else rejections[:_MOST_LISTED]:
        echo_wrapped(f"{rejection.passage}: {rejection.describe()}", 2)
    _echo_omitted(len(rejections), full)
    if not package.has_graphs:
        return
    click.echo(f"{len(package):,} questions:")
    for question in overview.questions:
        echo_wrapped(f"{question.query_id}: {question.text}", 2)
        for form, text in question.other_forms.items():
            echo_wrapped(f"{form}: {text}", 6)
        for fact in question.gold:
            echo_wrapped(f"gold: {fact.name}, {fact.relation}: {fact.value}", 6)
    _echo_omitted(len(package), full)


def _echo_omitted(count: int, full: bool) -> None:
    """Print how many of ``count`` items a list without ``--full`` left out, if any."""
    if not full and count > _MOST_LISTED:
        click.echo(f"  … and {count - _MOST_LISTED:,} more (--full)")


def _print_query(shown: ShownQuery, package: Package, full: bool) -> None:
    """Print a query with each context set's passages (also their LLM rewrites, twins) or graphs.

    Args:
        shown: query and contexts.
        package: the package.
        full: whether texts are printed whole.
    """
    # The cells of a design show the same passages: their texts are printed once.
    is_design, printed = package.kind.facts.is_design, set[str]()
    for context in shown.contexts:
        echo_wrapped(f"query {shown.query_id}: {shown.query}")
        click.echo(f"context {context.context}:")
        for passage in context.passages:
            has_text = not (is_design and passage.id in printed)
            _print_passage(passage, package.manifest, full, has_text)
            printed.add(passage.id)
        _print_graphs(context)


def _print_passage(
    passage: ShownPassage, manifest: Manifest, full: bool, is_text_shown: bool
) -> None:
    """Print a passage of a context with its labels, and its LLM rewrite (twin) if there is one.

    Args:
        passage: the passage.
        manifest: of its package.
        full: whether texts are printed whole, not their first 300 characters.
        is_text_shown: whether the text is printed.
    """
    from citeforge.package.items import name_label

    def echo(text: str) -> None:
        """Print a text, cut to 300 characters without ``--full``."""
        echo_wrapped(text if full or len(text) <= 300 else f"{text[:299]}…", 6)

    author = passage.author_label and f", {passage.author_label}"
    label = name_label(passage.label, manifest)
    click.echo(f"  [{passage.number}] {label} ({passage.id}){author}")
    if is_text_shown:
        echo(f"{passage.title}: {passage.text}" if passage.title else passage.text)
    if (twin := passage.twin) is None:
        return
    if twin.rejection is not None:
        echo(f"twin {twin.rejection.describe()}")
    if twin.text is not None:
        echo(f"twin ({twin.id}): {twin.text}")


def _print_graphs(context: ShownContext) -> None:
    """Print the graphs of a context, one triple per line, gold ones labelled."""
    for graph in context.graphs:
        click.echo(f"  {graph.qid} {graph.name}")
        for shown in graph.triples:
            mark = f" ({shown.gold})" if shown.gold else ""
            echo_wrapped(f"{shown.triple.relation}: {shown.triple.value}{mark}", 6)
    for text in context.removed:
        echo_wrapped(f"removed: {text}", 2)


def _show_trace(package: Package, query: str) -> None:
    """Print how ``build kalma`` composed a question; raise an error for other kinds of packages."""
    from citeforge.schemas.errors import InputError
    from citeforge.schemas.outputs import TextResult

    text = package.kind.trace(package, query)
    if text is None:
        raise InputError(
            f"is a {package.kind.name} benchmark",
            path=package.folder,
            allowed="--trace is for those of build kalma",
            code="wrong-kind",
        )
    present(TextResult(text=text), partial(click.echo, text, nl=False))
