"""What a rule needs, by hand; rules searched by words, as one expression would."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citeforge.schemas.refusal_rules.search import Rules, needed
from citeforge.schemas.refusals import RULES

EVERY = [rule for one in RULES.values() for rule in one.strong + one.weak]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (r"\bno answer\b", {"no answer"}),
        (r"a (?:b|cd)", {"a "}),  # longer than the shortest of the others
        (r"is (?:unclear|not known)\b", {"unclear", "not known"}),
        (r"x(?: \w+){0,3} y", {" y"}),  # what may be left out is not needed
        (r"(?:not){1,2}|(?:n't)", {"not", "n't"}),
        (r"(?:no|)x?", None),
        (r"[ab]\w*(?=here)", None),
        ("Ab", {"ab"}),
    ],
)
def test_needed(expression: str, wanted: set[str] | None) -> None:
    assert needed(expression) == (None if wanted is None else frozenset(wanted))


def test_every_rule_needs_something() -> None:
    assert len(EVERY) > 100
    assert all(needed(rule) for rule in EVERY)


def test_letters_that_are_alike_to_the_expression() -> None:
    rules = Rules.of(["kiss", "å"])
    for text in ("KISS", "\u212aiss", "kiſs", "kİss", "kıss", "\u212b", "no"):
        assert rules.match(text) == bool(re.search("kiss|å", text, re.IGNORECASE)), text


_WHOLE = re.compile("|".join(EVERY[::7]), re.IGNORECASE)
_PARTS = Rules.of(EVERY[::7])
_WORDS = sorted({word for rule in EVERY[::7] for word in needed(rule) or ()})


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*_WORDS, "the ", "passages ", "do ", " I ", "nicht ", ". "]),
                max_size=12))  # fmt: skip
def test_as_one_expression(parts: list[str]) -> None:
    text = "".join(parts)
    assert _PARTS.match(text) == (_WHOLE.search(text) is not None)
