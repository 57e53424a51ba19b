"""Gemini: a candidate with ``groundingMetadata``.

``groundingSupports`` say which segments of the answer which ``groundingChunks`` support. Segments
are offsets in bytes of UTF-8, in the part that ``partIndex`` names; without it, in all text parts
one behind the other. Both spellings of field names are read, ``groundingChunks`` of the protocol
and ``grounding_chunks`` of the Python client.
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


class _Chunk(msgspec.Struct, rename="camel"):
    uri: str | None = None
    title: str | None = None
    text: str | None = None
    document_name: str | None = None


class _GroundingChunk(msgspec.Struct, rename="camel"):
    web: _Chunk | None = None
    retrieved_context: _Chunk | None = None
    maps: _Chunk | None = None
    image: _Chunk | None = None


class _Segment(msgspec.Struct, rename="camel"):
    start_index: int | None = None
    end_index: int | None = None
    part_index: int | None = None
    text: str | None = None


class _Support(msgspec.Struct, rename="camel"):
    segment: _Segment | None = None
    grounding_chunk_indices: list[int] | None = None
    confidence_scores: list[float] | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    grounding_chunks: list[_GroundingChunk] | None = None
    grounding_supports: list[_Support] | None = None


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    grounding_metadata: _Metadata | None = None


class _Body(msgspec.Struct):
    candidates: list[_Candidate]


def _camel(value: Any) -> Any:
    """The same with field names as the protocol spells them."""
    if isinstance(value, dict):
        return {_camel_name(k): _camel(v) for k, v in value.items()}
    return [_camel(v) for v in value] if isinstance(value, list) else value


def _camel_name(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def read(body: Any) -> Response:
    """The first candidate of a response.

    Raises:
        InputError: a segment outside the text, or a chunk that is not there.
    """
    candidates = msgspec.convert(_camel(body), _Body).candidates
    if not candidates:
        raise InputError(
            "is empty", field="candidates", allowed="one candidate; was the prompt blocked?",
            code="missing-field"
        )  # fmt: skip
    candidate = candidates[0]
    parts = (candidate.content.parts if candidate.content else None) or []
    texts = ["" if p.thought else p.text or "" for p in parts]
    cut = "length" if candidate.finish_reason == "MAX_TOKENS" else None
    response = Response("".join(texts), finish_reason=cut)
    metadata = candidate.grounding_metadata or _Metadata()
    chunks = [_source(c) for c in metadata.grounding_chunks or ()]
    for nth, support in enumerate(metadata.grounding_supports or ()):
        place = f"groundingSupports[{nth}]"
        start, end = _characters(support.segment or _Segment(), texts, f"{place}.segment")
        indices = support.grounding_chunk_indices or []
        scores = support.confidence_scores or []
        for i, chunk in enumerate(indices):
            if not 0 <= chunk < len(chunks):
                raise InputError(
                    f"names chunk {chunk} of {len(chunks)}", field=f"{place}.groundingChunkIndices",
                    allowed="numbers of groundingChunks, from 0", code="out-of-range"
                )  # fmt: skip
            score = scores[i] if len(scores) == len(indices) else None
            at = response.source(chunks[chunk])
            response.cited.append(Cited(start, end, at, start == end, confidence=score))
    return response


def _source(chunk: _GroundingChunk) -> CitedSource:
    place = chunk.web or chunk.retrieved_context or chunk.maps or chunk.image or _Chunk()
    name = place.document_name or ""
    ids = [name.rpartition("/")[2], place.uri, place.title]
    title, url = place.title or "", place.uri or ""
    return CitedSource(tuple(dict.fromkeys(i for i in ids if i)), title, url, place.text or "")


def _characters(segment: _Segment, texts: list[str], place: str) -> tuple[int, int]:
    """A segment as offsets in characters of the whole answer.

    Raises:
        InputError: it lies outside the part, cuts a character, or is not the text that it states.
    """
    nth = segment.part_index
    if nth is not None and not 0 <= nth < len(texts):
        raise InputError(
            f"refers to part {nth} of {len(texts)}", field=place,
            allowed="a part of the content, from 0", code="out-of-range"
        )  # fmt: skip
    text = "".join(texts) if nth is None else texts[nth]
    before = 0 if nth is None else sum(map(len, texts[:nth]))
    data = text.encode()
    first, last = segment.start_index or 0, segment.end_index
    if last is None or not 0 <= first <= last <= len(data):
        raise InputError(
            f"spans bytes {first} to {last}, and the text has {len(data)}", field=place,
            allowed="offsets in bytes of UTF-8 within the part, the end behind the start",
            code="out-of-range"
        )  # fmt: skip
    try:
        start, inside = len(data[:first].decode()), data[first:last].decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"spans bytes {first} to {last}, which cuts a character", field=place,
            allowed="offsets in bytes of UTF-8, as Gemini returns them", code="wrong-value"
        ) from error  # fmt: skip
    if segment.text is not None and segment.text != inside:
        raise InputError(
            f"bytes {first} to {last} are {inside[:40]!r}, and its text is {segment.text[:40]!r}",
            field=place,
            allowed="offsets in bytes of the answer as Gemini returned it",
            code="wrong-value"
        )  # fmt: skip
    return before + start, before + start + len(inside)


GEMINI = Vendor(
    "gemini", rb'"(?:groundingMetadata|grounding_metadata|candidates)"\s*:', read, by="own"
)
