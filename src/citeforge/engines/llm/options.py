"""Addresses and keys of endpoints. Keys come from the environment only, and are not shown."""

import os
import re

from citeforge.schemas.recipes.base import RunOptions

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"
MARK = "[key]"
_LEAST_KEY_LENGTH = 12
"""Keys that are shorter ("none", "EMPTY", "ollama") are words that local servers are given."""
_LONGEST_MESSAGE = 300
BATCH_PRICE = 0.5
"""Share of the price that a request of a batch costs, as OpenAI declares it."""


def api_key() -> str:
    """Read the API key from the environment; empty without one."""
    return os.environ.get(KEY_VARIABLE, "").strip()


def base_url(options: RunOptions) -> str | None:
    """Get the endpoint's address from the options or the environment; None for OpenAI's own."""
    return options.base_url or os.environ.get(URL_VARIABLE)


def shown_address(options: RunOptions) -> str:
    """Return the endpoint's address without user, password, query and key."""
    return without_key(public_url(base_url(options) or OPENAI_URL).rstrip("/"))


def public_url(url: str) -> str:
    """Remove user, password, query and fragment from a URL."""
    scheme, there, rest = url.partition("://")
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in address:
        return "the endpoint"  # a password with such a mark, or a query with an address
    return f"{scheme}{there}{address.rpartition('@')[2]}"


def without_key(text: str) -> str:
    """Replace the key by ``[key]``. Keys consist of letters, digits, ``-`` and ``_``."""
    key = api_key()
    return text if len(key) < _LEAST_KEY_LENGTH else text.replace(key, MARK)


def one_line(message: str) -> str:
    """Shorten a message to one line without the key."""
    return " ".join(without_key(message).split())[:_LONGEST_MESSAGE]
