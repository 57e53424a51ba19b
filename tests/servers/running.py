"""Starts the scripted OpenAI server and reads its log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Running:
    """A server process.

    Attributes:
        url: base URL for clients.
        log: file with one line a request.
    """

    url: str
    log: Path

    def requests(self) -> list[dict[str, Any]]:
        """All requests so far."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]


@contextmanager
def openai_server(log: Path, **config: Any) -> Iterator[Running]:
    """A server for the length of the block."""
    script = Path(__file__).parent / "openai_server.py"
    process = subprocess.Popen(
        [sys.executable, str(script), str(log), json.dumps(config)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield Running(f"http://127.0.0.1:{int(process.stdout.readline())}/v1", log)
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
