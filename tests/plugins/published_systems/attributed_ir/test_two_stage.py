"""BM25, then a model that reads query and passage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.engines.embedding.embedder import Kind, Vectors
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.reranker import make_reranker
from citeforge.plugins.published_systems.attributed_ir.two_stage import EmbeddingReranker, TwoStage
from servers import tiny_rerankers as tiny

TEXTS = {
    "a": "w1 w1 w1 w2",
    "b": "w1 red w3 w4 w5",
    "c": "w9 red",
    "d": "w1 green w3",
}


def texts_of(ids: Sequence[str]) -> list[str]:
    return [TEXTS[i] for i in ids]


class Length:
    """Scores a passage by its length."""

    def identity(self) -> dict[str, Any]:
        return {"name": "length"}

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [len(passage) / 3 for _, passage in pairs]


class Axes:
    """An embedder: red and green are two axes, all else a third."""

    def fingerprint(self) -> dict[str, Any]:
        return {"name": "axes"}

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        rows = [[float("red" in t), float("green" in t), 1.0] for t in texts]
        found = np.array(rows, np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_the_second_stage_orders_what_the_first_one_found() -> None:
    both = TwoStage(Bm25(list(TEXTS), list(TEXTS.values())), Length(), texts_of)
    found = both.rank({"q": "w1", "none": "w77"}, depth=2)
    # c holds no w1; b has 15 characters, d 11, a 11: the tie by id.
    assert [(r.docid, r.rank, r.score) for r in found["q"]] == [
        ("b", 1, round(15 / 3, 6)), ("a", 2, round(11 / 3, 6)),
    ]  # fmt: skip
    assert found["none"] == []
    assert both.identity()["first"]["name"] == "bm25"
    assert both.identity()["second"] == {"name": "length"}


def test_no_more_are_read_than_said() -> None:
    both = TwoStage(Bm25(list(TEXTS), list(TEXTS.values())), Length(), texts_of, reranked=1)
    assert [r.docid for r in both.rank({"q": "w1"})["q"]] == ["a"]  # three times w1 in four words


def test_without_a_cross_encoder_an_embedder_reads() -> None:
    model = EmbeddingReranker(Axes())
    # (red, 0, 1) with itself: 1; with (0, green, 1): 1/2; with (0, 0, 1): 1/sqrt 2.
    pairs = [("red", "c red"), ("red", "green"), ("red", "w1"), ("red", "c red")]
    assert model.scores(pairs) == pytest.approx([1, 1 / 2, 2**-0.5, 1])
    assert model.scores([]) == []
    assert model.identity() == {"name": "axes", "kind": "embedder, no cross-encoder"}


def test_bm25_and_a_monot5(tmp_path: Path) -> None:
    second = make_reranker(str(tiny.mono_t5(tmp_path)), "cpu")
    both = TwoStage(Bm25(list(TEXTS), list(TEXTS.values())), second, texts_of)
    alone = {i: second.scores([("w1 w3", TEXTS[i])])[0] for i in "abd"}
    assert len(set(alone.values())) == 3
    found = both.rank({"q": "w1 w3"})["q"]
    assert [r.docid for r in found] == sorted(alone, key=lambda i: -alone[i])
