"""Perplexity: by hand for an endpoint, against transformers' own loss for a model."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.llm import smollm
from citeforge.engines.models.perplexity import perplexity_name
from citeforge.engines.running.names import make_perplexity
from citeforge.schemas.recipes.base import RunOptions
from conftest import refused
from servers.running import openai_server
from servers.tiny_nli import train_causal

SEEDS = ["The son of a painter was born in Rome.", "The son of a poet was born in London."]


def test_manifests_name_a_model_without_folder_or_owner() -> None:
    names = ("hf:gpt2", "hf:openai/gpt2", "hf:/models/gpt2", "ngram", "openai:gpt-4o")
    assert [perplexity_name(name) for name in names] == [*["hf:gpt2"] * 3, "ngram", "openai:gpt-4o"]


def perplexities(tokenizer: Any, model: Any, texts: Sequence[str]) -> list[object]:
    """Exponential of the loss that the model itself has; infinite for less than two tokens."""
    import torch

    values: list[object] = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"].long()
        if ids.shape[1] < 2:
            values.append(math.inf)
            continue
        with torch.inference_mode():
            loss = model(input_ids=ids, labels=ids).loss
        values.append(pytest.approx(math.exp(loss.item()), rel=1e-4))
    return values


@pytest.mark.numeric
def test_a_causal_model_gives_the_loss_of_transformers(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = train_causal(tmp_path, [s.rstrip(".") for s in SEEDS])
    texts = [SEEDS[0].rstrip("."), "son The painter of a was in born Rome", "The son"]
    result = make_perplexity(f"hf:{folder}", [], device="cpu").compute(texts)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    assert result == perplexities(tokenizer, model, texts)
    assert result[0] < result[1]


@pytest.mark.slow
def test_texts_that_begin_alike_have_the_loss_of_the_model() -> None:
    """In one call: texts with a common beginning, some of them equal, empty or without a second."""
    texts = ["Marie Curie was born in Warsaw.", "Marie Curie was born in Rome, it seems.", "A", "",
             "Marie Curie was born in Warsaw."]  # fmt: skip
    result = make_perplexity("offline", [], device="cpu").compute(texts)
    assert result == perplexities(*smollm.loaded(), texts)
    assert result[0] == result[-1]


@pytest.mark.slow
def test_paragraphs_that_begin_alike_have_the_loss_of_transformers() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    paragraph = "Marie Curie was a physicist who was born in Warsaw and worked in Paris. Her spouse"
    other = "Hans Albert Einstein was an engineer and the son of Albert Einstein, who taught in"
    texts = [
        f"{paragraph} was Pierre Curie.", f"{other} Bern.", f"{paragraph} had an award: the Nobel.",
        paragraph, f"{other} Zürich, Prague and Berlin before the war.", "Alone.",
    ]  # fmt: skip
    result = make_perplexity("offline", [], device="cpu").compute(texts)
    tokenizer = AutoTokenizer.from_pretrained(smollm.model_folder())
    model = AutoModelForCausalLM.from_pretrained(smollm.model_folder()).eval()
    assert result == perplexities(tokenizer, model, texts)


def test_an_endpoint_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with openai_server(tmp_path / "log") as server:
        model = make_perplexity(
            "openai:m", [], options=RunOptions(base_url=server.url, max_retries=1)
        )
        # The server gives each word minus its length; the first word has no log probability, and
        # the generated token (−99) does not count.
        assert model.compute(["one two seven", "a bb"]) == [
            pytest.approx(math.exp((3 + 5) / 2)),
            pytest.approx(math.exp(2 / 1)),
        ]
    with openai_server(tmp_path / "log2", no_logprobs=True) as server:
        model = make_perplexity(
            "openai:m", [], options=RunOptions(base_url=server.url, max_retries=1)
        )
        with refused("endpoint-failed"):
            model.compute(["one two"])
