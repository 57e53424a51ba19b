"""The citation grammar: which marks in an output are citations, and of which position.

One object serves every measure. ``strict`` reads the forms that real systems write; the
``reference`` readers of the papers' own evaluators live with their measures. Signatures call the
rules ``strict2`` (docs/definitions.md#citations).
"""

import re
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from citeforge.schemas.citations.reference_list import find_lists, may_hold_list

TAKES_SPACE = " \t\n.,;:!?)[【"
"""What may follow a marker that takes the space before it along."""

MAX_RANGE = 20
"""Widest range (``[1-20]``, both ends counted) that is read as one."""

_NUMBER = r"\d{1,30}"
# Alternatives are tried from the left at each place, so what hides markers comes first.
_HIDING = (
    r"(?P<hidden>```.*?(?:```|\Z)|`[^`\n]+`"
    # A bracket belongs to a URL only when the URL goes on behind it.
    r"|https?://[^\s<>\"\[\]【】]*(?:\[[^\[\]\s]*\][\w/?=&%#~+-][^\s<>\"\[\]【】]*)*"
    r"|\[[^\[\]\n]*\]\((?:[^()\s]|\([^()\s]*\))+\))"
)
_SIMPLE = re.compile(r"\[(\d{1,3})\]")
_SPACES = re.compile(r"[ \t]+")

# Class escapes such as `\d` take full-width digits too, and `int` reads them.
_LABEL = (
    r"(?:(?:documents?|docs?\.?|contexts?|sources?|passages?|references?|refs?\.?|citations?)"
    r"\s*(?:[:#]\s*)?)?"
)
_AND = r"(?:&|and\b|und\b|et\b|y\b|e\b|en\b|och\b|og\b|и\b|و|和|及|与|と)"
_DASH = r"[-\u2010-\u2015\uff0d\uff5e]"
_ITEM = rf"{_LABEL}{_NUMBER}(?:\s*{_DASH}\s*{_NUMBER})?"
_JOINED = rf"(?:\s*[,;，、；]\s*(?:{_AND}\s*)?|\s+{_AND}\s*|\s*[&和及与と]\s*)"
# White space stands in one place of each alternative: `\s*\^?\s*` would be quadratic.
_BODY = rf"\s*(?:\^\s*)?{_ITEM}(?:{_JOINED}{_ITEM})*\s*"
_MARKER = (
    rf"\[(?P<from>\d{{1,3}})\]{_DASH}\[(?P<to>\d{{1,3}})\]"
    rf"|\[(?P<square>{_BODY})\]|［(?P<wide>{_BODY})］|\[\s*(?P<na>NA)\s*\]"
    rf"|【(?P<lens>{_BODY})(?:†[^【】\n]{{0,200}})?】"
)
_ROUND = rf"|[(（](?P<round>{_BODY})[)）]"
# Maths: what stands in dollars, and `\\(…\\)`, `\\[…\\]`. Brackets there are glued to a name.
_MATHS = (
    r"\$\$.{1,500}?\$\$|\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d)"
    r"|\\\(.{1,500}?\\\)|\\\[.{1,500}?\\\]"
)
_ESCAPED = rf"\\\[(?P<escaped>{_BODY})\\\]"
_ALL = f"{_HIDING}|{_ESCAPED}|(?P<maths>{_MATHS})|{_MARKER}"
_FULL = re.compile(_ALL, re.IGNORECASE | re.DOTALL)
_FREE_BRACKET = re.compile(r"(?:^|[^\w}\])'^])\s*[\[【［]|\s[\[【［]")
_NOT_PLAIN = re.compile(rf"[`【］$\\]|\]\(|://|\]{_DASH}\[")
_ITEM_PARTS = re.compile(rf"({_NUMBER})(?:\s*{_DASH}\s*({_NUMBER}))?")
_SUSPECT = re.compile(
    r"\[[^\[\]\n]{0,80}\d[^\[\]\n]{0,80}\]|【[^【】\n]{0,80}\d[^【】\n]{0,80}】"
    r"|［[^［］\n]{0,80}\d[^［］\n]{0,80}］"
)


@cache
def _full_round() -> re.Pattern[str]:
    return re.compile(_ALL + _ROUND, re.IGNORECASE | re.DOTALL)  # few benchmarks need it


