"""The citation grammar: which marks in an output are citations, and of which position.

One object serves every measure. ``strict`` reads the forms that real systems write; the
``reference`` readers of the papers' own evaluators live with their measures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MAX_RANGE = 20
"""Widest range (``[1-20]``, both ends counted) that is read as one."""

_LABEL = r"(?:(?:document|doc|context)\s*)?"
_NUMBER = r"\d{1,30}"
_DASH = r"[-\u2010-\u2015]"
_ITEM = rf"{_LABEL}{_NUMBER}(?:\s*{_DASH}\s*{_NUMBER})?"
# White space stands in one place of each alternative: `\s*\^?\s*` would be quadratic.
_BODY = rf"\s*(?:\^\s*)?{_ITEM}(?:\s*[,;]\s*{_ITEM})*\s*"
_MARKER = rf"\[(?P<square>{_BODY})\]|【(?P<lens>{_BODY})】|\[\s*(?P<na>NA)\s*\]"

# Alternatives are tried from the left at each place, so what hides markers comes first.
_HIDING = (
    r"(?P<hidden>```.*?(?:```|\Z)|`[^`\n]+`"
    # A bracket belongs to a URL only when the URL goes on behind it.
    r"|https?://[^\s<>\"\[\]【】]*(?:\[[^\[\]\s]*\][\w/?=&%#~+-][^\s<>\"\[\]【】]*)*"
    r"|\[[^\[\]\n]*\]\((?:[^()\s]|\([^()\s]*\))+\))"
)
_FULL = re.compile(f"{_HIDING}|{_MARKER}", re.IGNORECASE | re.DOTALL)
_PLAIN = re.compile(_MARKER, re.IGNORECASE)
_SIMPLE = re.compile(r"\[(\d{1,3})\]")
_ITEM_PARTS = re.compile(rf"({_NUMBER})(?:\s*{_DASH}\s*({_NUMBER}))?")
_SUSPECT = re.compile(r"\[[^\[\]\n]{0,80}\d[^\[\]\n]{0,80}\]|【[^【】\n]{0,80}\d[^【】\n]{0,80}】")
_SPACES = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True)
class Marker:
    """One citation mark in an output.

    Attributes:
        start: offset of its first character in the output.
        end: offset after its last character.
        numbers: citation numbers as written, in order, repeats kept; empty for ``[NA]``.
        is_na: whether it is ``[NA]`` (KaLMA's "not in the knowledge given").
    """

    start: int
    end: int
    numbers: tuple[int, ...]
    is_na: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that the grammar read in one output.

    Attributes:
        markers: citation marks in order of appearance; they do not overlap.
        unparsed: (start, end) of brackets that look like citations and were not read as such.
    """

    markers: tuple[Marker, ...]
    unparsed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Grammar:
    """The strict grammar with its index base.

    Attributes:
        base: number that a prompt gives to the first passage: 1, or 0 (AttriEval's prompts).
        name: version of the rules, part of every signature.
    """

    base: int = 1
    name: str = field(default="strict", init=False)

    @property
    def signature(self) -> str:
        """``base,name`` as it stands in signatures."""
        return f"{self.base},{self.name}"

    def parse(self, output: str, n_docs: int) -> Parsed:
        """Read the citation marks of an output.

        Args:
            output: what the system wrote; any string.
            n_docs: number of passages shown, which decides whether ``[2019]`` may be a citation.

        Returns:
            Markers with numbers as written. Numbers outside the context are kept, except four-digit
            ones such as years, whose marks count as unparsed. Never raises.
        """
        if "[" not in output and "【" not in output:
            return Parsed(())
        hidden: list[tuple[int, int]] = []
        markers: list[Marker] = []
        unparsed: list[tuple[int, int]] = []
        plain = "`" not in output and "](" not in output and "://" not in output
        for match in (_PLAIN if plain else _FULL).finditer(output):
            kind = match.lastgroup
            if kind == "hidden":
                hidden.append(match.span())
            elif kind == "na":
                markers.append(Marker(*match.span(), (), is_na=True))
            else:
                numbers, complete = self._numbers(match.group(kind or 0), n_docs)
                if numbers:
                    markers.append(Marker(*match.span(), numbers))
                if not complete:
                    unparsed.append(match.span())
        # The suspects are sought only where some bracket was not accounted for.
        if output.count("[") + output.count("【") > len(markers) + len(unparsed):
            taken = sorted([*hidden, *unparsed, *((m.start, m.end) for m in markers)])
            unparsed.extend(_outside(_SUSPECT.finditer(output), taken))
            unparsed.sort()
        return Parsed(tuple(markers), tuple(unparsed))

    def cited(self, output: str, n_docs: int) -> tuple[set[int], int, int]:
        """Distinct citations of an output, the short way for measures that need no offsets.

        Returns:
            (0-based positions in the context, number of distinct out-of-range citations, number
            of unparsed marks).
        """
        simple = _SIMPLE.findall(output)
        if len(simple) == output.count("[") and not _needs_care(output):
            numbers = {int(n) for n in simple}
            unparsed = 0
        else:
            parsed = self.parse(output, n_docs)
            numbers = {n for marker in parsed.markers for n in marker.numbers}
            unparsed = len(parsed.unparsed)
        inside = {n - self.base for n in numbers if 0 <= n - self.base < n_docs}
        return inside, len(numbers) - len(inside), unparsed

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


def _needs_care(output: str) -> bool:
    return "`" in output or "](" in output or "://" in output or "【" in output


def _outside(
    matches: Iterable[re.Match[str]], taken: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Spans of the matches that touch none of the sorted spans in ``taken``."""
    at = 0
    for match in matches:
        start, end = match.span()
        while at < len(taken) and taken[at][1] <= start:
            at += 1
        if at == len(taken) or taken[at][0] >= end:
            yield (start, end)


def without_markers(output: str, markers: tuple[Marker, ...]) -> str:
    """The output as word measures see it (METRICS section 0).

    Markers are cut out; a space that stood before one goes with it where nothing but punctuation,
    space or the end follows, so that ``word [1].`` is one word. Runs of spaces and tabs become
    one, newlines stay.
    """
    if markers:
        pieces: list[str] = []
        position = 0
        for marker in markers:
            piece = output[position : marker.start]
            following = output[marker.end : marker.end + 1]
            if not following or following in " \t\n.,;:!?)[【":
                piece = piece.rstrip(" \t")
            pieces.append(piece)
            position = marker.end
        pieces.append(output[position:])
        output = "".join(pieces)
    return _SPACES.sub(" ", output).strip()
