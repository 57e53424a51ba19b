"""Builds from the command line: priced beforehand, stopped, killed, resumed, scored."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import Inline, content, run_inline
from plugins.documents.village import N, replies, write_documents
from servers.nursery import kill_command
from servers.running import Running, openai_server


@dataclass(frozen=True)
class Built:
    """A folder with a build in ``whole``, and the server that was asked."""

    folder: Path
    server: Running
    n_requests: int

    def words(self, out: str) -> list[str]:
        """Words of the command that builds."""
        return [
            "build", "documents", "--source", f"folder:{self.folder / 'docs'}", "--llm", "openai:m",
            "--judge", "lexical", "--queries", "6", "--single", "3", "--pair", "0", "--list", "2",
            "--absent", "1", "--base-url", self.server.url, "--out", str(self.folder / out),
        ]  # fmt: skip

    def tables(self, out: str) -> dict[str, bytes]:
        """Tables of a finished package."""
        files = content(self.folder / out)
        return {name: data for name, data in files.items() if name.endswith(".parquet")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    folder = tmp_path_factory.mktemp("built")
    write_documents(folder / "docs", N)
    with (
        pytest.MonkeyPatch.context() as patch,
        openai_server(folder / "log", replies=replies()) as server,
    ):
        patch.setenv("OPENAI_API_KEY", "key")
        done = run_inline(Built(folder, server, 0).words("whole"), folder, {})
        assert done.returncode == 0, done.stderr
        assert re.search(r"questions accepted: single +3\n", done.stdout)
        assert re.search(r"questions accepted: absent +1\n", done.stdout)
        yield Built(folder, server, len(server.requests()))


@pytest.mark.slow
def test_a_folder_becomes_a_scored_system_in_three_commands(built: Built, inline: Inline) -> None:
    out, answers = built.folder / "whole", built.folder / "answers.jsonl"
    inline.ok("verify", out)
    inline.ok("run", "echo-relevant", "--benchmark", out, "--out", answers)
    scored = inline.ok("score", answers, "--benchmark", out, "--judge", "lexical")
    assert re.search(r"CiteF1@query ↑ +100\.00", scored.stdout)
    # It cites, and says nothing.
    assert re.search(r"ALCE\.StrEM ↑ +0\.00", scored.stdout)
    # What is asked again is answered by the store.
    n = len(built.server.requests())
    inline.ok(*built.words("again"), "--store", built.folder / "whole.replay.db")
    assert len(built.server.requests()) == n
    hashes = [json.loads((built.folder / o / "manifest.json").read_text())["benchmark_hash"]
              for o in ("whole", "again")]  # fmt: skip
    assert hashes[0] == hashes[1]


def test_a_build_is_priced_before_anything_is_asked(built: Built, inline: Inline) -> None:
    n = len(built.server.requests())
    planned = inline.ok(*built.words("x")[:-2], "--dry-run", "--price", "1,2")
    # Five questions with an answer: written; read with the evidence, with each of the five nearest
    # passages, with these together; three times by heart. One without: written, and read twice.
    calls = 5 * (1 + 1 + 5 + 1 + 3) + (1 + 2)
    assert calls <= built.n_requests <= calls + 2  # what the judge adds
    # Three tries, in which a verdict may add each of the other seven passages.
    most = 3 * (5 * (1 + 1 + 12 + 1 + 3) + (1 + 2))
    assert re.search(rf"calls to make +{calls} if .*; at most {most}\n", planned.stdout)
    assert re.search(r"cost +about \d.*; at most \d", planned.stdout)
    assert len(built.server.requests()) == n
    assert not list(built.folder.glob("x*"))


@pytest.mark.slow
def test_a_build_that_was_stopped_goes_on_and_ends_the_same(built: Built, inline: Inline) -> None:
    n_before = len(built.server.requests())
    words = [*built.words("stopped"), "--concurrency", "1", "--price", "1,2"]
    inline.fails(3, "budget", *words, "--max-cost", "0.004", "--thinking-tokens", "0")
    assert 0 < len(built.server.requests()) - n_before < built.n_requests
    inline.ok(*words, "--resume")
    assert len(built.server.requests()) == n_before + built.n_requests
    assert built.tables("stopped") == built.tables("whole")


@pytest.mark.slow
@pytest.mark.parametrize("n_answered", [4, 20])
def test_a_killed_build_goes_on_and_ends_the_same(
    built: Built, inline: Inline, tmp_path: Path, n_answered: int
) -> None:
    """Manifest and card, too: the package has the same name in another folder."""
    server, out = built.server, f"killed-{n_answered}/whole"
    n_before = len(server.requests())
    server.answer_up_to(n_before + n_answered)
    words = [*built.words(out), "--concurrency", "1"]
    kill_command(words, tmp_path, lambda: len(server.requests()) > n_before + n_answered)
    server.answer_up_to(None)
    inline.ok(*built.words(out), "--resume")
    # One request had no answer yet when the build was killed.
    assert len(server.requests()) == n_before + built.n_requests + 1
    assert content(built.folder / out) == content(built.folder / "whole")
