"""A knowledge graph as recipes and run options ask for it."""

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
    names, classes = ", ".join(model.labels), ", ".join(translated.classes[:5]) or "none"
    field, what, allowed = "labels", f"a name under any of {names}", "predicates that hold names"
    if not translated.left_out["entities without a label"]:
        what = f"an entity of {', '.join(model.classes)}"
        field, allowed = "classes", f"its classes: {classes}"
    raise InputError(
        f"{engine.path.name} has not {what}",
        path=path,
        line=yaml_line(path, ("plain", field)),
        field=f"plain.{field}",
        allowed=allowed,
    )
