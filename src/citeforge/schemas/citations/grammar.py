"""The citation grammar: which marks in an output are citations, and of which position.

One object serves every measure. ``strict`` reads the forms that real systems write; the
``reference`` readers of the papers' own evaluators live with their measures. Signatures call the
rules ``strict3`` (docs/definitions.md#citations).
"""

import re
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from citeforge.schemas.citations.doubt import (
    PLAIN,
    find_variables,
    is_circled_mark,
    is_raised_mark,
    is_scale,
    is_subscript,
)
from citeforge.schemas.citations.forms import (
    CIRCLED_RUN,
    DEFINITION,
    FREE_BRACKET,
    INNER,
    OPENER,
    RAISED,
    RANGES,
    SUSPECT,
    all_forms,
    is_introduction,
    read_mark_items,
    without_last_space,
)
from citeforge.schemas.citations.mentions import find_loose_marks, find_mentions
from citeforge.schemas.citations.reference_list import Mark, find_lists, may_hold_list

TAKES_SPACE = " \t\n.,;:!?)[【"
"""What may follow a marker that takes the space before it along."""

MAX_RANGE = 20
"""Widest range (``[1-20]``, both ends counted) that is read as one."""

_SPACES = re.compile(r"[ \t]+")
_PLAIN_MARK = re.compile(r"\[(\d{1,3})\](?![(}\-\u2010-\u2015\u2212\uff0d\uff5e])")
_SPECIAL = re.compile(r"[`【］$\\<^{〔〖⟦⟨「『《〈＜（_§⁽⁰¹²³⁴-⁹①-⑳\ue200-\ue21f]")
_BEHIND_MARK = re.compile(r"\](?:\(|[-\u2010-\u2015\u2212\uff0d\uff5e]\[)")
_ROUND = re.compile(r"\([^()\d\[\n]{0,60}(?:\[|\d{1,3}(?!\d))")
_SIGNS = re.compile(r"turn\d|~~~|&(?:#|l)|%\[|://|##|\[0\]|:cite")
_ENDS_CLAUSE = re.compile(r"[ \t]*(?:[.,;:!?)]|\n|\Z)")
_FROM_ZERO = frozenset(("ids", "round_ids", "ragflow"))
"""Forms of RAGFlow, which counts from 0 whatever the prompt says."""
_ROW = r"\[\s*+\d+(?:\s*+,\s*+\d+)++\s*+\]"
_MATRIX = re.compile(rf"{_ROW}(?:\s*+,?\s*+{_ROW})++")
_WITH_BODY = frozenset("double wrapped square wide named brace entity escaped tex".split())
_NO_MARK = frozenset(("residue", "other_tag", "noise", "token"))
"""Forms that are neither marks of passages nor words; the first two cite something else."""
_OTHER_BRACKET = re.compile(r"[【［{<⟨《＜]")
_UNSURE = frozenset(("caret", "super", "raised", "circled", "dollar"))
"""Forms that only cite a passage that was shown."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One citation mark in an output.

    Attributes:
        start: offset of its first character in the output.
        end: offset after its last character.
        numbers: citation numbers as written, in order, repeats kept; empty for ``[NA]``.
        is_na: whether it is ``[NA]`` (KaLMA's "not in the knowledge given").
        is_listed: whether it stands in a reference list, where it cites nothing; no numbers then.
        is_residue: whether it is no citation of a passage, and no word either: residue of a tool, a
            tag, a special token; no numbers then.
    """

    start: int
    end: int
    numbers: tuple[int, ...]
    is_na: bool = False
    is_listed: bool = False
    is_residue: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that the grammar read in one output.

    Attributes:
        markers: citation marks in order of appearance, and residue; they do not overlap.
        unparsed: (start, end) of what looks like a citation and was not read as one.
        lists: (start, end) of reference lists, whole lines; neither statements nor citations.
    """

    markers: tuple[Marker, ...]
    unparsed: tuple[tuple[int, int], ...] = ()
    lists: tuple[tuple[int, int], ...] = ()


class Cited(NamedTuple):
    """Citations of one output.

    Attributes:
        positions: cited passages, as 0-based positions in the context.
        n_out_of_range: number of distinct citation numbers that no shown passage has.
        n_unparsed: number of marks that could not be read.
    """

    positions: set[int]
    n_out_of_range: int
    n_unparsed: int


@dataclass(frozen=True)
class Grammar:
    """The strict grammar with its index base.

    Attributes:
        base: number that a prompt gives to the first passage: 1, or 0 (AttriEval's prompts).
        form: a citation as the prompt shows it; ``(n)`` makes round brackets citations too.
    """

    base: int = 1
    form: str = "[n]"

    @cached_property
    def name(self) -> str:
        """Name of the citation rules as in signatures: ``strict3`` or ``strict3(n)``."""
        return "strict3(n)" if self.has_round else "strict3"

    @property
    def signature(self) -> str:
        """First citation number and citation rules, for score signatures: ``1,strict3``."""
        return f"{self.base},{self.name}"

    @cached_property
    def has_round(self) -> bool:
        """Whether ``(1)`` in round brackets is read as a citation, as ``[1]`` is."""
        return self.form.strip()[:1] in "(（" and self.form != ""

    def parse(self, output: str, n_docs: int) -> Parsed:
        """Read the citation marks of an output.

        Args:
            output: what the system wrote; any string.
            n_docs: number of passages shown, which decides whether ``[2019]`` may be a citation.

        Returns:
            Markers with numbers as written. Numbers outside the context are kept, except four-digit
            ones such as years, whose marks count as unparsed. Never raises.
        """
        scan = _Scan(self, output, n_docs)
        scan.read()
        return scan.parsed()

    def cited(self, output: str, n_docs: int) -> Cited:
        """Find the passages that an output cites; count other numbers and unreadable marks.

        Args:
            output: what the system wrote.
            n_docs: number of passages shown.
        """
        simple = PLAIN.findall(output)
        if len(simple) == output.count("[") and not self.needs_care(output):
            numbers = {int(n) for n in simple}
            unparsed = sum(1 for _ in find_mentions(output, self.base, n_docs, numbers))
        else:
            parsed = self.parse(output, n_docs)
            numbers = {n for marker in parsed.markers for n in marker.numbers}
            unparsed = len(parsed.unparsed)
        inside = {n - self.base for n in numbers if 0 <= n - self.base < n_docs}
        return Cited(inside, len(numbers) - len(inside), unparsed)

    def strip_marks(self, output: str, n_docs: int = 1 << 30) -> str:
        """Remove the citation marks from an output, see :func:`without_markers`."""
        return without_markers(output, self.parse(output, n_docs).markers)

    def has_list(self, output: str) -> bool:
        """Whether an output contains a reference list."""
        return may_hold_list(output) and bool(self.parse(output, 0).lists)

    def needs_care(self, output: str) -> bool:
        """Whether an output needs the full parser: it may contain more than plain ``[n]`` marks."""
        return (
            self.has_round
            or _SPECIAL.search(output) is not None
            or _BEHIND_MARK.search(output) is not None
            or _SIGNS.search(output) is not None
            or _ROUND.search(output) is not None
            or may_hold_list(output)
        )

    def read_numbers(self, body: str, n_docs: int) -> tuple[tuple[int, ...], bool]:
        """Read a bracket's text: (citation numbers, whether every item of it was read as one)."""
        numbers: list[int] = []
        complete = True
        for first, last in RANGES.findall(body):
            low = int(first)
            high = int(last) if last else low
            if not low <= high < low + MAX_RANGE:
                complete = False
                continue
            for number in range(low, high + 1):
                if 1000 <= number <= 9999 and not 0 <= number - self.base < n_docs:
                    complete = False
                else:
                    numbers.append(number)
        return tuple(numbers), complete


@dataclass
class _Scan:
    """State of reading one output from left to right."""

    grammar: Grammar
    output: str
    n_docs: int
    hidden: list[tuple[int, int]] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    unparsed: list[tuple[int, int]] = field(default_factory=list)
    circled_end: int = 0
    """Offset behind the run of circled numbers that was read last."""

    def read(self) -> None:
        """Classify all brackets of the output: citation marks, unread marks, or others (code)."""
        output, at, n_plain = self.output, 0, 0
        variables = find_variables(output)
        while (opener := OPENER.search(output, at)) is not None:
            start = opener.start()
            if (plain := _PLAIN_MARK.match(output, start)) is not None:
                at, n_plain = plain.end(), n_plain + 1
                if is_subscript(output, start, at, variables):
                    self.unparsed.append((start, at))
                else:
                    self.markers.append(Marker(start, at, (int(plain[1]),)))
                continue
            match = all_forms().match(output, start)
            at = start + 1 if match is None else self._add_match(match)
        if output.count("[") > n_plain or _OTHER_BRACKET.search(output) is not None:
            self._add_suspects()

    def _add_match(self, match: re.Match[str]) -> int:
        """Record a match as citation, unreadable mark or no mark (code); return where to go on.

        The group that matched is its form, such as ``maths``, ``link`` or ``to`` (``[1] to [3]``).

        Returns:
            Offset in the output from which to read on.
        """
        (start, end), notation = match.span(), match.lastgroup or ""
        if notation == "hidden" or (notation == "double" and _MATRIX.fullmatch(match["double"])):
            self.hidden.append((start, end))
        elif notation == "maths":
            if FREE_BRACKET.search(match[0].strip("$")[0 if match[0][0] == "$" else 2 :]):
                return start + 1  # two prices with a citation between them
            self.hidden.append((start, end))
        elif notation == "na":
            self.markers.append(Marker(start, end, (), is_na=True))
        elif notation in _NO_MARK or (notation == "tex" and not self._extract_items(match, "tex")):
            self._remove(start, end, is_mark=notation not in ("noise", "token"))
        elif notation == "link":
            return self._add_link(match)
        elif notation == "link_name":
            is_passage = read_mark_items(match["link_name"], needs_label=True) is not None
            if is_passage and _ENDS_CLAUSE.match(self.output, end):
                self._remove(start, end)
                return end
            self.hidden.append((start, end))
            if is_passage:  # it may be the subject of the sentence: its words stay
                self.unparsed.append((start, end))
        elif notation == "to":
            low, high = int(match["from"]), int(match["to"])
            if low <= high < low + MAX_RANGE:
                return self._cite(start, end, f"{low}-{high}", notation)
            return self._cite(start, match.end("from") + 1, match["from"], notation)
        elif (items := self._extract_items(match, notation)) is not None:
            return self._cite(start, end, items, notation)
        elif notation == "escaped":
            self.hidden.append((start, end))
        else:
            return start + 1
        return end

    def _add_link(self, match: re.Match[str]) -> int:
        """Add the citation in a link, ``[Bridges](doc:5)``, but keep its words; return its end."""
        (start, end), (words, behind) = match.span(), match.span("words")
        items = read_mark_items(match["link"], needs_label=True)
        if items is None and not match["link"].isdecimal():
            self.hidden.append((start, end))
            return end
        if not is_introduction(match["words"]):
            self._remove(start, words, is_mark=False)
            start = behind
        if items is not None:
            return self._cite(start, end, items, "link")
        self._remove(start, end)
        return end

    def _remove(self, start: int, end: int, *, is_mark: bool = True) -> None:
        """Record a span to remove from the text, and as an unread mark if it may be a citation."""
        self.markers.append(Marker(start, end, (), is_residue=True))
        if is_mark:
            self.unparsed.append((start, end))

    def _extract_items(self, match: re.Match[str], notation: str) -> str | None:
        """Extract the numbers of a matched mark, as text; None if it is no citation mark.

        Args:
            match: match of :func:`all_forms`.
            notation: name of the group that matched: how the mark is written.
        """
        body = match[notation]
        if notation not in _WITH_BODY:
            return body
        if notation == "double" or notation == "wrapped":
            inner = [read_mark_items(part) for part in INNER.findall(body)]
            is_mark = notation == "double" or is_introduction(match["before"])
            return ",".join(filter(None, inner)) if is_mark and all(inner) else None
        if notation == "square":
            body = body.translate(RAISED).partition("†")[0]
        needs_label = notation == "brace" or (notation == "named" and not self.grammar.has_round)
        return read_mark_items(body, needs_label=needs_label)

    def _cite(self, start: int, end: int, body: str, notation: str) -> int:
        """Add a mark to the citations or, if in doubt, to the unread marks; return its end offset.

        Args:
            start: offset of the mark.
            end: offset behind it.
            body: text that lists its numbers.
            notation: how it is written (group of :func:`all_forms`).
        """
        grammar, n_docs = self.grammar, self.n_docs
        if notation in _UNSURE:
            self._cite_unsure(start, end, body, notation)
            return end
        is_square = notation in ("square", "to") and self.output[start] == "["
        if is_square and is_subscript(self.output, start, end, find_variables(self.output)):
            self.unparsed.append((start, end))
            return end
        numbers, complete = grammar.read_numbers(body, n_docs)
        if is_square and len(numbers) > 2 and is_scale(self.output, start, end):
            self.unparsed.append((start, end))
            return end
        if notation in _FROM_ZERO:
            numbers = tuple(n + grammar.base for n in numbers)
        if 0 not in numbers or len(numbers) < 2 or grammar.base == 0:
            if numbers:
                self.markers.append(Marker(start, end, numbers))
        else:
            complete = False  # `[0, 1]` is an interval where counting starts at 1
        if not complete and notation != "named":
            self.unparsed.append((start, end))
        return end

    def _cite_unsure(self, start: int, end: int, body: str, notation: str) -> None:
        """Add a superscript, caret or circled number to citations or unread marks, or neither."""
        output, base = self.output, self.grammar.base
        if notation == "circled":
            if end > self.circled_end and (run := CIRCLED_RUN.match(output, start)) is not None:
                self.circled_end = run.end()
            if not is_circled_mark(output, start, self.circled_end):
                return
            numbers: tuple[int, ...] = (ord(body) - ord("①") + 1,)
        else:
            if notation != "caret" and not is_raised_mark(output, start, end):
                if notation == "dollar":  # a power
                    self.hidden.append((start, end))
                elif notation == "raised":  # only its tags are no words
                    first = output.index(">", start) + 1
                    last = output.rindex("<", start, end)
                    self._remove(start, first, is_mark=False)
                    self._remove(last, end, is_mark=False)
                return
            numbers, _ = self.grammar.read_numbers(body.translate(RAISED), self.n_docs)
        if numbers and all(0 <= n - base < self.n_docs for n in numbers):
            self.markers.append(Marker(start, end, numbers))
        else:
            self.unparsed.append((start, end))

    def _add_suspects(self) -> None:
        """Add brackets with a number that no rule has read to the unread marks."""
        spans = sorted([*self.hidden, *self.unparsed, *((m.start, m.end) for m in self.markers)])
        suspects = (match.span() for match in SUSPECT.finditer(self.output))
        self.unparsed.extend(span for span in suspects if not overlaps(span, spans))

    def parsed(self) -> Parsed:
        """Return all marks read, with numbers translated by the answer's own reference lists."""
        output, markers, unparsed = self.output, self.markers, self.unparsed
        lists = find_lists(output, [Mark(m.start, m.end, m.numbers) for m in markers if m.numbers])
        if lists:
            unparsed = [u for u in unparsed if not overlaps((u[0], u[0] + 1), lists)]
            stands_for = _read_definitions(output, lists)
            markers = [
                replace(m, numbers=(), is_listed=True)
                if overlaps((m.start, m.start + 1), lists)
                else replace(m, numbers=tuple(stands_for.get(n, n) for n in m.numbers))
                for m in markers
            ]
        taken = [*self.hidden, *unparsed, *((m.start, m.end) for m in markers)]
        taken = sorted([*lists, *(span for span in taken if not overlaps(span, lists))])
        cited = {n for m in markers for n in m.numbers}
        base, n_docs = self.grammar.base, self.n_docs
        named = find_mentions(output, base, n_docs, cited)
        unparsed = [*unparsed, *(span for span in named if not overlaps(span, taken))]
        loose = [s for s in find_loose_marks(output, base, n_docs, cited) if not overlaps(s, taken)]
        markers = sorted(
            [*markers, *(Marker(*s, (), is_residue=True) for s in loose)], key=lambda m: m.start
        )
        return Parsed(tuple(markers), tuple(sorted(unparsed)), tuple(lists))


def _read_definitions(output: str, lists: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Map the numbers of reference list entries to the passage numbers that the entries name.

    Args:
        output: what the system wrote.
        lists: (start, end) of its reference lists.
    """
    stands_for: dict[int, int] = {}
    for start, end in lists:
        for line in output[start:end].splitlines():
            match = DEFINITION.match(line)
            if match is None or not (match["bracket"] or match["label"]):
                continue
            if is_introduction(match["label"]):
                mark = int(match["mark"] or match["bare"])
                stands_for.setdefault(mark, int(match["number"]))
    return stands_for


def overlaps(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether a span shares a character with any of others (sorted, disjoint spans)."""
    after = bisect_left(others, span[1], key=lambda other: other[0])
    return after > 0 and others[after - 1][1] > span[0]


def without_markers(output: str, markers: tuple[Marker, ...]) -> str:
    """Remove citation marks from an output, for measures of words (docs/definitions.md#text).

    Markers are cut out; a space that stood before one goes with it where nothing but punctuation,
    space, another marker or the end follows, so that ``word [1].`` is one word. Runs of spaces and
    tabs become one, newlines stay.
    """
    if markers:
        pieces: list[str] = []
        position = 0
        starts = {marker.start for marker in markers}
        for marker in markers:
            piece = output[position : marker.start]
            following = output[marker.end : marker.end + 1]
            if not following or following in TAKES_SPACE or marker.end in starts:
                piece = without_last_space(piece)
            pieces.append(piece)
            position = marker.end
        pieces.append(output[position:])
        output = "".join(pieces)
    return _SPACES.sub(" ", output).strip()


_PLAIN = re.compile(r"\[(\d+)\]")
_BEYOND = 10**30
_ANY_SIZE = 1 << 30


def read_number(digits: str) -> int:
    """Convert digits to an integer; 10**30 for thousands of digits, which Python refuses.

    No context has so many passages, so the citation is out of range either way.
    """
    if len(digits) > sys.int_info.str_digits_check_threshold:
        return _BEYOND
    return int(digits)


def citation_marks(output: str) -> tuple[Marker, ...]:
    """List an output's citation marks, in the order that ``index`` of ``logprobs`` refers to.

    Every ``[n]``, and every other bracket that the grammar reads in some context; ``[NA]`` is left
    out. Writers and scorers of log probabilities both call this. The scorer decides later, by
    protocol and context, which marks are citations: ``[2019]`` where so many passages are shown,
    ``[1](url)`` for AttriEval's code alone.
    """
    plain = [Marker(*m.span(), (read_number(m[1]),)) for m in _PLAIN.finditer(output)]
    spans = [(m.start, m.end) for m in plain]
    others = [
        marker
        for marker in Grammar(base=0).parse(output, _ANY_SIZE).markers
        if marker.numbers and not overlaps((marker.start, marker.end), spans)
    ]
    return tuple(sorted([*plain, *others], key=lambda m: m.start))


def is_plain(output: str, mark: Marker) -> bool:
    """Whether a citation mark is written as plain ``[n]``."""
    return _PLAIN.fullmatch(output, mark.start, mark.end) is not None
