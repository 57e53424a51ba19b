"""Requests through a provider's batch endpoint, as OpenAI's Files and Batches define it.

The file of requests is uploaded first; its id is the name of the batch. The store has the batch
before it is created, so that a killed command finds it again: by its id or, where the reply to its
creation was lost, by its file in the provider's list. A second one is never created on a guess.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx2
import msgspec
import openai

from citeforge.engines.files import canonical_json
from citeforge.engines.jsonlines import UNREADABLE
from citeforge.engines.keys import one_line
from citeforge.engines.llm.records import Failure
from citeforge.engines.llm.replay import BATCH, PENDING, ReplayStore, SentRequest
from citeforge.engines.llm.replies import (
    NO_REPLY,
    Reply,
    advice_for,
    mend_text,
    read_error,
    read_response,
)
from citeforge.engines.llm.transport import SENT_AS
from citeforge.engines.progress import Advance
from citeforge.schemas.errors import InputError

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""Limits of one batch (OpenAI's documentation)."""
_ENDED = ("completed", "failed", "expired", "cancelled")
_PAUSES = (0.0, 2.0, 8.0, 32.0)
"""Seconds before each look into the provider's list, which may be late."""
_FIRST_POLL, _LONGEST_POLL = 1.0, 60.0
_A_DAY = 86_400.0
_AGAIN = "run again: a batch that was created goes on, and is found again"


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: msgspec.Raw = msgspec.Raw(b"null")

    def read(self) -> Reply:
        """Get the response body in a line of a batch's result file, or the request's error."""
        if self.response is None:
            return read_error(NO_REPLY, bytes(self.error))
        return read_response(self.response.status_code, bytes(self.response.body))


def _encode_line(request: SentRequest, url: str) -> bytes:
    """Encode a request as a JSON line of the file that is uploaded for a batch."""
    row = {"custom_id": request.asked, "method": "POST", "url": url, "body": request.body}
    return msgspec.json.encode(row) + b"\n"


