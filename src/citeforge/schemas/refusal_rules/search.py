"""Searching a text by many rules: most are told not to match by the words that they need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_ALIKE = str.maketrans({"İ": "i", "ı": "i", "ſ": "s", "\u212a": "k", "\u212b": "å"})
"""Letters that ``re.IGNORECASE`` takes for those, and ``str.lower`` does not."""


@dataclass(frozen=True)
class Rule:
    """A regular expression.

    Attributes:
        expression: in small letters.
        needs: parts of text one of which stands in whatever it matches; None where none has to.
    """

    expression: str
    needs: frozenset[str] | None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first needed."""
        return re.compile(self.expression, re.IGNORECASE)


@dataclass(frozen=True)
class Rules:
    """Expressions, any of which may match: as ``re.search("A|B|…", text, re.IGNORECASE)`` says.

    The single expression would try each of them at each place: for some hundred of them that is
    milliseconds a text, where a look for the words that they need is a tenth of one.
    """

    rules: Sequence[Rule]
    _words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Gather what to look for."""
        words = frozenset().union(*(rule.needs or () for rule in self.rules))
        object.__setattr__(self, "_words", words)

    @classmethod
    def of(cls, expressions: Iterable[str]) -> Rules:
        """Rules of these expressions."""
        return cls([Rule(e, needed(e)) for e in expressions])

    def match(self, text: str) -> bool:
        """Whether one of them matches somewhere."""
        small = text.translate(_ALIKE).lower()
        there = {word for word in self._words if word in small}
        return any(
            rule.pattern.search(text) is not None
            for rule in self.rules
            if rule.needs is None or not there.isdisjoint(rule.needs)
        )


def needed(expression: str) -> frozenset[str] | None:
    """Parts of text, in small letters, one of which stands in every match of an expression.

    Of what each part of the expression needs that with the longest words is taken: they are rare.

    Returns:
        None where nothing is needed for certain.
    """
    return _of(_parser.parse(expression, re.IGNORECASE))


def _of(parts: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    found: list[frozenset[str]] = []
    letters = ""
    for node, what in [*parts, (None, None)]:
        if node is _constants.LITERAL:
            letters += chr(what)
            continue
        if letters:
            found.append(frozenset([letters.lower()]))
            letters = ""
        inside: frozenset[str] | None = None
        if node is _constants.BRANCH:
            branches = [_of(branch) for branch in what[1]]
            known = [b for b in branches if b is not None]
            inside = frozenset().union(*known) if len(known) == len(branches) else None
        elif node is _constants.SUBPATTERN:
            inside = _of(what[3])
        elif node in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and what[0] > 0:
            inside = _of(what[2])
        if inside is not None:
            found.append(inside)
    return max(found, key=lambda words: (min(map(len, words)), -len(words)), default=None)
