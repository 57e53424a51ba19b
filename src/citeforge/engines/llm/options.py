"""How to reach an endpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from citeforge.engines.llm.rate import RetryPolicy
from citeforge.engines.llm.records import Price
from citeforge.schemas.errors import InputError

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class ClientOptions:
    """How to talk to an endpoint; nothing here changes an answer.

    Attributes:
        base_url: endpoint; None for ``OPENAI_BASE_URL`` or OpenAI's own.
        concurrency: requests in flight.
        timeout: seconds before a silent connection counts as broken.
        retry: how often and how long to try again.
        requests_per_minute: rate to start with; None to learn it from 429s.
        tokens_per_minute: likewise for tokens.
        price: to show and limit costs.
        max_cost: stop before the total of all runs passes this.
        give_up_after: stop when so many calls have ended and all of them failed.
    """

    base_url: str | None = None
    concurrency: int = 16
    timeout: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    max_cost: float | None = None
    give_up_after: int = 10

    @property
    def endpoint(self) -> str:
        """The address that is asked, without user, password and query: it may be shown and kept."""
        url = self.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def make_client(options: ClientOptions) -> Any:
    """An ``AsyncOpenAI`` whose key comes from the environment only.

    Raises:
        InputError: no key for OpenAI's own endpoint.
    """
    from openai import AsyncOpenAI

    url = options.base_url or os.environ.get(URL_VARIABLE)
    key = os.environ.get(KEY_VARIABLE)
    if not key and not url:
        raise InputError(
            f"{KEY_VARIABLE} is not set",
            allowed="set it, name a local endpoint with --base-url, or use --llm template",
        )
    # Retries are ours: the SDK's know nothing of the rate, the budget and the store.
    return AsyncOpenAI(api_key=key or "none", base_url=url, max_retries=0, timeout=options.timeout)
