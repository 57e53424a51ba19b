"""HTTP client of the OpenAI SDK: requests at a rate, and replies of bounded size.

The SDK tries again after 408, 409, 429, 5xx and broken connections, and waits as Retry-After says.
The header ``x-should-retry`` tells it otherwise.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import aclosing
from functools import cache
from typing import Any

import httpx2
import msgspec
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient

from citeforge.engines.http import (
    CONNECT_SECONDS,
    NO_REDIRECT,
    SERVER_FAULTS,
    ServerPatience,
    public_url,
    redirect_target,
    retry_after,
    uses_proxies,
)
from citeforge.engines.jsonlines import UNREADABLE
from citeforge.engines.keys import mask_keys, one_line
from citeforge.engines.llm.adapting import is_lasting
from citeforge.engines.llm.addresses import (
    OPENAI_URL,
    base_url,
    require_access,
    shown_address,
)
from citeforge.engines.llm.budget import CHARACTERS_PER_TOKEN
from citeforge.engines.llm.rate import RateGate
from citeforge.engines.llm.records import Failure
from citeforge.engines.llm.replies import (
    NO_CONNECTION,
    NO_REPLY,
    Reply,
    advice_for,
    is_stream,
    is_unpaid,
    mend_text,
    read_error,
    read_response,
    retry_delay,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions

MOST_BYTES = 32 << 20
"""More than any chat, completion or batch of embeddings that is asked for here."""
TIMEOUTS_OF_A_REPLY = 5
"""Times --timeout that a reply may take that keeps coming."""
_START = 100
"""Bytes that tell whether a body is a stream of events."""
_TRIES_IN_SILENCE = 3
"""Tries after a time-out: providers bill generated tokens even if the client has left."""
_LONGEST_PAUSE = 120.0
"""Seconds; the SDK gives a call up where Retry-After is longer."""
SENT_AS = "x-sent-as"
"""Header of replies whose status was corrected: the status that they came with."""


class EndpointClient(DefaultAsyncHttpxClient):
    """Sends every try at the rate, and reads its reply whole."""

    def __init__(
        self, options: RunOptions, rate_limiter: RateGate, has_answered: bool = False
    ) -> None:
        """Make a rate-limited HTTP client, more patient with an endpoint that has answered before.

        Args:
            options: address, timeouts and tries.
            rate_limiter: rate limiter.
            has_answered: whether the endpoint has answered this process before: then it is asked
                more patiently.
        """
        has_proxies = uses_proxies(base_url(options) or OPENAI_URL)
        super().__init__(verify=_tls_context(), trust_env=has_proxies, follow_redirects=False)
        self._options, self._gate = options, rate_limiter
        self._seconds = TIMEOUTS_OF_A_REPLY * options.timeout
        self._patience = ServerPatience(has_answered)

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send a request once, when the rate allows; read its whole reply unless it is streamed.

        Args:
            how: options of the HTTP library's ``send``.
        """
        size = int(request.headers.get("content-length", 0))
        await self._gate.wait(size // CHARACTERS_PER_TOKEN)
        how["follow_redirects"] = False  # a redirect would take prompts to another server
        if how.get("stream"):  # files of batches: whoever reads them bounds them
            reply = await super().send(request, **how)
            if not reply.has_redirect_location:
                return reply
            await reply.aclose()
            return _failed_reply(request, _redirect_message(reply))
        n_tries = 1 + int(request.headers.get("x-stainless-retry-count", 0))
        try:
            async with asyncio.timeout(self._seconds):
                reply = await super().send(request, **{**how, "stream": True})
                self._patience.record_reply()
                if reply.has_redirect_location:
                    await reply.aclose()
                    return _failed_reply(request, _redirect_message(reply))
                return self._correct_reply(request, reply, await _read_body(reply))
        except TimeoutError:  # it spoke all the while: another try would drip as long
            message = f"the reply was not finished within {self._seconds:g} s"
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if not self._patience.is_unreachable(n_tries, 1 + self._options.max_retries):
                raise
            why = str(error) or type(error).__name__
            message = f"no connection to {shown_address(self._options)}: {why}"
            return _failed_reply(request, message, NO_CONNECTION)
        except httpx2.TimeoutException:
            if n_tries < min(_TRIES_IN_SILENCE, 1 + self._options.max_retries):
                raise
            message = (
                f"no answer within {self._options.timeout:g} s; a model that thinks may need a "
                "longer --timeout"
            )
        except httpx2.DecodingError as error:
            message = f"the reply cannot be read: {error}"
        return _failed_reply(request, message)

    def _correct_reply(
        self, request: httpx2.Request, reply: httpx2.Response, body: bytes
    ) -> httpx2.Response:
        """Copy a reply with the status that its body means, and mark whether to try again.

        Args:
            request: the request.
            reply: the reply as it came.
            body: its body.
        """
        packed = ("content-encoding", "content-length", "transfer-encoding")
        headers = {k: v for k, v in reply.headers.items() if k not in packed}
        body = mend_text(body)
        status, error = reply.status_code, read_response(reply.status_code, body)
        if not isinstance(error, Failure):
            self._patience.record_answer()
        else:
            status = error.status or status
            if status == 500 and is_lasting(_json_body(request), error):
                status = 400
            if status in SERVER_FAULTS and self._patience.record_fault():
                headers["x-should-retry"] = "false"
            if status != reply.status_code:
                headers[SENT_AS] = str(reply.status_code)
            seconds = retry_after(headers) or retry_delay(body)
            if is_unpaid(error, bool(seconds)):
                headers["x-should-retry"] = "false"
            elif status == 429 and seconds:
                headers["retry-after"] = str(seconds)
                if seconds <= _LONGEST_PAUSE:
                    self._gate.pause_for(seconds)
        return httpx2.Response(status, headers=headers, content=body, request=request)


def _failed_reply(request: httpx2.Request, message: str, status: int = NO_REPLY) -> httpx2.Response:
    """Make a reply in place of one that never came, so that the SDK does not retry."""
    content = msgspec.json.encode({"error": {"message": message}})
    headers = {"x-should-retry": "false"}
    return httpx2.Response(status, headers=headers, content=content, request=request)


def _redirect_message(reply: httpx2.Response) -> str:
    """Describe a redirect, which is not followed, with the addresses of both servers."""
    asked = public_url(str(reply.request.url))
    return f"{asked} redirects to {redirect_target(reply)}, where nothing was sent; {NO_REDIRECT}"


async def _read_body(reply: httpx2.Response) -> bytes:
    """Read and decompress an HTTP reply's body; refuse one that is too long or streamed.

    Raises:
        httpx2.DecodingError: it is too long, or compressed in a way that was not offered.
    """
    body = bytearray()
    async with aclosing(reply):
        packing = reply.headers.get("content-encoding", "identity").lower()
        if packing not in f"identity, {reply.request.headers.get('accept-encoding')}".split(", "):
            raise httpx2.DecodingError(
                f"it is compressed by {mask_keys(packing)[:20]}, which was not asked for; "
                "switch compression off in the server or in the proxy before it"
            )
        async for part in reply.aiter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise httpx2.DecodingError(f"it is longer than {MOST_BYTES >> 20} MiB")
    kind = reply.headers.get("content-type", "")
    if reply.status_code == 200 and (
        kind.startswith("text/event-stream") or is_stream(bytes(body[:_START]))
    ):
        raise httpx2.DecodingError(
            "it comes as a stream of events, which was not asked for; switch streaming off in the "
            "server or in the proxy before it"
        )
    return bytes(body)


@cache
def _tls_context() -> Any:
    """Load the certificate authorities for TLS, once per process: it takes longer than a call."""
    return httpx2.create_ssl_context()


def _json_body(request: httpx2.Request) -> dict[str, Any]:
    """Decode a request's JSON body; empty for requests of other kinds."""
    is_json = request.method == "POST" and "json" in request.headers.get("content-type", "")
    return msgspec.json.decode(request.content, type=dict[str, Any]) if is_json else {}


async def post(client: AsyncOpenAI, path: str, body: Mapping[str, Any]) -> Reply:
    """Post a request, with the SDK's own retries; returns the body of a 200, or an error."""
    return await _read_reply(client.post(path, body=body, cast_to=httpx2.Response))


async def list_models(options: RunOptions) -> list[str]:
    """Ask an endpoint for the names of its models.

    Raises:
        InputError: it gives none; see also :func:`make_client`.
    """
    async with make_client(options, RateGate()) as client:
        reply = await _read_reply(client.get("/models", cast_to=httpx2.Response))
    if isinstance(reply, Failure):
        raise InputError(
            one_line(reply.message), allowed=advice_for(reply), code="endpoint-refused"
        )
    try:
        return [mask_keys(model.id) for model in msgspec.json.decode(reply, type=_Models).data]
    except UNREADABLE as error:
        raise InputError(
            f"its list of models cannot be read ({error})", code="bad-reply"
        ) from error


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


async def _read_reply(pending_response: Awaitable[httpx2.Response]) -> Reply:
    """Wait for the SDK's response to a request; returns the body of a 200, or an error."""
    try:
        return (await pending_response).content
    except APIStatusError as error:
        sent_as = error.response.headers.get(SENT_AS, "")
        return read_error(error.status_code, error.response.content, sent_as)
    except APIConnectionError as error:
        cause = error.__cause__ or error
        message = f"the connection broke: {str(cause) or type(cause).__name__}"
        return Failure("exhausted", message)


def make_client(
    options: RunOptions, rate_limiter: RateGate, has_answered: bool = False
) -> AsyncOpenAI:
    """Make the OpenAI SDK's client of an endpoint; wait longer for one that has answered before.

    Args:
        options: how the endpoint is reached.
        rate_limiter: lets requests through at their rate.
        has_answered: whether it has answered this process before.

    Raises:
        InputError: see :func:`~citeforge.engines.llm.addresses.require_access`.
    """
    access = require_access(options)
    return AsyncOpenAI(
        api_key=access.key or "none",
        base_url=access.url,
        default_query=access.query,
        default_headers=access.headers,
        max_retries=options.max_retries,
        timeout=httpx2.Timeout(options.timeout, connect=min(options.timeout, CONNECT_SECONDS)),
        http_client=EndpointClient(options, rate_limiter, has_answered),
    )
