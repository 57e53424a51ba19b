"""The end of a command by a signal: Ctrl-C, SIGTERM or SIGHUP.

All three raise KeyboardInterrupt, so that every block cleans up: locks are released, temporary
files removed, Ray's processes stopped. The command ends with 128 + the signal. Imported before
everything else, so this module imports little.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from citeforge.engines.interrupts import interrupt, interrupts_held
from citeforge.engines.posix import ending_signals, raise_signal_later

HOW_TO_GO_ON = "run the same command again, a build with --resume"
_AGAIN_SECONDS = 0.05
_received: list[int] = []


def catch_signals() -> None:
    """Let the signals that end a command raise KeyboardInterrupt; ignored ones stay so (nohup).

    A finalizer can swallow that error. Python then calls ``unraisablehook``, which lets the signal
    come again a moment later.
    """
    for number in ending_signals():
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    sys.unraisablehook = _report_unraisable


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Record the signal, and raise KeyboardInterrupt as Python does for Ctrl-C."""
    _received.append(number)
    interrupt()


def _report_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Print an error of a finalizer; an interrupt that it swallowed is raised again, later.

    A signal can come while Python runs any ``__del__``, where nothing that is raised gets out.
    """
    if _received and issubclass(unraisable.exc_type, KeyboardInterrupt):
        raise_signal_later(_received[0], _AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(unraisable)


def was_interrupted(error: BaseException) -> bool:
    """Whether a signal caused the error that ended the command, whatever the error's type.

    Extension modules turn an interrupt of their imports into errors of their own. A command that
    ended well in spite of it keeps its exit code.
    """
    code = error.code if isinstance(error, SystemExit) else None
    return bool(_received) and code not in (0, *(128 + number for number in _received))


def signal_exit_code() -> int:
    """Get the exit code of an interrupted command: 128 + the first signal (SIGINT if none)."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def _replace_handlers(handler: signal.Handlers) -> None:
    """Handle the signals that raise KeyboardInterrupt otherwise from now on."""
    for number in ending_signals():
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, handler)


@contextmanager
def until_signal(stop: Callable[[], object]) -> Iterator[None]:
    """End the block well at the first signal; those that follow it are ignored.

    Args:
        stop: called at a signal, by the thread that runs the block; it must not wait for its end.
    """
    with suppress(KeyboardInterrupt), interrupts_held(stop):
        try:
            yield
        finally:
            _replace_handlers(signal.SIG_IGN)


def end_interrupted(saved_text: str = "") -> NoReturn:
    """Print what was saved and how to resume; exit with 128 + the first signal (default SIGINT).

    A second signal ends the process at once, without waiting for its threads.
    """
    code = signal_exit_code()
    # Python forgets by this that an interrupt ended code of a string (a dataclass), and would end
    # by SIGINT instead of the exit code.
    eval("None")
    _replace_handlers(signal.SIG_DFL)
    received = signal.Signals(code - 128)
    by = "" if received == signal.SIGINT else f" by {received.name}"
    first = f"{saved_text}\n" if saved_text else ""
    _write_last(f"{first}interrupted{by}; {HOW_TO_GO_ON}\n")
    raise SystemExit(code) from None


def _write_last(text: str) -> None:
    """Write text to standard error, unless the terminal is gone."""
    try:
        sys.stdout.flush()
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        # What is in buffers is written at exit, and would change the exit code there.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
