"""Statements: the sentences of an output with the citations that belong to each.

Marks are cut out first. Each line is then a reference list, a heading, marks alone, or text; only
text gives statements. Marks belong to the statement that contains them, else to the one before; a
mark that opens a line whose text follows belongs to what follows (docs/definitions.md#statements).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from citeforge.engines.text.segment import Segmenter, Span, lines_of
from citeforge.evaluator.statements.layout import Layout, skip_bullet
from citeforge.schemas.citations.forms import BLOCK_TAG, without_last_space
from citeforge.schemas.citations.grammar import Marker, Parsed
from citeforge.schemas.citations.reference_list import HEADING, LABELLED
from citeforge.schemas.invisible import without_invisible

_STARS = re.compile(r"\*{1,3}")
_CLOSERS = "\"'”’»)\\]*_」』"
_STOP = re.compile(rf"[.!?…。！？]+[{_CLOSERS}]*(?=\s+\S)")
_STOPPED = re.compile(rf"[.!?…][{_CLOSERS}]*\Z")
_MARKDOWN_HEADING = re.compile(r"\s*#{1,6}\s+\S")
_BOLD = re.compile(r"\s*(\*\*\*?|__)(?P<inner>[^*_\n]+)\1\s*:?\s*")
_GENERIC = re.compile(
    r"[\s*_]*(?:(?:final|short|long|full|direct)\s+)?(?:answers?|summary|conclusions?|introduction|"
    r"overview|background|key\s+(?:points|facts|findings|takeaways)|details|explanation|notes?|"
    r"discussion|justification|response|antwort|zusammenfassung|réponse|respuesta|resumen|答案|总结|"
    r"回答|まとめ)[\s*_]*[:：]?[\s*_]*",
    re.IGNORECASE,
)
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,})\s*")
_FENCE = re.compile(r"\s*(?:```|~~~)\s*[\w+-]*\s*")
_LEAD_IN = re.compile(r"[:：][\s*_\"”]*\Z")
# `S1. [2] adds S2`: the mark is the subject of what follows.
_PREDICATE = re.compile(
    r"(?:(?:and|also|further|then|however|in turn)\W+)*(?:states?|says?|adds?|notes?|mentions?|"
    r"reports?|shows?|describes?|explains?|claims?|argues?|suggests?|provides?|confirms?|discusses|"
    r"gives?|lists?|indicates?|points? out|refers?|defines?|contains?|supports?|does|do|is|are)\b"
)
# Thai and Lao end sentences with a space, which they also write elsewhere.
_THAI = re.compile(r"[\u0e00-\u0eff]")
_THAI_FOLLOWS = re.compile(r"\s+[\u0e00-\u0eff]")
_SEPARATORS = " \t\n\r.,;:!?)]}。，、；：।۔؟։።။"
_WINDOW = 60
"""Characters that tell whether a mark is the subject of a sentence."""
_SPACED_STOP = re.compile(r"[ \t]++(?=[.,;!?。।۔؟։።။](?:\s|\Z))")


class MarkerReader(Protocol):
    """Finds citation marks: of passages (Grammar) or of triples (TripleGrammar)."""

    def parse(self, output: str, n_docs: int) -> Parsed:
        """Find the citation marks of an output."""
        ...


@dataclass(frozen=True)
class Statement:
    """A statement and its citations.

    Attributes:
        text: the sentence without markers, bullets and characters without width; white space
            squeezed.
        spans: where its characters stand in the output, markers and their spaces left out.
        markers: the marks that belong to it, in order.
    """

    text: str
    spans: tuple[Span, ...]
    markers: tuple[Marker, ...]

    @property
    def numbers(self) -> list[int]:
        """Citation numbers as written, in order, repeats kept."""
        return [n for marker in self.markers for n in marker.numbers]


@dataclass(frozen=True)
class Statements:
    """An output in statements.

    Attributes:
        statements: in order.
        stray: markers of an output without any statement.
        text: the output without markers, from which the statements were cut.
    """

    statements: tuple[Statement, ...]
    stray: tuple[Marker, ...]
    text: str


@dataclass
class _Cut:
    """An output without its marks.

    Attributes:
        text: what is left; the space before a mark goes with it where punctuation or space follows.
        origins: where each of its characters stands in the output; −1 of a space that was put in.
        places: offset of each mark in the text.
    """

    text: str = ""
    origins: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def spans(self, start: int, end: int) -> tuple[Span, ...]:
        """Map characters [start, end) of the text without marks to spans of the original output."""
        spans: list[Span] = []
        for at in self.origins[start:end]:
            if spans and spans[-1][1] == at:
                spans[-1] = (spans[-1][0], at + 1)
            elif at >= 0:
                spans.append((at, at + 1))
        return tuple(spans)

    def raw_line_start(self, start: int) -> int:
        """Get the offset in the output of a line's start, including marks that open the line."""
        while start and self.origins[start - 1] < 0:
            start -= 1
        return self.origins[start - 1] + 1 if start else 0


