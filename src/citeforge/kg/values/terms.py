"""RDF terms of results, and text that goes safely into a query."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from citeforge.schemas.errors import InputError

_QUERIES = Path(__file__).parent.parent / "queries"
WIKIBASE = "http://wikiba.se/ontology#"
XSD = "http://www.w3.org/2001/XMLSchema#"
_LANGUAGE = re.compile(r"[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8})*")
# (COUNT(DISTINCT ?entity) AS ?entities)
_AGGREGATE = re.compile(r"\((?:[^()]|\([^()]*\))*\sAS\s+(\?\w+)\s*\)")
# Control characters, line and paragraph separators, bidi embeddings, overrides and isolates.
_HIDDEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
# What an IRI reference may not hold (SPARQL 1.1, IRIREF).
_BAD_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b",
            "\f": "\\f"}  # fmt: skip


class Term(msgspec.Struct, frozen=True, gc=False):
    """A bound value, as SPARQL 1.1 Query Results JSON Format writes it.

    Attributes:
        type: ``typed-literal`` is an old name of ``literal``.
        value: IRI or lexical form.
        language: of a language-tagged string.
        datatype: IRI of a literal's datatype; empty for plain strings.
    """

    type: Literal["uri", "literal", "typed-literal", "bnode"]
    value: str
    language: str = msgspec.field(name="xml:lang", default="")
    datatype: str = ""


Row = dict[str, Term]
"""Variable to value; unbound variables are absent."""


def plain_label(text: str) -> str:
    """A label without line ends, control characters, and characters that turn its direction.

    Marks that scripts need (joiners, marks of direction) stay.
    """
    return " ".join(_HIDDEN.sub(" ", text).split())


def literal(text: str, language: str | None = None) -> str:
    """A string as SPARQL writes it; whatever it holds, it stays one string.

    Raises:
        InputError: the language is no language tag.
    """
    # Lone surrogates cannot be sent; everything else is escaped or legal as it is.
    body = "".join(_ESCAPES.get(c, c) for c in text.encode("utf-8", "replace").decode())
    body = "".join(f"\\u{ord(c):04X}" if ord(c) < 0x20 else c for c in body)
    if language is None:
        return f'"{body}"'
    if not _LANGUAGE.fullmatch(language):
        raise InputError(f"{language!r} is no language tag", field="language", allowed="en, de, …")
    return f'"{body}"@{language}'


def iri(text: str) -> str:
    """An IRI as SPARQL writes it.

    Raises:
        InputError: it holds a character that no IRI may hold.
    """
    if _BAD_IRI.search(text) or not is_iri(text):
        raise InputError(f"{text!r} is no IRI", field="entity", allowed="an id such as Q42")
    return f"<{text}>"


def is_iri(text: str) -> bool:
    """Whether it has a scheme and every character and escape is one that RFC 3987 knows."""
    import pyoxigraph

    try:
        pyoxigraph.NamedNode(text)
    except ValueError:
        return False
    return True


def languages_list(languages: Iterable[str]) -> str:
    """Languages as the list of a FILTER."""
    for name in languages:
        literal("", name)
    return ", ".join(literal(name) for name in languages)


def query(name: str, **parts: str) -> str:
    """The text of ``queries/NAME.rq`` with its placeholders filled in.

    Args:
        name: file without its ending.
        parts: placeholder to SPARQL text made by the functions above.
    """
    # One pass over the template, so that nothing inside a value is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]], _template(name))


def variables_of(text: str) -> list[str]:
    """Variables that a SELECT query gives."""
    head = re.search(r"\bSELECT\s+(.*?)\bWHERE\b", text, re.DOTALL)
    names = _AGGREGATE.sub(r" \1 ", head[1]) if head else ""
    return re.findall(r"\?(\w+)", names)


@cache
def _template(name: str) -> str:
    return (_QUERIES / f"{name}.rq").read_text(encoding="utf-8")
