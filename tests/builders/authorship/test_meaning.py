"""Second opinion of an embedder on sentences without a match."""

from typing import Any

import numpy as np

from citeforge.builders.authorship.alignment import Alignment
from citeforge.builders.authorship.completeness import find_added, find_lost
from citeforge.builders.authorship.meaning import SentenceVectors


class _Topics:
    """Embedder of two directions: texts about a ship, and all others."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def fingerprint(self) -> dict[str, Any]:
        return {"model": "topics"}

    def encode(self, texts: Any, kind: str) -> Any:
        self.calls.append(list(texts))
        is_ship = [any(w in t for w in ("ship", "vessel")) for t in texts]
        return np.array([[1, 0] if ship else [0.6, 0.8] for ship in is_ship], dtype=np.float32)


def test_each_text_is_embedded_once_and_cosines_are_rounded() -> None:
    embedder = _Topics()
    vectors = SentenceVectors(embedder)
    # 1 · 0.6 + 0 · 0.8 = 0.6, and 0.6² + 0.8² = 1.
    assert vectors.find_nearest(["a ship", "a town"], ["a market"]) == [0.6, 1.0]
    assert vectors.find_nearest(["a town"], ["a vessel"]) == [0.6]
    assert vectors.find_nearest(["a town"], []) == [-1.0]
    assert embedder.calls == [["a ship", "a town", "a market"], ["a vessel"]]


class _Refined(_Topics):
    """Embedder that can also compute in float64, whose vectors have more digits."""

    def at(self, compute: str) -> Any:
        assert compute == "fp64"
        return _Topics()

    def count_cut(self, pieces: Any, kind: str) -> None:
        return None

    def encode(self, texts: Any, kind: str) -> Any:
        raise AssertionError("embeds in float32")


def test_an_embedder_that_can_computes_in_float64() -> None:
    assert SentenceVectors(_Refined()).find_nearest(["a ship"], ["a vessel"]) == [1.0]


class _Directions(_Topics):
    """Embedder for which a ship and all other things have nothing in common."""

    def encode(self, texts: Any, kind: str) -> Any:
        is_ship = [any(w in t for w in ("ship", "vessel")) for t in texts]
        return np.array([[1, 0] if ship else [0, 1] for ship in is_ship], dtype=np.float32)


def test_a_sentence_near_none_of_the_other_text_is_new() -> None:
    human = "The ship was launched in spring. Its captain was young."
    twin = "In spring the ship was launched. Its captain was young."
    vectors = SentenceVectors(_Directions())
    assert find_added(Alignment(human, twin), "en", vectors) == []
    market = "Markets opened elsewhere."
    ship = "The ship was launched in spring."
    assert find_added(Alignment(ship, f"{ship} {market}"), "en", vectors) == [market]
    assert find_lost(Alignment(f"{ship} {market}", ship), "en", vectors) == [market]


def test_a_paraphrase_near_the_other_text_is_not_lost() -> None:
    rapid = "Rapid vessels outran every pursuer across northern waters."
    human = f"The ship was launched in spring. {rapid}"
    twin = "In spring the ship was launched. None caught it."
    assert find_lost(Alignment(human, twin), "en") == [rapid]
    assert find_lost(Alignment(human, twin), "en", SentenceVectors(_Directions())) == []
