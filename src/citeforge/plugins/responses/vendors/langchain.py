"""LangChain: an answer with the ``Document`` list that it was made from.

The output of a retrieval chain: ``{"input", "context", "answer"}``, or ``{"query", "result",
"source_documents"}``. An answer is a text that cites by marks of its own, a message whose text
blocks carry ``annotations`` of type ``citation``, or ``{"answer", "citations"}`` with the numbers
of documents, from 0, or ``{"source_id", "quote"}`` objects. Objects as ``dumpd`` writes them
(``{"lc", "kwargs"}``) are unpacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from citeforge.plugins.responses.placing.records import (
    Cited,
    CitedSource,
    Response,
    Vendor,
    Wrong,
    span,
)
from citeforge.plugins.responses.vendors.anthropic import Block, read_blocks

_DOCUMENTS = ("context", "source_documents")
_ANSWERS = ("answer", "result", "response")
_URLS = ("source", "url", "link")


class _Document(msgspec.Struct):
    page_content: str
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    id: str | None = None


class _Quoted(msgspec.Struct):
    source_id: int
    quote: str | None = None


class _CitedAnswer(msgspec.Struct):
    answer: str
    citations: list[int | _Quoted] | None = None


class _Annotation(msgspec.Struct):
    type: str
    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None
    cited_text: str | None = None


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    annotations: list[_Annotation] | None = None


def knows(body: Mapping[str, Any]) -> bool:
    """Whether an object holds documents beside an answer."""
    documents = _first(body, _DOCUMENTS)
    return isinstance(documents, list) and _first(body, _ANSWERS) is not None


def _first(body: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((body[n] for n in names if body.get(n) is not None), None)


def _unpacked(value: Any) -> Any:
    """What ``dumpd`` packed, with all that it holds."""
    if isinstance(value, list):
        return [_unpacked(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        value = value["kwargs"]
    return {k: _unpacked(v) for k, v in value.items()}


def read(body: Any) -> Response:
    """The output of a retrieval chain.

    Raises:
        Wrong: offsets outside the text.
    """
    plain = _unpacked(body)
    response = Response()
    documents = msgspec.convert(_first(plain, _DOCUMENTS) or [], list[_Document])
    response.sources = [_source(d, i) for i, d in enumerate(documents)]
    answer = _first(plain, _ANSWERS)
    if isinstance(answer, str):
        response.text, response.has_marks = answer, True
    elif isinstance(answer, dict) and "answer" in answer:
        _read_cited(msgspec.convert(answer, _CitedAnswer), response)
    elif isinstance(answer, dict) and isinstance(answer.get("content"), str):
        response.text, response.has_marks = answer["content"], True
    elif isinstance(answer, dict) and isinstance(answer.get("content"), list):
        _read_message(answer["content"], response)
    else:
        raise Wrong(
            "is no answer",
            "answer",
            "a text, a message with content, or an object with answer and citations",
        )
    return response


def _source(document: _Document, number: int) -> CitedSource:
    """A document; its id is the Document's own, or what its metadata call so."""
    metadata = document.metadata
    ids = [document.id, *(metadata.get(n) for n in ("id", "_id", "docid", "doc_id", "source"))]
    url = next((str(metadata[n]) for n in _URLS if _is_address(metadata.get(n))), "")
    return CitedSource(
        tuple(dict.fromkeys(str(i) for i in ids if isinstance(i, str | int) and str(i))),
        str(metadata.get("title") or ""),
        url,
        document.page_content,
        number,
    )


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def _read_cited(answer: _CitedAnswer, response: Response) -> None:
    """``{"answer", "citations"}``: each of them is for the whole answer."""
    response.text = answer.answer
    for citation in answer.citations or ():
        number = citation if isinstance(citation, int) else citation.source_id
        quote = None if isinstance(citation, int) else citation.quote
        at = number
        if not 0 <= number < len(response.sources):
            at = response.source(CitedSource((f"document {number}",)))
        response.cited.append(Cited(0, len(response.text), at, quote=quote))


def _read_message(content: list[Any], response: Response) -> None:
    """Blocks of a message, LangChain's own (``annotations``) or Anthropic's (``citations``)."""
    if any(isinstance(block, dict) and block.get("citations") for block in content):
        read_blocks(msgspec.convert(content, list[Block]), response)
        return
    for number, block in enumerate(msgspec.convert(content, list[_Block | str])):
        if isinstance(block, str):
            response.text += block
            continue
        if block.type not in ("text", "output_text"):
            continue
        before = len(response.text)
        response.text += block.text
        for nth, a in enumerate(block.annotations or ()):
            if a.type != "citation":
                continue
            where = f"answer.content[{number}].annotations[{nth}]"
            size = len(block.text)
            end = size if a.end_index is None else a.end_index
            first, last = span(a.start_index, end, size, where)
            at = _source_number(a, response)
            response.cited.append(
                Cited(before + first, before + last, at, first == last, quote=a.cited_text)
            )


def _source_number(annotation: _Annotation, response: Response) -> int:
    """The document that an annotation names by URL or title; else a source of its own."""
    for at, source in enumerate(response.sources):
        if annotation.url and annotation.url in (source.url, *source.ids):
            return at
    titled = [i for i, s in enumerate(response.sources) if s.title == annotation.title]
    if annotation.title and len(titled) == 1:
        return titled[0]
    url, title = annotation.url or "", annotation.title or ""
    ids = tuple(n for n in (url, title) if n)
    return response.source(CitedSource(ids, title, url, annotation.cited_text or ""))


LANGCHAIN = Vendor("langchain", knows, rb'"page_content"\s*:', read, by="own", numbered=True)
