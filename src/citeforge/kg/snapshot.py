"""Freezing sub-graphs as N-Triples in Wikidata's RDF model."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from citeforge.engines.io.files import atomic_file
from citeforge.engines.io.textfiles import text_lines
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.values.terms import WIKIBASE, XSD, iri, literal
from citeforge.kg.values.times import precise_time
from citeforge.schemas.benchmarks.kg import Graph
from citeforge.schemas.errors import InputError

_RDFS_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_ALIAS = "<http://www.w3.org/2004/02/skos/core#altLabel>"
_REMARK = re.compile(r"(?:^|\s)#")
_PRECISION = {"day": 11, "month": 10, "year": 9, "decade": 8, "century": 7, "millennium": 6}


def write_snapshot(kg: KnowledgeGraph, qids: Iterable[str], out: Path) -> tuple[int, int]:
    """Write the one-hop sub-graphs of entities, with the names by which they are found.

    A benchmark built from the file equals one built from the graph it was taken from. The file
    holds what :meth:`KnowledgeGraph.subgraphs` gives, in the first language that has a label;
    equal contents give equal bytes.

    Returns:
        (entities, lines).
    """
    ids = list(qids)
    graphs = kg.subgraphs(ids)
    aliases = kg.aliases(
        {*graphs, *(t.value_id for g in graphs.values() for t in g.triples if t.value_id)}
    )
    lines = sorted({*_lines(kg, graphs.values()), *_aliases(kg, aliases)})
    with atomic_file(out) as raw:
        if out.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as file:
                file.writelines(line.encode() for line in lines)
        else:
            raw.writelines(line.encode() for line in lines)
    return len(graphs), len(lines)


def read_entities(path: Path, kg: KnowledgeGraph) -> list[str]:
    """Ids of a file, one a line; what follows a space and ``#`` is a remark.

    Of a plain graph its own IRIs are taken, too.

    Raises:
        InputError: a line is no id, or there is none.
    """
    ids = []
    for number, line in text_lines(path):
        # An IRI may hold the sign itself.
        name = (_REMARK.split(line) if kg.ids else line.split("#"))[0].strip()
        name = kg.ids.get(name, name)
        try:
            ids += [name] if name and iri(kg.domain.entity_iri + name) else []
        except InputError as error:
            raise InputError(
                f"{name!r} is no id", path=path, line=number, allowed=error.allowed
            ) from error
    if not ids:
        raise InputError("holds no ids", path=path, allowed="one a line, such as Q42")
    return ids


def _lines(kg: KnowledgeGraph, graphs: Iterable[Graph]) -> Iterator[str]:
    language = kg.languages[0]
    entity, direct = kg.domain.entity_iri, kg.domain.direct_iri
    for graph in graphs:
        centre = iri(entity + graph.qid)
        yield f"{centre} {_RDFS_LABEL} {literal(graph.name, language)} .\n"
        for triple in graph.triples:
            prop = iri(entity + triple.pid)
            yield f"{prop} {_RDFS_LABEL} {literal(triple.relation, language)} .\n"
            yield f"{prop} <{WIKIBASE}directClaim> {iri(direct + triple.pid)} .\n"
            value = _value(kg, triple.value, triple.value_id, triple.precision)
            yield f"{centre} {iri(direct + triple.pid)} {value} .\n"
            if triple.value_id:
                yield (
                    f"{iri(entity + triple.value_id)} {_RDFS_LABEL} "
                    f"{literal(triple.value, language)} .\n"
                )
            if triple.precision in _PRECISION:
                precision = _PRECISION[triple.precision]
                yield from precise_time(entity, graph.qid, triple.pid, value, precision)


def _value(kg: KnowledgeGraph, text: str, value_id: str, precision: str) -> str:
    if value_id:
        return iri(kg.domain.entity_iri + value_id)
    if precision:
        return f"{literal(lexical_date(text, precision))}^^<{XSD}dateTime>"
    return literal(text)


def lexical_date(text: str, precision: str) -> str:
    """An xsd:dateTime that :func:`~citeforge.kg.values.dates.render_date` renders as ``text``."""
    bare = text.removesuffix(" BCE")
    is_bce = bare != text
    digits = "".join(c for c in bare.split("-")[0] if c.isdigit())
    number = int(digits) if digits else 0
    if precision == "century":
        number = (number - 1) * 100 + 1
    elif precision == "millennium":
        number = (number - 1) * 1000 + 1
    # The first decades of and before our era are both written 0s.
    year = 1 - max(number, 1) if is_bce else max(number, 1)
    parts = bare.split("-") if precision in ("day", "month", "unknown") else []
    month = parts[1] if len(parts) > 1 else "01"
    day = parts[2] if len(parts) > 2 else "01"
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month}-{day}T00:00:00Z"


def _aliases(kg: KnowledgeGraph, aliases: dict[str, list[str]]) -> Iterator[str]:
    language = kg.languages[0]
    for qid, names in aliases.items():
        for name in names:
            yield f"{iri(kg.domain.entity_iri + qid)} {_ALIAS} {literal(name, language)} .\n"
