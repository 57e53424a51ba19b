"""Other ways where a function that POSIX alone has is missing, each taken away in turn."""

import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from citeforge.cli import interrupts
from citeforge.engines import files, posix
from citeforge.engines.files import atomic_file, sweep
from conftest import ROOT, refused

DEMO = """
from pathlib import Path
from citeforge.library.demo import start_demo
from citeforge.plugins.leaderboard.about import definitions
from citeforge.schemas.errors import InputError
try:
    start_demo(Path("demo"))
    print(definitions()[0].count("<h2"))
except InputError as error:
    print(error)
"""


@pytest.fixture
def no_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)


def test_memory_of_the_process() -> None:
    peak = posix.peak_memory()
    # Linux counts KiB: a Python with numpy takes megabytes, and less than the machine has.
    assert peak == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert 10_000_000 < peak < (posix.total_memory() or 0)


@pytest.mark.usefixtures("no_resource")
def test_memory_is_not_counted_without_resource() -> None:
    assert posix.peak_memory() is None
    assert posix.address_space_limit() is None


def test_a_limit_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (8 << 30, 8 << 30))
    assert posix.address_space_limit() == 8 << 30
    unlimited = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda what: (unlimited, unlimited))
    assert posix.address_space_limit() is None


def test_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert posix.total_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delattr(os, "sysconf")
    assert posix.total_memory() is None


def test_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3}, raising=False)
    assert posix.usable_processors() == 2  # a container's share
    monkeypatch.delattr(os, "sched_getaffinity")
    assert posix.usable_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert posix.usable_processors() == 1


def test_devices_are_files_under_linux_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert posix.may_have_device(["nul?"])
    assert not posix.may_have_device(["no-such-device*"])
    monkeypatch.setattr(sys, "platform", "win32")
    assert posix.may_have_device(["no-such-device*"])


def failing(error: OSError) -> Callable[..., None]:
    """Make a function that raises an error."""

    def fail(*paths: Path) -> None:
        raise error

    return fail


