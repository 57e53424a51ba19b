"""The segmenter against hard lines, written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.running.names import make_segmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from conftest import refused

SEGMENTER = SentenceSegmenter()

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
    ["Mt. Everest is high.", "It is cold."],
    ["巴黎是法国的首都。", "它位于塞纳河畔。"],
    ["पेरिस राजधानी है।", "यह बड़ा है।"],
    ["هل هي باريس؟", "نعم."],
    ["پیرس دارالحکومت ہے۔", "یہ بڑا ہے۔"],
    ["Москва — столица.", "Она большая."],
    ["ሰላም።", "እንዴት ነህ።"],
    ["Er kam am 3. Oktober 1990.", "Dann ging er."],
    ["Es ist z. B. gut.", "Ja."],
    ["Paris (the capital. It is big) is old."],
    ["He is No. 1.", "She is 2."],
    ["She works for Apple Inc.", "He does not."],
    ["It lies at 36° E.", "It is wet."],
    ["Bengt I. Samuelsson found it.", "So."],
    ["Long v. Smith was decided.", "It held."],
    ["It existed from c. 1500 BC.", "It fell."],
    ["Warner Bros. Records sold it.", "It paid."],
    ["It circles the Sun.", "On the other hand, it is far."],
    ["The kingdom was Poland.", "More recently, it grew."],
    ["The blood types are A, B, AB, or O.", "Most are O."],
    ["He starred in Kingdom Hearts III.", "Cloud did not."],
    ["It is 5 km.", "Next it is 3."],
    ["They asked.", "iPads came."],
    ["It is wet; [...] It has lakes."],
]


@pytest.mark.parametrize("sentences", LINES, ids=lambda s: " | ".join(s)[:40])
def test_hard_lines(sentences: list[str]) -> None:
    between = "" if sentences[0].endswith("。") else " "
    text = between.join(sentences)
    assert [text[s:e] for s, e in SEGMENTER.split(text)] == sentences


def test_newlines_end_statements() -> None:
    text = "- first item\n- second item\n\nNo stop here\nNext"
    assert [text[s:e] for s, e in SEGMENTER.split(text)] == text.replace("\n\n", "\n").split("\n")


@pytest.mark.slow
@given(st.text(st.sampled_from('aB .!?"\n1)(…。।') | st.characters(codec="utf-8"), max_size=80))
def test_spans_are_sound_and_lose_no_text(text: str) -> None:
    at = 0
    for start, end in SEGMENTER.split(text):
        assert at <= start < end
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


def test_the_signature_names_library_and_rules() -> None:
    assert SEGMENTER.signature == "nupunkt-0.8r3"
    assert make_segmenter("nupunkt").signature == SEGMENTER.signature


def test_unknown_segmenters() -> None:
    with refused("unknown-name", value="syntok", known=["nupunkt", "punkt"]):
        make_segmenter("syntok")
