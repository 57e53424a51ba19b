"""A server of OpenAI's Files and Batches, as their API reference describes them.

What is received and what is sent is checked with the types of the SDK: a request that the
reference does not know, or an object that the SDK could not read, ends the test.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

import typing_extensions
from openai.types import Batch, FileObject
from openai.types.batch_create_params import BatchCreateParams
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from servers.provider import Behaviour, Body, Sent, chat, refusal

_LINE_FIELDS = {"custom_id", "method", "url", "body"}
_EXPIRED = {
    "code": "batch_expired",
    "message": "This request could not be executed before the completion window expired.",
}
Fate = Callable[["BatchServer", Body], None]
"""Called at each look at a batch that has not ended; may change it."""


def complete(server: "BatchServer", batch: Body) -> None:
    """End a batch with a reply to every request."""
    server.finish(batch, "completed")


@dataclass
class BatchServer:
    """A running server.

    Attributes:
        url: base URL for clients.
        behave: replies to the body of a request.
        fate: what becomes of a batch when it is looked at.
        files: content by id.
        batches: objects by id, oldest first.
        direct: bodies of requests outside of batches.
        log: method and path of all requests, in order.
        faults: patterns of "METHOD path" to what is sent instead, once each; None breaks the
            connection after the request was obeyed.
        held: pattern of "METHOD path" whose replies are held back until :attr:`released`.
        problems: what the reference does not know.
        page: most batches of one listing.
        late: listings that do not show the newest batch yet.
    """

    behave: Behaviour
    fate: Fate
    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Body] = field(default_factory=dict)
    direct: list[Body] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    faults: list[tuple[str, Sent | None]] = field(default_factory=list)
    held: str = "$."
    released: threading.Event = field(default_factory=threading.Event)
    problems: list[str] = field(default_factory=list)
    page: int = 100
    late: int = 0

    def lines(self, batch: Body) -> list[Body]:
        """Requests of a batch."""
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def bodies(self) -> list[Body]:
        """Bodies of all requests of all batches."""
        return [line["body"] for batch in self.batches.values() for line in self.lines(batch)]

    def finish(self, batch: Body, status: str, done: int | None = None) -> None:
        """End a batch after so many requests; the others expire, or have no line."""
        lines = self.lines(batch)
        done = len(lines) if done is None else done
        good, bad = [], []
        for i, line in enumerate(reversed(lines)):  # the order of outputs is not that of inputs
            row: Body = {"id": f"batch_req_{i}", "custom_id": line["custom_id"], "error": None}
            if i >= done:
                if status == "expired":
                    bad.append({**row, "response": None, "error": _EXPIRED})
                continue
            sent = self.behave(line["body"])
            if sent.status == 200:
                ChatCompletion.model_validate(sent.content)
            response = {"status_code": sent.status, "request_id": f"r{i}", "body": sent.content}
            (good if sent.status == 200 else bad).append({**row, "response": response})
        for name, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                batch[name] = self.keep("".join(json.dumps(row) + "\n" for row in rows).encode())
        counts = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        batch.update(status=status, request_counts=counts)

    def fail(self, batch: Body, code: str, message: str, line: int | None = None) -> None:
        """End a batch in its validation."""
        error = {"code": code, "message": message, "line": line, "param": None}
        batch.update(status="failed", errors={"object": "list", "data": [error]})

    def keep(self, content: bytes) -> str:
        """Keep a file; its id."""
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Sent:
        """The reply to a request."""
        parts = urlsplit(path)
        match re.sub("^/v1", "", parts.path).strip("/").split("/"), method:
            case ["files"], "POST":
                return self._upload(headers, body)
            case ["files", name, "content"], "GET":
                if name not in self.files:
                    return refusal("No such File object", "not_found", status=404)
                return Sent(self.files[name])
            case ["batches"], "POST":
                return self._create(json.loads(body))
            case ["batches"], "GET":
                return self._list(parse_qs(parts.query))
            case ["batches", name], "GET":
                if name not in self.batches:
                    return refusal(f"No batch found with id '{name}'.", "not_found", status=404)
                batch = self.batches[name]
                if batch["status"] not in ("completed", "failed", "expired", "cancelled"):
                    self.fate(self, batch)
                return Sent(_checked(Batch, batch))
            case ["chat", "completions"], "POST":
                self.direct.append(json.loads(body))
                return self.behave(self.direct[-1])
        self.problems.append(f"{method} {path}")
        return refusal("Unknown request URL", status=404)

    def _upload(self, headers: Any, body: bytes) -> Sent:
        form = message_from_bytes(
            b"Content-Type: " + headers["Content-Type"].encode() + b"\n\n" + body
        )
        parts: dict[str, Any] = {}
        for part in form.get_payload():  # type: ignore[union-attr]
            name = part.get_param("name", header="content-disposition")  # type: ignore[union-attr]
            parts[str(name)] = part.get_payload(decode=True)  # type: ignore[union-attr]
        if parts.keys() != {"file", "purpose"} or parts["purpose"] != b"batch":
            self.problems.append(f"upload of {sorted(parts)} for {parts.get('purpose')}")
        content: bytes = parts["file"]
        name = self.keep(content)
        row = {"id": name, "object": "file", "bytes": len(content), "created_at": 1,
               "filename": "b.jsonl", "purpose": "batch", "status": "processed"}  # fmt: skip
        return Sent(_checked(FileObject, row))

    def _create(self, body: Body) -> Sent:
        _known(_CREATE, BatchCreateParams, body)
        ids = set()
        for line in self.files[body["input_file_id"]].splitlines():
            row = json.loads(line)
            if row.keys() != _LINE_FIELDS or row["method"] != "POST":
                self.problems.append(f"line with {sorted(row)}")
            if row["url"] != body["endpoint"] or row["custom_id"] in ids:
                self.problems.append(f"line {row['custom_id']} for {row['url']}")
            ids.add(row["custom_id"])
            _known(_REQUEST, CompletionCreateParamsNonStreaming, row["body"])
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name, "object": "batch", "endpoint": body["endpoint"], "errors": None,
            "input_file_id": body["input_file_id"], "completion_window": "24h",
            "status": "validating", "output_file_id": None, "error_file_id": None,
            "created_at": 4_000_000_000, "metadata": body.get("metadata"),
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }  # fmt: skip
        return Sent(_checked(Batch, self.batches[name]))

    def _list(self, query: dict[str, list[str]]) -> Sent:
        newest = [*self.batches.values()][::-1]
        if self.late:
            self.late -= 1
            newest = newest[1:]
        after = query.get("after", [""])[0]
        start = next((i + 1 for i, b in enumerate(newest) if b["id"] == after), 0)
        limit = min(int(query.get("limit", ["20"])[0]), self.page)
        rows = newest[start : start + limit]
        ends = {"first_id": rows[0]["id"], "last_id": rows[-1]["id"]} if rows else {}
        has_more = start + limit < len(newest)
        return Sent({"object": "list", "data": rows, "has_more": has_more, **ends})


_CREATE = TypeAdapter(BatchCreateParams)
_REQUEST = TypeAdapter(CompletionCreateParamsNonStreaming)


def _known(adapter: Any, kind: Any, row: Body) -> None:
    """Refuse parameters that the SDK's type does not have, or of other types."""
    adapter.validate_python(row)
    names = typing_extensions.get_type_hints(kind, vars(import_module(kind.__module__))).keys()
    assert row.keys() <= names, row.keys() - names


