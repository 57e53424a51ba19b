"""How to reach an endpoint, and the SDK's client for it. Keys come from the environment only."""

import base64
import json
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from citeforge.engines.llm.records import Price
from citeforge.engines.runner import LOCAL, Runner
from citeforge.schemas.errors import InputError

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"
THINKING_TOKENS = 4096
"""Room for thoughts of a judge or a writer: enough for most that think, and a bound for all."""
MARK = "[key]"
_LEAST_KEY_LENGTH = 12
"""Keys that are shorter ("none", "EMPTY", "ollama") are words that local servers are given."""
_LONGEST_MESSAGE = 300


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
        give_up_after: stop when so many calls have ended and all of them failed.
        thinking_tokens: room for thoughts that replies of judges and writers get beside their own
            limit.
        reasoning_effort: sent with every chat request; None to leave it out.
        runner: sends the requests.
    """

    base_url: str | None = None
    concurrency: int = 16
    timeout: float = 120.0
    max_retries: int = 12
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    max_cost: float | None = None
    give_up_after: int = 10
    thinking_tokens: int = THINKING_TOKENS
    reasoning_effort: str | None = None
    runner: Runner = LOCAL

    @property
    def endpoint(self) -> str:
        """The address that is asked, without user, password, query and key: it may be shown."""
        url = self.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL
        return without_key(public_url(url).rstrip("/"))

    @property
    def deadline(self) -> float:
        """Seconds until a whole reply must be there."""
        return 5 * self.timeout


def make_client(options: ClientOptions) -> Any:
    """Make an ``AsyncOpenAI`` whose key comes from the environment.

    Raises:
        InputError: no key for OpenAI's own endpoint, or no key or address at all.
    """
    from openai import AsyncOpenAI

    from citeforge.engines.llm.transport import EndpointClient

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
    carrier = options.runner.transport(options.concurrency)
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=options.max_retries,
        timeout=options.timeout,
        http_client=EndpointClient(options, **({} if carrier is None else {"transport": carrier})),
    )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def public_url(url: str) -> str:
    """Remove user, password, query and fragment from a URL."""
    scheme, there, rest = url.partition("://")
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in address:
        return "the endpoint"  # a password with such a mark, or a query with an address
    return f"{scheme}{there}{address.rpartition('@')[2]}"


def without_key(text: str) -> str:
    """Replace the key by ``[key]``: as it is, in a URL, in JSON, and in base64."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if len(key) < _LEAST_KEY_LENGTH:
        return text
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    for form in (key, quote(key, safe=""), json.dumps(key)[1:-1], encoded):
        text = text.replace(form, MARK)
    return text


def one_line(message: str) -> str:
    """A message for people: without the key, on one line, and cut."""
    return " ".join(without_key(message).split())[:_LONGEST_MESSAGE]
