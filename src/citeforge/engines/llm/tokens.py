"""How long prompts are, in tokens of the model that reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from citeforge.engines.models.files import loading_errors
from citeforge.schemas.extras import require

Count = Callable[[str], int]
"""A text to its tokens."""

_BYTES_PER_TOKEN = 3


def _estimate(text: str) -> int:
    """A token for every three bytes, on the safe side of the four characters that English words
    usually take."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def _hub_tokenizer(model: str) -> Count:
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


def make_counter(tokenizer: str | None, llm: Any) -> tuple[str, Count]:
    """The named tokenizer; else the model's own (``count_tokens``); else an estimate.

    Returns:
        What is said of it beside counts, and what counts.

    Raises:
        InputError: there is no such tokenizer.
    """
    if tokenizer is not None:
        return tokenizer, _hub_tokenizer(tokenizer)
    if hasattr(llm, "count_tokens"):
        return str(llm.identity()["name"]), llm.count_tokens
    return "estimate: a token for every 3 bytes", _estimate