class _Emphasis:
    """Asterisks around the marks of an output."""

    def __init__(self, output: str) -> None:
        """Prepare to look for asterisks in an output."""
        self._output = output
        self._places: dict[str, list[int]] = {}

    def widen(self, start: int, end: int) -> Span:
        """Widen a mark's span to asterisks around it that enclose nothing else: ``**[5]**``."""
        stars = _STARS.match(self._output, end)
        if stars is None or not self._output.endswith(stars[0], 0, start):
            return start, end
        opens = start - len(stars[0])
        line = bisect_right(self._find_all("\n"), opens)
        first = self._find_all("\n")[line - 1] + 1 if line else 0
        offsets = self._find_all(stars[0])
        n = bisect_right(offsets, opens - len(stars[0])) - bisect_left(offsets, first)
        return (start, end) if n > 0 and n % 2 else (opens, stars.end())  # odd: they close others

    def _find_all(self, string: str) -> list[int]:
        """List the offsets of a string in the output, without overlaps (cached)."""
        if string not in self._places:
            found = re.finditer(re.escape(string), self._output)
            self._places[string] = [match.start() for match in found]
        return self._places[string]


def _cut(output: str, markers: tuple[Marker, ...]) -> _Cut:
    """Remove an output's citation marks (``markers``); map offsets in the rest to the output."""
    cut, at = _Cut(), 0
    pieces: list[str] = []
    emphasis = _Emphasis(output)
    ends = [emphasis.widen(m.start, m.end) for m in markers]
    behind = [output[e : e + 1] for _, e in ends]
    for i in range(len(ends) - 2, -1, -1):
        if ends[i][1] == ends[i + 1][0]:
            behind[i] = behind[i + 1]  # what follows all of `[1][2]`
    for (start, end), following in zip(ends, behind, strict=True):
        piece = output[at:start]
        if not following or following in _SEPARATORS:
            piece = without_last_space(piece)
        pieces.append(piece)
        cut.origins += range(at, at + len(piece))
        cut.places.append(len(cut.origins))
        if output[start] == "<" and BLOCK_TAG.match(output, start) is not None:
            pieces.append("\n")
            cut.origins.append(-1)
        elif following.isalnum() and _STOPPED.search(output[max(0, at, start - 9) : start]):
            pieces.append(" ")  # `Gold.[1]Tin` is two sentences
            cut.origins.append(-1)
        spaced = _SPACED_STOP.match(output, end)
        at = end if spaced is None else spaced.end()
        if output[at : at + 1] == "." and _STOPPED.search(
            output[max(0, start - 9) : start].rstrip()
        ):
            at += 1  # `Gold. [1].` has one full stop
    cut.origins += range(at, len(output))
    cut.text = "".join([*pieces, output[at:]])
    return cut


@dataclass
class _Sentence:
    """A sentence of the text without marks, and the marks that belong to it."""

    start: int
    end: int
    markers: list[Marker] = field(default_factory=list)


