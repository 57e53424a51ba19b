"""Any causal language model through transformers.

What all texts of a call begin with (a paragraph, and one candidate sentence after the other) is
read once; what follows is read behind the kept keys and values.
"""

import copy
import math
import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from citeforge.engines.models.compute import device_of
from citeforge.engines.models.files import Located, find_model, loading_errors
from citeforge.engines.models.parallel import one_thread_each
from citeforge.engines.models.perplexity import PerplexitySettings
from citeforge.plugins.offline_models import smollm

_BATCH_TOKENS = 512
"""Most tokens of a batch, padding included: each has a logit for every word of the vocabulary."""


class CausalModel:
    """A causal language model of this disk."""

    def __init__(
        self, name: str, locate: Callable[[], Located], title: str, device: str = "auto"
    ) -> None:
        """Take a model; it is looked for and loaded when it is first used.

        Args:
            name: as it was given, for errors.
            locate: finds its files.
            title: name in manifests.
            device: where it computes.
        """
        self.name, self._locate, self.title, self._device = name, locate, title, device

    @cached_property
    def _located(self) -> Located:
        return self._locate()

    def identity(self) -> dict[str, Any]:
        return {"name": self.title, **self._located.identity}

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        with loading_errors("is not a causal language model", self.name):
            return smollm.load_causal(self._located.folder, device_of(self._device))

    def of(self, texts: Sequence[str]) -> list[float]:
        """Perplexities; the first token of each text conditions and is not counted."""
        tokenizer, model = self._loaded
        limit = getattr(model.config, "max_position_embeddings", None) or 1024
        ids = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
        # It compares any sequences.
        head = os.path.commonprefix(ids) if len(ids) > 1 else []  # noqa: RUF071
        device = model.device.type
        ((before, cache),) = one_thread_each(self._read, [[head]], device)

        def log_probabilities(batch: list[list[int]]) -> list[float]:
            import torch

            kept = copy.deepcopy(cache)
            if kept is not None:
                kept.batch_repeat_interleave(len(batch))
            # What fills a row up stands behind all that is read there, so that nothing looks at it.
            rest = [text[len(head) :] for text in batch]
            width = max(map(len, rest))
            rows, _ = self._read([one + [0] * (width - len(one)) for one in rest], kept)
            means = []
            for text, row in zip(batch, rows, strict=True):
                logits = torch.cat([before[0], row])[: max(0, len(text) - 1)]
                chosen = logits.gather(1, torch.tensor([text[1:]], device=logits.device).T.long())
                means.append((chosen[:, 0] - logits.logsumexp(dim=1)).double().mean().item())
            return means

        size = max(1, _BATCH_TOKENS // max(1, max(map(len, ids), default=0) - len(head)))
        batches = [ids[at : at + size] for at in range(0, len(ids), size)]
        means = chain.from_iterable(one_thread_each(log_probabilities, batches, device))
        return [math.inf if math.isnan(mean) else math.exp(-mean) for mean in means]

    def _read(self, rows: list[list[int]], cache: Any = None) -> tuple[Any, Any]:
        """Logits of what follows each token, shape (rows, tokens, vocabulary), and what is kept."""
        import torch

        _, model = self._loaded
        tokens = torch.tensor(rows, dtype=torch.long, device=model.device)
        if not tokens.numel():
            return torch.empty((*tokens.shape, model.config.vocab_size), device=model.device), cache
        with torch.inference_mode():
            out = model(input_ids=tokens, past_key_values=cache, use_cache=True)
        return out.logits.float(), out.past_key_values


def hub_or_folder(name: str, settings: PerplexitySettings) -> CausalModel:
    """A model folder, or a Hub repository."""
    locate = partial(find_model, name, settings.revision, "--perplexity ngram")
    return CausalModel(name, locate, f"hf:{Path(name).name}", settings.device)


def offline_model(settings: PerplexitySettings) -> CausalModel:
    """The embedded LLM."""
    return CausalModel("offline", smollm.located, "offline", settings.device)
