"""SPARQL engines: an in-memory store, an endpoint, or stored replies of an endpoint."""

import codecs
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Store, parse

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.files import sha256_file
from citeforge.engines.jsonlines import open_bytes, raw_lines, read_errors
from citeforge.kg.endpoint import EndpointEngine, EndpointOptions, ReplayEngine
from citeforge.kg.plain import PlainModel
from citeforge.kg.replies import ReplyStore
from citeforge.kg.translation import Translated, Translation
from citeforge.kg.values import WIKIBASE, Row, Term, literal
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.text import printable


class SparqlEngine(Protocol):
    """Engine that answers SPARQL SELECT queries over a knowledge graph."""

    def select(self, query: str) -> list[Row]:
        """Answer a SPARQL SELECT query with all its rows, in any order."""
        ...

    def identity(self) -> dict[str, Any]:
        """Describe the SPARQL engine for manifests."""
        ...


_FORMATS = {
    ".nt": RdfFormat.N_TRIPLES,
    ".ttl": RdfFormat.TURTLE,
    ".turtle": RdfFormat.TURTLE,
    ".n3": RdfFormat.N3,
    ".nq": RdfFormat.N_QUADS,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
}
_PACKED = (".gz", ".bz2", ".xz")
_WHOLE = (RdfFormat.RDF_XML, RdfFormat.JSON_LD)
"""Formats in which nothing after a syntax error can be read."""
_NO_BASE = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)
"""Formats in which every IRI is absolute."""
BASE = "http://base.invalid/"
"""Placeholder base IRI for relative IRIs of a file without a base."""
_BUFFER_BYTES = 1 << 24
"""Most bytes of one term or token, of pyoxigraph's parsers; not in RDF/XML."""
_INTO_ONE = "INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } } ; DROP NAMED"
"""SPARQL update that moves the statements of named graphs to the default graph."""
MALFORMED = "malformed_statements"


