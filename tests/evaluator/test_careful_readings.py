"""Statements and their citations in outputs made to be hard, read by hand (rules version 3)."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.statements.split import split_statements
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.invisible import is_invisible

SEGMENTER = SentenceSegmenter()

Reading = list[tuple[str, list[int]]]


def read_file() -> list[tuple[str, Reading]]:
    """Outputs of `careful_readings.txt`, each with its statements and their citations."""
    cases: list[tuple[str, Reading]] = []
    for line in (Path(__file__).parent / "careful_readings.txt").read_text("utf-8").split("\n"):
        if line.startswith("> "):
            output = line[2:].replace("⏎", "\n").replace("↵", "\r\n").replace("¶", "\u2028")
            cases.append((output, []))
        elif " | " in line and not line.startswith("#"):
            numbers, _, text = line.partition(" | ")
            cases[-1][1].append((text, [int(n) for n in numbers.split(",") if n != "-"]))
    return cases


CASES = read_file()


def test_there_are_many() -> None:
    assert len({output for output, _ in CASES}) >= 200


@pytest.mark.parametrize(("output", "expected"), CASES, ids=[c[0][:50] for c in CASES])
def test_is_read_as_a_careful_person_does(output: str, expected: Reading) -> None:
    result = split_statements(output, Grammar(), SEGMENTER, 5)
    assert [(s.text, s.numbers) for s in result.statements] == expected


def test_reference_lists_are_in_nothing_else() -> None:
    output = "Paris is big [1].\n\nReferences:\n[1] Paris, Wikipedia.\n[2] Rome, Wikipedia."
    result = split_statements(output, Grammar(), SEGMENTER, 5)
    assert [s.text for s in result.statements] == ["Paris is big."]
    assert result.stray == ()
    assert Grammar().cited(output, 5) == ({0}, 0, 0)


def test_marks_without_any_statement_are_stray() -> None:
    result = split_statements("[1]\n## Paris [2]", Grammar(), SEGMENTER, 5)
    assert result.statements == ()
    assert [m.numbers for m in result.stray] == [(1,), (2,)]


PIECES = [*'[]12, .ABab\n!?"【】()#*|:-', "\n\n", "References:\n", ". ", "[1] "]


def visible(text: str) -> str:
    """A text without spaces and without what shows nothing, which statements leave out."""
    return "".join(c for c in text if not (c.isspace() or is_invisible(c)))


@given(st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=60).map("".join))
@example("[1][2]")
@example("A\xad")
@example("A \u200dB [1]\u200b")
def test_nothing_is_lost_twice_or_invented(output: str) -> None:
    parsed = Grammar().parse(output, 5)
    result = split_statements(output, Grammar(), SEGMENTER, 5)
    at = 0
    for statement in result.statements:
        assert any(c.isalpha() for c in statement.text)
        for start, end in statement.spans:
            assert at <= start < end <= len(output)
            at = end
        inside = "".join(output[s:e] for s, e in statement.spans)
        assert visible(inside) == visible(statement.text)
    attached = [m for s in result.statements for m in s.markers] + list(result.stray)
    assert sorted(attached, key=lambda m: m.start) == [
        m for m in parsed.markers if not (m.is_listed or m.is_residue)
    ]
