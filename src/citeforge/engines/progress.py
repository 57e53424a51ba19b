"""Progress of long work: a bar on a terminal, else a line per minute on standard error.

Lines are written by a thread of their own, so that a log also shows work that is stuck, or slow to
finish its first item.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from threading import Event, Lock, Thread
from typing import Protocol

import msgspec

from citeforge.engines.posix import peak_memory
from citeforge.engines.shown import show_amount, show_significant

INTERVAL = 60.0
"""Seconds between two lines of the same work."""
FIRST = 5.0
"""Seconds to the first line."""

is_json: ContextVar[bool] = ContextVar("is_json", default=False)
"""Whether lines are JSON objects with the fields of :class:`ProgressLine`."""


class Advance(Protocol):
    """Function that reports items done since the last call, and a note to show."""

    def __call__(self, items: int, note: str | None = None, /) -> None:
        """Report how many more items are done, and a note to show beside the line of progress."""


class ProgressLine(msgspec.Struct, kw_only=True, frozen=True):
    """One line of progress: items done, rate and time left.

    Attributes:
        stage: description of the work.
        note: detail of the work, if any.
        done: items so far.
        total: items in all; None when it is not known.
        unit: plural noun for the items.
        rate: items a second since the start; None before the first.
        seconds_left: at that rate; None when it is not known.
        peak_mb: peak memory of the process so far, in MB; None on Windows.
    """

    stage: str
    note: str | None
    done: int
    total: int | None
    unit: str
    rate: float | None
    seconds_left: int | None
    peak_mb: int | None

    def __str__(self) -> str:
        """Write the line as text: ``stage: done of total unit, rate, time left, memory``."""
        name = self.stage if self.note is None else f"{self.stage} · {self.note}"
        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{name}: {self.done:,}{of} {self.unit}"]
        if self.rate is not None:
            digits = 0 if self.rate >= 10 else 2
            parts.append(f"{show_amount(self.rate, digits)} a second")
        if self.seconds_left is not None:
            parts.append(f"{timedelta(seconds=self.seconds_left)} left")
        if self.peak_mb is not None:
            parts.append(f"peak memory {self.peak_mb:,} MB")
        return ", ".join(parts)


class Stage(msgspec.Struct, frozen=True):
    """State of a stage: its name, items done and in all, their unit, and a note.

    Attributes:
        name: description of the work.
        done: items so far.
        total: items in all; None when it is not known.
        unit: plural noun for the items.
        note: detail of the work, if any.
    """

    name: str
    done: int
    total: int | None
    unit: str
    note: str | None = None


stage_watcher: ContextVar[Callable[[Stage], None] | None] = ContextVar(
    "stage_watcher", default=None
)
"""Function that gets the state of each stage whenever it changes; None for none."""


class ProgressLines:
    """Writes progress lines to standard error: one per interval, and one when long work ends.

    JSON lines, which are for programs, tell the end of whatever was done.
    """

    def __init__(self, stage: str, total: int | None, unit: str) -> None:
        """Prepare the progress lines of one stage; the timer starts with the ``with`` block."""
        self.stage, self.total, self.unit = stage, total, unit
        self.done = 0
        self.note: str | None = None
        self._start = self._last = time.monotonic()
        self._as_json = is_json.get()
        self._lock, self._over = Lock(), Event()
        self._clock = Thread(target=self._write_regularly, daemon=True)

    def __enter__(self) -> "ProgressLines":
        """Start the timer thread that writes progress lines."""
        self._clock.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Stop the timer, and write a last line if the work was long."""
        self._over.set()
        self._clock.join()
        if kind is None and (self._last > self._start or (self._as_json and self.done)):
            self._write()

    def _write_regularly(self) -> None:
        """Write a line at every interval until the work ends (runs in the timer thread)."""
        wait = FIRST
        while not self._over.wait(wait):
            self._write()
            wait = INTERVAL

    def advance(self, items: int, note: str | None = None, /) -> None:
        """Add to the number of items done, and set the note; the timer writes the lines."""
        with self._lock:
            self.done += items
            self.note = note

    def _write(self) -> None:
        """Write the current line to standard error, as text or JSON."""
        with self._lock:
            self._last = time.monotonic()
            line = self.line(self._last - self._start)
        text = msgspec.json.encode(line).decode() if self._as_json else str(line)
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def line(self, seconds: float) -> ProgressLine:
        """Make the progress line after some seconds of work: rate, time left, peak memory."""
        rate = self.done / seconds if self.done and seconds > 0 else None
        rest = None
        if rate is not None and self.total is not None:
            rest = round(max(0, self.total - self.done) / rate)
        return ProgressLine(
            stage=self.stage,
            note=self.note,
            done=self.done,
            total=self.total,
            unit=self.unit,
            rate=None if rate is None else float(show_significant(rate, 6)),
            seconds_left=rest,
            peak_mb=_peak_mb(),
        )


def _peak_mb() -> int | None:
    """Get the peak memory of this process in MB; None where the system does not count it."""
    peak = peak_memory()
    return None if peak is None else peak // 1_000_000


@contextmanager
def progress(label: str, total: int | None, unit: str) -> Iterator[Advance]:
    """Show progress of the block as a bar or lines; yield the function that reports items done.

    Args:
        label: description of the work.
        total: number of items, or None when it is not known.
        unit: plural noun for the items.
    """
    watcher = stage_watcher.get()
    with _show(label, total, unit) as advance:
        if watcher is None:
            yield advance
            return
        watcher(Stage(label, 0, total, unit))
        done, lock = 0, Lock()

        def advance_and_notify(items: int, note: str | None = None, /) -> None:
            """Report items done to the progress bar, and the step's state to the watcher."""
            nonlocal done
            advance(items, note)
            with lock:
                done += items
                watcher(Stage(label, done, total, unit, note))

        yield advance_and_notify


@contextmanager
def _show(label: str, total: int | None, unit: str) -> Iterator[Advance]:
    """Show progress of the block on standard error; see :func:`progress`."""
    if is_json.get() or not sys.stderr.isatty():
        with ProgressLines(label, total, unit) as lines:
            yield lines.advance
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Column with the items per second."""

        def render(self, task: Task) -> Text:
            """Write a task's speed in items per second; empty if it is unknown."""
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{show_amount(speed, 0)} {unit}/s")

    description, n_done = TextColumn("{task.description}"), MofNCompleteColumn()
    columns = (description, BarColumn(), n_done, Rate(), TimeRemainingColumn())
    # The bar moves the cursor, which `sys.stderr` of a command does not let anybody do.
    with Progress(*columns, console=Console(file=sys.__stderr__)) as bar:
        task = bar.add_task(label, total=total)

        def advance(items: int, note: str | None = None, /) -> None:
            """Move the progress bar by the items done, and show the note beside it."""
            text = label if note is None else f"{label} · {note}"
            bar.update(task, advance=items, description=text)

        yield advance
