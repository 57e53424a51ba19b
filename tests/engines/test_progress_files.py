"""What a running command has done, as another process reads it."""

import os
from pathlib import Path
from threading import Thread

import pytest

from citeforge.engines.files import sweep
from citeforge.engines.progress import Stage, progress, stage_watcher
from citeforge.engines.progress_files import PATTERN, Work, progress_file, read_progress
from patience import until


def current(folder: Path) -> Work | None:
    """What the one progress file of a folder says."""
    (path,) = folder.glob(PATTERN)
    return read_progress(path)


def test_the_file_has_the_last_stage_and_is_removed(tmp_path: Path) -> None:
    with progress_file("run", tmp_path / "a.jsonl"):
        until(lambda: current(tmp_path) == Work("run", "a.jsonl"))
        with progress("LLM", 7, "answers") as advance:
            advance(2)
            advance(3, "slow")
            stage = Stage("LLM", 5, 7, "answers", "slow")
            until(lambda: current(tmp_path) == Work("run", "a.jsonl", stage))
        with progress("judging", None, "pairs"):
            shorter = Work("run", "a.jsonl", Stage("judging", 0, None, "pairs"))
            until(lambda: current(tmp_path) == shorter)  # nothing is left of the longer text
    assert [*tmp_path.iterdir()] == []
    assert stage_watcher.get() is None


def test_an_error_removes_it_and_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), progress_file("score", tmp_path / "s.json"):
        assert len([*tmp_path.glob(PATTERN)]) == 1
        raise ZeroDivisionError
    with progress_file("score", tmp_path / "gone" / "s.json"), progress("x", 1, "y") as advance:
        advance(1)
    with progress_file("score", None):
        assert stage_watcher.get() is None
    assert [*tmp_path.iterdir()] == []


def test_a_killed_command_is_not_at_work(tmp_path: Path) -> None:
    """Its lock ended with it: readers see nothing, and the next command sweeps the file."""
    path = tmp_path / PATTERN.replace("*", "a.jsonl.0123456789abcdef")
    path.write_text('{"command": "run", "out": "a.jsonl"}')
    assert read_progress(path) is None
    sweep(tmp_path)
    assert not path.exists()
    assert read_progress(path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_pipe_and_a_link_are_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / PATTERN.replace("*", "pipe")
    os.mkfifo(pipe)
    assert read_progress(pipe) is None
    with progress_file("run", tmp_path / "a.jsonl"):
        (path,) = (p for p in tmp_path.glob(PATTERN) if p != pipe)
        until(lambda: read_progress(path) is not None)
        link = tmp_path / PATTERN.replace("*", "link")
        link.symlink_to(path)
        assert read_progress(link) is None


def test_the_byte_that_windows_locks_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``LockFileEx`` of one byte at 0 lets no other process read a range that has this byte."""
    real_read = os.read

    def read(handle: int, size: int) -> bytes:
        if os.lseek(handle, 0, os.SEEK_CUR) == 0:
            raise PermissionError(13, "Permission denied")
        return real_read(handle, size)

    with progress_file("run", tmp_path / "a.jsonl"):
        until(lambda: current(tmp_path) is not None)
        with monkeypatch.context() as patch:
            patch.setattr(os, "read", read)
            assert current(tmp_path) == Work("run", "a.jsonl")


def test_a_file_that_stays_open_elsewhere_ends_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to remove what a reader has open; the next sweep removes it."""

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "The process cannot access the file", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        with progress_file("run", tmp_path / "a.jsonl"):
            pass
    assert len([*tmp_path.glob(PATTERN)]) == 1
    sweep(tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(os.name != "posix", reason="a locked file cannot be written by others")
def test_what_is_no_progress_file_is_not_read(tmp_path: Path) -> None:
    with progress_file("run", tmp_path / "a.jsonl"):
        until(lambda: current(tmp_path) is not None)
        (path,) = tmp_path.glob(PATTERN)
        path.write_text("{")
        assert read_progress(path) is None


def test_without_another_thread_there_is_no_progress_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", start)
    with progress_file("run", tmp_path / "a.jsonl"):
        assert list(tmp_path.iterdir()) == []