class _Reader:
    """Reads the lines of an output into sentences, each with its marks."""

    def __init__(self, output: str, parsed: Parsed, segmenter: Segmenter) -> None:
        """Assign an output's marks to its lines, of which :meth:`read` makes statements."""
        self.markers = tuple(m for m in parsed.markers if not (m.is_listed or m.is_residue))
        every = parsed.markers
        self.cut = _cut(output, every)
        self.segmenter = segmenter
        self.lists = parsed.lists
        self.lines = lines_of(self.cut.text)
        self.of_line: list[list[tuple[Marker, int]]] = [[] for _ in self.lines]
        starts = [s for s, _ in self.lines]
        for marker, place in zip(every, self.cut.places, strict=True):
            if starts and not (marker.is_listed or marker.is_residue):
                self.of_line[max(0, bisect_right(starts, place) - 1)].append((marker, place))
        self.opens = bool(self.markers) and not _has_letter(output[: self.markers[0].start])
        self.sentences: list[_Sentence] = []
        # An output of marks alone has no lines.
        self.pending: list[Marker] = [] if self.lines else list(self.markers)
        self.output = output
        self.layout = Layout([self.cut.text[start:end] for start, end in self.lines])

    def read(self) -> None:
        """Split all lines into statements, and assign each citation mark to one of them.

        Marks that wait for a statement get the next one.
        """
        marks_first = False
        for number, (start, end) in enumerate(self.lines):
            line, marks = self.cut.text[start:end], self.of_line[number]
            if self._is_listed(start) or number in self.layout.code:
                continue
            is_row = number in self.layout.rows
            if not (_has_letter(line) or (is_row and _has_digit(line))) or is_label(line):
                marks_first = marks_first or (bool(marks) and not self.sentences)
                if self.sentences and not (marks_first and self.opens):
                    self._attach_to_last(m for m, _ in marks)
                else:
                    self.pending.extend(m for m, _ in marks)
            elif self._is_heading(number):
                self.pending.extend(m for m, _ in marks)
            else:
                self._read_text(number)
        if self.sentences:
            self._attach_to_last(self.pending)
            self.pending = []

    def _attach_to_last(self, markers: Iterable[Marker]) -> None:
        """Attach citation marks to the statement that was read last."""
        self.sentences[-1].markers.extend(markers)

    def _is_listed(self, start: int) -> bool:
        """Whether the line at an offset is in a list of references."""
        if not self.lists:
            return False
        raw = self.cut.raw_line_start(start)
        at = bisect_right(self.lists, (raw, len(self.output) + 1)) - 1
        return at >= 0 and raw < self.lists[at][1]

    def _line(self, number: int) -> str:
        """Get the text of a line; empty behind the last one."""
        if number >= len(self.lines):
            return ""
        return self.cut.text[slice(*self.lines[number])]

    def _is_heading(self, number: int) -> bool:
        """Whether a line is a heading and makes no statement."""
        line, following = self.layout.without_quote(number), self._line(number + 1)
        if number in self.layout.headers:
            return True
        if _MARKDOWN_HEADING.match(line) or _FENCE.fullmatch(line):
            return True
        more = any(
            _has_letter(self._line(n)) for n in range(number + 1, min(number + 4, len(self.lines)))
        )
        if self.of_line[number] or not more:
            return False
        bold = _BOLD.fullmatch(line)
        if bold is not None and not _STOPPED.search(bold["inner"].rstrip()):
            return True
        if _GENERIC.fullmatch(line):
            return True
        underlined = following and _UNDERLINE.fullmatch(following) is not None
        return bool(underlined) and not _STOPPED.search(line.rstrip())

    def _read_text(self, number: int) -> None:
        """Split line ``number`` into sentences with their citation marks, and add them."""
        start, end = self.lines[number]
        line = self.cut.text[start:end]
        marks = self.of_line[number]
        forced = {
            m.end() for _, p in marks
            if (m := _STOP.match(self.cut.text, p, end)) and ".." not in m.group()
        }  # fmt: skip
        if (prefix := self.layout.prefix_length(number)) and _has_letter(line[prefix:]):
            start += prefix
            line = line[prefix:]
        if marks and _THAI.search(line):
            forced.update(p for _, p in marks if _THAI_FOLLOWS.match(self.cut.text, p, end))
        row = self._table_row(number, line)
        spans = self._split(line, forced, start) if row is None else [row]
        sentences = [_Sentence(start + s, start + e) for s, e in spans]
        if self.pending:
            sentences[0].markers.extend(self.pending)
            self.pending = []
        opens_line = bool(marks) and not _has_letter(self.cut.text[start : marks[0][1]])
        starts = [s.start for s in sentences]
        for marker, place in marks:
            owner = self._find_owner(marker, place, sentences, starts, opens_line or self.opens)
            sentences[owner].markers.append(marker)
        sentences = self._join_labels(sentences)
        if _LEAD_IN.search(line.rstrip()) and not sentences[-1].markers:
            sentences.pop()
        self.sentences.extend(sentences)

    def _join_labels(self, sentences: list[_Sentence]) -> list[_Sentence]:
        """Drop sentences that are labels (``Source:``); move their marks to the one before."""
        joined = sentences[:1]
        for sentence in sentences[1:]:
            if is_label(self.cut.text[sentence.start : sentence.end]):
                joined[-1].markers.extend(sentence.markers)
            else:
                joined.append(sentence)
        return joined

    def _table_row(self, number: int, line: str) -> Span | None:
        """Get (start, end) of a table row in its line, which is one statement; None otherwise."""
        stripped = line.strip()
        is_row = stripped.startswith("|") and stripped.count("|") > 2
        if not is_row and number not in self.layout.rows:
            return None
        start = len(line) - len(line.lstrip())
        return start, start + len(stripped)

    def _split(self, line: str, required_ends: set[int], line_offset: int) -> list[Span]:
        """Split a line into sentences, also at ``required_ends``: (start, end) of each in the line.

        Args:
            line: a line of the output without marks.
            required_ends: offsets in the whole text at which a sentence must end.
            line_offset: offset of the line in the whole text.
        """
        ends = [e for _, e in self.segmenter.split(line)]
        cuts = sorted({*ends[:-1], *(f - line_offset for f in required_ends)})
        spans: list[Span] = []
        at = 0
        for cut in [*cuts, len(line)]:
            piece = line[at:cut]
            if _has_letter(piece):
                spans.append((at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip())))
                at = cut
            elif spans and cut == len(line):
                spans[-1] = (spans[-1][0], at + len(piece.rstrip()))
        return spans

    def _find_owner(
        self,
        marker: Marker,
        offset: int,
        sentences: list[_Sentence],
        sentence_starts: list[int],
        marks_precede: bool,
    ) -> int:
        """Find which of a line's sentences a citation mark belongs to: its index.

        Args:
            marker: the mark.
            offset: offset of the mark in the text without marks.
            sentences: sentences of its line.
            sentence_starts: offsets of their starts in that text.
            marks_precede: whether marks of the output precede their sentences.
        """
        before = bisect_right(sentence_starts, offset) - 1
        if before < 0:
            return 0
        if offset == sentences[before].start and before > 0:
            before -= 1
        if offset < sentences[before].end or before + 1 == len(sentences):
            return before
        glued = not self.output[marker.start - 1].isspace()
        spaced = self.output[marker.end : marker.end + 1].isspace()
        if glued and self.output[marker.start - 1] not in "]】］":
            return before + 1 if marks_precede and not spaced else before
        start = sentences[before + 1].start
        is_subject = _PREDICATE.match(self.cut.text, start, start + _WINDOW) is not None
        return before + 1 if marks_precede or is_subject else before


