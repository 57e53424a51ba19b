"""The encoder of all-MiniLM-L6-v2, by torch and tokenizers alone.

A build with this one small model would spend most of its seconds on importing the libraries that
load any model. The operations are those of ``sentence_transformers``, in its order, so that the
vectors are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor

LAYERS = 6
HEADS = 12
MAX_TOKENS = 256
LAYER_NORM_EPSILON = 1e-12


class MiniLmEncoder:
    """Texts to token ids, and token ids to mean vectors; called as a sentence-transformers model.

    Attributes:
        weights: name to tensor, as in ``model.safetensors``.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        self.weights = load_file(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def to(self, placement: torch.dtype | str) -> MiniLmEncoder:
        """Convert the weights to a type, or move them to a device; the same encoder."""
        self.weights = {
            name: tensor.to(placement) if tensor.is_floating_point() else tensor
            for name, tensor in self.weights.items()
        }
        return self

    def eval(self) -> MiniLmEncoder:
        """The same encoder: it does nothing else in training."""
        return self

    def preprocess(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Token ids and attention mask of a batch, as wide as its longest text."""
        import torch

        encodings = self._tokenizer.encode_batch(list(texts))
        return {
            "input_ids": torch.tensor([encoding.ids for encoding in encodings]),
            "attention_mask": torch.tensor([encoding.attention_mask for encoding in encodings]),
        }

    def __call__(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Unit vectors of the texts, by the mean of their tokens, under ``sentence_embedding``."""
        import torch
        from torch.nn.functional import normalize

        present = features["attention_mask"]
        # Without padding there is no mask: the attention then runs another, faster kernel.
        mask = None if present.all() else present.bool()[:, None, None, :]
        hidden = self._embed_tokens(features["input_ids"])
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, mask)
        weights = present.unsqueeze(-1).to(hidden.dtype)
        wide = torch.promote_types(hidden.dtype, torch.float32)
        total = (hidden * weights).sum(dim=1, dtype=wide)
        count = weights.sum(dim=1, dtype=wide).clamp(min=1e-9)
        return {"sentence_embedding": normalize((total / count).to(hidden.dtype), dim=1)}

    def _embed_tokens(self, ids: Tensor) -> Tensor:
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        types = self.weights["embeddings.token_type_embeddings.weight"][0]
        places = self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        return self._norm("embeddings.LayerNorm", words + types + places)

    def _layer(self, name: str, hidden: Tensor, mask: Tensor | None) -> Tensor:
        from torch.nn.functional import gelu

        attended = self._linear(f"{name}.attention.output.dense", self._attend(name, hidden, mask))
        hidden = self._norm(f"{name}.attention.output.LayerNorm", attended + hidden)
        inner = gelu(self._linear(f"{name}.intermediate.dense", hidden))
        outer = self._linear(f"{name}.output.dense", inner)
        return self._norm(f"{name}.output.LayerNorm", outer + hidden)

    def _attend(self, name: str, hidden: Tensor, mask: Tensor | None) -> Tensor:
        from torch.nn.functional import scaled_dot_product_attention

        rows, width, size = hidden.shape
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", hidden)
            .view(rows, width, HEADS, size // HEADS)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        if mask is not None:
            mask = mask.expand(rows, 1, width, width)
        attended: Tensor = scaled_dot_product_attention(query, key, value, mask)
        return attended.transpose(1, 2).reshape(rows, width, size)

    def _linear(self, name: str, values: Tensor) -> Tensor:
        from torch.nn.functional import linear

        return linear(values, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, name: str, values: Tensor) -> Tensor:
        from torch.nn.functional import layer_norm

        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return layer_norm(values, weight.shape, weight, bias, LAYER_NORM_EPSILON)


def load_minilm(folder: Path, device: str) -> Any:
    """The encoder of a folder with all-MiniLM-L6-v2, on a device."""
    return MiniLmEncoder(folder).to(device)
