"""SIGTERM and SIGHUP end commands that wait for a server like Ctrl-C: nothing paid for is lost."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.vectors import SUFFIX
from conftest import ROOT, content
from patience import patience
from servers.running import Running, openai_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP"),
]
N_AT_ONCE = 3
PACKAGE = ROOT / "tests" / "golden" / "v1" / "package"
EXAMPLES = ROOT / "examples"
HOW_TO_GO_ON = "; run the same command again, a build with --resume"
COMMANDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "run": (
        "run rage --benchmark {base} --runs 4 --llm openai:m --out answers.jsonl",
        ("answers.jsonl", "answers.jsonl.replay.db"),
    ),
    "score": (
        "score {answers} --benchmark {base} --measures alce --context mix --judge openai:m "
        "--verdicts v.db --store r.db --out scores.json",
        ("scores.json", "r.db"),
    ),
    "labels judge": (
        "labels judge pairs.jsonl --judge openai:m --verdicts v.db --store r.db --out j.jsonl",
        ("j.jsonl", "r.db"),
    ),
}  # fmt: skip
"""What is typed, the folder or file that it makes, and its store of replies."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    says = [[".", "yes"]]
    with openai_server(tmp_path_factory.mktemp("server") / "log", replies=says) as running:
        yield running


def write_lines(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@contextmanager
def started(words: list[str], folder: Path, **more: object) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which does not outlive the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "citeforge", *words], cwd=folder, text=True,
        env={**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": str(ROOT / "src")},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},  # type: ignore[call-overload]
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(is_time: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until it is time; the process must not end before."""
    while not is_time():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "number"),
    [("run", signal.SIGTERM), ("score", signal.SIGHUP), ("labels judge", signal.SIGTERM)],
)
def test_replies_are_kept_and_asked_for_once(
    server: Running, tmp_path: Path, name: str,
    number: signal.Signals,
) -> None:  # fmt: skip
    """While requests hang in the server; what was answered is on the disk."""
    words, (made, store) = COMMANDS[name]
    answers = tmp_path / "given.jsonl"
    said = " ".join(f"Moon {i} is number {i} [1]." for i in range(8))
    write_lines(answers, [{"query_id": "q1", "output": said}])
    pairs = [{"premise": f"Io is moon {i}.", "hypothesis": f"It is {i}."} for i in range(9)]
    typed = words.format(base=PACKAGE, answers=answers).split()
    typed += ["--base-url", server.url, "--concurrency", str(N_AT_ONCE)]
    for folder in ("calm", "cut"):
        (tmp_path / folder).mkdir()
        write_lines(tmp_path / folder / "pairs.jsonl", pairs)
    n = len(server.requests())
    with started(typed, tmp_path / "calm") as process:
        assert process.wait(patience(60)) == 0, process.communicate()
    n_calm = len(server.requests()) - n
    n += n_calm
    assert n_calm > 4
    server.answer_up_to(n + 4)
    with started(typed, tmp_path / "cut") as process:
        wait_until(lambda: len(server.requests()) > n + 4, process)
        process.send_signal(number)
        _, said = process.communicate(timeout=patience(60))
    server.answer_up_to(None)
    assert process.returncode == 128 + number
    kept, last = said.splitlines()[-2:]
    with ReplayStore(tmp_path / "cut" / store, readonly=True) as stored:
        n_kept = stored.stats().answers  # the last answers may be on their way
    assert 1 <= n_kept <= 4
    assert f"{n_kept} replies in {store}" in kept
    assert last == f"interrupted by {number.name}{HOW_TO_GO_ON}"
    assert not (tmp_path / "cut" / made).exists()
    left = [path.name for path in (tmp_path / "cut").rglob("*")]
    assert not [name for name in left if name == "lock" or name.endswith((".lock", ".tmp"))]
    n_asked = len(server.requests())
    assert n_asked - n - n_kept <= N_AT_ONCE
    with started(typed, tmp_path / "cut") as process:
        assert process.wait(patience(60)) == 0, process.communicate()
    assert len(server.requests()) == n_asked + n_calm - n_kept
    assert content(tmp_path / "cut" / made) == content(tmp_path / "calm" / made)


ASKING = ["llm", "run", "prompts.jsonl", "--llm", "openai:m", "--out", "a.jsonl", "--base-url"]


def write_prompts(folder: Path) -> None:
    (folder / "prompts.jsonl").write_text(
        '{"query_id":"a","prompt":"Who?"}\n{"query_id":"b","prompt":"?"}\n'
    )


def test_a_terminal_that_is_closed_ends_the_command(server: Running, tmp_path: Path) -> None:
    """It has no place left to write to, and says so by its exit code alone."""
    write_prompts(tmp_path)
    n = len(server.requests())
    server.answer_up_to(n)
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    with started(
        [*ASKING, server.url], tmp_path, start_new_session=True, preexec_fn=own_terminal, **streams
    ) as process:
        os.close(theirs)
        wait_until(lambda: len(server.requests()) > n, process)
        os.close(ours)
        assert process.wait(patience(60)) == 128 + signal.SIGHUP
    server.answer_up_to(None)
    assert not list(tmp_path.glob("*.lock"))


def own_terminal() -> None:
    """Make standard input the terminal of the new session, which gets SIGHUP at its end."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_nohup_is_heeded(server: Running, tmp_path: Path) -> None:
    write_prompts(tmp_path)
    n = len(server.requests())
    server.answer_up_to(n)
    with started([*ASKING, server.url], tmp_path, preexec_fn=ignore_hangups) as process:
        wait_until(lambda: len(server.requests()) > n, process)
        process.send_signal(signal.SIGHUP)
        server.answer_up_to(None)
        assert process.wait(patience(60)) == 0, process.communicate()
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 1 + 2


def ignore_hangups() -> None:
    """Do what nohup does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_threads_that_compute_end_with_the_command(tmp_path: Path) -> None:
    """While a model embeds passages: whole shards are kept."""
    words = ["build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--embedder", "offline",
             "--device", "cpu", "--shard-rows", "4", "--out", "out"]  # fmt: skip
    shards = tmp_path / "out.partial" / "embeddings"
    with started(words, tmp_path) as process:
        wait_until(lambda: len(list(shards.glob("*.json"))) >= 2, process)
        process.terminate()
        _, said = process.communicate(timeout=patience(60))
    assert process.returncode == 128 + signal.SIGTERM
    assert "in out.partial/embeddings" in said.splitlines()[-2]
    assert all(path.with_suffix(".json").exists() for path in shards.glob(f"*{SUFFIX}"))
    assert not list(tmp_path.rglob("*.tmp"))
    with started([*words, "--resume"], tmp_path) as process:
        assert process.wait(patience(90)) == 0, process.communicate()
