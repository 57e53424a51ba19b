"""A knowledge graph as recipes and run options ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from citeforge.kg.budget import Limits
from citeforge.kg.domain import load_domain
from citeforge.kg.engines import make_engine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.run import RunOptions


def open_graph(
    name: str | None, domain: str | Mapping[str, Any], languages: Sequence[str], run: RunOptions
) -> KnowledgeGraph:
    """The graph of ``--kg`` with its domain and languages.

    Raises:
        UsageError: no graph is named.
        InputError: a domain, graph or store that cannot be read.
    """
    if name is None:
        raise UsageError("give --kg file:PATH, sparql:URL or replay:FILE")
    options: dict[str, Any] = {}
    if name.startswith("sparql:"):
        options = {"timeout": run.kg_timeout, "limits": Limits(seconds=run.kg_seconds)}
    found = load_domain(domain)
    engine = make_engine(name, run.kg_store, **options)
    return KnowledgeGraph(engine, found, list(languages) or ["en"], run.kg_batch)
