"""A server that refuses, wraps and words its replies as providers do.

A behaviour is a function from the body of a request to what is sent back. The bodies of errors
follow the documentation of the providers that are named beside them.
"""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass
class Sent:
    """A reply.

    Attributes:
        content: JSON value, or bytes as they are.
        status: HTTP status.
        headers: further headers.
    """

    content: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Behaviour = Callable[[Body], Sent]


@dataclass
class Provider:
    """A running server.

    Attributes:
        url: base URL for clients.
        bodies: requests so far, in order of arrival.
        paths: their paths, with queries.
    """

    url: str
    bodies: list[Body]
    paths: list[str]


def chat(content: Any, reason: str | None = "stop", **message: Any) -> Sent:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    return Sent(
        {
            "id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{**choice, "finish_reason": reason}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
    )  # fmt: skip


def refusal(
    message: str, code: Any = None, param: str | None = None, status: int = 400, **headers: str
) -> Sent:
    """An error object of OpenAI's shape."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Sent({"error": error}, status, headers)


def packed(sent: Sent) -> Sent:
    """The same reply in gzip, whatever was asked for."""
    body = gzip.compress(json.dumps(sent.content).encode())
    return Sent(body, sent.status, {"Content-Encoding": "gzip"})


def embeddings(body: Body, most: int, too_many: Sent) -> Sent:
    """Vectors of at most so many texts."""
    if len(body["input"]) > most:
        return too_many
    data = [
        {"object": "embedding", "index": i, "embedding": [float(len(t)), 1.0, float(ord(t[-1]))]}
        for i, t in enumerate(body["input"])
    ]
    return Sent({"object": "list", "data": data, "model": body["model"], "usage": None})


@contextmanager
def provider(behave: Behaviour) -> Iterator[Provider]:
    """A server in a thread, for the length of the block."""
    bodies: list[Body] = []
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            bodies.append(body)
            paths.append(self.path)
            sent = behave(body)
            raw = isinstance(sent.content, bytes)
            content = sent.content if raw else json.dumps(sent.content).encode()
            self.send_response(sent.status)
            headers = {"Content-Type": "application/json", **sent.headers}
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Provider(f"http://127.0.0.1:{server.server_port}/v1", bodies, paths)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