@dataclass(frozen=True, slots=True)
class Marker:
    """One citation mark in an output.

    Attributes:
        start: offset of its first character in the output.
        end: offset after its last character.
        numbers: citation numbers as written, in order, repeats kept; empty for ``[NA]``.
        is_na: whether it is ``[NA]`` (KaLMA's "not in the knowledge given").
        is_listed: whether it stands in a reference list, where it cites nothing; no numbers then.
    """

    start: int
    end: int
    numbers: tuple[int, ...]
    is_na: bool = False
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that the grammar read in one output.

    Attributes:
        markers: citation marks in order of appearance; they do not overlap.
        unparsed: (start, end) of brackets that look like citations and were not read as such.
        lists: (start, end) of reference lists, whole lines; neither statements nor citations.
    """

    markers: tuple[Marker, ...]
    unparsed: tuple[tuple[int, int], ...] = ()
    lists: tuple[tuple[int, int], ...] = ()


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
        """``strict2`` or ``strict2(n)``: the rules, as they stand in signatures."""
        return "strict2(n)" if self._round else "strict2"

    @property
    def signature(self) -> str:
        """``base,name`` as it stands in signatures."""
        return f"{self.base},{self.name}"

    @cached_property
    def _round(self) -> bool:
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
        if not any(bracket in output for bracket in ("[【［(（" if self._round else "[【［")):
            return Parsed(())
        hidden: list[tuple[int, int]] = []
        markers: list[Marker] = []
        unparsed: list[tuple[int, int]] = []
        expression = _full_round() if self._round else _FULL
        at = 0
        while (match := expression.search(output, at)) is not None:
            at = match.end()
            group = match.lastgroup
            if group == "hidden":
                hidden.append(match.span())
            elif group == "maths":
                if _FREE_BRACKET.search(
                    match.group().strip("$")[0 if match.group()[0] == "$" else 2 :]
                ):
                    at = match.start() + 1  # two prices with a citation between them
                else:
                    hidden.append(match.span())
            elif group == "na":
                markers.append(Marker(*match.span(), (), is_na=True))
            else:
                if group == "to":
                    body = f"{match['from']}-{match['to']}"
                    if not int(match["from"]) <= int(match["to"]) < int(match["from"]) + MAX_RANGE:
                        body, at = match["from"], match.end("from") + 1
                else:
                    body = match.group(group or 0)
                numbers, complete = self._numbers(body, n_docs)
                if 0 not in numbers or len(numbers) < 2 or self.base == 0:
                    if numbers:
                        markers.append(Marker(match.start(), at, numbers))
                else:
                    complete = False  # `[0, 1]` is an interval where counting starts at 1
                if not complete and group != "round":
                    unparsed.append((match.start(), at))
        brackets = output.count("[") + output.count("【") + output.count("［")
        if brackets > len(markers) + len(unparsed):
            spans = sorted([*hidden, *unparsed, *((m.start, m.end) for m in markers)])
            suspects = (match.span() for match in _SUSPECT.finditer(output))
            unparsed.extend(span for span in suspects if not overlaps(span, spans))
            unparsed.sort()
        lists = find_lists(output, [(m.start, m.end, m.numbers) for m in markers])
        if lists:
            unparsed = [u for u in unparsed if not overlaps((u[0], u[0] + 1), lists)]
            markers = [
                Marker(m.start, m.end, (), m.is_na, is_listed=True)
                if overlaps((m.start, m.start + 1), lists)
                else m
                for m in markers
            ]
        return Parsed(tuple(markers), tuple(unparsed), tuple(lists))

    def cited(self, output: str, n_docs: int) -> tuple[set[int], int, int]:
        """Distinct citations of an output, the short way for measures that need no offsets.

        Returns:
            (0-based positions in the context, number of distinct out-of-range citations, number
            of unparsed marks).
        """
        simple = _SIMPLE.findall(output)
        if len(simple) == output.count("[") and not self.needs_care(output):
            numbers = {int(n) for n in simple}
            unparsed = 0
        else:
            parsed = self.parse(output, n_docs)
            numbers = {n for marker in parsed.markers for n in marker.numbers}
            unparsed = len(parsed.unparsed)
        inside = {n - self.base for n in numbers if 0 <= n - self.base < n_docs}
        return inside, len(numbers) - len(inside), unparsed

    def has_list(self, output: str) -> bool:
        """Whether an output holds a reference list."""
        return may_hold_list(output) and bool(self.parse(output, 0).lists)

    def needs_care(self, output: str) -> bool:
        """Whether an output may hold more than plain ``[n]``, each of them a citation."""
        is_plain_text = not self._round and _NOT_PLAIN.search(output) is None
        return not is_plain_text or may_hold_list(output)

    def _numbers(self, body: str, n_docs: int) -> tuple[tuple[int, ...], bool]:
        """Numbers of one bracket, and whether every item of it could be read."""
        numbers: list[int] = []
        complete = True
        for first, last in _ITEM_PARTS.findall(body):
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


def overlaps(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether a span shares a character with one of others, sorted ones that do not overlap."""
    after = bisect_left(others, span[1], key=lambda other: other[0])
    return after > 0 and others[after - 1][1] > span[0]


def without_markers(output: str, markers: tuple[Marker, ...]) -> str:
    """The output as word measures see it (docs/definitions.md#text).

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
                piece = piece.rstrip(" \t")
            pieces.append(piece)
            position = marker.end
        pieces.append(output[position:])
        output = "".join(pieces)
    return _SPACES.sub(" ", output).strip()


_PLAIN = re.compile(r"\[(\d+)\]")
JOINER = "\u2060"
"""Word joiner: put behind a bracket of an answer that would be read as a mark and is none."""
_BEYOND = 10**30
_ANY_SIZE = 1 << 30


def read_number(digits: str) -> int:
    """The number that digits write, for readers that take any number of them.

    Python refuses to convert thousands of digits; no context has a passage of such a number, and
    one that lies beyond all contexts stands for it.
    """
    if len(digits) > sys.int_info.str_digits_check_threshold:
        return _BEYOND
    return int(digits)


def citation_marks(output: str) -> tuple[Marker, ...]:
    """The marks that ``index`` of ``logprobs`` counts, from 0, in order of appearance.

    Every ``[n]``, and every other bracket that the grammar reads in some context; ``[NA]`` is left
    out. Who writes log probabilities and who scores them both ask here. Which of the marks are
    citations is decided by the scorer, with protocol and context at hand: ``[2019]`` where so many
    passages are shown, ``[1](url)`` for AttriEval's code alone.
    """
    plain = [
        Marker(*m.span(), (read_number(m[1]),)) for m in _PLAIN.finditer(output)
    ]  # fmt: skip
    spans = [(m.start, m.end) for m in plain]
    others = [
        marker
        for marker in Grammar(base=0).parse(output, _ANY_SIZE).markers
        if not marker.is_na and not overlaps((marker.start, marker.end), spans)
    ]
    return tuple(sorted([*plain, *others], key=lambda m: m.start))


def is_plain(output: str, mark: Marker) -> bool:
    """Whether a mark is written ``[n]``."""
    return _PLAIN.fullmatch(output, mark.start, mark.end) is not None
