"""Sentence segmenters: spaCy's sentencizer corrected by our rules (NLTK's is in ``punkt``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from typing import Any, Protocol

RULES_VERSION = 1

Span = tuple[int, int]

# Never the end of a sentence.
_TITLES = (
    "mr mrs ms dr prof st gen col sgt lt capt rev hon sen rep gov fig figs eq eqs sec vol ed eds "
    "pp cf vs viz approx ca e.g i.e dept est ft op"
)
_NEVER = frozenset(_TITLES.split())
# The end of a sentence only when a word follows that starts sentences.
_MAYBE = frozenset(
    "al etc inc ltd co corp jr sr a.m p.m u.s u.k u.n d.c e.u u.s.a b.c a.d ph.d m.d b.a".split()
)
_BEFORE_NUMBER = frozenset({"no", "nos", "p", "ch", "art", "jan", "feb", "mar", "apr", "jun", "jul",
                            "aug", "sep", "sept", "oct", "nov", "dec"})  # fmt: skip
STARTERS = frozenset(
    "the a an this that these those he she it they we you i his her its their our my there here in "
    "on at by for from with as but and or so if when while after before although however then thus "
    "since because during once what who why how where both many most some one no each such".split()
)
_ENUMERATOR = re.compile(r"\s*(?:[(\[]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[-*•–])\s*")
_LAST_WORD = re.compile(r"([\w.&'’-]+)\.[\"'”’)\]]*\s*$")
_INITIAL = re.compile(r"(?:^|[\s(\"'“])[A-Z]$")
_NEXT_WORD = re.compile(r"\s*[\"'“‘(\[]*(\w+)")
_CLOSERS = "\"'”’)]»"
_EXTRA_END = re.compile(r"(?<=[\w\])%])[.!?…][\"'”’)\]»]*(?=\s+[\"'“‘(\[]*[A-Z0-9])")
_MAX_LENGTH = 900_000
# spaCy's tokenizer is quadratic in the length of a run without spaces.
_LONG_RUNS = (re.compile(r"[^\w\s]{200}"), re.compile(r"\S{5000}"))
# What the rules look at before the end of a sentence; the rest of a long line is not copied.
_WINDOW = 200


class Segmenter(Protocol):
    """Splits a text into sentences.

    Attributes:
        rules_version: version of the strict rules for statements that are read with it.
    """

    rules_version: int

    @property
    def signature(self) -> str:
        """Name and version as they stand in signatures."""
        ...

    def split(self, text: str) -> list[Span]:
        """(start, end) of each sentence, in order, without surrounding white space."""
        ...


class SpacySegmenter:
    """Rules version 1, kept so that scores of before can be computed again.

    Sentences end at newlines; within a line spaCy's sentencizer, corrected by rules.

    The rules keep abbreviations, initials, enumerators and quotations together, and split after
    abbreviations (``p.m. Then``) where a word follows that starts sentences.
    """

    rules_version = RULES_VERSION

    @cached_property
    def _pipeline(self) -> Any:
        import spacy

        pipeline = spacy.blank("en")
        pipeline.add_pipe("sentencizer")
        pipeline.max_length = _MAX_LENGTH
        return pipeline

    @property
    def signature(self) -> str:
        return f"spacy-{'.'.join(version('spacy').split('.')[:2])}r{RULES_VERSION}"

    def split(self, text: str) -> list[Span]:
        return split_lines(text, self._split_line)

    def _split_line(self, line: str, offset: int) -> list[Span]:
        ends: set[int] = set()
        for start, end in _pieces(line):
            ends.update(start + s.end_char for s in self._pipeline(line[start:end]).sents)
        ends.update(m.end() for m in _EXTRA_END.finditer(line))
        cuts: list[int] = []
        for found in sorted(ends):
            if not cuts or found > cuts[-1]:
                cuts.append(_behind_closers(line, found))
        spans: list[Span] = []
        start = 0
        last = len(line.rstrip())
        for cut in [*(c for c in cuts if c < last), len(line)]:
            if cut <= start or (cut < len(line) and not _is_end(line, start, cut)):
                continue
            span = trimmed(line, start, cut)
            if span is not None:
                spans.append((offset + span[0], offset + span[1]))
            start = cut
        return spans


def _behind_closers(line: str, end: int) -> int:
    """Closing quotes and brackets belong to the sentence that they close."""
    while end < len(line) and line[end] in _CLOSERS and not line[end - 1].isspace():
        end += 1
    return end


def _pieces(line: str) -> Iterator[Span]:
    """A line in pieces that spaCy reads in linear time: all of it, but for monsters."""
    ends = {m.end() for run in _LONG_RUNS for m in run.finditer(line)}
    for low, high in pairwise(sorted({0, *ends, len(line)})):
        for start in range(low, high, _MAX_LENGTH):
            yield start, min(high, start + _MAX_LENGTH)


def _is_end(line: str, start: int, cut: int) -> bool:
    """Whether a sentence that starts at ``start`` ends at ``cut``, where something follows."""
    left = line[max(start, cut - _WINDOW) : cut]
    if not left.strip():
        return False
    if cut - start <= _WINDOW and _ENUMERATOR.fullmatch(left):
        return False
    following = _NEXT_WORD.match(line, cut)
    word = following.group(1) if following else ""
    # `"Really?" she asked`: what goes on in lower case is the same sentence.
    if word[:1].islower():
        return False
    last = _LAST_WORD.search(left)
    if last is None:
        return left.rstrip()[-1:] in ".!?…。！？" + _CLOSERS
    name = last.group(1).lower().rstrip(".")
    if name in _NEVER:
        return False
    if name in _BEFORE_NUMBER:
        return not word[:1].isdigit()
    if name in _MAYBE or re.fullmatch(r"(?:[a-z]\.)+[a-z]", name):
        return word.lower() in STARTERS
    # An initial ("J. Smith"), but not the pronoun or a letter that ends a sentence by itself.
    if _INITIAL.search(left.rstrip()[:-1]) and last.group(1) != "I":
        return word.lower() in STARTERS
    return True


def lines_of(text: str) -> list[Span]:
    """(start, end) of each line, its line break included."""
    spans = []
    start = 0
    for line in text.splitlines(keepends=True):
        spans.append((start, start + len(line)))
        start += len(line)
    return spans


def split_lines(text: str, split_line: Callable[[str, int], list[Span]]) -> list[Span]:
    """Sentences line by line: ``split_line`` gets each line that is not blank, and its offset."""
    spans: list[Span] = []
    for start, end in lines_of(text):
        if not text[start:end].isspace():
            spans.extend(split_line(text[start:end], start))
    return spans


def trimmed(text: str, start: int, end: int) -> Span | None:
    """[start, end) without white space around it; None where nothing else is there."""
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(stripped)
