"""What the readers of vendors' responses have in common: an answer, its sources, its citations."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.errors import InputError

_LINK = r"\[[^\[\]\n]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)"
_MARK = re.compile(
    rf"\(\s*{_LINK}(?:\s*[,;]\s*{_LINK})*\s*\)|{_LINK}|【[^【】\n]*】|\[\^?\d+\]|<?https?://\S+>?|[\ue200-\ue2ff].*"
)


_PLACE = re.compile(r" - at `\$\.?(.*)`$")


@dataclass(frozen=True)
class CitedSource:
    """Something that an answer cites.

    Attributes:
        ids: what may be the id of a passage, the surest first (file id, file name, title, …).
        title: its title.
        url: its address.
        text: its text, or the words of it that are known; empty where the vendor gives none.
        index: 0-based place among what was shown; None where the vendor has no such number.
    """

    ids: tuple[str, ...] = ()
    title: str = ""
    url: str = ""
    text: str = ""
    index: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What two mentions of one source share."""
        if self.url:
            return same_url(self.url), self.index
        return self.ids, self.title, self.index

    @property
    def name(self) -> str:
        """What messages call it."""
        number = "" if self.index is None else f"number {self.index}"
        return next((n for n in (*self.ids, self.url, self.title) if n), number)


@dataclass(frozen=True)
class Cited:
    """One citation.

    Attributes:
        start: first character of the answer that is cited for; also the place of a mark.
        end: behind the last one.
        source: position among the sources of the answer.
        is_mark: the characters are the citation itself (a link), or none at all.
        quote: words of the source.
        quote_at: (start, end) of the quotation in the source.
        quote_unit: ``char``, ``block`` or ``page``.
        confidence: 0 to 1.
    """

    start: int
    end: int
    source: int
    is_mark: bool = False
    quote: str | None = None
    quote_at: tuple[int, int] | None = None
    quote_unit: str | None = None
    confidence: float | None = None


@dataclass
class Response:
    """A response, read.

    Attributes:
        text: the answer.
        sources: what it cites, or was shown.
        cited: its citations.
        finish_reason: as submissions have it.
        has_marks: the text cites by marks of its own, as our prompts ask for.
    """

    text: str = ""
    sources: list[CitedSource] = field(default_factory=list)
    cited: list[Cited] = field(default_factory=list)
    finish_reason: str | None = None
    has_marks: bool = False

    def source(self, source: CitedSource) -> int:
        """Position of a source, which is added where it is new; more of its words are kept."""
        for at, other in enumerate(self.sources):
            if other.key == source.key:
                if source.text not in other.text:
                    text = f"{other.text}\n{source.text}" if other.text else source.text
                    self.sources[at] = replace(other, text=text)
                return at
        self.sources.append(source)
        return len(self.sources) - 1

    def add_text_blocks(self, blocks: Iterable[Any]) -> Iterator[tuple[int, Any, int]]:
        """Add text blocks to the answer; where another block stands between two, a paragraph ends.

        Yields:
            (number of the block, block, where its text starts in the answer).
        """
        is_apart = False
        for number, block in enumerate(blocks):
            if block.type != "text":
                is_apart = True
                continue
            if is_apart and self.text and not self.text[-1].isspace():
                self.text += "\n\n"
            is_apart = False
            start = len(self.text)
            self.text += block.text
            yield number, block, start


@dataclass(frozen=True)
class Vendor:
    """How responses of one vendor are read.

    Attributes:
        name: as in ``--format``.
        mark: what the line of a response holds, as a regular expression.
        read: response to what it says; raises InputError with the field.
        by: how sources are found among the passages shown, unless ``--format`` says.
        numbered: sources have a number among what was shown.
    """

    name: str
    mark: bytes
    read: Callable[[Any], Response]
    by: str
    numbered: bool = False


@contextmanager
def errors_at(path: Path, line: int, allowed: str | None = None) -> Iterator[None]:
    """Add file and line to the errors of a response.

    Args:
        path: file of the response.
        line: its line, or number.
        allowed: what would be right where it has other types.

    Raises:
        InputError: the error raised inside, with file and line.
    """
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise error.at(path, line) from error
    except msgspec.ValidationError as error:
        message, *place = _PLACE.split(str(error))
        field = place[0] if place else None
        code = "missing-field" if "missing required field" in message else "wrong-type"
        raise InputError(
            message, path=path, line=line, field=field, allowed=allowed, code=code
        ) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", path=path, line=line, code="bad-json") from error


def span(start: int | None, end: int | None, size: int, place: str) -> tuple[int, int]:
    """Offsets, checked.

    Args:
        start: first character; None is 0.
        end: behind the last character.
        size: characters of the text.
        place: field, for the error.

    Raises:
        InputError: they lie outside the text, or the wrong way round.
    """
    first = 0 if start is None else start
    if end is None or not 0 <= first <= end <= size:
        raise InputError(
            f"spans {first} to {end}, and the text has {size} characters", field=place,
            allowed="offsets within the text, the end behind the start; was the text changed?",
            code="out-of-range"
        )  # fmt: skip
    return first, end


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
