"""Starts the scripted OpenAI server and reads its log."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from servers.openai_server import Server


@dataclass
class Running:
    """A server.

    Attributes:
        url: base URL for clients.
        log: file with one line a request.
    """

    url: str
    log: Path

    def answer_up_to(self, count: int | None) -> None:
        """Hold back the answers to all requests behind the first so many; None for no limit."""
        gate = self.log.with_name(f"{self.log.name}.gate")
        if count is None:
            gate.unlink(missing_ok=True)
            return
        fresh = gate.with_name(f"{gate.name}.new")
        fresh.write_text(str(count))
        fresh.replace(gate)

    def requests(self) -> list[dict[str, Any]]:
        """All requests so far."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]


@contextmanager
def started(script: str, *words: str) -> Iterator[int]:
    """A server process of this folder for the length of the block; its port."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / script), *words],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextmanager
def transformers_server(model: Path, log: Path) -> Iterator[str]:
    """`transformers serve` of a model folder, on one thread; its base URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "from transformers.cli.transformers import main; main()"
    words = ("serve", str(model), "--device", "cpu", "--host", "127.0.0.1", "--port", str(port))
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", start, *words], stdout=output, stderr=output, env=env
        )
    url = f"http://127.0.0.1:{port}"
    try:
        while process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{url}/health"):
                break
            time.sleep(0.1)
        assert process.poll() is None, log.read_text()
        yield f"{url}/v1"
    finally:
        process.kill()
        process.wait()


@contextmanager
def openai_server(log: Path, **config: Any) -> Iterator[Running]:
    """A server in a thread of this process, for the length of the block."""
    server = Server(log, config)
    with server.log, start_blocking_portal() as portal:
        yield Running(f"http://127.0.0.1:{portal.call(server.listen)}/v1", log)
        portal.call(server.close)
