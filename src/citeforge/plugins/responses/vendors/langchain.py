"""LangChain: an answer with the ``Document`` list that it was made from.

The output of a retrieval chain: ``{"input", "context", "answer"}``, or ``{"query", "result",
"source_documents"}``. An answer is a text that cites by marks of its own, a message with such a
text, or ``{"answer", "citations"}`` with the numbers of documents, from 0, or ``{"source_id",
"quote"}`` objects.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from citeforge.plugins.responses.placing.records import Cited, CitedSource, Response, Vendor
from citeforge.schemas.errors import InputError

DOCUMENTS = ("context", "source_documents")
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


def _first(body: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((body[n] for n in names if body.get(n) is not None), None)


def read(body: Any) -> Response:
    """The output of a retrieval chain.

    Raises:
        InputError: it has no answer.
    """
    documents = msgspec.convert(_first(body, DOCUMENTS) or [], list[_Document])
    response = Response(sources=[_source(d, i) for i, d in enumerate(documents)])
    answer = _first(body, _ANSWERS)
    if isinstance(answer, dict) and "answer" in answer:
        _read_cited(msgspec.convert(answer, _CitedAnswer), response)
        return response
    text = answer.get("content") if isinstance(answer, dict) else answer
    if not isinstance(text, str):
        raise InputError(
            "is not an answer", field="answer",
            allowed="a text, a message whose content is a text, or an object with answer and "
            "citations", code="wrong-type"
        )  # fmt: skip
    response.text, response.has_marks = text, True
    return response


def _source(document: _Document, number: int) -> CitedSource:
    """A document; its id is the Document's own, or what its metadata call so."""
    metadata = document.metadata
    ids = [document.id, *(metadata.get(n) for n in ("id", "_id", "docid", "doc_id", "source"))]
    urls = (str(metadata.get(n)) for n in _URLS)
    return CitedSource(
        tuple(dict.fromkeys(str(i) for i in ids if isinstance(i, str | int) and str(i))),
        str(metadata.get("title") or ""),
        next((url for url in urls if url.startswith(("http://", "https://"))), ""),
        document.page_content,
        number,
    )


def _read_cited(answer: _CitedAnswer, response: Response) -> None:
    """``{"answer", "citations"}``: each of them is for the whole answer."""
    response.text = answer.answer
    for citation in answer.citations or ():
        quoted = _Quoted(citation) if isinstance(citation, int) else citation
        at = quoted.source_id
        if not 0 <= at < len(response.sources):
            at = response.source(CitedSource((f"document {at}",)))
        response.cited.append(Cited(0, len(response.text), at, quote=quoted.quote))


LANGCHAIN = Vendor("langchain", rb'"page_content"\s*:', read, by="own", numbered=True)
