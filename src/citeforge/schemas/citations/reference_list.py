"""Reference lists: lines of an output that say what its numbers stand for, and claim nothing.

A list follows a heading such as "References", or is a run of lines at the end that start with the
numbers that the text has cited. Lines that start with a mark and say something are no list.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

Span = tuple[int, int]
Mark = tuple[int, int, tuple[int, ...]]
"""(start, end, numbers) of one citation mark."""

_WORDS = (
    # English, German, French, Spanish, Italian, Portuguese
    "references?|contexts?|context texts?|supporting (?:contexts?|texts?|passages|evidence)|"
    "sources?|citations?|bibliography|works cited|footnotes?|endnotes?|quellen|"
    "quellenangaben?|quellenverzeichnis|literatur|literaturverzeichnis|einzelnachweise|belege|"
    "références?|bibliographie|referencias?|fuentes?|bibliografía|citas|riferimenti|fonti|"
    "bibliografia|citazioni|referências?|fontes?|"
    # Dutch, Swedish, Polish, Russian, Turkish, Indonesian, Vietnamese, Finnish, Swahili
    "bronnen|referenties|källor|referenser|źródła|источники|ссылки|литература|список литературы|"
    "kaynaklar|kaynakça|referensi|sumber|daftar pustaka|nguồn|tài liệu tham khảo|lähteet|viitteet|"
    "marejeo|vyanzo|"
    # Chinese, Japanese, Korean, Arabic, Persian, Urdu, Hindi, Bengali, Telugu, Thai
    "参考文献|參考文獻|参考资料|參考資料|来源|來源|资料来源|資料來源|引用|引用来源|注释|出典|参照|"
    "情報源|脚注|참고문헌|참고 문헌|참고자료|참고 자료|출처|각주|المراجع|المصادر|مراجع|مصادر|منابع|"
    "حوالہ جات|ذرائع|संदर्भ|सन्दर्भ|स्रोत|তথ্যসূত্র|సూచనలు|మూలాలు|อ้างอิง|แหล่งที่มา"
)
# Possessive runs, and no line break in them: else these would be quadratic.
_DECOR = r"[ \t>#*_=•·–—-]"
_NAME = (
    r"(?:(?:in-?line|in-?text|cited|list of|key|the|all|external)[ \t]+)*"
    rf"(?:{_WORDS})(?:[ \t]+(?:and|&|und|et|y)[ \t]+(?:{_WORDS}|notes))?"
    r"(?:[ \t]+(?:list|used|cited|section))?"
)
_LABEL = rf"(?:\d{{1,2}}[.)][ \t]+)?{_NAME}"
HEADING = re.compile(rf"{_DECOR}*+{_LABEL}{_DECOR}*+(?:[:：]{_DECOR}*+)?", re.IGNORECASE)
"""A line that is nothing but the heading of a reference list."""

LABELLED = re.compile(rf"[ \t>#*_=•·–—(（-]*+{_LABEL}[*_ \t]*+[:：][*_\s]*", re.IGNORECASE)
"""The label that opens a line such as `Source: [1]`."""

_SINGULAR = re.compile(
    r"\W*(?:source|reference|citation|quelle|fuente|fonte|来源|出典|출처)\b", re.I
)
_OPENS = rf"{_DECOR}*+(?:\d{{1,2}}[.)][ \t]++)?(?:[\[【［(（]|{_NAME}\b)"
_FIRST_LINE = re.compile(_OPENS, re.IGNORECASE)
_LATER_LINE = re.compile(rf"[\n\r\u2028\x85\v\f]{_OPENS}", re.IGNORECASE)
_OPENING = re.compile(
    r"[\s>*_•·–—-]*(?:\d{1,2}[.)]\s+)?(?:(?:source|reference|ref\.?|citation)\s*(?=\[\d+\]\s*:))?",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"[\s>]*(?:[*•·–—-]\s|\d{1,2}[.)]\s|[\"“«]|https?://|www\.|doi)", re.IGNORECASE)
_SOURCE = re.compile(r"https?://|www\.|\bdoi\b|\((?:1[89]|20)\d\d[a-z]?\)|\bISBN\b", re.IGNORECASE)
_OTHER_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*\n]+\*\*:?\s*\Z|\w[\w ]{0,30}[:：]\s*\Z)")
_PREDICATE = re.compile(r"[\s,:]*[^\W\d_]+(?=\s)")


@lru_cache(maxsize=2)  # one answer is asked about several times in a row
def may_hold_list(output: str) -> bool:
    """Whether a line starts with a mark or with a heading; quick, and never wrongly False."""
    return _FIRST_LINE.match(output) is not None or _LATER_LINE.search(output) is not None


def find_lists(output: str, marks: Sequence[Mark]) -> list[Span]:
    """Reference lists of an output, as spans of whole lines.

    Args:
        output: what the system wrote.
        marks: its citation marks, in order.
    """
    if not may_hold_list(output):
        return []
    lines = _Lines(output, marks)
    spans: list[Span] = []
    number = 0
    while number < len(lines.spans):
        end = lines.end_of_list(number)
        if end:
            spans.append((lines.spans[number][0], lines.spans[end - 1][1]))
            number = end
        else:
            number += 1
    if not spans or spans[-1][1] < lines.spans[lines.last][1]:
        start = lines.trailing_run(spans[-1][1] if spans else 0)
        if start is not None:
            spans.append((lines.spans[start][0], lines.spans[lines.last][1]))
    return spans


class _Lines:
    """The lines of an output with the mark that opens each."""

    def __init__(self, output: str, marks: Sequence[Mark]) -> None:
        self.output = output
        self.marks = marks
        self.starts = [m[0] for m in marks]
        self.spans: list[Span] = []
        at = 0
        for line in output.splitlines(keepends=True):
            self.spans.append((at, at + len(line)))
            at += len(line)
        full = [i for i, (s, e) in enumerate(self.spans) if not output[s:e].isspace()]
        self.first, self.last = (full[0], full[-1]) if full else (0, 0)

    def text(self, number: int) -> str:
        start, end = self.spans[number]
        return self.output[start:end]

    def opener(self, number: int) -> Mark | None:
        """The mark that a line starts with, bullets aside."""
        start, end = self.spans[number]
        opening = _OPENING.match(self.output, start, end)
        assert opening is not None
        at = bisect_left(self.starts, start)
        if at == len(self.starts) or self.starts[at] >= end:
            return None
        return self.marks[at] if self.starts[at] <= opening.end() else None

    def says(self, number: int) -> bool:
        """Whether letters follow the mark that opens a line."""
        mark = self.opener(number)
        return mark is not None and any(c.isalpha() for c in self.rest(number, mark[1]))

    def rest(self, number: int, start: int) -> str:
        """What a line says from an offset on, marks left out."""
        end = self.spans[number][1]
        pieces = []
        at = bisect_left(self.starts, start)
        while at < len(self.marks) and self.marks[at][0] < end:
            pieces.append(self.output[start : self.marks[at][0]])
            start = self.marks[at][1]
            at += 1
        return "".join([*pieces, self.output[start:end]])

    def is_entry(self, number: int) -> bool:
        """Whether a line looks like an entry of a list."""
        text = self.text(number)
        return (
            self.opener(number) is not None
            or _ENTRY.match(text) is not None
            or _SOURCE.search(text) is not None
        )

    def end_of_list(self, number: int) -> int:
        """Line behind the list whose heading is this line; 0 when it is none."""
        text = self.text(number)
        if HEADING.fullmatch(text.rstrip()) is not None:
            following = next(
                (i for i in range(number + 1, self.last + 1) if self.text(i).strip()), None
            )
            if following is None:
                return 0
            if number == self.first and not self.is_entry(following):
                return 0
            return self._behind(following)
        label = LABELLED.match(text)
        if label is None:
            return 0
        start, end = self.spans[number]
        at = bisect_left(self.starts, start)
        if at == len(self.starts) or self.starts[at] >= end:
            return 0
        if self.starts[at] > start + label.end():
            return 0
        if any(c.isalpha() for c in self.rest(number, start + label.end())):
            return self._behind(number)
        # `Sources: [1], [2]` at the end repeats what the text has cited.
        repeats = number == self.last and at > 0 and not _SINGULAR.match(text)
        return number + 1 if repeats else 0

    def _behind(self, first: int) -> int:
        """Line behind the entries that start here."""
        end = first + 1
        blank = False
        for number in range(first + 1, self.last + 1):
            text = self.text(number)
            if not text.strip():
                blank = True
                continue
            if self.opener(number) is None and _OTHER_HEADING.match(text):
                break
            if blank and not (self.is_entry(number) or text[0].isspace()):
                break
            end, blank = number + 1, False
        return end

    def trailing_run(self, after: int) -> int | None:
        """First line of the entries at the end, without a heading; None where there are none."""
        first = self.last + 1
        numbers: list[int] = []
        defined = True
        for number in range(self.last, -1, -1):
            start, end = self.spans[number]
            if start < after:
                break
            text = self.output[start:end]
            mark = self.opener(number)
            if mark is None or len(mark[2]) != 1 or not self.says(number):
                if text.strip() and not (text[0].isspace() or _ENTRY.match(text)):
                    break
                continue
            if numbers and mark[2][0] >= numbers[-1]:
                return None
            defined = defined and self.output[mark[1] : mark[1] + 1] == ":"
            if not defined and _is_statement(self.output[mark[1] : end]):
                return None
            numbers.append(mark[2][0])
            first = number
        if not numbers or first <= self.first:
            return None
        if defined:
            return first
        body = self.marks[: bisect_left(self.starts, self.spans[first][0])]
        if not set(numbers) & {n for m in body for n in m[2]}:
            return None
        if any(self.says(i) for i in range(first)):
            return None
        apart = not any(c.isalpha() for c in self.text(first - 1))
        return first if apart or len(numbers) > 1 else None


def _is_statement(rest: str) -> bool:
    """`[1] states that …`: the mark is the subject of a sentence."""
    word = _PREDICATE.match(rest)
    return word is not None and word.group().strip(" ,:\t").islower()
