"""Options of commands that ask a knowledge graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.recipes.records import KalmaRecipe, RunOptions
from citeforge.schemas.recipes.run import GRAPH

F = TypeVar("F", bound=Callable[..., Any])
_NAMED = ("kg", "domain", "languages")


def kg_options(command: F) -> F:
    """Options that name a graph."""
    return add_options([*field_options(KalmaRecipe, _NAMED), *field_options(RunOptions, GRAPH)])(
        command
    )


def open_kg(options: dict[str, Any]) -> Any:
    """The KnowledgeGraph of parsed options.

    Raises:
        UsageError: no graph is named.
    """
    from citeforge.kg.setup import open_graph

    recipe = record_from(KalmaRecipe, options, _NAMED)
    run = record_from(RunOptions, options, GRAPH)
    return open_graph(recipe.kg, recipe.domain, recipe.languages, run)