def lose_links(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Take hard links away: the function, or what the file system lets it do."""
    if how == "no function":
        monkeypatch.delattr(os, "link")
    if how == "no links":
        monkeypatch.setattr(
            os, "link", lambda *paths: (_ for _ in ()).throw(PermissionError(1, ""))
        )


@pytest.mark.parametrize("how", ["links", "no function", "no links"])
def test_links_and_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str) -> None:
    lose_links(monkeypatch, how)
    source = tmp_path / "a"
    source.write_bytes(b"text")
    posix.link_or_copy(source, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"text"
    assert (source.stat().st_nlink == 2) is (how == "links")


@pytest.mark.parametrize("how", ["links", "no function", "no links"])
@pytest.mark.parametrize("is_posix", [True, False])
def test_a_file_that_is_there_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str, is_posix: bool
) -> None:
    lose_links(monkeypatch, how)
    monkeypatch.setattr(files, "IS_POSIX", is_posix)
    for text, expected in ((b"first", b"first"), (b"second", b"first")):
        with atomic_file(tmp_path / "f", exclusive=True) as file:
            file.write(text)
        assert (tmp_path / "f").read_bytes() == expected
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


def test_a_full_disk_is_no_lack_of_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "link", failing(OSError(28, "full")))
    (tmp_path / "a").touch()
    with pytest.raises(OSError, match="full"):
        posix.link_or_copy(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("is_posix", [True, False])
def test_files_of_dead_processes_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_posix: bool
) -> None:
    dead = tmp_path / ".f.0123456789abcdef.citeforge.tmp"
    dead.touch()
    monkeypatch.setattr(posix, "IS_POSIX", is_posix)
    unlink = Path.unlink

    def unlink_closed(path: Path, missing_ok: bool = False) -> None:
        opened = [os.path.realpath(handle) for handle in Path("/proc/self/fd").iterdir()]
        if not is_posix and str(path) in opened:
            raise PermissionError(13, "in use")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_closed)
    sweep(tmp_path)
    assert not dead.exists()


def test_folders_that_cannot_be_opened_need_no_flush(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(posix, "IS_POSIX", False)
    monkeypatch.setattr(os, "open", None)
    posix.sync_folder(tmp_path)


WAITS = [sys.executable, "-c", "import time; time.sleep(1000)"]


def run_too_long(path: Path) -> None:
    """Run a program that does not end, with a folder as the path of commands."""
    with pytest.raises(subprocess.TimeoutExpired):
        posix.run_group(WAITS, b"", {"PATH": str(path)}, 0.01)


def test_a_program_gets_its_input_and_folder(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import os; print(input(), os.getcwd()); raise SystemExit(3)"]
    done = posix.run_group(words, b"text", {}, 600, tmp_path)
    assert (done.returncode, done.stdout.decode().split()) == (3, ["text", str(tmp_path)])


def test_a_program_ends_without_process_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setenv("PATH", str(tmp_path))
    run_too_long(tmp_path)  # which waits for its end


def test_windows_own_command_ends_the_children(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = tmp_path / "taskkill"
    command.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\n')
    command.chmod(0o755)
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setenv("PATH", str(tmp_path))
    run_too_long(tmp_path)
    words = (tmp_path / "words").read_text().split()
    assert words[:3] == ["/F", "/T", "/PID"]
    assert int(words[3]) > 0


def test_ends_by_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert posix.is_ended_by(-signal.SIGKILL, "SIGKILL")
    assert not posix.is_ended_by(-signal.SIGKILL, "SIGXCPU")
    assert not posix.is_ended_by(1, "SIGKILL")
    monkeypatch.delattr(signal, "SIGKILL")
    assert not posix.is_ended_by(-9, "SIGKILL")


def test_a_process_beyond_its_processor_time_ends_by_the_signal_for_it() -> None:
    code = "from citeforge.engines.posix import limit_process; limit_process(1 << 32, 1, 1 << 20)"
    done = subprocess.run([sys.executable, "-c", f"{code}\nwhile True: pass"], check=False)
    assert posix.is_ended_by(done.returncode, "SIGXCPU")


@pytest.mark.usefixtures("no_resource")
def test_a_system_without_limits_sets_none() -> None:
    posix.limit_process(1, 1, 1)


def test_memory_is_hidden_under_linux_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    posix.hide_memory()


def test_signals_that_a_system_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert posix.ending_signals() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    monkeypatch.setattr(posix, "_ENDING", ("SIGINT", "SIGTERM", "SIGNONE"))
    assert posix.ending_signals() == [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("has_timers", [True, False])
def test_a_signal_comes_again(monkeypatch: pytest.MonkeyPatch, has_timers: bool) -> None:
    if not has_timers:
        monkeypatch.delattr(signal, "setitimer")
    came = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: came.set())
    alarm = signal.getsignal(signal.SIGALRM)
    try:
        posix.raise_signal_later(signal.SIGTERM, 0.01)
        while not came.is_set():  # a test that hangs is ended by the suite's own limit
            came.wait(0.01)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGALRM, alarm)


def test_no_signal_comes_again_to_a_command_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)
    posix._raise_if_caught(signal.SIGTERM)
    assert not raised
    monkeypatch.setattr(signal, "getsignal", lambda number: interrupts._interrupt)
    posix._raise_if_caught(signal.SIGTERM)
    assert raised == [signal.SIGTERM]


def test_a_reader_that_cannot_be_asked_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "poll")
    assert posix.is_reader_gone()


def checkout_without_links(folder: Path, *names: str) -> None:
    """Copy parts of the repository as git does without ``core.symlinks``: a link is a text."""
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, symlinks=True, ignore=skipped)
        else:
            shutil.copyfile(ROOT / name, target)
    for link in [path for path in folder.rglob("*") if path.is_symlink()]:
        text = str(link.readlink())
        link.unlink()
        link.write_text(text)


@pytest.mark.slow
def test_a_checkout_without_links(tmp_path: Path) -> None:
    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", DEMO], cwd=tmp_path, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        ).stdout  # fmt: skip

    checkout_without_links(tmp_path, "src", "examples", "docs/definitions.md")
    assert (tmp_path / "src/citeforge/library/examples/facts").is_file()
    assert int(run()) > 5
    made = tmp_path / "demo" / "examples" / "facts" / "corpus.jsonl"
    assert made.read_bytes() == (ROOT / "examples" / "facts" / "corpus.jsonl").read_bytes()
    # A wheel that was made of it has links to nothing.
    shutil.rmtree(tmp_path / "examples")
    shutil.rmtree(tmp_path / "demo")
    assert "git config core.symlinks true" in run()


def test_what_is_no_link_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "a.md"
    text.write_text("../ is the folder above.\nMore.\n")
    assert posix.follow_checkout_link(text) == text
    assert posix.follow_checkout_link(tmp_path) == tmp_path
    text.write_text("../nowhere")
    with refused("missing-file"):
        posix.follow_checkout_link(text)
