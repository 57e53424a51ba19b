"""``citeforge kg …``."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import NamedCommands, path_option
from citeforge.cli.options import add_options, field_options, record_from
from citeforge.cli.terminal import echo_wrapped
from citeforge.engines.shown import show_number
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.flags import fields_in
from citeforge.schemas.recipes.groups import GRAPHS
from citeforge.schemas.recipes.kalma import KalmaRecipe

if TYPE_CHECKING:
    from citeforge.kg.profile import ClassProfile, PlainProfile

_MOST_CLASSES = 8
"""Classes that are listed."""
_NAMED = ("kg", "domain", "languages", "skip_malformed")


_RUN = fields_in(RunOptions, GRAPHS)
kg_options = add_options([*field_options(KalmaRecipe, _NAMED), *field_options(RunOptions, _RUN)])
"""Options that name a graph."""


def open_kg(options: dict[str, Any]) -> Any:
    """Open the knowledge graph that the options of a command name.

    Args:
        options: parsed options of the command.

    Raises:
        UsageError: no graph is named.
    """
    from citeforge.kg.graph import open_graph
    from citeforge.kg.relabel import relabel_domain

    recipe = record_from(KalmaRecipe, options, _NAMED)
    run = record_from(RunOptions, options, _RUN)
    graph = open_graph(recipe.kg, recipe.domain, recipe.languages, run, recipe.skip_malformed)
    relabel_domain(graph)
    return graph


@click.group(cls=NamedCommands)
def kg() -> None:
    """Ask a knowledge graph: profile, snapshot, link."""


@kg.command("profile")
@kg_options
@click.option(
    "--class",
    "entity_class",
    metavar="ID",
    help="Class that questions are about: its id, IRI or label (default: the domain's, else the "
    "largest).",
)
@path_option("--out", help="Draft of a domain (FILE.yaml).")
def profile(entity_class: str | None, out: Path | None, **parameters: Any) -> None:
    """List the relations that entities of one class have in a graph, with counts and values.

    For RDF that no domain maps yet, lists all predicates and classes. With --out, writes the domain
    with plain words for every relation that has none (for unmapped RDF: a mapping), to be improved
    by hand and passed as --domain.
    """
    from citeforge.engines.files import write_text
    from citeforge.kg.plain import local_words
    from citeforge.kg.profile import profile_class, profile_plain

    graph = open_kg(parameters)
    if getattr(graph.engine, "is_plain", False):
        listing = profile_plain(graph, entity_class)
        text = listing.draft(out.stem if out is not None else "draft")
        _show_predicates(listing)
        own, why = listing.entity_class, "the largest class"
        labels = {iri: local_words(iri) for iri, _ in listing.classes}
    else:
        class_profile = profile_class(graph, entity_class)
        text = class_profile.draft(graph.domain)
        _show_relations(class_profile, graph.domain.model)
        own, domain = class_profile.entity_class, graph.domain
        why = f"the class of {domain.name}" if own == domain.entity_class else "the largest class"
        labels = {name: label for name, label, _ in class_profile.classes}
    if entity_class is None:
        _explain_choice(own, why, labels)
    _echo_counts(graph.all_counts())
    if out is not None:
        write_text(out, text)
        click.echo(f"{out}: a draft of a domain; build kalma --domain {out}")


def _explain_choice(class_id: str, reason: str, labels: Mapping[str, str]) -> None:
    """Print why a class was profiled, and how to choose another class if there is one.

    Args:
        class_id: id or IRI of the profiled class.
        reason: such as "the largest class".
        labels: labels of all classes by id or IRI, the largest class first.
    """
    if other := next((name for name in labels if name != class_id), None):
        echo_wrapped(
            f"this is {labels[class_id]} ({class_id}), {reason}; for another class, such as "
            f"{labels[other]} ({other}): --class {quote(labels[other])}"
        )


def _echo_counts(counts: Mapping[str, int]) -> None:
    """Print a graph's counts, such as omitted values or changed replies of its endpoint."""
    from citeforge.schemas.counts import count_line

    for key, number in counts.items():
        click.echo(f"  {count_line(key, number)}")


