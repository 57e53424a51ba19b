"""Options of commands that ask a knowledge graph."""

from __future__ import annotations

from typing import Any

from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.recipes.records import KalmaRecipe, RunOptions
from citeforge.schemas.recipes.run import GRAPH

_NAMED = ("kg", "domain", "languages")


kg_options = add_options([*field_options(KalmaRecipe, _NAMED), *field_options(RunOptions, GRAPH)])
"""Options that name a graph."""


def open_kg(options: dict[str, Any]) -> Any:
    """The KnowledgeGraph of parsed options.

    Raises:
        UsageError: no graph is named.
    """
    from citeforge.kg.setup import open_graph

    recipe = record_from(KalmaRecipe, options, _NAMED)
    run = record_from(RunOptions, options, GRAPH)
    return open_graph(recipe.kg, recipe.domain, recipe.languages, run)
