"""How long prompts are, in tokens of the model that reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from citeforge.engines.models.files import loading_errors
from citeforge.schemas.extras import require

_BYTES_PER_TOKEN = 3
_PER_MESSAGE = 8


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of texts.

    Attributes:
        name: what is said of it beside counts.
        tokens_of: how many tokens a text has.
    """

    name: str
    tokens_of: Callable[[str], int]

    def count(self, text: str) -> int:
        """Tokens of a text, those around a message included."""
        return self.tokens_of(text) + _PER_MESSAGE


def _estimate(text: str) -> int:
    """A token for every three bytes, on the safe side of the four characters that English words
    usually take."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def _hub_tokenizer(model: str) -> Callable[[str], int]:
    """A tokenizer of the Hub, or of a folder.

    Raises:
        MissingExtraError: transformers is not installed.
        InputError: there is no such tokenizer here.
    """
    require("transformers")
    from transformers import AutoTokenizer

    allowed = "a Hub id, a folder with tokenizer.json, or no --tokenizer for an estimate"
    with loading_errors("has no tokenizer that can be loaded", model, allowed, "--tokenizer"):
        tokenizer: Any = AutoTokenizer.from_pretrained(model)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def make_counter(tokenizer: str | None, llm: Any) -> TokenCounter:
    """The named tokenizer; else the model's own (``count_tokens``); else an estimate.

    Raises:
        InputError: there is no such tokenizer.
    """
    if tokenizer is not None:
        return TokenCounter(tokenizer, _hub_tokenizer(tokenizer))
    if hasattr(llm, "count_tokens"):
        return TokenCounter(str(llm.identity()["name"]), llm.count_tokens)
    return TokenCounter("estimate: a token for every 3 bytes", _estimate)
