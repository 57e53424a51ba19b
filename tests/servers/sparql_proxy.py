"""A proxy before a SPARQL server that injects faults, in a process of its own.

Faults are consumed one a request from a list; `slow_over` answers queries about more entities than
that as an endpoint does that ran out of time. Every request is logged with the proxy's own clock.

Usage: sparql_proxy.py UPSTREAM_URL LOG CONFIG_JSON; prints its port.
"""

import io
import json
import re
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

UPSTREAM, LOG, CONFIG = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
LOCK = threading.Lock()
GATE = Path(f"{LOG}.gate")
ANSWERED = 0
FAULTS: list[str] = list(CONFIG.get("faults", []))


def wait_for_gate() -> None:
    """Hold an answer back while the file LOG.gate allows no more of them."""
    global ANSWERED
    while True:
        try:
            allowed = float(GATE.read_text())
        except FileNotFoundError:
            allowed = float("inf")
        with LOCK:
            if allowed > ANSWERED:
                ANSWERED += 1
                return
        time.sleep(0.002)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Or a body waits 40 ms until the receipt of its headers is acknowledged.
    disable_nagle_algorithm = True

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["query"][0]
        self.answer("GET", query)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        query = urllib.parse.parse_qs(body).get("query", [body])[0]
        self.answer("POST", query)

    def answer(self, method: str, query: str) -> None:
        start = time.monotonic()
        with LOCK:
            fault = FAULTS.pop(0) if FAULTS else CONFIG.get("then", "")
        entities = len(set(re.findall(r"<http://www\.wikidata\.org/entity/(Q\d+)>", query)))
        if CONFIG.get("slow_over") and entities > CONFIG["slow_over"]:
            fault = CONFIG.get("slow_as", "500")
        wait_for_gate()
        time.sleep(CONFIG.get("latency", 0.0))
        # What is sent waits for the log: who has the reply finds its line there.
        sending, self.wfile = self.wfile, io.BytesIO()
        status = self.serve(fault, method, query)
        reply, self.wfile = self.wfile.getvalue(), sending
        entry = {
            "start": start, "end": time.monotonic(), "fault": fault, "status": status,
            "method": method, "entities": entities, "agent": self.headers.get("User-Agent", ""),
        }  # fmt: skip
        with LOCK, LOG.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        try:
            self.wfile.write(reply)
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True  # the client is gone
        if status < 0:
            self.connection.close()

    def serve(self, fault: str, method: str, query: str) -> int:
        if fault in ("429", "503", "403", "500", "400"):
            self.send_response(int(fault))
            if CONFIG.get("retry_after") == "date":
                self.send_header("Retry-After", formatdate(time.time() + 1, usegmt=True))
            elif CONFIG.get("retry_after") is not None:
                self.send_header("Retry-After", str(CONFIG["retry_after"]))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return int(fault)
        if fault == "hang":
            self.connection.recv(1, socket.MSG_PEEK)  # until the client hangs up
            self.close_connection = True
            return 0
        data = urllib.parse.urlencode({"query": query}).encode()
        request = urllib.request.Request(
            UPSTREAM, data, {"Accept": "application/sparql-results+json"}
        )
        with urllib.request.urlopen(request) as reply:
            body = reply.read()
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


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
