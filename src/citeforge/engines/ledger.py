"""Ledger of a command: calls that it has paid for or plans, by model, and results that it kept.

Imports little: the command line opens one for every command.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from citeforge.engines.shown import show_number


@dataclass
class Paid:
    """Calls of one model that were paid for."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Paid) -> Paid:
        """Add the calls, tokens and costs of two records of paid calls."""
        return Paid(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
        )


@dataclass
class Ledger:
    """Calls of one command, by role and model, such as ``judge openai:m``.

    Attributes:
        paid: calls that were answered and paid for; replies from stores are free.
        kept: results on the disk that a later run takes, by what they are and where.
        planned: calls that a dry run plans, each a RunPlan of the module ``budget``.
        has_price: whether a model with a price may have been asked.
    """

    paid: dict[str, Paid] = field(default_factory=dict)
    kept: dict[tuple[str, str], int] = field(default_factory=dict)
    planned: dict[str, list[Any]] = field(default_factory=dict)
    has_price: bool = False
    _lock: Lock = field(default_factory=Lock)

    def pay(self, model_label: str, paid: Paid) -> None:
        """Record paid calls of a model, labelled with its role and name (``judge openai:m``)."""
        with self._lock:
            self.paid[model_label] = self.paid.get(model_label, Paid()) + paid

    def keep(self, noun: str, location: object, count: int = 1) -> None:
        """Count results (``noun``: such as reply) that stay in a file or folder for later runs."""
        with self._lock:
            key = noun, str(location)
            self.kept[key] = self.kept.get(key, 0) + count

    def kept_line(self) -> str:
        """Write in one line which results this run has kept on disk for later runs."""
        kept = {key: n for key, n in self.kept.items() if n}
        if not kept:  # an import that Ctrl-C cut off is not begun again
            return "kept: nothing new"
        from citeforge.engines.textfiles import count_text

        parts = (f"{count_text(n, what)} in {place}" for (what, place), n in kept.items())
        return f"kept: {', '.join(parts)}"

    def plan(self, model_label: str, plan: Any) -> None:
        """Record calls that a dry run would make of a model, labelled as ``judge openai:m``."""
        with self._lock:
            self.planned.setdefault(model_label, []).append(plan)

    def cost_line(self) -> str:
        """Write in one line what the command cost, by model; empty without a price."""
        if not self.has_price:
            return ""
        total = sum(self.paid.values(), Paid())
        if not total.calls:
            return "cost 0.0000: no call was paid for"
        parts = [f"{label} {show_number(p.cost, 4)}" for label, p in sorted(self.paid.items())]
        shares = f" ({', '.join(parts)})" if len(parts) > 1 else f" ({min(self.paid)})"
        calls = "1 call" if total.calls == 1 else f"{total.calls:,} calls"
        return (
            f"cost {show_number(total.cost, 4)}{shares}: {calls}, {total.prompt_tokens:,} prompt "
            f"and {total.completion_tokens:,} completion tokens"
        )


_ledger: ContextVar[Ledger] = ContextVar("ledger")


def current_ledger() -> Ledger:
    """Get the running command's ledger of paid and planned model calls; else a new one."""
    return _ledger.get(None) or Ledger()


@contextmanager
def open_ledger() -> Iterator[Ledger]:
    """Open a new ledger of paid and planned model calls for the block, and yield it."""
    ledger = Ledger()
    token = _ledger.set(ledger)
    try:
        yield ledger
    finally:
        _ledger.reset(token)
