"""A server that means harm: it says the key back in every way, drips, and never ends.

The first part of the path chooses the mode. `echo` puts what the last message asks for, with the
caller's key in the form that it names, where it names. Usage: hostile_server.py; prints the port.
"""

import base64
import contextlib
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

FORMS = {
    "whole": lambda key: key,
    "url": lambda key: f"https://example.org/v1?api-key={key}&x=1",
    "late": lambda key: "x" * 290 + key,
    "lines": lambda key: f"a\n{key}\nb",
    "basic": lambda key: f"Basic {base64.b64encode(f'me:{key}'.encode()).decode()}",
    "percent": lambda key: quote(key, safe=""),
    "beginning": lambda key: f"{key[:14]} and so on",
    "packed": lambda key: f"x {base64.b64encode(f'user:{key}'.encode()).decode()[:26]}",
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        mode = self.path.split("/")[1]
        with contextlib.suppress(ConnectionError):
            getattr(self, mode)(body)

    def drip(self, _: Any) -> None:
        self.start({"Transfer-Encoding": "chunked"})
        while True:
            self.wfile.write(b"1\r\n \r\n")
            self.wfile.flush()
            time.sleep(0.02)

    def endless(self, _: Any) -> None:
        self.start({"Transfer-Encoding": "chunked"})
        chunk = b" " * (1 << 20)
        while True:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    def packed(self, _: Any) -> None:
        self.start({"Content-Encoding": "gzip", "Content-Length": "5"})
        self.wfile.write(b"no gz")

    def echo(self, body: Any) -> None:
        place, form = body["messages"][-1]["content"].split()
        scheme, _, sent = self.headers["Authorization"].partition(" ")
        if scheme == "Basic":
            sent = base64.b64decode(sent).decode().partition(":")[2]
        key = FORMS[form](sent)
        if place == "error":
            return self.reply({"error": {"message": f"no: {key}", "code": key}}, 400)
        if place == "text":
            return self.reply(f"no: {key}", 422)
        message: dict[str, Any] = {"content": "Fine."}
        extra: dict[str, Any] = {}
        if place == "answer":
            message = {"content": f"You sent {key} to me."}
            extra["logprobs"] = {
                "content": [
                    {"token": t, "logprob": -1.0}
                    for t in (message["content"][i : i + 5] for i in range(0, 400, 5))
                    if t
                ]
            }
        if place == "refusal":
            message = {"content": None, "refusal": f"Not with {key}."}
        choice = {"message": message, "finish_reason": key if place == "reason" else "stop"}
        model = key if place == "model" else "m"
        headers = {"X-Request-Id": key.replace("\n", " "), "Retry-After": key.replace("\n", " ")}
        status = 429 if place == "headers" else 200
        return self.reply({"choices": [{**choice, **extra}], "model": model}, status, headers)

    def reply(self, content: Any, status: int = 200, headers: Any = None) -> None:
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.start({"Content-Length": str(len(data)), **(headers or {})}, status)
        self.wfile.write(data)

    def start(self, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        server.serve_forever()
