"""OpenAI's Responses and Chat Completions: ``annotations`` of a text.

``url_citation`` has the place of the citation in the text, mostly that of a link that the model
wrote there; other servers of the same protocol give the words that it is for. ``file_citation``
has a place only (``index``). Offsets count Unicode characters of the text they belong to.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from citeforge.plugins.responses.placing.records import (
    Cited,
    CitedSource,
    Response,
    Vendor,
    span,
)
from citeforge.schemas.errors import InputError

_LINK = r"\[[^\[\]\n]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)"
_MARK = re.compile(
    rf"\(\s*{_LINK}(?:\s*[,;]\s*{_LINK})*\s*\)|{_LINK}|【[^【】\n]*】|\[\^?\d+\]|<?https?://\S+>?|[\ue200-\ue2ff].*"
)
_ENDING = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,4}\Z")


class _Inner(msgspec.Struct):
    url: str = ""
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class _Annotation(_Inner, kw_only=True):
    type: str
    url_citation: _Inner | None = None
    file_id: str = ""
    filename: str | None = None
    index: int | None = None
    quote: str | None = None


class _Part(msgspec.Struct):
    type: str
    text: str = ""
    refusal: str | None = None
    annotations: list[_Annotation] | None = None


class _Found(msgspec.Struct):
    file_id: str | None = None
    filename: str | None = None
    text: str | None = None


class _Item(msgspec.Struct):
    type: str
    content: list[_Part] | None = None
    results: list[_Found] | None = None


class _Details(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item]
    incomplete_details: _Details | None = None


class _ChatMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    annotations: list[_Annotation] | None = None


class _Choice(msgspec.Struct):
    message: _ChatMessage
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


def read(body: Any) -> Response:
    """A response, or a chat completion.

    Raises:
        InputError: offsets outside the text.
    """
    if isinstance(body, dict) and "choices" in body:
        return _completion(msgspec.convert(body, _Completion))
    return _response(msgspec.convert(body, _Response))


def _completion(body: _Completion) -> Response:
    if not body.choices:
        raise InputError("is empty", field="choices", allowed="one choice")
    choice = body.choices[0]
    message = choice.message
    cut = "length" if choice.finish_reason == "length" else None
    response = Response(message.content or message.refusal or "", finish_reason=cut)
    _annotated(message.annotations or (), response, 0, "choices[0].message")
    return response


def _response(body: _Response) -> Response:
    why = body.incomplete_details.reason if body.incomplete_details else None
    response = Response(finish_reason="length" if why == "max_output_tokens" else None)
    for nth, item in enumerate(body.output):
        for result in item.results or ():
            ids = tuple(i for i in (result.file_id, result.filename) if i)
            if ids and result.text:
                response.source(_file(result.file_id or "", result.filename, result.text))
        if item.type != "message":
            continue
        for number, part in enumerate(item.content or ()):
            if response.text and not response.text[-1].isspace():
                response.text += "\n\n"
            start = len(response.text)
            response.text += part.text or part.refusal or ""
            place = f"output[{nth}].content[{number}]"
            _annotated(part.annotations or (), response, start, place)
    return response


def _annotated(annotations: Any, response: Response, start: int, place: str) -> None:
    """Add the annotations of the text that starts at an offset of the answer."""
    text = response.text[start:]
    for nth, a in enumerate(annotations):
        where = f"{place}.annotations[{nth}]"
        if a.type == "url_citation":
            inner = a.url_citation or a
            url, title = inner.url, inner.title or ""
            first, last = span(inner.start_index, inner.end_index, len(text), where)
            source = CitedSource((url,), title, url)
        elif a.type in ("file_citation", "container_file_citation"):
            start_at, end_at = a.start_index, a.end_index
            if start_at is None:
                start_at = end_at = a.index
            first, last = span(start_at, end_at, len(text), where)
            source = _file(a.file_id, a.filename, "")
        else:
            continue  # file_path: a file that the model made
        first, last, is_mark = link_span(text, first, last)
        response.cited.append(
            Cited(start + first, start + last, response.source(source), is_mark, quote=a.quote)
        )


def _file(file_id: str, filename: str | None, text: str) -> CitedSource:
    """A file; the name that its owner gave it says more than the id that the service did."""
    name = filename or ""
    ids = dict.fromkeys((_ENDING.sub("", name), name, file_id))
    return CitedSource(tuple(n for n in ids if n), name, text=text)


def link_span(text: str, first: int, last: int) -> tuple[int, int, bool]:
    """The characters of a citation, and whether they are the citation itself.

    ``end_index`` is called the last character; where the bracket that closes a link is just behind
    it, that is part of the link.

    Returns:
        (first, behind the last, whether they are a link or another mark).
    """
    if first == last:
        return first, last, True
    for end in (last, last + 1):
        if _MARK.fullmatch(text, first, min(end, len(text))):
            return first, min(end, len(text)), True
    return first, last, False


OPENAI = Vendor(
    "openai",
    rb'"object"\s*:\s*"(?:response|chat\.completion)"|"type"\s*:\s*"(?:url|file)_citation"',
    read,
    by="own",
)
