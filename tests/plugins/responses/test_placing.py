"""Spans of words become marks, and marks are read as the spans meant."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.statements.split import Statement, split_statements
from citeforge.plugins.responses.marks import Shift, place_marks
from citeforge.plugins.responses.records import Cited
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.invisible import WORD_JOINER

GRAMMAR, SEGMENTER = Grammar(), SentenceSegmenter()
N_DOCS = 4


def placed(text: str, *cited: Cited, numbers: list[int] | None = None) -> str:
    all_numbers = numbers or [c.source + 1 for c in cited]
    return place_marks(text, cited, all_numbers, GRAMMAR, SEGMENTER, N_DOCS)[0]


def statements(text: str) -> tuple[Statement, ...]:
    return split_statements(text, GRAMMAR, SEGMENTER, N_DOCS).statements


def without_marks(output: str, start: int = 0, end: int | None = None) -> str:
    """What is left of a part when every mark that is read is cut out, brackets as they were."""
    at, pieces = start, []
    for marker in GRAMMAR.parse(output, N_DOCS).markers:
        if marker.numbers and start <= marker.start and (end is None or marker.end <= end):
            pieces.append(output[at : marker.start])
            at = marker.end
    return "".join([*pieces, output[at:end]]).replace(WORD_JOINER, "")


@pytest.mark.parametrize(
    ("text", "cited", "output"),
    [
        ("", [], ""),
        ("Io is a moon.", [], "Io is a moon."),
        # Before the full stop; a span that covers one letter of a statement is enough.
        ("Io is a moon. So is Titan.", [Cited(0, 13, 0)], "Io is a moon[1]. So is Titan."),
        ("Io is a moon. So is Titan.", [Cited(11, 15, 0)], "Io is a moon[1]. So is Titan[1]."),
        # White space and full stops alone are no part of a statement.
        ("Io is a moon. So is Titan.", [Cited(12, 21, 0)], "Io is a moon. So is Titan[1]."),
        # Overlapping spans: both, in the order given, each once.
        ("Io is a moon.", [Cited(3, 13, 1), Cited(0, 5, 0), Cited(0, 2, 1)], "Io is a moon[2][1]."),
        # A place without extent is a mark there; our grammar says to what it belongs.
        ("Io is a moon. So is Titan.", [Cited(2, 2, 0, True)], "Io[1] is a moon. So is Titan."),
        # What stood there is replaced.
        ("Io (a link) is a moon.", [Cited(3, 11, 0, True)], "Io [1] is a moon."),
        # Two at one place share it.
        ("Io (a link).", [Cited(3, 11, 1, True), Cited(3, 11, 0, True)], "Io [2][1]."),
        # The answer's own brackets cite nothing.
        ("As [1] says, Io.", [Cited(0, 16, 1)], f"As [{WORD_JOINER}1] says, Io[2]."),
        ("木星很大。土星也是。", [Cited(0, 5, 0)], "木星很大[1]。土星也是。"),
        # A heading is no statement: the mark stands there, and belongs to what follows.
        ("# Moons\nIo is one.", [Cited(0, 7, 0)], "# Moons[1]\nIo is one."),
        # A line break at the end of a span is none of it: a mark behind it would open an entry.
        ("# Moons\n. Io.", [Cited(0, 8, 0)], "# Moons[1]\n. Io."),
        ("Io.\x1eTitan.", [Cited(3, 4, 0)], "Io.[1]\x1eTitan."),
    ],
)
def test_where_marks_go(text: str, cited: list[Cited], output: str) -> None:
    assert placed(text, *cited) == output


def test_spans_are_those_of_the_output() -> None:
    text = "Io is a moon. So is Titan, see (x)."
    cited = [Cited(0, 25, 0), Cited(31, 34, 1, True), Cited(14, 25, 2)]
    output, spans = place_marks(text, cited, [1, 2, 3], GRAMMAR, SEGMENTER, N_DOCS)
    assert output == "Io is a moon[1]. So is Titan, see [2][1][3]."
    shown = [output[s:e] for s, e in spans]
    assert shown == ["Io is a moon[1]. So is Titan", "[2]", "So is Titan"]


WORDS = st.sampled_from(
    ["Io", "is a", "moon", "Zürich", "木星", "很大", "ठीक", "🌋 lava", "3.5", "Dr.", "e.g.",
     "[2019]",
     "[1]", "[a]", "“quoted”", "(so)", "- item", "\n", "\n\n", "| a | b |", "**b**", "[2, 3]", "x:"]
)  # fmt: skip
STOPS = st.sampled_from([". ", "! ", "? ", "。", "।", "… ", "; ", " ", ".", ".\n", "\u2028", ") "])
TEXTS = st.lists(st.tuples(WORDS, STOPS).map("".join), max_size=14).map("".join)


@st.composite
def cited_texts(draw: st.DrawFn) -> tuple[str, list[Cited]]:
    text = re.sub("[①-⑳]", "", draw(TEXTS | st.text(max_size=60)))  # marks of one character
    offsets = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(offsets, offsets, st.integers(0, 3)), max_size=6))
    return text, [Cited(min(a, b), max(a, b), n) for a, b, n in pairs]


@pytest.mark.parametrize("text", ["It is so.²", "It is so.^2^", "It is so [2]."])
def test_marks_of_the_answer_itself_are_no_citations(text: str) -> None:
    (statement,) = statements(placed(text))
    assert statement.text.replace(WORD_JOINER, "") == text
    assert not statement.numbers


@given(cited_texts())
@example(("(so). ", [Cited(0, 0, 0, True)]))
@example(("a-b", [Cited(1, 1, 0, True), Cited(2, 2, 3, True)]))
@example(("A_0", [Cited(0, 1, 0)]))  # `A_0[1]` would be an element of a list
@example(("A_º", [Cited(0, 1, 0), Cited(0, 1, 1)]))  # and so would its second mark
@example(("=0a", [Cited(0, 2, 0), Cited(2, 2, 0)]))  # the first mark makes a variable of `a`
@example(("\rA", [Cited(0, 0, 0), Cited(0, 2, 0), Cited(1, 1, 0)]))  # `[1]A` would be an entry
@example(("3.5\u2028**b**. ", [Cited(0, 0, 0), Cited(0, 5, 0)]))
@example(("00000}", [Cited(0, 5, 0)]))
@example(("**b**。\n\n. Io. ", [Cited(0, 11, 0), Cited(3, 8, 0)]))  # a part of it looks like a list
def test_the_answer_is_found_again(made: tuple[str, list[Cited]]) -> None:
    text, cited = made
    output, spans = place_marks(
        text, cited, [c.source + 1 for c in cited], GRAMMAR, SEGMENTER, N_DOCS
    )
    # Where the answer itself has a list of references, its entries stay as they are.
    if not GRAMMAR.parse(output, N_DOCS).lists and not GRAMMAR.parse(text, N_DOCS).lists:
        assert without_marks(output) == text.replace(WORD_JOINER, "")
    for c, (start, end) in zip(cited, spans, strict=True):
        assert 0 <= start <= end <= len(output)
        if c.start < c.end:
            said = text[c.start : c.end].replace(WORD_JOINER, "")
            assert without_marks(output, start, end) == said or "[" in text


@given(cited_texts())
@example(("Io… is", [Cited(0, 3, 0)]))
def test_statements_cite_what_their_spans_say(made: tuple[str, list[Cited]]) -> None:
    text, cited = made
    text = re.sub(r"[\[［】【］⁰¹²³⁴-⁹①-⑳^]", "", text)  # marks of the answer's own
    cited = [c for c in cited if c.end <= len(text)]
    before = statements(text)
    meant = [
        {c.source + 1 for c in cited for s, e in one.spans
         if any(ch.isalnum() for ch in text[max(s, c.start) : min(e, c.end)])}
        for one in before
    ]  # fmt: skip
    hit = all(
        any(any(ch.isalnum() for ch in text[max(s, c.start) : min(e, c.end)])
            for one in before for s, e in one.spans)
        for c in cited
    )  # fmt: skip
    if not hit:
        return
    after = statements(placed(text, *cited))
    said, meant_to_say = (
        [s.text.replace(WORD_JOINER, "") for s in some] for some in (after, before)
    )
    assert said == meant_to_say
    assert [set(s.numbers) for s in after] == meant


@given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.text(max_size=3))))
def test_insertions_leave_the_text(text: str, inserted: list[tuple[int, str]]) -> None:
    from citeforge.plugins.responses.marks import Edit

    edits = {at: Edit(at, at, new) for at, new in inserted if at <= len(text)}.values()
    shift = Shift(text, edits)
    assert [shift.text[shift.start(i)] for i in range(len(text))] == list(text)
    assert [shift.text[shift.end(i) - 1] for i in range(1, len(text) + 1)] == list(text)
    for edit in edits:
        start, end = shift.new_spans[edit]
        assert shift.text[start:end] == edit.new
