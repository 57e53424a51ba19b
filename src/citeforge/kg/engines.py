"""Where queries are answered: an embedded store, an endpoint, or what an endpoint once said."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from citeforge.engines.files import sha256_file
from citeforge.engines.jsonlines import open_bytes, read_errors
from citeforge.kg.terms import Row, Term
from citeforge.schemas.errors import InputError, UsageError


class SparqlEngine(Protocol):
    """Answers SELECT queries."""

    def select(self, query: str) -> list[Row]:
        """All rows, in no particular order."""
        ...

    def identity(self) -> dict[str, Any]:
        """What manifests say of it."""
        ...


_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".turtle": "TURTLE"}


class StoreEngine:
    """pyoxigraph, in memory, loaded from N-Triples or Turtle, plain or .gz."""

    def __init__(self, path: Path) -> None:
        """Load a file.

        Raises:
            InputError: missing, of another format, or not well-formed; with the line.
        """
        import pyoxigraph

        self.path = path
        bare = path.name.removesuffix(".gz")
        kind = _FORMATS.get(Path(bare).suffix)
        if kind is None:
            raise InputError(
                "is of no known format", path=path, allowed=", ".join(_FORMATS) + ", also .gz"
            )
        self._store = pyoxigraph.Store()
        try:
            with open_bytes(path) as file, read_errors(path):
                self._store.bulk_load(input=file, format=getattr(pyoxigraph.RdfFormat, kind))
        except SyntaxError as error:
            raise InputError(
                f"is not well-formed ({error.msg})", path=path, line=error.lineno
            ) from error
        if len(self._store) == 0:
            raise InputError("holds no triples", path=path)

    def identity(self) -> dict[str, Any]:
        return {"name": "file", "file": self.path.name, "sha256": sha256_file(self.path)}

    def select(self, query: str) -> list[Row]:
        found: Any = self._store.query(query)
        names = [v.value for v in found.variables]
        return [
            {n: _term(t) for n in names if (t := solution[n]) is not None} for solution in found
        ]


def _term(term: Any) -> Term:
    import pyoxigraph

    if isinstance(term, pyoxigraph.NamedNode):
        return Term("uri", term.value)
    if isinstance(term, pyoxigraph.Literal):
        datatype = "" if term.language else term.datatype.value
        return Term("literal", term.value, term.language or "", datatype)
    return Term("bnode", str(term))


def make_engine(name: str, store: Path | None = None, **options: Any) -> SparqlEngine:
    """The engine of ``--kg``: ``file:PATH``, ``sparql:URL`` or ``replay:FILE``.

    Args:
        name: kind and argument.
        store: where replies of an endpoint are kept.
        options: of :class:`citeforge.kg.endpoint.EndpointOptions`.

    Raises:
        UsageError: another kind.
        InputError: a file that cannot be read.
    """
    kind, _, argument = name.partition(":")
    if kind == "file" and argument:
        return StoreEngine(Path(argument))
    if kind == "sparql" and argument.startswith(("http://", "https://")):
        from citeforge.kg.endpoint import EndpointEngine, EndpointOptions
        from citeforge.kg.replies import ReplyStore

        kept = None if store is None else ReplyStore(store)
        return EndpointEngine(argument, EndpointOptions(**options), kept)
    if kind == "replay" and argument:
        from citeforge.kg.replies import ReplayEngine

        return ReplayEngine(Path(argument))
    raise UsageError(
        f"--kg {name!r}: expected file:PATH (.nt, .ttl, .gz), sparql:URL (such as "
        "sparql:https://query.wikidata.org/sparql) or replay:FILE"
    )
