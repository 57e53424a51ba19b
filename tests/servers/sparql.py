"""Starts `oxigraph serve` on loopback, and the faulty proxy before it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def oxigraph() -> str:
    """The oxigraph binary of this environment."""
    found = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which(
        "oxigraph"
    )
    assert found, "the PyPI package oxigraph is not installed"
    return found


@contextmanager
def sparql_server(data: Path, folder: Path) -> Iterator[str]:
    """A real SPARQL 1.1 server loaded with a file; its query URL."""
    store = folder / "oxigraph"
    subprocess.run(
        [oxigraph(), "load", "--location", str(store), "--file", str(data)],
        check=True,
        capture_output=True,
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [oxigraph(), "serve-read-only", "--location", str(store)]
    process = subprocess.Popen(
        [*command, "--bind", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            assert process.poll() is None, "oxigraph did not start"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/query"
    finally:
        process.kill()
        process.wait()


@dataclass
class Proxy:
    """A running proxy.

    Attributes:
        url: query URL for clients.
        log: file with one line a request.
    """

    url: str
    log: Path

    def requests(self) -> list[dict[str, Any]]:
        """All requests that were answered, by their start."""
        if not self.log.exists():
            return []
        rows = [json.loads(x) for x in self.log.read_text().splitlines()]
        return sorted(rows, key=lambda r: r["start"])


@contextmanager
def proxy(upstream: str, log: Path, **config: Any) -> Iterator[Proxy]:
    """A faulty proxy before a server."""
    script = Path(__file__).parent / "sparql_proxy.py"
    process = subprocess.Popen(
        [sys.executable, str(script), upstream, str(log), json.dumps(config)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield Proxy(f"http://127.0.0.1:{int(process.stdout.readline())}/query", log)
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
