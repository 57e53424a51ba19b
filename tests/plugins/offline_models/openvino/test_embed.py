"""Embedders computed by OpenVINO, beside sentence-transformers itself."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from citeforge.engines.embedding.embed import make_embedder
from citeforge.plugins.offline_models.openvino import convert
from citeforge.plugins.offline_models.openvino.embed import FastEmbedder
from citeforge.plugins.offline_models.openvino.store import VARIABLE
from conftest import refused
from servers.tiny_embedder import make_embedder_folder, passages

# Not importorskip: openvino is imported by our own code, which keeps it from reporting.
if not all(map(find_spec, ("openvino", "nncf", "sentence_transformers"))):
    pytest.skip("without the extra fast", allow_module_level=True)
TEXTS = passages(30)
OTHERS = "--compute fp32, or bf16 where the processor has it"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_embedder_folder(tmp_path_factory.mktemp("embedder"))


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for converted models that no other test sees."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder))
        yield folder


def fast(model: Path) -> FastEmbedder:
    made = make_embedder(str(model)).at("int8")  # type: ignore[attr-defined]
    assert isinstance(made, FastEmbedder)
    return made


@pytest.mark.numeric
def test_float32_is_what_the_library_gives(model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(model), device="cpu").encode(
        TEXTS, normalize_embeddings=True
    )
    result = fast(model).encode(TEXTS, "passage")
    assert np.abs(result - expected).max() < 1e-5
    assert np.abs(expected[0] - expected[1]).max() > 0.05


@pytest.mark.numeric
def test_a_vector_depends_on_its_text_alone_and_on_no_threads(model: Path) -> None:
    import torch

    before = torch.get_num_threads()
    result = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            exact = fast(model)
            vectors = exact.encode(TEXTS, "passage")
            assert np.array_equal(exact.encode(TEXTS[7:9], "passage"), vectors[7:9])
            result.append((vectors, exact.quantized(TEXTS[:8]).encode(TEXTS, "passage")))
    finally:
        torch.set_num_threads(before)
    assert all(np.array_equal(result[0][0], exact) for exact, _ in result)
    assert all(np.array_equal(result[0][1], quantized) for _, quantized in result)


@pytest.mark.numeric
def test_int8_is_of_its_texts_and_says_what_it_is(model: Path) -> None:
    exact = fast(model)
    quantized = exact.quantized(TEXTS)
    a, b = exact.encode(TEXTS, "passage"), quantized.encode(TEXTS, "passage")
    assert not np.array_equal(a, b)
    # How near, the processor decides; the product searches by it, and float32 decides the lists.
    assert np.allclose(np.linalg.norm(b, axis=1), 1, atol=1e-5)
    cosines = b @ a.T
    assert cosines.diagonal().mean() > np.median(cosines)
    assert quantized.fingerprint()["computed"]["dtype"] == "int8"
    assert quantized.fingerprint() != exact.quantized(TEXTS[1:]).fingerprint()


def test_converted_once_and_again_when_damaged(
    model: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fast(model).encode(TEXTS[:3], "passage")
    made: list[convert.TorchModel] = []
    compare = convert._compare
    monkeypatch.setattr(convert, "_compare", lambda s, m: (made.append(s), compare(s, m)))
    assert np.array_equal(fast(model).encode(TEXTS[:3], "passage"), expected)
    assert not made
    for file in cache.rglob("float32.bin"):
        file.write_bytes(file.read_bytes()[:-1])
    assert np.array_equal(fast(model).encode(TEXTS[:3], "passage"), expected)
    assert len(made) == 1
    assert not list(cache.rglob(".new-*"))


def test_what_computes_something_else_is_refused(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(convert, "_TOLERANCE", 1e-12)
    with refused("unsupported", path=model, allowed=OTHERS):
        fast(model).encode(TEXTS[:1], "passage")
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_model_without_a_transformer_is_refused(tmp_path: Path, model: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    static = StaticEmbedding(tokenizer, embedding_dim=8)
    SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path / "static"))
    with refused("unsupported", path=tmp_path / "static", allowed=OTHERS):
        fast(tmp_path / "static").encode(TEXTS[:1], "passage")


def test_nobody_is_told(model: Path) -> None:
    fast(model).encode(TEXTS[:1], "passage")
    assert sys.modules["openvino_telemetry"] is None


def test_a_folder_that_cannot_be_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with refused("storage"):
        fast(model).encode(TEXTS[:1], "passage")


def test_the_folder_moves_and_the_key_stays(model: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(model, moved)
    assert fast(moved).source.key() == fast(model).source.key()
    weights = moved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert fast(moved).source.key() != fast(model).source.key()