class StoreEngine:
    """In-memory SPARQL engine (pyoxigraph) over an RDF file, which it loads at first use.

    Attributes:
        skip_malformed: whether malformed statements are left out and counted.
        counts: what was left out or completed at loading, complete after :meth:`load`.
    """

    def __init__(self, path: Path, skip_malformed: bool = False) -> None:
        """Set the RDF file to load later; its format follows from the name.

        Raises:
            InputError: the name ends in no known format.
        """
        self.path, self.skip_malformed = path, skip_malformed
        self.counts = Counter[str]()
        bare = path.with_suffix("") if path.suffix.lower() in _PACKED else path
        form = _FORMATS.get(bare.suffix.lower())
        if form is None:
            raise InputError(
                "is of no known format",
                path=path,
                allowed=f"{', '.join(_FORMATS)}, each also with {', '.join(_PACKED)}",
                code="unsupported",
            )
        self._format = form

    def load(self) -> None:
        """Read the RDF file into memory, once; raise an error if it has no triples.

        Raises:
            InputError: missing, not well-formed (with the line), or without triples.
        """
        if len(self._store) == 0:
            name = self._format.name
            raise InputError(
                f"contains no triples when it is read as {name}",
                path=self.path,
                allowed="statements; a data set with named graphs is written as .trig or .nq"
                if not self._format.supports_datasets
                else "statements in the default graph or in named graphs",
                code="empty-file",
            )

    @cached_property
    def _store(self) -> Store:
        """In-memory store with the statements of the RDF file, loaded once."""
        base = BASE if self._format == RdfFormat.JSON_LD else None
        try:
            return self._load_file(base)
        except SyntaxError as error:
            if "No scheme found" in error.msg and base is None and self._format not in _NO_BASE:
                return self._load_file_with_base()
            raise self._syntax_error(error) from error

    def _load_file(self, base: str | None) -> Store:
        """Load the RDF file into a new store; relative IRIs are resolved against ``base``."""
        store = Store()
        with open_bytes(self.path) as file, read_errors(self.path):
            if file.peek(3)[:3] == codecs.BOM_UTF8:  # type: ignore[attr-defined]
                file.read(3)
            try:
                if self.skip_malformed and self._format not in _WHOLE:
                    statements = parse(file, self._format, base_iri=base)
                    store.bulk_extend(self._skip_malformed_statements(statements))
                else:
                    store.bulk_load(file, self._format, base_iri=base)
            except MemoryError as error:
                if "buffer" not in str(error):
                    raise
                raise self._length_error(file.tell()) from error
        if self._format.supports_datasets:
            store.update(_INTO_ONE)
        return store

    def _load_file_with_base(self) -> Store:
        """Load the RDF file with a placeholder base IRI, and count its relative IRIs."""
        self.counts.clear()
        try:
            store = self._load_file(BASE)
        except SyntaxError as error:
            raise self._syntax_error(error) from error
        below = f'FILTER(isIRI(?term) && STRSTARTS(STR(?term), "{BASE}"))'
        query = f"SELECT DISTINCT ?term {{ {{ ?term ?p ?o }} UNION {{ ?s ?p ?term }} {below} }}"
        found: Any = store.query(query)
        self.counts[count_key("relative_iris", BASE)] = len(list(found))
        return store

    def _skip_malformed_statements(self, statements: Any) -> Iterator[Quad]:
        """Yield the well-formed statements of an RDF file; count lines with malformed ones."""
        line = None
        while True:
            try:
                yield next(statements)
            except StopIteration:
                return
            except SyntaxError as error:
                if "No scheme found" in error.msg and self._format not in _NO_BASE:
                    raise
                self.counts[MALFORMED] += error.lineno != line
                line = error.lineno

    def _syntax_error(self, error: SyntaxError) -> InputError:
        """Make the error about a malformed RDF file, with the faulty line and what to do."""
        text = ""
        if error.lineno:
            lines = islice(raw_lines(self.path), error.lineno - 1, None)
            text = next(lines, (0, b""))[1].decode(errors="replace")
        can_skip = "" if self._format in _WHOLE else (
            ", or pass --skip-malformed to leave such statements out, counted"
        )  # fmt: skip
        return InputError(
            f"is not well-formed ({error.msg})" + (f": {printable(text[:160])}" if text else ""),
            path=self.path,
            line=error.lineno,
            allowed=f"{self._format.name} in UTF-8{can_skip}",
            code="bad-rdf",
        )

    def _length_error(self, n_bytes: int) -> InputError:
        """Make the error for an RDF term that is longer than the parser's buffer.

        Args:
            n_bytes: bytes of the unpacked file that the parser has read.
        """
        is_json = self._format == RdfFormat.JSON_LD
        # The buffer begins at the term; a text of JSON is on the line where reading ended.
        left = n_bytes if is_json else n_bytes - _BUFFER_BYTES
        line = 1
        with open_bytes(self.path) as file:
            while left > 0 and (part := file.read(min(left, 1 << 20))):
                line += part.count(b"\n")
                left -= len(part)
        # JSON-LD's parser keeps two bytes for each.
        limit = _BUFFER_BYTES // 2 if is_json else _BUFFER_BYTES
        return InputError(
            f"has a text or an IRI of more than {limit:,} bytes, which cannot be read",
            path=self.path,
            line=line,
            allowed="shorter ones; no label or value of a question is as long",
            code="too-long",
        )

    def match_iris(self, entity_iri: str, direct_iri: str) -> None:
        """Change http to https (or back) in the file's IRIs, where the domain's IRIs have it.

        Args:
            entity_iri: what the domain's ids of entities begin with.
            direct_iri: what its direct relations begin with.

        Raises:
            InputError: the graph has labelled relations, and none has an id of the domain.
        """
        for start in (entity_iri, direct_iri):
            scheme, _, rest = start.partition("://")
            other = {"http": "https", "https": "http"}.get(scheme, "")
            if other and (number := self._rename_iris(f"{other}://{rest}", start)):
                counted = count_key("iris_of_another_scheme", f"{other}://{rest}", scheme)
                self.counts[counted] = number
        relations = f"SELECT ?relation {{ ?relation <{WIKIBASE}directClaim> ?direct }}"
        names = [row["relation"].value for row in self.select(relations)]
        if names and not any(name.startswith(entity_iri) for name in names):
            raise InputError(
                f"has relations such as {printable(min(names))}, and those of the domain are below "
                f"{entity_iri}",
                path=self.path,
                allowed="a domain with entity_iri and direct_iri as the graph has them (--domain)",
                code="unknown-id",
            )

    def _rename_iris(self, old: str, new: str) -> int:
        """Replace a prefix of the IRIs in the store; return how many statements changed."""
        terms = ("?s", "?p", "?o")
        begins = {
            term: f"(isIRI({term}) && STRSTARTS(STR({term}), {literal(old)}))" for term in terms
        }
        found = f"?s ?p ?o FILTER({' || '.join(begins.values())})"
        (counted,) = self.select(f"SELECT (COUNT(*) AS ?number) {{ {found} }}")
        number = int(counted["number"].value)
        if not number:
            return 0
        renamed = " ".join(
            f"BIND(IF({begins[term]}, "
            f"IRI(CONCAT({literal(new)}, SUBSTR(STR({term}), {len(old) + 1}))), {term})"
            f" AS {term}_new)"
            for term in terms
        )
        self._store.update(
            f"DELETE {{ ?s ?p ?o }} INSERT {{ ?s_new ?p_new ?o_new }} WHERE {{ {found} {renamed} }}"
        )
        return number

    @property
    def is_plain(self) -> bool:
        """Whether the file's RDF is not in Wikidata's model (has no ``wikibase:directClaim``)."""
        return not self._store.query(f"ASK {{ ?relation <{WIKIBASE}directClaim> ?property }}")

    def translate(self, mapping: PlainModel) -> Translated | None:
        """Translate plain RDF into Wikidata's model by a mapping; None if it is in that model.

        Returns:
            Triples of the new graph, and what was left out; None if it is in that model already.
        """
        if not self.is_plain:
            return None
        translated = Translation(self._store, mapping).translate()
        self._store = Store()
        lines = "".join(translated.lines).encode()
        self._store.bulk_load(input=lines, format=RdfFormat.N_TRIPLES)
        return translated

    def identity(self) -> dict[str, Any]:
        """Describe the SPARQL engine for manifests, by name and sha256 of the RDF file."""
        return {"name": "file", "file": self.path.name, "sha256": sha256_file(self.path)}

    def select(self, query: str) -> list[Row]:
        """Answer a SPARQL SELECT query with all its rows, in any order."""
        solutions: Any = self._store.query(query)
        names = [v.value for v in solutions.variables]
        return [
            {n: _convert_term(t) for n in names if (t := solution[n]) is not None}
            for solution in solutions
        ]