def split_statements(
    output: str, grammar: MarkerReader, segmenter: Segmenter, n_docs: int
) -> Statements:
    """Split an output into statements with their citations (docs/definitions.md#statements).

    Args:
        output: what the system wrote.
        grammar: finds its marks and reference lists.
        segmenter: splits a line into sentences.
        n_docs: number of passages shown.
    """
    parsed = grammar.parse(output, n_docs)
    reader = _Reader(output, parsed, segmenter)
    reader.read()
    statements = []
    for sentence in reader.sentences:
        start = skip_bullet(reader.cut.text, sentence.start)
        spans = reader.cut.spans(start, sentence.end)
        markers = tuple(sorted(sentence.markers, key=lambda m: m.start))
        text = " ".join(without_invisible(reader.cut.text[start : sentence.end]).split())
        statements.append(Statement(text, spans, markers))
    return Statements(tuple(statements), tuple(reader.pending), reader.cut.text)


def _has_letter(text: str) -> bool:
    """Whether a text has a letter."""
    return any(c.isalpha() for c in text)


def _has_digit(text: str) -> bool:
    """Whether a text has a digit."""
    return any(c.isdigit() for c in text)


def is_label(line: str) -> bool:
    """Whether a line is only a label of citation marks, like `Source:` or `(Sources: , )`."""
    if HEADING.fullmatch(line.strip()) is not None:
        return True
    label = LABELLED.match(line)
    return label is not None and not _has_letter(line[label.end() :])
