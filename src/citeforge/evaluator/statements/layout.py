"""Lines of an answer that are laid out: code, tables, numbered lists, the word "Answer:"."""

import re
from collections.abc import Sequence
from functools import cached_property

from citeforge.schemas.invisible import INVISIBLE

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_ITEM = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])\s")
_SKIPPED = rf"[\s{INVISIBLE}]*+"
_QUOTE = re.compile(rf"(?:{_SKIPPED}(?:>|&gt;)(?:[ \t]+|(?=[^\s\d=])))++")
_BULLET = re.compile(
    rf"{_SKIPPED}(?:(?:[-*+•◦‣▪▸●○⁃∙·–—][ \t]+|(?<=[.)][ \t])(?=\[[ xX✓✔]\]))"
    rf"(?:\[[ xX✓✔]\][ \t]+)?)?{_SKIPPED}"
)
"""The marker of a list's item or task, with white space around it."""
_TABLE_RULE = re.compile(r"\s*+[|:+-](?=[\s|:+]*+-)[\s|:+-]*+")
_NUMBERED = re.compile(r"\s*(?:\*\*)?(\d{1,3})[.)](?:\*\*)?\s+(?=\S)")
_ANSWER = re.compile(
    r"[\s*_#]*(?:(?:final|short|direct|full)\s+)?(?:answer|antwort|réponse|respuesta|risposta|resposta|"
    r"antwoord|odpowiedź|ответ|cevap|vastaus|jawaban|jibu|الإجابة|الجواب|پاسخ|উত্তর|उत्तर|答案|回答|答え|答|"
    r"답변|답|คำตอบ|సమాధానం|ìdáhùn)[\s*_]*[:：][\s*_]*",
    re.IGNORECASE,
)


class Layout:
    """Lines of an answer that are code or parts of tables.

    Attributes:
        code: numbers of lines that are code, or begin or end it.
        headers: numbers of the header lines of tables.
        rows: numbers of the rows of tables.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        """Find the code and tables among the lines of an answer."""
        self._lines = lines
        self._quotes = [_quote_length(line) for line in lines]
        self.code: frozenset[int] = frozenset()
        self.headers: frozenset[int] = frozenset()
        self.rows: frozenset[int] = frozenset()
        if len(lines) > 1:
            starts = {line[:1] for line in lines}
            if not starts.isdisjoint(" \t`~"):
                self.code = frozenset(self._find_code())
            if any("|" in line for line in lines):
                self._find_tables()

    def _find_code(self) -> list[int]:
        """List the lines that are code: fenced or indented."""
        code: list[int] = []
        fence, is_open, after = "", False, ""
        for number, line in enumerate(self._lines):
            opening = _FENCE.match(line)
            if is_open:
                code.append(number)
                rest = line.strip()
                is_open = not (rest.startswith(fence) and not rest.strip(fence[0]))
            elif opening is not None and opening[1][0] not in line[opening.end() :]:
                fence, is_open = opening[1], True
                code.append(number)
            elif not line.strip():
                continue
            elif _INDENTED.match(line) and self._may_be_code(number, after, code):
                code.append(number)
            elif line[:1] not in " \t":
                after = line  # the last line that is not indented
        return code

    def _may_be_code(self, number: int, last_unindented: str, code_lines: Sequence[int]) -> bool:
        """Whether an indented line is code, and not text below an item of a list."""
        line, before = self._lines[number], self._lines[number - 1] if number else ""
        follows = not before.strip() or number - 1 in code_lines
        if not last_unindented or not follows:
            return False
        return not (_ITEM.match(last_unindented) or _ITEM.match(line))

    def _find_tables(self) -> None:
        """Find the Markdown tables of a text: record the lines that are headers and rows."""
        headers, rows, end = set[int](), set[int](), 0
        for number, line in enumerate(self._lines[1:], 1):
            above = self._lines[number - 1]
            if "|" not in above or "|" not in line or not _TABLE_RULE.fullmatch(line):
                continue
            if number >= end:  # a table of its own
                below = range(number + 1, len(self._lines))
                end = next((n for n in below if "|" not in self._lines[n]), len(self._lines))
                rows.update(range(number + 1, end))
            if end > number + 1:
                headers.add(number - 1)
        self.headers, self.rows = frozenset(headers), frozenset(rows)

    @cached_property
    def _numbers(self) -> frozenset[int]:
        """Item numbers at the starts of a numbered list's lines, such as 2 for ``2. Paris``."""
        matches = map(_NUMBERED.match, self._lines, self._quotes)
        return frozenset(int(match[1]) for match in matches if match)

    def without_quote(self, number: int) -> str:
        """Get line ``number`` without the Markdown quotation markers (``> ``) at its start."""
        return self._lines[number][self._quotes[number] :]

    def prefix_length(self, number: int) -> int:
        """Get the length of line ``number``'s prefix: ``> ``, "Answer:", or a list item's number.

        An item's number counts where the list has the one before or after it.
        """
        line, quote = self._lines[number], self._quotes[number]
        first = line[quote:].lstrip(" \t*_#")[:1]
        if first.isdigit() and len(self._lines) > 1:
            match = _NUMBERED.match(line, quote)
            if match is not None and self._numbers & {int(match[1]) - 1, int(match[1]) + 1}:
                return match.end()
        return self.label_length(number)

    def label_length(self, number: int) -> int:
        """Get the length of quotation markers and label ("Answer:") that open line ``number``."""
        line, quote = self._lines[number], self._quotes[number]
        match = _ANSWER.match(line, quote) if ":" in line or "：" in line else None
        return quote if match is None else match.end()


def _quote_length(line: str) -> int:
    """Get the length of the quotation markers (``> ``) at a line's start; 0 if there are none."""
    match = _QUOTE.match(line) if ">" in line or "&gt;" in line else None
    return 0 if match is None else match.end()


def skip_bullet(text: str, start: int) -> int:
    """Get the offset after a list bullet or task box at an offset of a text; else that offset."""
    match = _BULLET.match(text, start)
    return start if match is None else match.end()