def _checked(kind: Any, row: Body) -> Body:
    """An object that the SDK's own type takes, with no field that the type does not have."""
    kind.model_validate(row)
    assert row.keys() <= kind.model_fields.keys(), row.keys() - kind.model_fields.keys()
    return row


@contextmanager
def batch_server(
    behave: Behaviour = lambda body: chat(f"echo {body['messages'][-1]['content']}"),
    fate: Fate = complete,
) -> Iterator[BatchServer]:
    """A server in a thread, for the length of the block."""
    state = BatchServer(behave, fate)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with lock:
                request = f"{self.command} {self.path}"
                state.log.append(request)
                fault = next((f for f in state.faults if re.search(f[0], request)), None)
                if fault is not None:
                    state.faults.remove(fault)
                sent = fault[1] if fault is not None else None
                if sent is None:
                    try:
                        sent = state.answer(self.command, self.path, self.headers, body)
                    except Exception as error:
                        state.problems.append(f"{request}: {error!r}")
                        sent = refusal(repr(error))
            if re.search(state.held, request):
                state.released.wait()
            if fault is not None and fault[1] is None:
                self.close_connection = True
                return
            raw = isinstance(sent.content, bytes)
            content = sent.content if raw else json.dumps(sent.content).encode()
            self.send_response(sent.status)
            for name, value in sent.headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header(
                "Content-Type", "application/octet-stream" if raw else "application/json"
            )
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _do

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
        assert state.problems == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
