"""How to reach an endpoint, and a client whose replies end: no more than so many bytes are read."""

import os
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from citeforge.engines.llm.records import Price
from citeforge.engines.llm.secrets import Redactor, public_url
from citeforge.engines.runner import LOCAL, Runner
from citeforge.schemas.errors import InputError

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"
MOST_BYTES = 32 << 20
"""More than any chat, completion or batch of embeddings that is asked for here."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to try again.

    Attributes:
        attempts: tries of one request that ends in 408, 5xx, or a broken or hanging connection.
        throttled_attempts: tries of one request that ends in 429.
        base: first pause, in seconds; doubled each time, with full jitter.
        cap: longest pause without a Retry-After.
        longest_wait: longest Retry-After that is waited for.
        first_attempts: tries of a connection to an endpoint that nothing was ever heard of: an
            address that is wrong stays wrong.
    """

    attempts: int = 8
    throttled_attempts: int = 40
    base: float = 0.5
    cap: float = 30.0
    longest_wait: float = 900.0
    first_attempts: int = 3

    def pause(self, attempt: int) -> float:
        """Seconds before try ``attempt + 1``, counted from 1."""
        # Jitter only has to differ between clients; it decides nothing that is kept.
        return random.uniform(0, min(self.cap, self.base * 2 ** (attempt - 1)))


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
        runner: what runs a local embedder or judge.
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
            "is not a key: it contains characters that no key has",
            path=KEY_VARIABLE,
            allowed="set it to the key alone",
            code="wrong-value",
        )
    if not key and not url:
        raise InputError(
            f"{KEY_VARIABLE} is not set",
            allowed="set it, or name a local endpoint with --base-url; `citeforge doctor` lists "
            "what needs neither",
            code="missing-key",
        )
    if url and not _is_http(url):
        raise InputError(  # without the URL, which may hold a password or a key
            "is not an http(s) URL of an endpoint",
            path="--base-url" if options.base_url else URL_VARIABLE,
            allowed="e.g. http://localhost:8000/v1",
            code="bad-option",
        )
    # Retries are ours: the SDK's know nothing of the rate, the budget and the store.
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=0,
        timeout=options.timeout,
        http_client=bounded_client(options.timeout),
    )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class UnboundedReplyError(Exception):
    """A reply that is too long, or whose length cannot be known before it is unpacked."""


def bounded_client(timeout: float) -> Any:
    """An HTTP client for the OpenAI SDK that reads replies of bounded size only.

    Args:
        timeout: seconds before a silent connection counts as broken.
    """
    from openai import DefaultAsyncHttpxClient

    return DefaultAsyncHttpxClient(
        timeout=timeout,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_bound]},
    )


async def _bound(response: Any) -> None:
    """Called when the headers are there and the body is not."""
    packed = response.headers.get("content-encoding", "identity")
    if packed.strip().lower() not in ("", "identity"):
        # A megabyte unpacks to a gigabyte; nobody asked for it packed.
        raise UnboundedReplyError("the reply is compressed, which was not asked for")
    response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    # The SDK brings httpx or httpx2; a stream must be of the class of the one that it uses.
    kind = next(c for c in type(stream).__mro__ if c.__name__ == "AsyncByteStream")

    async def read(self: Any) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise UnboundedReplyError(f"the reply is longer than {MOST_BYTES >> 20} MiB")
            yield chunk

    async def close(self: Any) -> None:
        await stream.aclose()

    return type("Bounded", (kind,), {"__aiter__": read, "aclose": close})()
