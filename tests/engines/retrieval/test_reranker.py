"""Rerankers beside the libraries that their models come from."""

import random
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from citeforge.engines.retrieval import reranker
from citeforge.engines.retrieval.reranker import MonoT5, make_reranker
from conftest import refused
from servers import tiny_rerankers as tiny
from servers.tiny_nli import KEYS, WORDS

# Imported by tests alone: every worker collects this file, also one that runs no test of it.
pytestmark = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs sentence_transformers"
)


def pairs(n: int, longest: int = 20) -> list[tuple[str, str]]:
    rng = random.Random(1)
    return [
        (" ".join(rng.choices(KEYS, k=2)), " ".join(rng.choices(WORDS, k=rng.randint(1, longest))))
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.cross_encoder(tmp_path_factory.mktemp("cross"), [*KEYS, *WORDS])


@pytest.fixture(scope="module")
def mono(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.mono_t5(tmp_path_factory.mktemp("mono"))


@pytest.mark.numeric
def test_a_cross_encoder_scores_as_its_own_library(cross: Path) -> None:
    from sentence_transformers import CrossEncoder

    asked = pairs(70)
    expected = CrossEncoder(str(cross), device="cpu").predict(asked)
    result = make_reranker(str(cross), "cpu")
    assert result.scores(asked) == pytest.approx([float(s) for s in expected], abs=1e-5)
    assert len(set(result.scores(asked))) > 60
    assert result.scores([]) == []
    assert result.identity()["kind"] == "cross-encoder"


def test_a_monot5_scores_by_its_first_token(mono: Path) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(mono)
    model = AutoModelForSeq2SeqLM.from_pretrained(mono)
    no, yes = (tokenizer.get_vocab()[w] for w in ("▁false", "▁true"))
    asked = pairs(40)
    expected = []
    for query, passage in asked:
        given = tokenizer(f"Query: {query} Document: {passage} Relevant:", return_tensors="pt")
        logits = model.generate(
            **given, max_new_tokens=1, do_sample=False, output_logits=True,
            return_dict_in_generate=True,
        ).logits[0][0]  # fmt: skip
        expected.append(float(torch.log_softmax(logits[[no, yes]], 0)[1]))
    result = make_reranker(str(mono), "cpu")
    assert result.scores(asked) == pytest.approx(expected, abs=1e-4)
    assert max(result.scores(asked)) <= 0
    assert result.identity()["kind"] == "monot5"


@pytest.mark.slow
def test_a_monot5_that_has_learnt_puts_relevant_passages_first(tmp_path: Path) -> None:
    rng = random.Random(9)
    rows = [tiny.drawn(rng) for _ in range(60)]
    scores = make_reranker(str(tiny.mono_t5(tmp_path, steps=150)), "cpu").scores(
        [(q, d) for q, d, _ in rows]
    )
    good = [s for s, (*_, relevant) in zip(scores, rows, strict=True) if relevant]
    bad = [s for s, (*_, relevant) in zip(scores, rows, strict=True) if not relevant]
    ahead = sum(g > b for g in good for b in bad) / (len(good) * len(bad))
    assert ahead > 0.9


def test_a_long_passage_is_cut_before_the_last_word(mono: Path) -> None:
    model = make_reranker(str(mono), "cpu")
    assert isinstance(model, MonoT5)
    long = " ".join(["w1"] * 600)
    tokens = model._tokenise([("red", long), ("red", "w1 w2")])
    vocabulary = model._tokeniser.get_vocab()
    # Query: red Document: <505 words> Relevant: </s>
    assert tokens["input_ids"].shape == (2, 512)
    row = tokens["input_ids"][0].tolist()
    assert row[:3] == [vocabulary[w] for w in ("Query:", "red", "Document:")]
    assert row[3:-2] == [vocabulary["w1"]] * (512 - 3 - 2)
    assert row[-2:] == [vocabulary["Relevant:"], vocabulary["</s>"]]
    assert tokens["attention_mask"].sum(1).tolist() == [512, 7]


def test_models_that_are_none(cross: Path, mono: Path, tmp_path: Path) -> None:
    two = tiny.cross_encoder(tmp_path / "two", KEYS, labels=2)
    with refused("bad-model", path=two):
        make_reranker(str(two), "cpu").scores([("red", "w1")])
    mute = tiny.mono_t5(tmp_path / "mute", words=KEYS)
    with refused("bad-model", path=mute) as caught:
        make_reranker(str(mute), "cpu").scores([("red", "w1")])
    assert "has no token '▁false'" in str(caught.value)
    for file in mute.glob("tokenizer*"):
        file.unlink()
    with refused("bad-model", path=mute):
        make_reranker(str(mute), "cpu").scores([("red", "w1")])
    (tmp_path / "empty").mkdir()
    with refused("bad-model", path=tmp_path / "empty"):
        make_reranker(str(tmp_path / "empty"), "cpu")
    broken = tmp_path / "broken"
    shutil.copytree(cross, broken)
    (broken / "config.json").write_text("{}")
    with refused("bad-model", path=broken):
        make_reranker(str(broken), "cpu")


@pytest.mark.numeric
def test_every_pair_has_its_own_score_whatever_the_order(
    cross: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranker, "BATCH", 1)
    asked = pairs(12)
    model = make_reranker(str(cross), "cpu")
    alone = [model.scores([pair])[0] for pair in asked]
    assert model.scores(asked) == alone
    assert model.scores(asked[::-1]) == alone[::-1]
