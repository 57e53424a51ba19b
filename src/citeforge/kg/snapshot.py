"""Files of sub-graphs as N-Triples in Wikidata's RDF model: ``citeforge kg snapshot``."""

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from citeforge.engines.files import atomic_file
from citeforge.engines.textfiles import text_lines
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.values import (
    DATE_TIME,
    WIKIBASE,
    date_precision_triples,
    iri,
    lexical_date,
    literal,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import Graph, Triple

_RDFS_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_ALIAS = "<http://www.w3.org/2004/02/skos/core#altLabel>"
_SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
_COMMENT = re.compile(r"(?:^|\s)#")
_PRECISION = {"day": 11, "month": 10, "year": 9, "decade": 8, "century": 7, "millennium": 6}


def write_snapshot(kg: KnowledgeGraph, qids: Iterable[str], out: Path) -> tuple[int, int]:
    """Write one-hop sub-graphs of entities as N-Triples; return (entities, lines written).

    A benchmark built from the file equals one built from the graph it was taken from. The file
    contains what :meth:`KnowledgeGraph.subgraphs` returns, in the best language that has a label;
    equal contents give equal bytes.

    Returns:
        (entities, lines).
    """
    graphs = kg.subgraphs(qids)
    entity = kg.domain.entity_iri
    merged = (
        f"{iri(entity + q)} {_SAME} {iri(entity + graph.qid)} .\n"
        for q, graph in graphs.items() if graph.qid != q
    )  # fmt: skip
    lines = sorted({*_write_triples(kg, graphs.values()), *merged})
    with atomic_file(out) as raw:
        if out.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as file:
                file.writelines(line.encode() for line in lines)
        else:
            raw.writelines(line.encode() for line in lines)
    return len(graphs), len(lines)


def read_entities(path: Path, kg: KnowledgeGraph) -> list[str]:
    """Read entity ids from a file, one per line, with ``#`` comments.

    For a plain graph, its own IRIs are ids, too.

    Raises:
        InputError: a line is no id, or the file has none.
    """
    ids = []
    for number, line in text_lines(path):
        # An IRI may hold the sign itself.
        name = (_COMMENT.split(line) if kg.ids else line.split("#"))[0].strip()
        name = kg.ids.get(name, name)
        try:
            ids += [name] if name and iri(kg.domain.entity_iri + name) else []
        except InputError as error:
            raise InputError(
                f"{name!r} is not an id", path=path, line=number, allowed=error.allowed,
                code="wrong-value"
            ) from error  # fmt: skip
    if not ids:
        raise InputError(
            "contains no ids", path=path, allowed="one per line, such as Q42", code="empty-file"
        )
    return ids


def _write_triples(kg: KnowledgeGraph, graphs: Iterable[Graph]) -> Iterator[str]:
    """Yield sub-graphs as lines of N-Triples, with labels and aliases of entities."""
    entity, direct = kg.domain.entity_iri, kg.domain.direct_iri

    def label(name: str, text: str, predicate: str = _RDFS_LABEL) -> str:
        """Write a label or alias of an entity or relation as a line of N-Triples."""
        return f"{iri(entity + name)} {predicate} {literal(text, kg.languages[0])} .\n"

    others = set()
    for graph in graphs:
        others |= {graph.qid, *(t.value_id for t in graph.triples if t.value_id)}
        yield label(graph.qid, graph.name)
        for triple in (*graph.triples, *graph.unnamed):
            prop = iri(entity + triple.pid)
            yield label(triple.pid, triple.relation)
            yield f"{prop} <{WIKIBASE}directClaim> {iri(direct + triple.pid)} .\n"
            value = _write_value(kg, triple)
            yield f"{iri(entity + graph.qid)} {iri(direct + triple.pid)} {value} .\n"
            if triple.value_id and triple.value:
                yield label(triple.value_id, triple.value)
            if triple.precision in _PRECISION:
                precision = _PRECISION[triple.precision]
                yield from date_precision_triples(entity, graph.qid, triple.pid, value, precision)
    for qid, names in kg.aliases(sorted(others)).items():
        yield from (label(qid, name, _ALIAS) for name in names)


def _write_value(kg: KnowledgeGraph, triple: Triple) -> str:
    """Write a triple's value in N-Triples syntax: an IRI, a date or a text.

    Args:
        kg: graph whose domain has the IRIs and the language.
        triple: a fact.
    """
    if triple.value_id:
        return iri(kg.domain.entity_iri + triple.value_id)
    if triple.precision:
        return f"{literal(lexical_date(triple.value, triple.precision))}^^{iri(DATE_TIME)}"
    return literal(triple.value, None if triple.value else "und")
