"""Replies end: no more than so many bytes are read of any."""

from collections.abc import AsyncIterator
from typing import Any

MOST_BYTES = 32 << 20
"""More than any chat, completion or batch of embeddings that is asked for here."""


class UnboundedReplyError(Exception):
    """A reply that is too long, or whose length cannot be known before it is unpacked."""


def bounded_client(timeout: float, transport: Any = None) -> Any:
    """An HTTP client for the OpenAI SDK that reads replies of bounded size only.

    Args:
        timeout: seconds before a silent connection counts as broken.
        transport: what carries requests; None for connections of this process.
    """
    from openai import DefaultAsyncHttpxClient

    carried = {} if transport is None else {"transport": transport}
    return DefaultAsyncHttpxClient(
        timeout=timeout,
        **carried,
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
