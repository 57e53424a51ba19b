"""How to reach an endpoint."""

import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from citeforge.engines.llm.calls.bounds import bounded_client
from citeforge.engines.llm.calls.rate import RetryPolicy
from citeforge.engines.llm.calls.secrets import Redactor, public_url
from citeforge.engines.llm.records import Price
from citeforge.engines.runner import LOCAL, Runner
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
        timeout: seconds before a silent connection counts as broken; a reply that keeps coming
            has five times as long.
        retry: how often and how long to try again.
        requests_per_minute: most that are sent; None for as many as the endpoint takes.
        tokens_per_minute: likewise for tokens.
        price: to show and limit costs.
        max_cost: stop before the total of all runs passes this.
        give_up_after: stop when so many calls have ended and all of them failed.
        runner: what makes the calls.
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
    runner: Runner = LOCAL

    @property
    def endpoint(self) -> str:
        """The address that is asked, without user, password, query and key: it may be shown."""
        url = self.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL
        return Redactor(os.environ.get(KEY_VARIABLE, "")).text(public_url(url).rstrip("/"))

    @property
    def deadline(self) -> float:
        """Seconds until a whole reply must be there."""
        return 5 * self.timeout


def make_client(options: ClientOptions) -> Any:
    """An ``AsyncOpenAI`` whose key comes from the environment only.

    Raises:
        InputError: no key for OpenAI's own endpoint.
    """
    from openai import AsyncOpenAI

    url = options.base_url or os.environ.get(URL_VARIABLE)
    key = (os.environ.get(KEY_VARIABLE) or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            "holds characters that no key has", path=KEY_VARIABLE, allowed="set it to the key alone"
        )
    if not key and not url:
        raise InputError(
            f"{KEY_VARIABLE} is not set",
            allowed="set it, or name a local endpoint with --base-url; `citeforge doctor` tells "
            "what needs neither",
        )
    if url and not _is_http(url):
        raise InputError(  # without the URL, which may hold a password or a key
            "is no http(s) URL of an endpoint",
            path="--base-url" if options.base_url else URL_VARIABLE,
            allowed="e.g. http://localhost:8000/v1",
        )
    # Retries are ours: the SDK's know nothing of the rate, the budget and the store.
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=0,
        timeout=options.timeout,
        http_client=bounded_client(options.timeout, options.runner.transport(options.concurrency)),
    )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