def _convert_term(term: Any) -> Term:
    """Convert a pyoxigraph term to a :class:`Term`: IRI, literal or blank node."""
    if isinstance(term, NamedNode):
        return Term("uri", term.value)
    if isinstance(term, Literal):
        datatype = "" if term.language else term.datatype.value
        return Term("literal", term.value, term.language or "", datatype)
    return Term("bnode", str(term))


def open_endpoint(url: str, run: RunOptions) -> SparqlEngine:
    """Make the engine for a SPARQL endpoint's URL, with time limits and store of run options."""
    if not url.startswith(("http://", "https://")):
        address = "…" if "@" in url else url  # it may hold a password
        raise GRAPHS.unknown_value_error(f"sparql:{address}")
    store = None if run.kg_store is None else ReplyStore(run.kg_store)
    if store is not None:
        store.add_batch_size(run.kg_batch)
    options = EndpointOptions(
        timeout=run.kg_timeout, seconds=run.kg_seconds, accept_changed=run.accept_changed
    )
    return EndpointEngine(url, options, store)


GRAPHS: Catalogue[Choice, SparqlEngine] = Catalogue(
    "",
    "graph",
    Choice,
    (
        Choice("file", "PATH (.nt, .ttl, .gz)", "an embedded store",
               lambda path, run: StoreEngine(Path(path))),
        Choice(
            "sparql", "URL (such as sparql:https://query.wikidata.org/sparql)", "an endpoint",
            open_endpoint, needs="SPARQLWrapper",
        ),
        Choice("replay", "FILE", "stored replies of an endpoint",
               lambda path, run: ReplayEngine(Path(path))),
    ),
    "--kg",
)  # fmt: skip
"""Knowledge graphs by name; each is made from its argument and the run options."""


def make_engine(spec: str, run: RunOptions) -> SparqlEngine:
    """Make the SPARQL engine for a ``--kg`` value, such as ``file:PATH``, with run options.

    Raises:
        UsageError: another name, or an endpoint that is no URL.
        InputError: a store of replies that cannot be read.
    """
    return GRAPHS.maker(spec)(run)
