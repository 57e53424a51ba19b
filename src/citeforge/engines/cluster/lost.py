"""What workers could not do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedShard:
    """A piece that no worker survives.

    Attributes:
        tries: workers that tried.
        reason: what the last of them said.
    """

    tries: int
    reason: str

    def __str__(self) -> str:
        workers = "1 worker" if self.tries == 1 else f"{self.tries} workers"
        return f"{workers} failed on it, the last one so: {self.reason}"