def _show_predicates(listing: "PlainProfile") -> None:
    """Print the classes and predicates of a graph of plain RDF (not in Wikidata's model)."""
    from citeforge.engines.report_table import Table

    click.echo("model: plain")
    echo_wrapped(
        "give --domain with model: plain, which maps its predicates; --out drafts one; see "
        "docs/kalma.md"
    )
    listed = ", ".join(f"{iri} {n:,}" for iri, n in listing.classes[:_MOST_CLASSES])
    echo_wrapped(f"classes: {listed or 'none'}")
    head = ("predicate", "triples", "entities", "values", "kind", "e.g.")
    rows = [
        (p.iri, f"{p.triples:,}", f"{p.entities:,}", f"{p.values:,}", p.node, p.example[:40])
        for p in listing.predicates
    ]
    click.echo("\n".join(Table(head, rows).text()))


def _show_relations(listing: "ClassProfile", model: str) -> None:
    """Print a graph's data model and classes, and a table of the relations of one class.

    Args:
        listing: what was found of the class, its relations and the other classes.
        model: how the graph writes statements, such as Wikidata's direct claims.
    """
    from citeforge.engines.report_table import Table

    click.echo(f"model: {model}")
    listed = ", ".join(
        f"{name} {label} {n:,}" for name, label, n in listing.classes[:_MOST_CLASSES]
    )
    echo_wrapped(
        f"{listing.entities:,} entities of {listing.entity_class}; classes: {listed or 'none'}"
    )
    head = ("relation", "id", "entities", "values", "e.g.", "words")
    rows = [
        (r.label, r.pid, f"{r.entities:,}", f"{r.values:,}", r.example[:40],
         "yes" if r.has_words else "no")
        for r in listing.relations
    ]  # fmt: skip
    click.echo("\n".join(Table(head, rows).text()))


@kg.command("snapshot")
@kg_options
@path_option("--entities", required=True, help="File with one id per line.")
@path_option("--out", required=True, help="FILE.nt or FILE.nt.gz.")
def snapshot(entities: Path, out: Path, **parameters: Any) -> None:
    """Write the sub-graphs of entities to a file of N-Triples.

    Builds from the file do not change when the graph does.
    """
    from citeforge.kg.snapshot import read_entities, write_snapshot
    from citeforge.schemas.errors import UsageError

    if not out.name.endswith((".nt", ".nt.gz")):
        raise UsageError(
            f"--out {out}: expected a name that ends in .nt or .nt.gz", code="bad-option"
        )
    graph = open_kg(parameters)
    ids = read_entities(entities, graph)
    n_entities, n_lines = write_snapshot(graph, ids, out)
    click.echo(f"{out}: {n_entities:,} of {len(set(ids)):,} entities, {n_lines:,} triples")
    if (span := graph.retrieval().get("retrieved")) is not None:
        click.echo(f"  retrieved {span['first']} to {span['last']} ({span['replies']:,} replies)")
    _echo_counts(graph.all_counts())


@kg.command("link")
@kg_options
@path_option(
    "--questions", required=True, help='JSON Lines with "_id" and "text", or BioKaLMA\'s JSON.'
)
@click.option(
    "--ner",
    help="Installed spaCy model, or auto: the one of the extra `ner` where it is installed "
    "(default: the graph's own labels).",
)
@path_option("--out", help="JSON Lines file of links.")
def link(questions: Path, ner: str | None, out: Path | None, **parameters: Any) -> None:
    """Find the entities that questions name (KaLMA's retrieval).

    With BioKaLMA's JSON, reports recall and precision against the sub-graphs it was published with.
    """
    from citeforge.kg.link import Linker
    from citeforge.kg.links import link_questions, read_questions

    read = read_questions(questions)
    links, quality = link_questions(read, Linker(open_kg(parameters), ner), out)
    candidates = [len(link.candidates) for mine in links for link in mine]
    click.echo(
        f"{len(read.texts):,} questions, {len(candidates):,} names, "
        f"{sum(map(bool, candidates)):,} linked, {sum(n > 1 for n in candidates):,} of them chosen "
        "among namesakes"
    )
    if quality is not None:
        click.echo(
            f"against the published sub-graphs: recall "
            f"{show_number(100 * quality.recall, 1)}, precision "
            f"{show_number(100 * quality.precision, 1)} ({quality.expected:,} entities expected, "
            f"{quality.linked:,} linked)"
        )
