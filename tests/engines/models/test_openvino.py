"""Models computed by OpenVINO give what torch gives, and what sentence-transformers gives."""

import random
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.engines.judge.records import CLOSE_CALL, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.model_files import find_model
from citeforge.engines.models import openvino
from citeforge.engines.retrieval.reranker import CrossEncoderReranker
from conftest import refused
from servers import tiny_rerankers
from servers.tiny_embedder import make_embedder_folder, passages
from servers.tiny_nli import KEYS, WORDS, cpu_judge, make_pair, make_tokenizer

# Not importorskip: openvino is imported by our own code, which keeps it from reporting.
if not all(map(find_spec, ("openvino", "sentence_transformers"))):
    pytest.skip("without the extra fast", allow_module_level=True)
TEXTS = passages(30)
OTHERWISE = "a run without --runtime openvino"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_embedder_folder(tmp_path_factory.mktemp("embedder"))


def fast(folder: Path) -> Any:
    """A sentence-transformers model whose transformer OpenVINO computes."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    example = model.preprocess(["A text.", "Another text, which is longer."])
    model[0].model = openvino.compile_module(folder, model[0].model, example)
    return model


def vectors(model: Any) -> Any:
    return model.encode(TEXTS, normalize_embeddings=True)


@pytest.mark.numeric
def test_float32_is_what_the_library_gives(model: Path, tmp_path: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    peer = SentenceTransformer(str(model), device="cpu")
    expected = vectors(peer)
    assert np.abs(vectors(fast(model)) - expected).max() < 1e-5
    assert np.abs(expected[0] - expected[1]).max() > 0.05
    # Of weights in bfloat16, too.
    peer.to(torch.bfloat16).save(str(tmp_path / "half"))
    result = vectors(fast(tmp_path / "half"))
    assert np.abs(result - vectors(peer.float())).max() < 1e-5
    assert sys.modules["openvino_telemetry"] is None


@pytest.mark.slow
@pytest.mark.numeric
def test_vectors_depend_on_no_threads(model: Path) -> None:
    import torch

    before = torch.get_num_threads()
    result = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            result.append(vectors(fast(model)))
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*result)


def test_what_computes_something_else_is_refused(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino, "_TOLERANCE", 1e-12)
    with refused("unsupported", path=model, allowed=OTHERWISE):
        fast(model)


def test_what_cannot_be_converted_is_refused(model: Path) -> None:
    import torch

    class Broken(torch.nn.Module):
        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return torch.linalg.eigvals(input_ids.float()).real

    with refused("unsupported", allowed=OTHERWISE):
        openvino.compile_module("broken", Broken(), {"input_ids": torch.ones(2, 2).long()})


def test_a_model_that_returns_more_than_tensors_is_refused() -> None:
    import torch
    from transformers import GPT2Config, GPT2Model

    model = GPT2Model(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=9, n_positions=8))
    ids = torch.ones(2, 3).long()
    with refused("unsupported", allowed=OTHERWISE):
        openvino.compile_module("cached", model, {"input_ids": ids, "attention_mask": ids})


def random_classifier(folder: Path) -> Path:
    """A BERT whose weights are spread widely, so that it gives both verdicts."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    make_tokenizer(folder, pair=True)
    config = BertConfig(
        vocab_size=7 + len(KEYS) + len(WORDS), hidden_size=32, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=64, max_position_embeddings=64, pad_token_id=0,
        initializer_range=0.5, id2label={0: "contradiction", 1: "entailment"},
    )  # fmt: skip
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


@pytest.mark.numeric
def test_a_classifier_gives_torchs_verdicts_and_float64_decides_near_ties(tmp_path: Path) -> None:
    folder = random_classifier(tmp_path)
    rng = random.Random(3)
    asked = [Pair(*make_pair(rng, rng.randint(2, 30))[:2]) for _ in range(60)]
    judges = [cpu_judge(folder, runtime=r) for r in ("torch", "openvino")]
    torch, fast = (JudgeSession(judge).ask(asked) for judge in judges)
    assert {v.entailed for v in torch.values() if isinstance(v, Verdict)} == {True, False}
    for pair in asked:
        one, other = torch[pair], fast[pair]
        assert isinstance(one, Verdict)
        assert isinstance(other, Verdict)
        assert one.entailed == other.entailed
        assert one.margin == pytest.approx(other.margin, abs=1e-5)
    assert judges[1].identity()["engine"].startswith("openvino ")
    assert judges[0].identity() != judges[1].identity()
    # A threshold on a pair's own probability: its margin is nothing, and torch decides it.
    tie = asked[0]
    own = torch[tie].margin + 0.5  # type: ignore[union-attr, operator]
    judge = cpu_judge(folder, batch_size=4, runtime="openvino", threshold=own)
    result = JudgeSession(judge).ask(asked[:8])
    assert abs(result[tie].margin) < CLOSE_CALL["float32"]  # type: ignore[union-attr, arg-type]
    assert judge._finer._model.dtype == "float64"
    assert judge._finer._model.engine is None


@pytest.mark.numeric
def test_a_cross_encoder_scores_as_its_own_library(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    folder = tiny_rerankers.cross_encoder(tmp_path, [*KEYS, *WORDS])
    rng = random.Random(1)
    asked = [
        (" ".join(rng.choices(KEYS, k=2)), " ".join(rng.choices(WORDS, k=rng.randint(1, 20))))
        for _ in range(40)
    ]
    expected = [float(s) for s in CrossEncoder(str(folder), device="cpu").predict(asked)]
    result = CrossEncoderReranker(str(folder), find_model(str(folder), None, ""), "cpu", "openvino")
    assert result.scores(asked) == pytest.approx(expected, abs=1e-5)
    assert len(set(expected)) > 30
    assert result.identity()["engine"].startswith("openvino ")


def test_a_t5_and_a_gpu_are_refused(tmp_path: Path) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    make_tokenizer(tmp_path, pair=False)
    config = T5Config(
        vocab_size=60, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2,
        decoder_start_token_id=0,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    with refused("conflicting-options") as caught:
        cpu_judge(tmp_path, "true-t5", runtime="openvino").identity()
    assert "runs classifiers, not seq2seq" in str(caught.value)
    with refused("conflicting-options"):  # a GPU
        CrossEncoderReranker("x", find_model(str(tmp_path), None, ""), "cuda", "openvino")
