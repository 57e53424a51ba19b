"""Progress bars on standard error: rate, count and time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Called with the number of items done since the last call, and a note to show."""

    def __call__(self, items: int, note: str | None = None, /) -> None: ...


@contextmanager
def progress(label: str, total: int | None, unit: str) -> Iterator[Advance]:
    """Show a bar while the block runs; silent when standard error is not a terminal.

    Args:
        label: what is going on.
        total: number of items, or None when it is not known.
        unit: plural noun for the items.
    """
    if not sys.stderr.isatty():
        yield lambda items, note=None: None
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
        """Items per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} {unit}/s")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)

        def advance(items: int, note: str | None = None, /) -> None:
            text = label if note is None else f"{label} · {note}"
            bar.update(task, advance=items, description=text)

        yield advance
