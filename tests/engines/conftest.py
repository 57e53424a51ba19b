"""A server of the OpenAI protocol, a store and a key for tests of LLMs and judges."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from citeforge.engines.llm.replay import ReplayStore
from servers.running import Running, openai_server

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return KEY


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK waits a moment, not seconds, before it tries again."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.005)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.02)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with openai_server(tmp_path_factory.mktemp("server") / "log") as server:
        yield server


@pytest.fixture
def server(running: Running, key: str) -> Running:
    """A server without faults, that has been asked nothing yet."""
    running.log.write_text("")
    return running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplayStore]:
    with ReplayStore(tmp_path / "s.db") as opened:
        yield opened
