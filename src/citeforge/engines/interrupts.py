"""Steps that a signal does not cut: taking a lock, naming a file, a step of an event loop.

Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt between any two instructions
(:mod:`citeforge.cli.interrupts`). A file that was made a moment before would stay, since nothing
knows its name yet.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


class _Held:
    """Open blocks of :func:`interrupts_held`, and whether a signal waits for their end."""

    blocks = 0
    is_due = False
    wake: Callable[[], object] | None = None


@contextmanager
def interrupts_held(on_signal: Callable[[], object] | None = None) -> Iterator[None]:
    """Delay signals to the end of the block, which then raises KeyboardInterrupt.

    Only the main thread gets signals; in others the block has no effect.

    Args:
        on_signal: called at each signal, so that a long block ends early.
    """
    if current_thread() is not main_thread():
        yield
        return
    outer = _Held.wake
    _Held.blocks += 1
    try:
        _Held.wake = on_signal or outer
        yield
    finally:
        _Held.wake = outer
        _Held.blocks -= 1
        if _Held.is_due and not _Held.blocks:
            _Held.is_due = False
            raise KeyboardInterrupt


def is_interrupted() -> bool:
    """Whether a delayed signal is waiting to raise KeyboardInterrupt."""
    return _Held.is_due


def interrupt() -> None:
    """Raise KeyboardInterrupt now, or at the end of the blocks that delay signals."""
    if not _Held.blocks:
        raise KeyboardInterrupt
    _Held.is_due = True
    if _Held.wake is not None:
        _Held.wake()
