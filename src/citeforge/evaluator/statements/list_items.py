"""Items of a list answer (QAMPARI), as the protocol ``strict`` reads them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citeforge.evaluator.statements.layout import Layout
from citeforge.schemas.citations.grammar import Marker
from citeforge.schemas.citations.words import AND

_MARK = "\x00"
"""Stands for a mark while a list is cut."""
_WORDS = "|".join(sorted(AND, key=len, reverse=True))
_BULLET = re.compile(r"\s*(?:[-*•·–—+]\s+|\(?\d{1,3}[.)]\s+|•)")
_NUMBER = re.compile(r"(?:(?<=\s)|\A)\(?(\d{1,3})[.)]\s")
_AND_FIRST = re.compile(rf"\s*(?:(?:{_WORDS})(?![\w\u0900-\u0dff])|&)\s*", re.IGNORECASE)
_AND_INSIDE = re.compile(rf"\s+(?:{_WORDS}|&)\s+", re.IGNORECASE)
_AND_MARKED = re.compile(
    rf"(?<={_MARK})\s*(?:(?:{_WORDS})(?!\w)|[&/和及与與と및])\s*", re.IGNORECASE
)
_LEAD_IN = re.compile(
    r"[^:：,;\x00]*\b(?:are|is|were|include|includes|including|follows|following|lists?|items?|sind|sont|"
    r"son|incluyen|sono|são)\s*[:：]\s*",
    re.IGNORECASE,
)
_SEPARATORS = ",;、，；،؛•\n"


@dataclass(frozen=True)
class ListItem:
    """An item of a list answer.

    Attributes:
        text: its text, without marks.
        numbers: citation numbers as written, in order.
    """

    text: str
    numbers: tuple[int, ...] = ()


def list_items(output: str, marks: Sequence[Marker]) -> list[ListItem]:
    """Cut a list answer, whose citation marks are ``marks``, into items.

    Items end at line breaks, and at commas, semicolons and their like outside quotation marks and
    brackets. Bullets, numbers, "and" before the last item, headers of tables and lines that
    introduce the list are no items.

    Args:
        output: what the system wrote.
        marks: its marks.
    """
    pieces, at = [], 0
    for marker in marks:
        pieces += [output[at : marker.start].replace(_MARK, " "), _MARK if marker.numbers else ""]
        at = marker.end
    text = "".join([*pieces, output[at:].replace(_MARK, " ")])
    numbers = iter([marker.numbers for marker in marks if marker.numbers])
    items = []
    for part in _split_lines(text):
        cited = tuple(n for _ in range(part.count(_MARK)) for n in next(numbers, ()))
        said = " ".join(part.replace(_MARK, "").strip(" .,\n").split())
        if any(c.isalnum() for c in said):
            items.append(ListItem(said, cited))
    return items


def _split_lines(text: str) -> Iterator[str]:
    """Split a list answer into items by line, not trimmed; each citation mark is in one item."""
    lines = text.splitlines()
    layout = Layout(lines)
    n_full = sum(any(c.isalnum() for c in line) for line in lines)
    for number, line in enumerate(lines):
        if number in layout.rows:
            cells = [cell for cell in line.split("|") if any(c.isalnum() for c in cell)]
            yield (cells or [""])[0].replace(_MARK, "") + _MARK * line.count(_MARK)
        elif number in layout.headers or (_is_introduction(line) and n_full > 1):
            yield _MARK * line.count(_MARK)
        else:
            yield from _split_line(line, layout.label_length(number))


def _is_introduction(line: str) -> bool:
    """Whether a line introduces a list: it ends in a colon and cites nothing."""
    return line.rstrip("*_ ").endswith((":", "：")) and _MARK not in line


def _split_line(line: str, label_length: int) -> Iterator[str]:
    """Split a line of a list answer into its items.

    Args:
        line: the line, with its marks as placeholders.
        label_length: length of what opens the line, such as "Answer:", which is no item.
    """
    line = line[label_length:]
    bullet = _BULLET.match(line)
    if (lead_in := _LEAD_IN.match(line)) is not None and line[lead_in.end() :].strip():
        line = line[lead_in.end() :]
    chain = [m for n, m in enumerate(_NUMBER.finditer(line), 1) if int(m[1]) == n]
    if len(chain) > 1:
        starts = [0, *(m.start() for m in chain), len(line)]
        rows = [line[a:b] for a, b in pairwise(starts)]
    else:
        rows = [line if bullet is None else line[bullet.end() :]]
    for row in rows:
        numbered = _BULLET.match(row) if len(rows) > 1 else None
        parts = split_list(row if numbered is None else row[numbered.end() :])
        if len(parts) > 1:
            first = _AND_FIRST.match(parts[-1])
            last = parts.pop() if first is None else parts.pop()[first.end() :]
            parts += [last] if first is not None else _AND_INSIDE.split(last, maxsplit=1)
        for part in parts:
            yield from _AND_MARKED.split(part)


def split_list(text: str) -> list[str]:
    """Cut a text at commas, semicolons and line breaks outside quotation marks and brackets.

    A quotation mark behind a digit is a sign for inches, unless one is open. A comma between digits
    is a part of their number.
    """
    parts = []
    start = depth = 0
    quoted = False
    for at, character in enumerate(text):
        if character in "([（【":
            depth += 1
        elif character in ")]）】":
            depth = max(0, depth - 1)
        elif character in '"“”' and (quoted or not text[at - 1 : at].isdigit()):
            quoted = not quoted
        if character not in _SEPARATORS:
            continue
        is_number = (
            character == "," and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()
        )
        if (depth == 0 and not quoted and not is_number) or character == "\n":
            parts.append(text[start:at])
            start = at + 1
            depth, quoted = 0, False
    return [*parts, text[start:]]
