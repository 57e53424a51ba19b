"""How precise a date is, as statements of Wikibase say it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from citeforge.kg.values.terms import WIKIBASE, XSD, iri

_PROP = "http://www.wikidata.org/prop/"


def precise_time(entity_iri: str, qid: str, pid: str, value: str, precision: int) -> Iterator[str]:
    """N-Triples that give a date of an entity its precision.

    Args:
        entity_iri: what ids begin with.
        qid: the entity.
        pid: the relation.
        value: the date, an xsd:dateTime as N-Triples write it.
        precision: wikibase:timePrecision, 6 to 14.
    """
    claim, psv = f"<{_PROP}{pid}>", f"<{_PROP}statement/value/{pid}>"
    # A number that names a statement; the same for the same text everywhere.
    number = int.from_bytes(hashlib.sha256(value.encode()).digest()[:6])
    stem = f"{entity_iri}statement/{qid}-{pid}-{number}"
    yield f"{iri(entity_iri + pid)} <{WIKIBASE}claim> {claim} .\n"
    yield f"{iri(entity_iri + pid)} <{WIKIBASE}statementValue> {psv} .\n"
    yield f"{iri(entity_iri + qid)} {claim} {iri(stem)} .\n"
    yield f"{iri(stem)} {psv} {iri(stem + '-value')} .\n"
    yield f"{iri(stem + '-value')} <{WIKIBASE}timeValue> {value} .\n"
    yield f'{iri(stem + "-value")} <{WIKIBASE}timePrecision> "{precision}"^^<{XSD}integer> .\n'