def split_requests(requests: Iterable[SentRequest], url: str) -> Iterator[list[SentRequest]]:
    """Group requests within one batch's limits; a request that alone exceeds them is one group."""
    group: list[SentRequest] = []
    size = 0
    for request in requests:
        n_bytes = len(_encode_line(request, url))
        if group and (len(group) == MOST_REQUESTS or size + n_bytes > MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(request)
        size += n_bytes
    if group:
        yield group


@dataclass
class Batches:
    """Batches of one resource of an endpoint, recorded in a store."""

    client: openai.AsyncOpenAI
    store: ReplayStore
    url: str
    endpoint: str

    async def submit(self, requests: Sequence[SentRequest]) -> str:
        """Upload requests, store them, and create their batch; return the id of the uploaded file.

        Raises:
            InputError: the endpoint has no batches, refuses this one, or left it unknown whether
                there is one.
        """
        content = b"".join(_encode_line(request, self.url) for request in requests)
        advice = "an endpoint with /v1/files and /v1/batches; or run without --batch"
        with self._input_errors("no batch was created: ", advice):
            file = await self.client.files.create(file=("b.jsonl", content), purpose="batch")
            self.store.keep_batch(file.id, requests)
            try:
                batch = await self.client.with_options(max_retries=0).batches.create(
                    input_file_id=file.id,
                    endpoint=self.url,  # type: ignore[arg-type]
                    completion_window="24h",
                )
            except openai.APIError as error:
                if isinstance(error, openai.APIStatusError) and error.status_code < 500:
                    self.store.forget_batch(file.id)  # there is none
                    raise
                await self._find_batch_id(file.id, time.time())
            else:
                self._note_id(file.id, batch.id)
        return file.id

    def open_requests(self, name: str) -> dict[str, SentRequest]:
        """Map hash to request, for the unanswered requests of a batch (named by its file's id)."""
        select = "SELECT asked, payload, sample, changes FROM kept WHERE kind = ? AND content = ?"
        return {
            asked: SentRequest(asked, msgspec.json.decode(body), n, msgspec.json.decode(changes))
            for asked, body, n, changes in self.store.rows(select, PENDING, name)
        }

    async def replies(
        self, name: str, advance: Advance
    ) -> AsyncIterator[tuple[SentRequest, Reply]]:
        """Wait until a batch ends; yield (request, its reply or a failure) of its open requests.

        Args:
            name: id of the batch's file.
            advance: shows progress.

        Raises:
            InputError: the batch is not known, or the endpoint is out of reach.
        """
        select = "SELECT content, created FROM kept WHERE kind = ? AND asked = ?"
        ((stored, since),) = self.store.rows(select, BATCH, name)
        batch_id = msgspec.json.decode(stored) or await self._find_batch_id(name, since)
        advice = (
            "the endpoint and key that the batch was made with, or another --store; if it is "
            f"gone, `citeforge llm forget {self.store.path} {one_line(name)}`"
        )
        seconds = _FIRST_POLL
        while True:
            with self._input_errors(f"batch {batch_id} cannot be looked up: ", advice):
                batch = await self.client.batches.retrieve(batch_id)
            if batch.status in _ENDED:
                break
            if (done := batch.request_counts) is not None:
                advance(0, f"batch {batch.status} · {done.completed:,} of {done.total:,}")
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, _LONGEST_POLL)
        requests = self.open_requests(name)
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            async for line in self._stream_lines(file):
                with suppress(*UNREADABLE):  # other lines are left out
                    row = msgspec.json.decode(mend_text(line), type=_Line)
                    if (request := requests.pop(row.custom_id, None)) is not None:
                        yield request, row.read()
        message = f"batch {batch.id} {batch.status} without a reply to this request"
        for fault in ((batch.errors and batch.errors.data) or [])[:1]:
            location = "" if fault.line is None else f"line {fault.line}: "
            message = f"batch {batch.id} {batch.status}: {location}{fault.message} ({fault.code})"
        for request in requests.values():
            yield request, Failure("exhausted", one_line(message))

    async def _find_batch_id(self, name: str, since: float) -> str:
        """Find a file's batch in the provider's list since a time; store and return its id.

        Raises:
            InputError: it is not there, so that only the user can tell whether it was created.
        """
        for seconds in _PAUSES:
            await asyncio.sleep(seconds)
            with self._input_errors("batches cannot be listed: "):
                async for batch in self.client.batches.list(limit=100):
                    if batch.input_file_id == name:
                        self._note_id(name, batch.id)
                        return batch.id
                    if batch.created_at < since - _A_DAY:
                        break
        raise InputError(
            f"it is not known whether the batch of file {one_line(name)} was created: there was no "
            "clear reply, and it is not listed",
            path=self.endpoint,
            allowed="run again later; if the provider's own page does not show it either, "
            f"`citeforge llm forget {self.store.path} {one_line(name)}`, and run again",
            code="open-batch",
        )

    def _note_id(self, name: str, batch_id: str) -> None:
        """Store the id of a batch, and print that the command may be stopped and run again."""
        update = "UPDATE kept SET content = ? WHERE kind = ? AND asked = ?"
        self.store.rows(update, canonical_json(batch_id), BATCH, name)
        sys.stderr.write(
            f"batch {one_line(batch_id)} of {len(self.open_requests(name)):,} requests may take a "
            "day; this command may be stopped and run again with --batch: "
            f"{self.store.path} knows the batch\n"
        )

    async def _stream_lines(self, file_id: str) -> AsyncIterator[bytes]:
        """Download a file from the provider, and yield its lines as they arrive."""
        with self._input_errors(f"file {file_id} cannot be read: "):
            async with self.client.files.with_streaming_response.content(file_id) as reply:
                rest = b""
                async for part in reply.iter_bytes():
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        yield line
                yield rest

    @contextmanager
    def _input_errors(self, start: str, advice_if_missing: str = _AGAIN) -> Iterator[None]:
        """Raise a provider's error as an InputError: ``start``, its text, advice (another for 404).

        Raises:
            InputError: ``advice_if_missing`` says what would help where there is no such address.
        """
        try:
            yield
        except (openai.APIError, httpx2.TransportError) as error:
            message = str(error.__cause__ or error)
            allowed = advice_if_missing if isinstance(error, openai.NotFoundError) else _AGAIN
            if isinstance(error, openai.APIStatusError):
                sent_as = error.response.headers.get(SENT_AS, "")
                failure = read_error(error.status_code, error.response.content, sent_as)
                message = failure.message
                if failure.reason == "unreachable":
                    allowed = advice_for(failure)
            raise InputError(
                one_line(f"{start}{message}"),
                path=self.endpoint,
                allowed=allowed,
                code="endpoint-refused",
            ) from error
