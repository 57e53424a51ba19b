"""How to reach an endpoint. Keys come from the environment only, and are not shown."""

import os
import re
from dataclasses import dataclass

from citeforge.engines.llm.records import Price

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"
THINKING_TOKENS = 4096
"""Room for thoughts of a judge or a writer: enough for most that think, and a bound for all."""
MARK = "[key]"
_LEAST_KEY_LENGTH = 12
"""Keys that are shorter ("none", "EMPTY", "ollama") are words that local servers are given."""
_LONGEST_MESSAGE = 300
BATCH_PRICE = 0.5
"""Share of the price that a request of a batch costs, as OpenAI declares it."""


@dataclass(frozen=True)
class ClientOptions:
    """How to talk to an endpoint.

    Attributes:
        base_url: endpoint; None for ``OPENAI_BASE_URL`` or OpenAI's own.
        concurrency: requests in flight.
        timeout: seconds before a silent connection counts as broken; a reply that keeps coming
            has five times as long.
        max_retries: further tries after 408, 409, 429, 5xx and broken connections.
        requests_per_minute: most that are sent; None for as many as the endpoint takes.
        tokens_per_minute: the same for tokens.
        price: to show and limit costs.
        max_cost: stop before the total of all runs passes this.
        thinking_tokens: room for thoughts that replies of judges and writers get beside their own
            limit.
        reasoning_effort: sent with every chat request; None to leave it out.
        batch: submit chat requests as batches of the provider.
    """

    base_url: str | None = None
    concurrency: int = 16
    timeout: float = 120.0
    max_retries: int = 12
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    max_cost: float | None = None
    thinking_tokens: int = THINKING_TOKENS
    reasoning_effort: str | None = None
    batch: bool = False

    @property
    def endpoint(self) -> str:
        """The address that is asked, without user, password, query and key: it may be shown."""
        url = self.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL
        return without_key(public_url(url).rstrip("/"))

    @property
    def deadline(self) -> float:
        """Seconds until a whole reply must be there."""
        return 5 * self.timeout


def public_url(url: str) -> str:
    """Remove user, password, query and fragment from a URL."""
    scheme, there, rest = url.partition("://")
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in address:
        return "the endpoint"  # a password with such a mark, or a query with an address
    return f"{scheme}{there}{address.rpartition('@')[2]}"


def without_key(text: str) -> str:
    """Replace the key by ``[key]``. Keys consist of letters, digits, ``-`` and ``_``."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    return text if len(key) < _LEAST_KEY_LENGTH else text.replace(key, MARK)


def one_line(message: str) -> str:
    """A message to show: without the key, on one line, and cut."""
    return " ".join(without_key(message).split())[:_LONGEST_MESSAGE]
