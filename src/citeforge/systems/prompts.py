"""Prompts of systems: Jinja templates with hashes, cut to a model's context window."""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Template

from citeforge.builders.prompts import FOLDER, load_template, render_template
from citeforge.engines.model_files import loading_errors
from citeforge.schemas.errors import UsageError, require

T = TypeVar("T")
Count = Callable[[str], int]
"""A text to its number of tokens."""
_BYTES_PER_TOKEN = 3
_PER_MESSAGE = 8
"""Tokens that a chat format adds to a message."""


class Prompts:
    """Templates that a system uses; each is read once, and its hash recorded.

    Attributes:
        hashes: name to SHA-256 of every template that was used.
    """

    def __init__(
        self, replacements: Mapping[str, Path] | None = None, folder: Path | None = None
    ) -> None:
        """Set the folder of prompt templates, and files that replace some of them.

        Args:
            replacements: name of a template to the file that replaces it.
            folder: folder of the system's own templates; None for those of citeforge.
        """
        self.hashes: dict[str, str] = {}
        self._loaded: dict[str, Template] = {}
        self._replacements, self._folder = replacements or {}, folder or FOLDER

    def render(self, name: str, **values: Any) -> str:
        """Fill in a prompt template, by its name and values.

        Args:
            name: file of the system's folder or ``builders/templates``, without ``.j2``.
            values: values by the names that the template uses.

        Raises:
            InputError: it is no template, or uses a name without a value.
        """
        if name not in self._loaded:
            self._load(name)
        return render_template(self._loaded[name], ", ".join(values), **values)

    def _load(self, name: str) -> None:
        """Read a prompt template from its file, and record the file's SHA-256."""
        own = self._folder / f"{name}.j2"
        path = self._replacements.get(name) or (own if own.is_file() else FOLDER / f"{name}.j2")
        self._loaded[name] = load_template(str(path))
        self.hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()


class WindowError(UsageError):
    """Error of a model whose window is too small for the shortest possible prompt."""


class TokenWindow:
    """Context window of a model: the tokens that a prompt and its reply may have together."""

    def __init__(
        self, size: int | None, reply_tokens: int, counter_name: str, count_tokens: Count
    ) -> None:
        """Set the window's size, the tokens reserved for a reply, and the token counter.

        Args:
            size: tokens of the window; None for no limit.
            reply_tokens: tokens reserved for the reply.
            counter_name: name of the tokenizer, or of the estimate.
            count_tokens: counts the tokens of a text.
        """
        self.size, self.reply, self.counter, self._tokens_of = (
            size,
            reply_tokens,
            counter_name,
            count_tokens,
        )

    def _count(self, text: str) -> int:
        """Count the tokens of a prompt that is sent as one chat message."""
        return self._tokens_of(text) + _PER_MESSAGE

    def has_room_for(self, text: str) -> bool:
        """Whether a prompt and its reply fit into the context window."""
        return self.size is None or self._count(text) + self.reply <= self.size

    def fit(
        self, query: str, items: Sequence[T], render: Callable[[Sequence[T]], str]
    ) -> tuple[str, int]:
        """Fill in a prompt with as many items as fit the window: (prompt, number of items).

        Args:
            query: id of the query, for messages.
            items: passages or triples, which may be left out from the end.
            render: makes the prompt with some of the items.

        Returns:
            The prompt, and the number of items in it.

        Raises:
            WindowError: the prompt with one item (or without any, if there are none) is too long.
        """
        text = render(items)
        if self.has_room_for(text):
            return text, len(items)
        sizes = range(1, len(items))
        if n := bisect_left(
            sizes, True, key=lambda size: not self.has_room_for(render(items[:size]))
        ):
            return render(items[:n]), n
        least = render(items[:1])
        what = "one passage" if items else "no passages"
        raise WindowError(
            f"--window {self.size}: the prompt of query {query!r} with {what} takes "
            f"{self._count(least):,} tokens ({self.counter}) and --max-answer "
            f"{self.reply:,}; a model with a larger window, a smaller --max-answer, fewer "
            "demonstrations or a shorter instruction would do",
            code="too-long",
        )


def _estimate_tokens(text: str) -> int:
    """Estimate the number of tokens in a text: a third of its bytes, high for English."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def load_token_counter(model: str, fallback_name: str) -> Count:
    """Load a tokenizer from the Hub or a folder; return a function that counts tokens.

    Args:
        model: Hub id or folder.
        fallback_name: what is counted without a tokenizer, for the error.

    Raises:
        MissingExtraError: transformers is not installed.
        InputError: there is no such tokenizer.
    """
    require("transformers")
    from transformers import AutoTokenizer

    allowed = f"a Hub id, a folder with tokenizer.json, or no --tokenizer for {fallback_name}"
    with loading_errors("has no tokenizer that can be loaded", model, allowed, "--tokenizer"):
        tokenizer: Any = AutoTokenizer.from_pretrained(model)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def make_counter(tokenizer: str | None, llm: Any) -> tuple[str, Count]:
    """Choose a token counter (name, function): the named one, else the LLM's, else an estimate.

    Args:
        tokenizer: Hub id or folder of a tokenizer; None to take the model's own.
        llm: the LLM, which may count tokens itself.

    Returns:
        (name of the counter for messages, the function).

    Raises:
        InputError: there is no such tokenizer.
    """
    if tokenizer is not None:
        return tokenizer, load_token_counter(tokenizer, "an estimate")
    if hasattr(llm, "count_tokens"):
        return str(llm.identity()["name"]), llm.count_tokens
    return "estimate: a token for every 3 bytes", _estimate_tokens
