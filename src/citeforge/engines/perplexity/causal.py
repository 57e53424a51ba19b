"""Any causal language model through transformers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from citeforge.engines.llm import smollm
from citeforge.engines.models import Located, find_model
from citeforge.engines.parallel import one_thread_each
from citeforge.schemas.errors import InputError

_BATCH = 8


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
    def _loaded(self) -> tuple[Any, Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        device = self._device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(self._located.folder)
            model: Any = AutoModelForCausalLM.from_pretrained(self._located.folder)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).splitlines()[0][:160]
            raise InputError(f"is no causal language model ({reason})", path=self.name) from error
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        tokenizer.padding_side = "right"
        return tokenizer, model.to(device).eval(), torch.device(device)

    def of(self, texts: Sequence[str]) -> list[float]:
        """Perplexities; the first token of each text conditions and is not counted."""
        tokenizer, model, device = self._loaded
        limit = getattr(model.config, "max_position_embeddings", None) or 1024
        encoded = (
            tokenizer(
                list(texts[start : start + _BATCH]),
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=limit,
            )
            for start in range(0, len(texts), _BATCH)
        )
        return [p for found in one_thread_each(self._batch, encoded, device.type) for p in found]

    def _batch(self, encoded: Any) -> list[float]:
        """Perplexities of one tokenised batch."""
        import torch

        _, model, device = self._loaded
        ids, mask = encoded["input_ids"].to(device), encoded["attention_mask"].to(device)
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
        logs = torch.log_softmax(logits, dim=-1).gather(2, ids[:, 1:, None]).squeeze(2)
        counted = mask[:, 1:].to(torch.float64)
        totals = (logs.to(torch.float64) * counted).sum(1)
        sizes = counted.sum(1)
        return [
            math.exp(-t / n) if n else math.inf
            for t, n in zip(totals.tolist(), sizes.tolist(), strict=True)
        ]


def hub_or_folder(name: str, device: str = "auto", revision: str | None = None) -> CausalModel:
    """A model folder, or a Hub repository."""
    locate = partial(find_model, name, revision, "--perplexity ngram")
    return CausalModel(name, locate, f"hf:{Path(name).name}", device)


def offline(device: str = "auto") -> CausalModel:
    """The embedded LLM."""
    return CausalModel("offline", smollm.located, "offline", device)
