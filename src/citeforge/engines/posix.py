"""Functions that POSIX systems alone have, each with its fallback elsewhere.

The one module that may use them: tests/test_portable.py finds others, and takes each of them away.
Imported before a command's code, so this module imports little.
"""

import errno
import os
import shutil
import signal
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.schemas.errors import InputError

if TYPE_CHECKING:
    import subprocess

IS_POSIX = os.name == "posix"
"""Windows can neither rename nor remove open files, nor open folders."""
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_LONGEST_LINK = 1000
_PR_SET_DUMPABLE = 4


def peak_memory() -> int | None:
    """Get the peak memory of this process in bytes; None where the system does not count it."""
    try:
        import resource
    except ImportError:
        return None
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def address_space_limit() -> int | None:
    """Get the largest address space of this process in bytes; None for no limit, as on Windows."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def limit_process(memory: int, seconds: int, file_bytes: int) -> None:
    """Limit this process's address space, CPU seconds and file sizes (not on Windows).

    Args:
        memory: bytes of its address space.
        seconds: processor time.
        file_bytes: bytes of each file that it writes.
    """
    try:
        import resource
    except ImportError:
        return
    for limit, most in (
        (resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, file_bytes), (resource.RLIMIT_CORE, 0)
    ):  # fmt: skip
        resource.setrlimit(limit, (most, most))
    # Only the lower of two limits ends a process by SIGXCPU, which tells it from other ends.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def is_ended_by(returncode: int, name: str) -> bool:
    """Whether a return code says that the signal ``name`` ended the process.

    Args:
        returncode: how it ended.
        name: name of the signal; on some systems there is none.
    """
    return hasattr(signal, name) and returncode == -int(getattr(signal, name))


def hide_memory() -> None:
    """Keep other processes of this user from reading this one's memory and environment (Linux)."""
    import ctypes

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def total_memory() -> int | None:
    """Get the size of this machine's memory in bytes; None where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows; a system without these names
        return None


def usable_processors() -> int:
    """Count the processors that this process may use; if unknown, all of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_flags() -> set[str]:
    """Read the feature flags of an x86-64 processor under Linux; empty elsewhere."""
    import platform

    info = Path("/proc/cpuinfo")
    if platform.machine() not in ("x86_64", "AMD64") or not info.is_file():
        return set()
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    return set(next((x for x in lines if x.startswith("flags")), "").partition(":")[2].split())


def may_have_device(patterns: Iterable[str]) -> bool:
    """Whether ``/dev`` has a device file that fits a pattern (True where devices are no files).

    Args:
        patterns: names below ``/dev``, such as ``nvidia*``.
    """
    return sys.platform != "linux" or any(any(Path("/dev").glob(p)) for p in patterns)


def return_free_memory() -> None:
    """Return freed memory to the operating system (glibc only).

    glibc keeps what threads free in an arena of each; with tensors of all sizes, an embedding of
    100,000 passages held 800 MB more so (benchmarks/results).
    """
    import ctypes

    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def open_regular(path: Path) -> int:
    """Open a regular file for reading; return its descriptor.

    Raises:
        OSError: it cannot be opened; it is a link, where the system tells; or it is a pipe or
            device, whose opening is not waited for.
    """
    strict = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)  # Windows has neither
    handle = os.open(path, os.O_RDONLY | strict)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return handle


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that renames inside it survive a power failure.

    Windows opens no folders, and its file system writes a rename into its own journal.
    """
    if not IS_POSIX:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_open(path: Path, handle: int) -> None:
    """Remove a file that this process has open and locked, and close it.

    The lock ends last, so that no process takes the name over; Windows removes closed files alone.

    Args:
        path: name of the file.
        handle: its descriptor.
    """
    try:
        if IS_POSIX:
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)
    if not IS_POSIX:
        path.unlink(missing_ok=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Make a hard link to a file; a copy where the file system or the system has no hard links."""
    if not _link(source, target):
        shutil.copyfile(source, target)


