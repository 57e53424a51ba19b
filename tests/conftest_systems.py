"""Systems of a package against an endpoint that says what it is told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.endpoint import Endpoint


@pytest.fixture
def endpoint(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return Endpoint(package, tmp_path)  # type: ignore[return-value]
