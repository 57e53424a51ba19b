"""OpenAI's Responses and Chat Completions: ``annotations`` of a text.

``url_citation`` has the place of the citation in the text, mostly that of a link that the model
wrote there; other servers of the same protocol give the words that it is for. ``file_citation``
has a place only (``index``). Offsets count characters of the text they belong to: the reference
does not say which (looked up in 2026). Unicode characters and UTF-16 units, which differ behind an
emoji, are told apart by the links that the offsets enclose; without any it is Unicode characters.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from citeforge.plugins.responses.placing.records import (
    Cited,
    CitedSource,
    Response,
    Vendor,
    link_span,
    span,
)
from citeforge.schemas.errors import InputError

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
        raise InputError("is empty", field="choices", allowed="one choice", code="missing-field")
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
    at = _unit(text, annotations)
    for nth, a in enumerate(annotations):
        where = f"{place}.annotations[{nth}]"
        if a.type == "url_citation":
            inner = a.url_citation or a
            url, title = inner.url, inner.title or ""
            first, last = span(at(inner.start_index), at(inner.end_index), len(text), where)
            source = CitedSource((url,), title, url)
        elif a.type in ("file_citation", "container_file_citation"):
            start_at, end_at = a.start_index, a.end_index
            if start_at is None:
                start_at = end_at = a.index
            first, last = span(at(start_at), at(end_at), len(text), where)
            source = _file(a.file_id, a.filename, "")
        else:
            continue  # file_path: a file that the model made
        first, last, is_mark = link_span(text, first, last)
        response.cited.append(
            Cited(start + first, start + last, response.source(source), is_mark, quote=a.quote)
        )


def _unit(text: str, annotations: Sequence[_Annotation]) -> Callable[[int | None], int | None]:
    """What makes Unicode characters of an offset: UTF-16 units are taken where more of the spans
    then are links."""
    if text.isascii() or max(text) <= "\uffff":
        return _as_it_is
    widths = [2 if letter > "\uffff" else 1 for letter in text]
    units = {unit: n for n, unit in enumerate(accumulate(widths, initial=0))}

    def of_utf16(offset: int | None) -> int | None:
        # Within a pair, or behind the text: a place that no text has.
        return None if offset is None else units.get(offset, len(text) + 1)

    def links(at: Callable[[int | None], int | None]) -> int:
        spans = [a.url_citation or a for a in annotations]
        ends = [(at(s.start_index), at(s.end_index)) for s in spans]
        return sum(
            link_span(text, first, last)[2]
            for first, last in ends
            if first is not None and last is not None and 0 <= first < last <= len(text)
        )

    return of_utf16 if links(of_utf16) > links(_as_it_is) else _as_it_is


def _as_it_is(offset: int | None) -> int | None:
    return offset


def _file(file_id: str, filename: str | None, text: str) -> CitedSource:
    """A file; the name that its owner gave it says more than the id that the service did."""
    name = filename or ""
    ids = dict.fromkeys((_ENDING.sub("", name), name, file_id))
    return CitedSource(tuple(n for n in ids if n), name, text=text)


OPENAI = Vendor(
    "openai",
    rb'"object"\s*:\s*"(?:response|chat\.completion)"|"type"\s*:\s*"(?:url|file)_citation"',
    read,
    by="own",
)
