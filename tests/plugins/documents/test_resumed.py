"""Builds from the command line: priced beforehand, killed, resumed, scored."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli
from patience import patience
from plugins.documents.village import village, write_documents, written
from servers.running import Running, openai_server

N = 12


def replies() -> list[list[str]]:
    """What the endpoint says: questions of three kinds about each village, and answers."""
    found = []
    for one in map(village, range(N)):
        passage = rf"The village of {one.name} lies"
        found += [
            [rf"{passage}.*exam.*two or more answers", written("list", [one])],
            [rf"{passage}.*exam.*does not answer", written("absent", [one])],
            [rf"{passage}.*exam", written("single", [one])],
            [rf"{passage}.*Question: Which person leads {one.name}\?", one.leader],
            [rf"{passage}.*Question: Which plants grow around {one.name}\?", ", ".join(one.crops)],
        ]
    return [*found, [".", "NOT ANSWERED"]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    write_documents(tmp_path / "docs", N)
    with openai_server(tmp_path / "log", replies=replies()) as running:
        yield running


def words(folder: Path, server: Running, out: str) -> list[str | Path]:
    return [
        "build", "documents", "--source", f"folder:{folder / 'docs'}", "--llm", "openai:m",
        "--judge", "lexical", "--queries", "6", "--single", "3", "--pair", "0", "--list", "2",
        "--absent", "1", "--base-url", server.url, "--out", folder / out,
    ]  # fmt: skip


def test_a_folder_becomes_a_scored_system_in_three_commands(
    tmp_path: Path, server: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    done = cli(*words(tmp_path, server, "bench"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"questions accepted: single +3\n", done.stdout)
    assert re.search(r"questions accepted: absent +1\n", done.stdout)
    out, answers = tmp_path / "bench", tmp_path / "answers.jsonl"
    assert cli("verify", out).returncode == 0
    assert cli("run", "echo-relevant", "--benchmark", out, "--out", answers).returncode == 0
    scored = cli("score", answers, "--benchmark", out, "--judge", "lexical")
    assert scored.returncode == 0, scored.stderr
    assert re.search(r"CiteF1 +100\.00", scored.stdout)
    # It cites, and says nothing.
    assert re.search(r"ALCE\.StrEM +0\.00", scored.stdout)
    # What is asked again is answered by the store.
    n = len(server.requests())
    again = cli(*words(tmp_path, server, "again"), "--store", tmp_path / "bench.replay.db")
    assert again.returncode == 0, again.stderr
    assert len(server.requests()) == n
    hashes = [json.loads((tmp_path / o / "manifest.json").read_text())["benchmark_hash"]
              for o in ("bench", "again")]  # fmt: skip
    assert hashes[0] == hashes[1]


def test_a_build_is_priced_before_anything_is_asked(
    tmp_path: Path, server: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    planned = cli(*words(tmp_path, server, "x")[:-2], "--dry-run", "--price", "1,2")
    assert planned.returncode == 0, planned.stderr
    # Six questions: written, answered with and without the evidence, three times by heart.
    assert re.search(r"calls to make +36\n", planned.stdout)
    assert re.search(r"cost +at most about \d", planned.stdout)
    assert server.requests() == []
    assert not list(tmp_path.glob("x*"))


def test_a_killed_build_goes_on_and_ends_the_same(
    tmp_path: Path, server: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert cli(*words(tmp_path, server, "whole")).returncode == 0
    n_whole = len(server.requests())
    for answered in (4, 20):
        out, n_before = f"killed-{answered}", len(server.requests())
        server.answer_up_to(n_before + answered)
        command = [sys.executable, "-m", "citeforge", *map(str, words(tmp_path, server, out))]
        process = subprocess.Popen(
            [*command, "--concurrency", "1"],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + patience(300)
        while len(server.requests()) <= n_before + answered:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        server.answer_up_to(None)
        done = cli(*words(tmp_path, server, out), "--resume")
        assert done.returncode == 0, done.stderr
        # One request had no answer yet when the build was killed.
        assert len(server.requests()) == n_before + n_whole + 1
        whole, killed = (
            {p.relative_to(tmp_path / o).as_posix(): p.read_bytes()
             for p in (tmp_path / o).rglob("*.parquet")}
            for o in ("whole", out)
        )  # fmt: skip
        assert whole == killed
