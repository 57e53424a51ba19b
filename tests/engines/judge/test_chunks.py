"""Long premises in chunks."""

import itertools

import pytest

from citeforge.engines.judge.chunks import count_nltk_tokens, sentence_chunks, sentences
from citeforge.schemas.judge_profile import Chunks

PREMISE = "The bridge opened in 1964. It was moved to Arizona in 1971.\nIt stands in Lake Havasu."


def minicheck_chunks(text: str, n: int) -> list[str]:
    """As MiniCheck's ``chunks`` generator and what is done with it, for words."""
    result = list(itertools.chain(*[[*sentences(b), "\n"] for b in text.split("\n")]))[:-1]
    out, current, count = [], [], 0
    for sentence in result:
        size = len(sentence.split())
        if count + size > n:
            out.append(" ".join(current))
            current, count = [sentence], size
        else:
            current.append(sentence)
            count += size
    out.append(" ".join(current))
    return [c for c in (chunk.replace(" \n ", "\n").strip() for chunk in out) if c]


@pytest.mark.parametrize("n", [1, 5, 6, 11, 12, 100])
def test_chunks_hold_whole_sentences(n: int) -> None:
    result = sentence_chunks(PREMISE, Chunks(size=n, of="words"), len)
    assert result == minicheck_chunks(PREMISE, n)
    assert " ".join(" ".join(result).split()) == " ".join(PREMISE.split())
    assert sentence_chunks("  \n ", Chunks(size=n, of="words"), len) == []


def test_chunks_of_the_other_ways() -> None:
    # FactCG counts NLTK's tokens: 6 (five words and the full stop), 8 and 6.
    assert [count_nltk_tokens(s) for s in sentences(PREMISE)] == [6, 8, 6]
    one, two, three = sentences(PREMISE)
    assert sentence_chunks(PREMISE, Chunks(size=14, of="nltk-words"), len) == [
        f"{one}\n{two}",
        three,
    ]
    assert sentence_chunks(PREMISE, Chunks(size=13, of="nltk-words"), len) == [one, two, three]
    assert sentence_chunks(PREMISE, Chunks(size=5, of="nltk-words"), len) == [one, two, three]
    # AlignScore: 17 words // 350 + 1 = 1 chunk of 3 sentences.
    assert sentence_chunks(PREMISE, Chunks(size=350, of="even-words"), len) == [
        f"{one} {two} {three}"
    ]
