"""An embedder that reads query and passage apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from citeforge.engines.models.embedder import Kind, Vectors
from citeforge.plugins.published_systems.attributed_ir.search import EmbeddingReranker


class Axes:
    """An embedder: red and green are two axes, all else a third."""

    def fingerprint(self) -> dict[str, Any]:
        return {"name": "axes"}

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        rows = [[float("red" in t), float("green" in t), 1.0] for t in texts]
        result = np.array(rows, np.float32)
        return result / np.linalg.norm(result, axis=1, keepdims=True)


def test_without_a_cross_encoder_an_embedder_reads() -> None:
    model = EmbeddingReranker(Axes())
    # (red, 0, 1) with itself: 1; with (0, green, 1): 1/2; with (0, 0, 1): 1/sqrt 2.
    pairs = [("red", "c red"), ("red", "green"), ("red", "w1"), ("red", "c red")]
    assert model.scores(pairs) == pytest.approx([1, 1 / 2, 2**-0.5, 1])
    assert model.scores([]) == []
    assert model.identity() == {"name": "axes", "kind": "embedder, no cross-encoder"}
