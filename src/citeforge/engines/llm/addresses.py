"""Addresses and keys of endpoints. Keys come from the environment only, and are not shown."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from citeforge.engines.http import public_url, uses_proxies
from citeforge.engines.keys import (
    KEY_VARIABLE,
    api_key,
    mask_known_keys,
    remember_address,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions

URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"
_USUAL_PORTS = {"http": 80, "https": 443}
RESOURCES = ("/chat/completions", "/completions", "/embeddings", "/responses", "/models")
"""Paths below an endpoint's address; the SDK adds them to it."""
BATCH_PRICE = 0.5
"""Share of the price that a request of a batch costs, as OpenAI declares it."""


def base_url(options: RunOptions) -> str | None:
    """Get the endpoint's address from the options or the environment; None for OpenAI's own.

    A password or key in it is masked from then on, whatever the server does with it.
    """
    url = options.base_url or os.environ.get(URL_VARIABLE)
    if url:
        remember_address(url)
    return url


@dataclass(frozen=True)
class Access:
    """Address and key of an endpoint.

    Attributes:
        url: address, without query.
        key: API key; empty if none is set.
        query: parameters that the address has, which every request gets (Azure's api-version).
        headers: headers of every request besides those of the SDK.
    """

    url: str
    key: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


def require_access(options: RunOptions) -> Access:
    """Get the endpoint's address and key; raise an error if no request could be sent with them.

    Raises:
        InputError: no key for OpenAI's own endpoint, a wrong key or address, or a proxy in the
            environment that cannot be used.
    """
    url, key = base_url(options), api_key()
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
    named_by = "--base-url" if options.base_url else URL_VARIABLE
    if url and not _is_http(url):
        raise InputError(  # without the URL, which may hold a password or a key
            "is not an http(s) URL of an endpoint",
            path=named_by,
            allowed="e.g. http://localhost:8000/v1",
            code="bad-option",
        )
    parts = urlsplit(url or OPENAI_URL)
    path = parts.path.rstrip("/")
    if resource := next((r for r in RESOURCES if path.endswith(r)), None):
        raise InputError(
            f"ends in {resource}, which is the address of one resource",
            path=named_by,
            allowed=f"the part before it: {shown_address(options).removesuffix(resource)}",
            code="bad-option",
        )
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    # Azure takes a key in a header of its own; with api-version in the address it is Azure.
    headers = {"api-key": key} if key and "api-version" in query else {}
    uses_proxies(url or OPENAI_URL)  # an unusable one is named before anything is sent
    return Access(parts._replace(query="", fragment="").geturl(), key, query, headers)


def _is_http(url: str) -> bool:
    """Whether a text is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown_address(options: RunOptions) -> str:
    """Return the endpoint's address without user, password, query and key."""
    return mask_known_keys(public_url(base_url(options) or OPENAI_URL).rstrip("/"))


def server_address(options: RunOptions) -> str:
    """Return the endpoint's address as stores record it: lower-case host, no default port."""
    address = shown_address(options)
    parts = urlsplit(address)
    usual = f":{_USUAL_PORTS.get(parts.scheme)}"
    return parts._replace(netloc=parts.netloc.lower().removesuffix(usual)).geturl()
