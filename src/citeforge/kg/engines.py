"""Where queries are answered: an embedded store, an endpoint, or what an endpoint once said."""

from pathlib import Path
from typing import Any, Protocol

from pyoxigraph import Literal, NamedNode, RdfFormat, Store

from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.jsonlines import open_bytes, read_errors
from citeforge.engines.registry import Registry, expected
from citeforge.kg.endpoint import EndpointEngine, EndpointOptions, Limits, ReplayEngine, ReplyStore
from citeforge.kg.plain import PlainModel, Translated, Translation
from citeforge.kg.values import WIKIBASE, Row, Term
from citeforge.schemas.errors import InputError
from citeforge.schemas.models.choices import GRAPHS as CHOICES
from citeforge.schemas.models.choices import Choice
from citeforge.schemas.recipes.base import RunOptions


class SparqlEngine(Protocol):
    """Answers SELECT queries."""

    def select(self, query: str) -> list[Row]:
        """All rows, in no particular order."""
        ...

    def identity(self) -> dict[str, Any]:
        """What manifests say of it."""
        ...


_FORMATS = {".nt": RdfFormat.N_TRIPLES, ".ttl": RdfFormat.TURTLE, ".turtle": RdfFormat.TURTLE}


class StoreEngine:
    """pyoxigraph, in memory, loaded from N-Triples or Turtle, plain or .gz."""

    def __init__(self, path: Path) -> None:
        """Load a file.

        Raises:
            InputError: missing, of another format, or not well-formed; with the line.
        """
        self.path = path
        bare = path.name.removesuffix(".gz")
        form = _FORMATS.get(Path(bare).suffix)
        if form is None:
            raise InputError(
                "is of no known format",
                path=path,
                allowed=", ".join(_FORMATS) + ", also .gz",
                code="unsupported",
            )
        self._store = Store()
        try:
            with open_bytes(path) as file, read_errors(path):
                self._store.bulk_load(input=file, format=form)
        except SyntaxError as error:
            raise InputError(
                f"is not well-formed ({error.msg})", path=path, line=error.lineno, code="bad-rdf"
            ) from error
        if len(self._store) == 0:
            raise InputError("holds no triples", path=path, code="empty-file")

    @property
    def is_plain(self) -> bool:
        """Whether it holds RDF that is not in Wikidata's model."""
        return not self._store.query(f"ASK {{ ?relation <{WIKIBASE}directClaim> ?property }}")

    def translate(self, model: PlainModel) -> Translated | None:
        """Put plain RDF into Wikidata's model; None where it is in that already (a snapshot)."""
        if not self.is_plain:
            return None
        translated = Translation(self._store, model).result()
        self._store = Store()
        lines = "".join(translated.lines).encode()
        self._store.bulk_load(input=lines, format=RdfFormat.N_TRIPLES)
        return translated

    def identity(self) -> dict[str, Any]:
        return {"name": "file", "file": self.path.name, "sha256": sha256_file(self.path)}

    def select(self, query: str) -> list[Row]:
        solutions: Any = self._store.query(query)
        names = [v.value for v in solutions.variables]
        return [
            {n: _term(t) for n in names if (t := solution[n]) is not None} for solution in solutions
        ]


def _term(term: Any) -> Term:
    if isinstance(term, NamedNode):
        return Term("uri", term.value)
    if isinstance(term, Literal):
        datatype = "" if term.language else term.datatype.value
        return Term("literal", term.value, term.language or "", datatype)
    return Term("bnode", str(term))


def open_endpoint(url: str, run: RunOptions) -> SparqlEngine:
    """``sparql:URL``."""
    if not url.startswith(("http://", "https://")):
        address = "…" if "@" in url else url  # it may hold a password
        raise expected("--kg", CHOICES)(f"sparql:{address}")
    store = None if run.kg_store is None else ReplyStore(run.kg_store)
    options = EndpointOptions(timeout=run.kg_timeout, limits=Limits(seconds=run.kg_seconds))
    return EndpointEngine(url, options, store)


GRAPHS: Registry[Choice, SparqlEngine] = Registry(
    "graph",
    "graphs",
    CHOICES,
    {
        "file": lambda path, run: StoreEngine(Path(path)),
        "sparql": open_endpoint,
        "replay": lambda path, run: ReplayEngine(Path(path)),
    },
    "select identity",
    expected("--kg", CHOICES),
)
