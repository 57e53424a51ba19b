"""HTTP requests made by the workers of a cluster, each from its own machine.

Store, budget, rate and retries stay with the driver; only the connection is elsewhere. An endpoint
named ``localhost`` is thus a server on each worker's machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx2

from citeforge.engines.llm.options import ClientOptions
from citeforge.plugins.ray.connection import connect
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import reason_of
from citeforge.plugins.ray.share import alive

Headers = tuple[tuple[bytes, bytes], ...]
_TIMEOUT = 600.0
"""Seconds; what the driver asks for comes with each request."""


@dataclass(frozen=True)
class Received:
    """A reply, as it travels; ``error`` is the class of what was raised instead."""

    status: int = 0
    headers: Headers = ()
    body: bytes = b""
    error: str = ""
    message: str = ""


class Connections:
    """The actor: connections of one machine, many at a time."""

    def __init__(self) -> None:
        self._client: Any = None

    async def send(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes,
        timeout: Mapping[str, float | None],
    ) -> Received:
        """One request, one reply; nothing is tried again here."""
        if self._client is None:
            from citeforge.engines.llm.transport import EndpointClient

            self._client = EndpointClient(ClientOptions(timeout=_TIMEOUT))
        client = self._client
        extensions = {"timeout": dict(timeout)}
        request = client.build_request(
            method, url, headers=list(headers), content=body, extensions=extensions
        )
        try:
            reply = await client.send(request)
        except httpx2.HTTPError as error:
            return Received(error=type(error).__name__, message=str(error))
        return Received(reply.status_code, tuple(reply.headers.raw), reply.content)


class ClusterTransport:
    """What an HTTP client hands its requests to; workers take turns."""

    def __init__(self, options: RayOptions, concurrency: int) -> None:
        """Connect.

        Args:
            options: which cluster.
            concurrency: requests in flight at most.

        Raises:
            MissingExtraError: Ray is not installed.
            InputError: no cluster answers.
        """
        self._ray = connect(options)
        n = options.workers or len(alive(self._ray))
        self._concurrency = concurrency
        self._actors: list[Any] = [self._start() for _ in range(n)]
        self._turn = count()

    def _start(self) -> Any:
        remote = self._ray.remote(Connections)
        # Waiting takes no core; one a machine, as far as there are machines.
        how = {"num_cpus": 0, "scheduling_strategy": "SPREAD"}
        return remote.options(max_concurrency=self._concurrency, **how).remote()

    async def handle_async_request(self, request: Any) -> Any:
        """As httpx2 calls it."""
        sent = (
            request.method, str(request.url), tuple(request.headers.raw), await request.aread(),
            request.extensions.get("timeout", {}),
        )  # fmt: skip
        place = next(self._turn) % len(self._actors)
        actor = self._actors[place]
        try:
            reply: Received = await actor.send.remote(*sent)
        except self._ray.exceptions.RayError as error:
            if self._actors[place] is actor:  # else another request has seen to it
                self._actors[place] = self._start()
            raise httpx2.ReadError(f"its worker died: {reason_of(error)}") from error
        if reply.error:
            raise getattr(httpx2, reply.error)(reply.message, request=request)
        return httpx2.Response(reply.status, headers=list(reply.headers), content=reply.body)

    async def aclose(self) -> None:
        """Let the workers go."""
        for actor in self._actors:
            self._ray.kill(actor)

    async def __aenter__(self) -> "ClusterTransport":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
