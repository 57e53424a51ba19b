"""Commands, judges and clients that are killed while they run, each in a process of its own.

They are forked from one process per worker that has imported torch, which takes seconds.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    ["torch", "tokenizers", "citeforge.cli.main", "citeforge.builders.rage.build",
     "citeforge.engines.models.transformer", "transformers.models.t5.modeling_t5",
     "transformers.models.auto.modeling_auto", "citeforge.engines.judge.hf",
     "openai.resources.chat.completions", "citeforge.engines.llm.writers"]
)  # fmt: skip


def start(work: Callable[..., None], *args: object, **env: str) -> ForkServerProcess:
    """Start a function in a new process, with the environment of this one and more of it."""
    process = FORKS.Process(target=_work, args=({**os.environ, **env}, work, *args))
    process.start()
    return process


def _work(environment: dict[str, str], work: Callable[..., None], *args: object) -> None:
    """Call a function in an environment, without waiting for the disk."""
    os.environ.clear()
    os.environ.update(environment)
    vars(os)["fsync"] = lambda handle: None  # as in all tests: a kill is no power cut
    work(*args)


def fork(work: Callable[..., None], *args: object) -> CompletedProcess[str]:
    """Call a function in a new process; its exit code, and what it wrote."""
    with TemporaryDirectory() as folder:
        process = start(_write_to, folder, work, *args)
        process.join()
        written = ((Path(folder) / name).read_text() for name in ("1", "2"))
        return CompletedProcess(str(work), process.exitcode or 0, *written)


def _write_to(folder: str, work: Callable[..., None], *args: object) -> None:
    """Call a function with standard output and standard error in files ``1`` and ``2``."""
    for number in (1, 2):
        os.dup2(os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY), number)
    work(*args)


def run(
    args: list[str], folder: Path, largest: int = 0, die_at: tuple[Path, int] | None = None
) -> CompletedProcess[str]:
    """Run a command, whose files grow to so many bytes at most (0: any).

    ``die_at``: a folder, and which new file there the command does not live to make.
    """
    return fork(_command, args, folder, largest, die_at)


def kill_command(args: list[str], folder: Path, is_time: Callable[[], bool], **env: str) -> None:
    """Start a command, and kill it as soon as it is time; it must not end before."""
    with TemporaryDirectory() as written:
        process = start(_write_to, written, _command, args, folder, **env)
        while not is_time():
            if not process.is_alive():
                said = [(Path(written) / name).read_text() for name in ("1", "2")]
                raise AssertionError(f"it ended before it could be killed: {said}")
            time.sleep(0.01)
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL


def _command(
    args: list[str], folder: Path, largest: int = 0, die_at: tuple[Path, int] | None = None
) -> None:
    from citeforge.cli.main import main

    os.chdir(folder)
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if die_at:
        kill_at(str(die_at[0]), die_at[1])
    main(args)


def kill_at(folder: str, count: int) -> None:
    """SIGKILL where the so-manyth new file of a folder, or of its `.partial`, would appear."""
    new = []

    def hook(event: str, args: Any) -> None:
        made = args[0] if event == "open" and (args[2] or 0) & os.O_CREAT else None
        path = str(args[1] if event == "os.rename" else made)
        if path.startswith((f"{folder}/", f"{folder}.partial/")) and not Path(path).exists():
            new.append(path)
            if len(new) == count:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def run_judge(model: Path, store: Path, asked: list[Pair], left: int) -> CompletedProcess[str]:
    """Judge pairs in batches of four, on two threads.

    The process is killed when ``left`` batches are stored (0: never).
    """
    return fork(_judge, model, store, asked, left)


def _judge(model: Path, store: Path, asked: list[Pair], left: int) -> None:
    import torch

    from servers.tiny_nli import cpu_judge

    class Mortal(VerdictStore):
        def put_verdicts(self, verdicts: Any, server: str = "") -> None:
            nonlocal left
            super().put_verdicts(verdicts, server)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    torch.set_num_threads(2)  # as many batches are under way
    with Mortal(store) as opened:
        session = JudgeSession(cpu_judge(model, "true-t5", batch_size=4), opened)
        session.ask(asked)
        print(f"asked {session.n_asked} stored {session.n_stored}")


def complete(
    url: str, store: Path, requests: list[Request], concurrency: int, largest: int = 0
) -> None:
    """Ask an endpoint, and store the answers in files of so many bytes at most (0: any)."""
    from citeforge.engines.llm.writers import OpenAiLlm

    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    try:
        with ReplayStore(store) as opened:
            options = RunOptions(base_url=url, concurrency=concurrency)
            OpenAiLlm("m", opened, options).complete(requests)
    except InputError as error:
        sys.exit(f"{error.code}: {error}")
