"""Options of commands that ask a knowledge graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from citeforge.schemas.choices import GRAPHS, listed

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--kg",
        "kg_name",
        help=f"{listed(GRAPHS)}.",
    ),
    click.option(
        "--kg-store",
        type=click.Path(path_type=Path),
        help="Keep an endpoint's replies here (SQLite).",
    ),
    click.option(
        "--domain", default="people", show_default=True, help="`people`, or a .yaml file."
    ),
    click.option(
        "--languages",
        default="en",
        show_default=True,
        help="Labels are taken in the first of these that has one, separated by commas.",
    ),
    click.option(
        "--kg-batch",
        type=click.IntRange(1),
        default=50,
        show_default=True,
        help="Entities a request.",
    ),
    click.option(
        "--kg-timeout",
        type=click.FloatRange(1),
        default=60.0,
        show_default=True,
        help="Seconds a query may take.",
    ),
    click.option(
        "--kg-seconds",
        type=click.FloatRange(1),
        default=60.0,
        show_default=True,
        help="Query seconds a minute that the endpoint grants.",
    ),
)


def kg_options(command: F) -> F:
    """Options that name a graph."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_kg(given: dict[str, Any]) -> Any:
    """The KnowledgeGraph of parsed options.

    Raises:
        UsageError: no graph is named.
    """
    from citeforge.kg.budget import Limits
    from citeforge.kg.domain import load_domain
    from citeforge.kg.engines import make_engine
    from citeforge.kg.graph import KnowledgeGraph
    from citeforge.schemas.errors import UsageError

    if given["kg_name"] is None:
        raise UsageError("give --kg file:PATH, sparql:URL or replay:FILE")
    options: dict[str, Any] = {}
    if given["kg_name"].startswith("sparql:"):
        limits = Limits(seconds=given["kg_seconds"])
        options = {"timeout": given["kg_timeout"], "limits": limits}
    domain = load_domain(given["domain"])
    engine = make_engine(given["kg_name"], given["kg_store"], **options)
    languages = [part.strip() for part in given["languages"].split(",") if part.strip()]
    return KnowledgeGraph(engine, domain, languages or ["en"], given["kg_batch"])