def rename_new(source: Path, target: Path) -> None:
    """Rename a finished file; if the new name is taken, remove the finished file instead.

    Without hard links the name is taken by an empty file first, which the rename replaces.
    """
    with suppress(FileExistsError):
        if not _link(source, target):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            source.replace(target)
            return
    source.unlink()


def _link(source: Path, target: Path) -> bool:
    """Make a hard link; return False if that is impossible here.

    Raises:
        FileExistsError: the target is there.
    """
    if not hasattr(os, "link"):
        return False
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        return False  # FAT, many network drives, two file systems
    return True


def run_group(
    command: Sequence[str], input_bytes: bytes, env: Mapping[str, str], timeout: float,
    cwd: Path | None = None,
) -> "subprocess.CompletedProcess[bytes]":  # fmt: skip
    """Run a program on an input; at its end or on an error, kill all that it has started.

    Args:
        command: the command.
        input_bytes: its standard input.
        env: its environment.
        timeout: seconds that it may take.
        cwd: folder that it runs in; None for this one.

    Raises:
        OSError: there is no such program.
        TimeoutExpired: it took longer.
    """
    import subprocess

    pipe = subprocess.PIPE
    # On Windows the session is ignored; a program's children are found by their parent.
    started = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, start_new_session=True
    )
    with started:
        try:
            out, errors = started.communicate(input_bytes, timeout)
        finally:
            _end_group(started)
    return subprocess.CompletedProcess(command, started.returncode, out, errors)


def _end_group(started: "subprocess.Popen[bytes]") -> None:
    """Kill a program of :func:`run_group` and all processes that it has started.

    Without process groups Windows' ``taskkill`` ends the tree of its children; without that, the
    program alone ends.
    """
    import subprocess

    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(started.pid, signal.SIGKILL)
        return
    if taskkill := shutil.which("taskkill"):
        words = [taskkill, "/F", "/T", "/PID", str(started.pid)]
        subprocess.run(words, capture_output=True, check=False)
    started.kill()


def ending_signals() -> list[signal.Signals]:
    """List the signals that end a command on this system: Ctrl-C, SIGTERM, SIGHUP."""
    return [signal.Signals[name] for name in _ENDING if name in signal.Signals.__members__]


def raise_signal_later(number: int, seconds: float) -> None:
    """Raise a signal in this process after some seconds; called in the main thread.

    Where the system has no timers a thread waits, which wakes no system call but those of Ctrl-C on
    Windows.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: _raise_if_caught(number))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return
    from threading import Timer

    timer = Timer(seconds, _raise_if_caught, [number])
    timer.daemon = True
    timer.start()


def _raise_if_caught(number: int) -> None:
    """Raise a signal if Python has a handler for it (none when the command is ending)."""
    if callable(signal.getsignal(number)):
        signal.raise_signal(number)


def is_reader_gone() -> bool:
    """Whether the program that reads our output (head, less) has closed its end of the pipe.

    On Windows this cannot be asked: True, as nothing else is likely there.
    """
    import select

    if not hasattr(select, "poll"):
        return True
    streams = select.poll()
    for stream in (1, 2):
        streams.register(stream, 0)
    return any(event & select.POLLERR for _, event in streams.poll(0))


def follow_checkout_link(path: Path) -> Path:
    """Get the target of a link that git checked out as a text file; else the path itself.

    Without symbolic links (Windows, ``core.symlinks`` false) git checks a link out as a file that
    contains its target.

    Raises:
        InputError: the target is not there: the package was installed from such a checkout.
    """
    if path.is_dir() or not path.is_file() or path.stat().st_size > _LONGEST_LINK:
        return path
    target = path.read_text(encoding="utf-8", errors="replace")
    if not target.startswith("../") or "\n" in target.rstrip("\n"):
        return path
    linked = path.parent / target.rstrip("\n")
    if not linked.exists():
        raise InputError(
            "is a symbolic link that git has written as a text", path=path,
            allowed="git config core.symlinks true, git checkout ., and install again; or a wheel",
            code="missing-file",
        )  # fmt: skip
    return linked
