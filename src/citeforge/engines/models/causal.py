"""``--perplexity``: perplexity by any causal language model of transformers."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from citeforge.engines.llm import smollm
from citeforge.engines.model_files import Located, find_model, loading_errors
from citeforge.engines.models.compute import resolve_device
from citeforge.engines.parallel import batched, one_thread_each

_BATCH_TOKENS = 512
"""Most tokens of a batch, with padding: each has a logit for every word of the vocabulary."""


class CausalModel:
    """Computes perplexities by a causal language model in a local folder."""

    def __init__(
        self, name: str, locate: Callable[[], Located], manifest_name: str, device: str = "auto"
    ) -> None:
        """Store the settings; ``locate`` finds the language model's folder on first use.

        Args:
            name: name that the user gave, for errors.
            locate: finds its folder.
            manifest_name: name in manifests.
            device: device on which it computes.
        """
        self.name, self._locate, self.title, self._device = name, locate, manifest_name, device

    @cached_property
    def _located(self) -> Located:
        """Locate the model's folder and identity, on first use."""
        return self._locate()

    def identity(self) -> dict[str, Any]:
        """Describe the model for manifests: its name, and the hash or commit of its files."""
        return {"name": self.title, **self._located.identity}

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Load the language model and its tokenizer, on first use."""
        with loading_errors("is not a causal language model", self.name):
            return smollm.load_causal(self._located.folder, resolve_device(self._device))

    def compute(self, texts: Sequence[str]) -> list[float]:
        """Compute each text's perplexity over all tokens but the first, which is only context.

        The perplexity of a text with fewer than two tokens is infinite.
        """
        tokenizer, model = self._loaded
        limit = getattr(model.config, "max_position_embeddings", None) or 1024
        ids = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
        readable = sorted(
            (i for i, row in enumerate(ids) if len(row) > 1), key=lambda i: -len(ids[i])
        )
        size = max(1, _BATCH_TOKENS // max(map(len, ids), default=1))
        batches = batched([ids[i] for i in readable], size)
        found = chain.from_iterable(one_thread_each(self._perplexities, batches, model.device.type))
        perplexities = dict(zip(readable, found, strict=True))
        return [perplexities.get(i, math.inf) for i in range(len(ids))]

    def _perplexities(self, rows: Sequence[list[int]]) -> list[float]:
        """Compute the perplexity of each text, given as token ids, in one padded batch."""
        import torch

        model = self._loaded[1]
        # Padding comes after a row's tokens, so that none of them attends to it.
        width = max(map(len, rows))
        filled = [row + [0] * (width - len(row)) for row in rows]
        tokens = torch.tensor(filled, device=model.device)
        with torch.inference_mode():
            logits = model(input_ids=tokens, use_cache=False).logits[:, :-1].float()
        logs = logits.log_softmax(dim=2).gather(2, tokens[:, 1:, None])[:, :, 0].double()
        means = (log[: len(row) - 1].mean().item() for log, row in zip(logs, rows, strict=True))
        return [math.exp(-mean) for mean in means]


def make_causal_model(name: str, revision: str | None, device: str) -> CausalModel:
    """Make the perplexity model from a folder or Hub repository; it is loaded on first use."""
    locate = partial(find_model, name, revision, "--perplexity ngram")
    return CausalModel(name, locate, f"hf:{Path(name).name}", device)


def make_embedded_model(device: str) -> CausalModel:
    """Make the perplexity model of SmolLM2, the offline LLM; it is loaded on first use."""
    return CausalModel("offline", smollm.locate_model, "offline", device)
