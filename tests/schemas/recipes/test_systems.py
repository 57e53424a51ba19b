"""Names of systems: what nobody sees in them is refused, and names that look the same are twins."""

import pytest

from citeforge.schemas.recipes.systems import find_lookalike, name_problem

FINE = ["one", "GPT-4o (2024)", "système 日本 😀 – †", "שלום", "a" * 200, "v1.0_b/c", "e\u0301"]
WRONG = {
    "": "is empty", "  ": "is empty", "a ": "begins or ends", " a": "begins or ends",
    "a  b": "two in a row", "a\n::add-mask::b": "U+000A", "a\tb": "U+0009", "a\rb": "U+000D",
    "a\x00b": "U+0000", "a\x1b[2Jb": "U+001B", "a\x1b]8;;http://x\x07b": "U+001B",
    "a\x85b": "U+0085",
    "a\x7fb": "U+007F", "a\u200bb": "ZERO WIDTH SPACE", "a\u200db": "ZERO WIDTH JOINER",
    "a\ufeffb": "ZERO WIDTH NO-BREAK SPACE", "a\u202eb": "RIGHT-TO-LEFT OVERRIDE",
    "a\u2066b": "LEFT-TO-RIGHT ISOLATE", "a\u00a0b": "NO-BREAK SPACE", "a\u2028b": "LINE SEPARATOR",
    "a\u3164b": "HANGUL FILLER", "a\ufe0fb": "VARIATION SELECTOR-16", "a\U000e0041b": "TAG LATIN",
    "a\ue000b": "U+E000", "a\udc80b": "U+DC80", "a" * 201: "201 characters",
    "z\u0301\u0302\u0303": "accents",
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_fine(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    fault = name_problem(name)
    assert fault is not None
    assert WRONG[name] in fault
    assert fault.isprintable()


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("GPT-4", "gpt-4"), ("GPT-4", "GРT-4"), ("GPT-4", "ＧＰＴ-4"), ("GPT-4", "GPT–4"),
        ("claude", "сlаudе"), ("model", "modeI"), ("model", "mode1"), ("O1", "01"),
        ("barn", "bam"), ("ΑΒΕ", "ABE"), ("é", "e\u0301"), ("ﬁne", "fine"), ("ᎪᏟᎬ", "ACE"),
    ],
)  # fmt: skip
def test_twins(name: str, other: str) -> None:
    assert find_lookalike(name, ["x", other]) == other
    assert find_lookalike(other, [name]) == name


def test_no_twins() -> None:
    for name, other in [("one", "two"), ("gpt-4", "gpt-4o"), ("run1", "run2"), ("a", "á")]:
        assert find_lookalike(name, [other]) is None
    assert find_lookalike("one", ["one"]) is None  # the same name is no twin
