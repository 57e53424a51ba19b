"""Anthropic's Messages API: text blocks, each with the ``citations`` that support it.

A block with citations is cited as a whole. Locations: ``char_location`` (characters of a plain-text
document), ``page_location`` (pages from 1), ``content_block_location`` and
``search_result_location`` (blocks from 0), ``web_search_result_location``.
"""

from typing import Any

import msgspec

from citeforge.plugins.responses.placing.records import (
    Cited,
    CitedSource,
    Response,
    Vendor,
)
from citeforge.schemas.errors import InputError

_PAIRS = {
    "char_location": ("char", "char_index"),
    "page_location": ("page", "page_number"),
    "content_block_location": ("block", "block_index"),
    "search_result_location": ("block", "block_index"),
}


class _Citation(msgspec.Struct):
    type: str
    cited_text: str = ""
    document_index: int | None = None
    document_title: str | None = None
    file_id: str | None = None
    search_result_index: int | None = None
    source: str | None = None
    title: str | None = None
    url: str | None = None
    start_char_index: int | None = None
    end_char_index: int | None = None
    start_page_number: int | None = None
    end_page_number: int | None = None
    start_block_index: int | None = None
    end_block_index: int | None = None


class Block(msgspec.Struct):
    """A block of an answer; those that are no text are left out.

    Attributes:
        type: ``text``, ``thinking``, ``tool_use``, …
        text: its text.
        citations: what supports it.
    """

    type: str
    text: str = ""
    citations: list[_Citation] | None = None


class _Message(msgspec.Struct):
    content: list[Block]
    stop_reason: str | None = None


def read(body: Any) -> Response:
    """A Message.

    Raises:
        InputError: a location without its offsets.
    """
    message = msgspec.convert(body, _Message)
    response = Response(finish_reason="length" if message.stop_reason == "max_tokens" else None)
    read_blocks(message.content, response)
    return response


def read_blocks(blocks: list[Block], response: Response) -> None:
    """Add text blocks to an answer, with their citations.

    Raises:
        InputError: a location without its offsets.
    """
    for number, block, start in response.add_text_blocks(blocks):
        for nth, citation in enumerate(block.citations or ()):
            place = f"content[{number}].citations[{nth}]"
            response.cited.append(_cited(citation, (start, len(response.text)), response, place))


def _cited(citation: _Citation, at: tuple[int, int], response: Response, place: str) -> Cited:
    unit, name = _PAIRS.get(citation.type, (None, None))
    quote_at = None
    if name is not None:
        first, last = (getattr(citation, f"{side}_{name}") for side in ("start", "end"))
        if first is None or last is None or not 0 <= first <= last:
            raise InputError(
                f"{citation.type} from {first} to {last}", field=place,
                allowed=f"start_{name} and end_{name}, the end not before the start",
                code="out-of-range"
            )  # fmt: skip
        quote_at = first, last
    elif citation.type != "web_search_result_location":
        raise InputError(
            f"is of type {citation.type!r}", field=place,
            allowed=f"one of {', '.join(_PAIRS)}, web_search_result_location", code="wrong-value"
        )  # fmt: skip
    return Cited(*at, response.source(_source(citation)), quote=citation.cited_text or None,
                 quote_at=quote_at, quote_unit=unit)  # fmt: skip


def _source(citation: _Citation) -> CitedSource:
    if citation.type == "web_search_result_location":
        url = citation.url or ""
        return CitedSource((url,), citation.title or "", url, citation.cited_text)
    if citation.type == "search_result_location":
        name, title = citation.source or "", citation.title or ""
        ids = tuple(n for n in (name, title) if n)
        return CitedSource(ids, title, name, index=citation.search_result_index)
    title = citation.document_title or ""
    ids = tuple(n for n in (citation.file_id, title) if n)
    return CitedSource(ids, title, index=citation.document_index)


ANTHROPIC = Vendor(
    "anthropic",
    rb'"(?:char|page|content_block|search_result|web_search_result)_location"'
    rb'|"stop_reason"\s*:',
    read,
    by="shown",
    numbered=True,
)
