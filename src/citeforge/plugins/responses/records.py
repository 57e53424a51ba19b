"""Records that all readers of responses fill: an answer, its sources, its citations."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from citeforge.evaluator.submissions.formats import OnError
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.errors import InputError

_LINK = r"\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)"
_MARK = re.compile(
    rf"\(\s*{_LINK}(?:\s*[,;]\s*{_LINK})*\s*\)|{_LINK}|【[^【】\n]*】|\[\^?\d+\]|<?https?://\S+>?|[\ue200-\ue2ff].*"
)

_URL = r"https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*"
MARK_LINK = re.compile(
    rf"\[\[?\d{{1,3}}\]?\]\((?P<numbered>{_URL})\)|\(\[[^\[\]\n]*\]\((?P<round>{_URL})\)\)"
)
"""``[[1]](URL)``, as Grok and Perplexity write marks, or ``([title](URL))``, as Exa does."""


@dataclass(frozen=True)
class CitedSource:
    """A source that an answer cites: its id, title, text and address.

    Attributes:
        ids: what may be the id of a passage, the surest first (file id, file name, title, …).
        title: its title.
        url: its address.
        text: its text, or the words of it that are known; empty where the vendor gives none.
        index: 0-based position among what was shown; None where the vendor has no such number.
        is_absent: whether only its number is known: the answer cites what was not shown.
    """

    ids: tuple[str, ...] = ()
    title: str = ""
    url: str = ""
    text: str = ""
    index: int | None = None
    is_absent: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Key that two mentions of the same cited source share."""
        if self.url:
            return normalise_url(self.url), self.index
        return self.ids, self.title, self.index, self.is_absent

    def merged_with(self, other: "CitedSource | None") -> "CitedSource":
        """Copy the cited source, with title or text from another mention where it has none."""
        if other is None:
            return self
        return replace(self, title=self.title or other.title, text=self.text or other.text)

    @property
    def name(self) -> str:
        """Name of the cited source for messages: its first id, else its URL, title or number."""
        number = "" if self.index is None else f"number {self.index}"
        return next((n for n in (*self.ids, self.url, self.title) if n), number)


@dataclass(frozen=True)
class Cited:
    """One citation of an answer.

    Attributes:
        start: first character of the answer that is cited for; also the offset of a mark.
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
    """An answer as a tool returned it.

    Attributes:
        text: the answer.
        sources: what it cites, or was shown.
        cited: citations beside the text; without any, marks in the text cite the sources.
        finish_reason: why the model stopped, where the answer may not be whole.
        thoughts: of the model, which are no part of the answer.
        has_interim: whether a text before a call of a tool is read as a part of the answer.
        has_list: whether the tool returned a list of sources, though it may be empty.
        base: number by which marks cite the first source; None for that of the benchmark.
    """

    text: str = ""
    sources: list[CitedSource] = field(default_factory=list)
    cited: list[Cited] = field(default_factory=list)
    finish_reason: str | None = None
    thoughts: list[str] = field(default_factory=list)
    has_interim: bool = False
    has_list: bool = False
    base: int | None = None
    _indexed: list[CitedSource] | None = field(default=None, repr=False, compare=False)
    _n_indexed: int = field(default=0, repr=False, compare=False)
    _by_key: dict[object, int] = field(default_factory=dict, repr=False, compare=False)
    _by_id: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def add_source(self, source: CitedSource) -> int:
        """Add a source, or its text, to the response if new; return its position."""
        self._index_sources()
        at = self._by_key.get(source.key)
        if at is None:
            self.sources.append(source)
            return len(self.sources) - 1
        other = self.sources[at]
        if source.text not in other.text:
            text = f"{other.text}\n{source.text}" if other.text else source.text
            self.sources[at] = replace(other, text=text)
        return at

    def find_id(self, source_id: str) -> int | None:
        """Find the position of the response's first source with an id; None if there is none."""
        self._index_sources()
        return self._by_id.get(source_id)

    def _index_sources(self) -> None:
        """Index the response's sources that were added since the last call, by key and id."""
        if self._indexed is not self.sources:
            self._indexed, self._n_indexed, self._by_key, self._by_id = self.sources, 0, {}, {}
        for at in range(self._n_indexed, len(self.sources)):
            self._by_key.setdefault(self.sources[at].key, at)
            for name in self.sources[at].ids:
                self._by_id.setdefault(name, at)
        self._n_indexed = len(self.sources)


@contextmanager
def errors_at(path: Path, line: int, on_error: OnError = None) -> Iterator[None]:
    """Add file and line to an InputError of the block; report it to ``on_error``, or raise.

    Args:
        path: file.
        line: of the response.
        on_error: takes the error, which is then passed over; None to raise it.

    Raises:
        InputError: the error raised inside, with file and line.
    """
    try:
        try:
            yield
        except RecursionError as error:
            raise InputError("is nested too deeply", code="bad-json") from error
    except InputError as error:
        placed = error if error.path is not None else error.at(path, line)
        if on_error is None or placed.line is None:  # a whole file is at fault
            raise placed from error.__cause__
        on_error(placed)


def link_span(text: str, first: int, last: int) -> tuple[int, int, bool]:
    """Extend a citation's span to its closing bracket: (start, end, whether a link or mark).

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
