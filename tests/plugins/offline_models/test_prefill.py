"""Reading ahead and packed weights: the same numbers as transformers and torch without them."""

from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from citeforge.plugins.offline_models.packed import pack_linears
from citeforge.plugins.offline_models.prefill import prefill_many

pytestmark = pytest.mark.numeric
SHARED = list(range(3, 40))
TEXTS = [[*SHARED, 7, 8, 9, 10], [*SHARED, 11], [*SHARED, 12, 5, 13]]


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def logits(model: Any, texts: list[list[int]]) -> torch.Tensor:
    """Of what follows each text, all but whose last token were read ahead."""
    width = max(map(len, texts))
    mask = torch.tensor([[0] * (width - len(t)) + [1] * len(t) for t in texts])
    with torch.inference_mode():
        result: torch.Tensor = model(
            input_ids=torch.tensor([[t[-1]] for t in texts]),
            attention_mask=mask,
            position_ids=torch.tensor([[len(t) - 1] for t in texts]),
            past_key_values=prefill_many(model, [t[:-1] for t in texts]),
        ).logits[:, -1]
    return result


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        [t[::-1] for t in TEXTS],
        TEXTS[:1],
        [[*SHARED, 7], [*SHARED, 7, 8]],  # one is the beginning of the other
    ],
)
def test_what_was_read_ahead_counts_like_what_is_read_now(
    model: Any, texts: list[list[int]]
) -> None:
    with torch.inference_mode():
        alone = torch.cat([model(torch.tensor([t])).logits[:, -1] for t in texts])
    assert torch.allclose(logits(model, texts), alone, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_packed_layers_compute_what_linear_layers_do(bias: bool) -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(576, 192, bias=bias), torch.nn.GELU())
    rows = torch.randn(2, 5, 576)
    with torch.inference_mode():
        expected = plain(rows)
        pack_linears(plain)
        assert type(plain[0]) is not torch.nn.Linear or not torch.backends.mkldnn.is_available()
        assert torch.allclose(plain(rows), expected, atol=1e-5)
