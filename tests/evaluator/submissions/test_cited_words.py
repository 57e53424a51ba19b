"""Words that a system itself cites for, by hand."""

import pytest

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.details import cited_words, quotations
from citeforge.evaluator.statements.split import split_statements
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.scores import CitedWords
from citeforge.schemas.submission import CitedSpan

OUTPUT = "The old bridge opened [1] in 1937. Its \U0001f309 is long [2]. Nobody knows."
TEXTS = ["Opened in\n1937, the bridge \u2026", "It is 2 km long."]


def said(*spans: CitedSpan) -> list[CitedWords]:
    result = split_statements(OUTPUT, Grammar(base=1), SentenceSegmenter(), 2)
    assert [s.text for s in result.statements] == [
        "The old bridge opened in 1937.", "Its \U0001f309 is long.", "Nobody knows.",
    ]  # fmt: skip
    return cited_words(OUTPUT, result.statements, spans, TEXTS)


def span(words: str, passage: int | None = 0, **more: object) -> CitedSpan:
    start = OUTPUT.index(words)
    return CitedSpan(start, start + len(words), passage, **more)  # type: ignore[arg-type]


def test_words_stand_where_the_statement_has_them() -> None:
    bridge, crossing, unknown = said(
        span("bridge opened [1] in 1937"), span("is long", 1), span("Nobody", None)
    )
    text = "The old bridge opened in 1937."
    assert text[bridge.start : bridge.end] == "bridge opened in 1937"
    assert (bridge.statement, bridge.passage, bridge.quoted) == (0, 0, [])
    # Characters are counted, not UTF-16 units: the bridge before them is one.
    assert (crossing.statement, crossing.start, crossing.end) == (1, 6, 6 + len("is long"))
    assert (unknown.statement, unknown.passage) == (2, None)


def test_a_span_of_two_statements_and_one_of_no_words() -> None:
    two = said(span("1937. Its"))
    assert [(w.statement, w.start, w.end) for w in two] == [(0, 25, 30), (1, 0, 3)]
    place = OUTPUT.index("[2]")
    mark = CitedSpan(place, place + 3, 1, written="(x)", quote="2 km")
    assert said(mark) == [CitedWords(passage=1, quoted=[(6, 10)])]
    assert said(CitedSpan(place, place + 3, 1, written="(x)")) == []
    assert said(CitedSpan(900, 990, 7, quote="2 km")) == []


@pytest.mark.parametrize(
    ("quote", "more", "wanted"),
    [
        ("opened IN 1937", {}, []),
        ("Opened in 1937", {}, ["Opened in\n1937"]),
        ("Opened \u2026 the bridge", {}, ["Opened", "the bridge"]),
        ("Opened ... nothing", {}, ["Opened"]),
        ("in 1937", {"quote_start": 7, "quote_end": 14, "quote_unit": "char"}, ["in\n1937"]),
        ("in 1937", {"quote_start": 0, "quote_end": 9, "quote_unit": "char"}, []),
        ("a.b*", {}, []),
        (None, {}, []),
        (" ", {}, []),
    ],
)
def test_quotations(quote: str | None, more: dict[str, object], wanted: list[str]) -> None:
    result = quotations(TEXTS[0], CitedSpan(0, 1, 0, quote=quote, **more))  # type: ignore[arg-type]
    assert [TEXTS[0][start:end] for start, end in result] == wanted
