"""SPARQL servers on loopback: `oxigraph serve`, and one on a thread whose replies go wrong."""

import io
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyoxigraph

from patience import patience


def oxigraph() -> str:
    """The oxigraph binary of this environment."""
    result = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which(
        "oxigraph"
    )
    assert result, "the PyPI package oxigraph is not installed"
    return result


@contextmanager
def sparql_server(data: Path, folder: Path) -> Iterator[str]:
    """A real SPARQL 1.1 server loaded with a file; its query URL."""
    store = folder / "oxigraph"
    subprocess.run(
        [oxigraph(), "load", "--location", str(store), "--file", str(data)],
        check=True,
        capture_output=True,
    )
    process, url = next(p for p in (_serve(store) for _ in range(5)) if p is not None)
    try:
        yield f"{url}query"
    finally:
        process.kill()
        process.wait()


def _serve(store: Path) -> tuple[subprocess.Popen[bytes], str] | None:
    """A server that answers, and its root; None when another program took its port first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    command = [oxigraph(), "serve-read-only", "--location", str(store)]
    process = subprocess.Popen(
        [*command, "--bind", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=patience(5)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return process, url
    return None


@dataclass
class Faults:
    """What a proxy does to queries and replies.

    Attributes:
        faults: one per request, in turn: a status, ``hang``, ``truncated``, ``rows`` or ``cut``.
        then: fault of all requests after those.
        slow_over: queries about more entities than this are answered with 500 and the name of a
            timeout, as by Blazegraph.
        latency: seconds before each answer.
        retry_after: header of refusals; ``date`` for the date of the next second.
        mutate: changes the body of each reply.
    """

    faults: list[str] = field(default_factory=list)
    then: str = ""
    slow_over: float = float("inf")
    latency: float = 0.0
    retry_after: object = None
    mutate: Callable[[bytes], bytes] = bytes


class Proxy:
    """A SPARQL endpoint on a thread; answers from a file or from another server.

    Attributes:
        url: address of queries.
        config: faults; may be replaced while it runs.
        allowed: number of requests that are answered; those behind them wait.
    """

    def __init__(self, upstream: str | Path, config: Faults) -> None:
        self.config = config
        self.allowed = float("inf")
        self.answer = cache(_ask_server(upstream) if isinstance(upstream, str) else _ask(upstream))
        self.lock = threading.Condition()
        self._answered = 0
        self._requests: list[dict[str, Any]] = []
        handler = type("Handler", (_Handler,), {"proxy": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/query"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def requests(self) -> list[dict[str, Any]]:
        """All requests that were answered, by their start."""
        with self.lock:
            return sorted(self._requests, key=lambda r: r["start"])

    def answer_up_to(self, count: float | None) -> None:
        """Hold back the answers to all requests after the first so many; None for no limit."""
        with self.lock:
            self.allowed = float("inf") if count is None else count
            self.lock.notify_all()

    def answered(self) -> int:
        """Number of requests whose answer was allowed; a client may have died before it came."""
        with self.lock:
            return self._answered

    def next_fault(self) -> str:
        """Wait until an answer is allowed; the fault of the next request."""
        with self.lock:
            faults = self.config.faults
            fault = faults.pop(0) if faults else self.config.then
            self.lock.wait_for(lambda: self.allowed > self._answered)
            self._answered += 1
        return fault

    def note(self, entry: dict[str, Any]) -> None:
        """Add a request to the list."""
        with self.lock:
            self._requests.append(entry)


@contextmanager
def proxy(upstream: str | Path, **config: Any) -> Iterator[Proxy]:
    """A server whose replies go wrong, before another one (URL) or alone (file of triples)."""
    running = Proxy(upstream, Faults(**config))
    try:
        yield running
    finally:
        running.answer_up_to(None)
        running.http.shutdown()
        running.http.server_close()


def _ask(data: Path) -> Callable[[str], bytes]:
    store = pyoxigraph.Store()
    store.bulk_load(path=str(data))

    def ask(query: str) -> bytes:
        result: Any = store.query(query)
        body: bytes = result.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        return body

    return ask


def _ask_server(url: str) -> Callable[[str], bytes]:
    def ask(query: str) -> bytes:
        data = urllib.parse.urlencode({"query": query}).encode()
        headers = {"Accept": "application/sparql-results+json"}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as reply:
            body: bytes = reply.read()
        return body

    return ask


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"
    # Or a body waits 40 ms until the receipt of its headers is acknowledged.
    disable_nagle_algorithm = True

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        query = urllib.parse.parse_qs(body).get("query", [body])[0]
        self.answer("POST", query)

    def answer(self, method: str, query: str) -> None:
        start, config = time.monotonic(), self.proxy.config
        fault = self.proxy.next_fault()
        entities = len(set(re.findall(r"<http://www\.wikidata\.org/entity/(Q\d+)>", query)))
        if entities > config.slow_over:
            fault = "slow"
        time.sleep(config.latency)
        # What is sent waits for the list: who has the reply finds its request there.
        sending, self.wfile = self.wfile, io.BytesIO()
        status = self.serve(fault, query, config)
        reply, self.wfile = self.wfile.getvalue(), sending
        self.proxy.note({
            "start": start, "end": time.monotonic(), "fault": fault, "status": status,
            "method": method, "entities": entities, "agent": self.headers.get("User-Agent", ""),
        })  # fmt: skip
        try:
            self.wfile.write(reply)
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True  # the client is gone
        if status < 0:
            self.connection.close()

    def serve(self, fault: str, query: str, config: Faults) -> int:
        if fault.isdigit() or fault == "slow":
            text = b"" if fault.isdigit() else b"java.util.concurrent.TimeoutException"
            fault = fault if fault.isdigit() else "500"
            self.send_response(int(fault))
            if config.retry_after == "date":
                self.send_header("Retry-After", formatdate(time.time() + 1, usegmt=True))
            elif config.retry_after is not None:
                self.send_header("Retry-After", str(config.retry_after))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return int(fault)
        if fault == "hang":
            self.connection.recv(1, socket.MSG_PEEK)  # until the client hangs up
            self.close_connection = True
            return 0
        body = config.mutate(self.proxy.answer(query))
        if fault == "truncated":  # status 200, a whole reply of half a document
            body = body[: len(body) // 2] + b"\njava.util.concurrent.TimeoutException"
        if fault == "rows":  # well-formed, but rows are missing
            content = json.loads(body)
            content["results"]["bindings"] = content["results"]["bindings"][:-3]
            body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return -1
        self.wfile.write(body)
        return 200
