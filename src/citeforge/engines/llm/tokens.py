"""How long prompts are, in tokens of the model that reads them."""

from __future__ import annotations

import math
from typing import Any, Protocol

from citeforge.engines.models.files import loading_errors
from citeforge.schemas.extras import require

_BYTES_PER_TOKEN = 3
_PER_MESSAGE = 8


class Counter(Protocol):
    """Measures texts.

    Attributes:
        name: what is said of it beside counts.
    """

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int:
        """Tokens of a text, those around a message included."""
        ...


class TokenEstimate:
    """For models whose tokenizer is not at hand: a token for every three bytes, on the safe side
    of the four characters that English words usually take."""

    name = "estimate: a token for every 3 bytes"

    def count(self, text: str) -> int:
        size = len(text.encode("utf-8", "replace"))
        return math.ceil(size / _BYTES_PER_TOKEN) + _PER_MESSAGE


class HfCounter:
    """A tokenizer of the Hub, or of a folder."""

    def __init__(self, model: str) -> None:
        """Load a tokenizer.

        Raises:
            MissingExtraError: transformers is not installed.
            InputError: there is no such tokenizer here.
        """
        require("transformers")
        from transformers import AutoTokenizer

        self.name = model
        allowed = "a Hub id, a folder with tokenizer.json, or no --tokenizer for an estimate"
        with loading_errors("has no tokenizer that can be loaded", model, allowed, "--tokenizer"):
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model)

    def count(self, text: str) -> int:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return len(ids) + _PER_MESSAGE


class _OfModel:
    """What the model itself counts."""

    def __init__(self, llm: Any) -> None:
        self.name = str(llm.identity()["name"])
        self._llm = llm

    def count(self, text: str) -> int:
        return int(self._llm.count_tokens(text)) + _PER_MESSAGE


def make_counter(tokenizer: str | None, llm: object) -> Counter:
    """The named tokenizer; else the model's own (``count_tokens``); else an estimate.

    Raises:
        InputError: there is no such tokenizer.
    """
    if tokenizer is not None:
        return HfCounter(tokenizer)
    return _OfModel(llm) if hasattr(llm, "count_tokens") else TokenEstimate()
