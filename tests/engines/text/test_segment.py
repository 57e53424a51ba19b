"""The segmenter against hard lines, written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.text.segment import SpacySegmenter
from citeforge.engines.text.segmenters import make_segmenter
from citeforge.schemas.errors import UnknownValueError

SEGMENTER = SpacySegmenter()

LINES: list[list[str]] = [
    ["One sentence."],
    ["One.", "Two."],
    ["One.", "Two!", "Three?"],
    ["Shown by Smith et al. in 2019.", "It holds."],
    ["See Fig. 3 for this.", "It holds."],
    ["It is No. 5 on the list.", "It fell."],
    ["He lived in Washington, D.C.", "He moved."],
    ["It began at 5 p.m.", "Then it ended."],
    ["At 5 p.m. local time it began."],
    ["The U.S. Senate voted.", "It passed."],
    ["He went to the U.S.", "He stayed."],
    ['"Really?" she asked.', "He nodded."],
    ['She said "No."', "He left."],
    ["Dr. Smith met Mr. Jones.", "They spoke."],
    ["J. R. R. Tolkien wrote it.", "It sold."],
    ["Use tools, e.g. a saw.", "Cut it."],
    ["It cost $3.5 million.", "It paid."],
    ["Apples, pears etc. were sold.", "Then rain came."],
    ["Acme Inc. grew.", "It hired."],
    ["1. One thing."],
    ["a) One thing.", "Another."],
    ["What is it?", "Io."],
    ["Version 2.0 is out.", "Get it."],
    ["It ended in 1990.", "In 1991 it began."],
    ["No end here"],
    ["Visit example.org today.", "It is free."],
    ["(It was so.)", "It is no more."],
]


@pytest.mark.parametrize("sentences", LINES, ids=lambda s: " | ".join(s)[:40])
def test_hard_lines(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [text[s:e] for s, e in SEGMENTER.split(text)] == sentences


def test_newlines_end_statements() -> None:
    text = "- first item\n- second item\n\nNo stop here\nNext"
    assert [text[s:e] for s, e in SEGMENTER.split(text)] == [
        "- first item",
        "- second item",
        "No stop here",
        "Next",
    ]


@given(st.text(st.sampled_from('aB .!?"\n1)(…') | st.characters(codec="utf-8"), max_size=80))
def test_spans_are_sound_and_lose_no_text(text: str) -> None:
    spans = SEGMENTER.split(text)
    at = 0
    for start, end in spans:
        assert at <= start < end
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


def test_a_million_characters() -> None:
    text = "word " * 200_000 + "end. Next one."
    spans = SEGMENTER.split(text)
    assert text[slice(*spans[-1])] == "Next one."


def test_the_tokenizer_sees_no_long_run_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is quadratic in their number, also where something else begins the run."""
    segmenter, lengths = SpacySegmenter(), []
    pipeline = segmenter._pipeline

    def spy(text: str) -> object:
        lengths.append(len(text))
        return pipeline(text)

    monkeypatch.setattr(segmenter, "_pipeline", spy)
    segmenter.split("Dr. A." + ")" * 6000)
    assert sum(lengths) == 6006
    assert max(lengths) == 205  # "Dr. A", and 200 marks


def test_the_signature_names_the_rules() -> None:
    assert SEGMENTER.signature.startswith("spacy-3.")
    assert SEGMENTER.signature.endswith("r1")


def test_unknown_segmenters() -> None:
    with pytest.raises(UnknownValueError, match="known: nupunkt, punkt, spacy"):
        make_segmenter("syntok")
