"""A knowledge graph as recipes and run options ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citeforge.engines.io.textfiles import yaml_line
from citeforge.kg.client.budget import Limits
from citeforge.kg.domain import load_domain
from citeforge.kg.engines import GRAPHS, GraphSettings, SparqlEngine, StoreEngine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.plain import PlainModel, Translated
from citeforge.schemas.errors import InputError, UsageError
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
    record = load_domain(domain)
    engine = GRAPHS.make(name, GraphSettings(run.kg_store, options))
    translated = None
    if record.plain is not None:
        path = Path(domain) if isinstance(domain, str) else Path(f"{record.name}.yaml")
        translated = _translated(engine, record.plain, path)
    return KnowledgeGraph(engine, record, list(languages) or ["en"], run.kg_batch, translated)


def _translated(engine: SparqlEngine, model: PlainModel, path: Path) -> Translated | None:
    """Put a plain graph into the one model that is asked.

    Raises:
        UsageError: it is no file.
        InputError: the graph has no named entity of the classes.
    """
    if not isinstance(engine, StoreEngine):
        raise UsageError("a domain with model: plain is for --kg file:PATH")
    translated = engine.translate(model)
    if translated is None or translated.named:
        return translated
    instances = translated.left_out["entities without a label"]
    field = "labels" if instances else "classes"
    what = "a name under any of" if instances else "an entity of"
    names = ", ".join(getattr(model, field))
    classes = ", ".join(translated.classes[:5]) or "none"
    raise InputError(
        f"{engine.path.name} has not {what} {names}",
        path=path,
        line=yaml_line(path, ("plain", field)),
        field=f"plain.{field}",
        allowed="predicates that hold names" if instances else f"its classes: {classes}",
    )
