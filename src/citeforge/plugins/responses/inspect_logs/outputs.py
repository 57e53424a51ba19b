"""inspect_ai's outputs: ``citations`` beside the text blocks of whatever model answered.

``cited_text`` is the span of its block that is cited for (OpenAI, Google), or words of the source
(Anthropic), which the whole block cites. Where there is neither (Grok, Perplexity), the marks of
the block count; without marks, the whole block cites.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from citeforge.plugins.responses.placing.records import (
    Cited,
    CitedSource,
    Response,
    span,
)
from citeforge.plugins.responses.vendors.openai import link_span
from citeforge.schemas.errors import InputError

if TYPE_CHECKING:
    from inspect_ai.model import Citation, ContentText, ModelOutput


def read_output(output: ModelOutput, has_marks: Callable[[str], bool]) -> Response:
    """The answer of a sample, with its citations.

    Args:
        output: what the model gave.
        has_marks: whether a text cites by marks.

    Raises:
        InputError: a span that its text does not have, or a text that was changed after it was
            cited.
    """
    message = output.choices[0].message if output.choices else None
    content = [] if message is None or isinstance(message.content, str) else message.content
    response = Response()
    for number, block, start in response.add_text_blocks(content):
        _add_citations(block, response, start, has_marks, f"content[{number}]")
    if not response.cited:
        return Response(output.completion, has_marks=True)
    assert message is not None
    if output.completion != message.text:
        raise InputError(
            "is not the text that the model's citations belong to", field="output.completion",
            allowed="the model's own text, or a message without citations",
        )  # fmt: skip
    return response


def _add_citations(
    block: ContentText, response: Response, start: int, has_marks: Callable[[str], bool], place: str
) -> None:
    citations = block.citations or []
    if all(c.cited_text is None for c in citations) and has_marks(block.text):
        return
    for nth, citation in enumerate(citations):
        first, last, is_mark = 0, len(block.text), False
        if isinstance(citation.cited_text, tuple):
            first, last = citation.cited_text
            bounds = span(first, last, len(block.text), f"{place}.citations[{nth}]")
            first, last, is_mark = link_span(block.text, *bounds)
        response.cited.append(_cited(citation, start + first, start + last, is_mark, response))


def _cited(citation: Citation, start: int, end: int, is_mark: bool, response: Response) -> Cited:
    quote = citation.cited_text if isinstance(citation.cited_text, str) else None
    part = citation.range if citation.type == "document" else None
    return Cited(
        start,
        end,
        response.source(_source(citation, quote or "")),
        is_mark,
        quote or None,
        None if part is None else (part.start_index, part.end_index),
        None if part is None else part.type,
    )


def _source(citation: Citation, quote: str) -> CitedSource:
    """What is cited; ``internal`` is how inspect_ai keeps a vendor's own id or number."""
    title = citation.title or ""
    if citation.type == "url":
        return CitedSource((citation.url,), title, citation.url, quote)
    internal = citation.internal or {}
    name, number = internal.get("file_id"), internal.get("document_index")
    ids = tuple(i for i in (name, title) if isinstance(i, str) and i)
    text = quote if citation.type == "content" else ""
    return CitedSource(ids, title, text=text, index=number if isinstance(number, int) else None)
