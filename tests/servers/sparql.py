"""Starts `oxigraph serve` on loopback, and the faulty proxy before it."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import patience
from servers.running import Running, started


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


class Proxy(Running):
    """A running proxy; requests stand in its log when they were answered."""

    def requests(self) -> list[dict[str, Any]]:
        """All requests that were answered, by their start."""
        return sorted(super().requests(), key=lambda r: r["start"])


@contextmanager
def proxy(upstream: str, log: Path, **config: Any) -> Iterator[Proxy]:
    """A faulty proxy before a server."""
    with started("sparql_proxy.py", upstream, str(log), json.dumps(config)) as port:
        yield Proxy(f"http://127.0.0.1:{port}/query", log)
