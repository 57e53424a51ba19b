"""An embedder that reads query and passage apart."""

import pytest

from citeforge.plugins.published_systems.search import EmbeddingReranker
from stand_ins import RuleEmbedder


def test_without_a_cross_encoder_an_embedder_reads() -> None:
    # Red and green are two axes, all else a third.
    axes = RuleEmbedder(lambda text: ["red" in text, "green" in text, 1])
    model = EmbeddingReranker(axes)
    # (red, 0, 1) with itself: 1; with (0, green, 1): 1/2; with (0, 0, 1): 1/sqrt 2.
    pairs = [("red", "c red"), ("red", "green"), ("red", "w1"), ("red", "c red")]
    assert model.scores(pairs) == pytest.approx([1, 1 / 2, 2**-0.5, 1])
    assert model.scores([]) == []
    assert model.identity() == {"name": "rule", "kind": "embedder, no cross-encoder"}
