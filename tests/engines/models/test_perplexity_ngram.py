"""Perplexity of n-grams, by hand."""

import math

import pytest

from citeforge.engines.running.names import make_perplexity
from conftest import refused

SEEDS = ["The son of a painter was born in Rome.", "The son of a poet was born in London."]


def test_ngrams_by_hand() -> None:
    """Witten-Bell on one sentence "a b": with trigrams <s> <s> a b </s>.

    p(a | <s> <s>) = (1 - λ) · p(a | <s>) + λ · 1, where the history was seen once with one kind of
    successor, so λ = 1 / (1 + 1); and so on down. nltk gives the same.
    """
    from nltk.lm import Vocabulary, WittenBellInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    model = make_perplexity("ngram", ["a b"])
    grams, words = padded_everygram_pipeline(3, [["a", "b"]])
    peer = WittenBellInterpolated(3, vocabulary=Vocabulary(unk_cutoff=1))
    peer.fit(grams, words)
    first, second = peer.score("a", ("<s>", "<s>")), peer.score("b", ("<s>", "a"))
    expected = math.exp(-(math.log(first) + math.log(second)) / 2)
    assert model.compute(["a b"]) == [pytest.approx(expected)]


def test_ngrams_find_the_likelier_text() -> None:
    model = make_perplexity("ngram", SEEDS)
    likely, odd, strange = model.compute(
        ["The son of a painter was born in London.", "London in born was painter a of son The.",
         "Zygotes quantise xylophones."]
    )  # fmt: skip
    assert likely < odd < strange
    assert model.compute([""]) == [math.inf]
    assert model.compute(SEEDS) == make_perplexity("ngram", SEEDS).compute(SEEDS)
    assert (
        model.identity()["trained_on_sha256"]
        != make_perplexity("ngram", SEEDS[:1]).identity()["trained_on_sha256"]
    )
    with refused("empty-text", path="--perplexity ngram"):
        make_perplexity("ngram", [""])
    with refused("unknown-name"):
        make_perplexity("gut-feeling", SEEDS)
