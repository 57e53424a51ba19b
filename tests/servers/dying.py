"""Engines that kill the process that they run in, at a text that says so."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.engines.judge.records import Decision, Keep, Pair, Verdict
from citeforge.engines.models.embedder import Role, Vectors
from citeforge.schemas.errors import InputError

FATAL = "fatal"
ONCE = "fatal once"
"""With a file named in the text behind it, which remembers."""
BAD = "raises"


def obey(text: str) -> None:
    """Die, or raise, as a text says."""
    if text.startswith(ONCE):
        memory = Path(text.removeprefix(ONCE).strip())
        if not memory.exists():
            memory.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    elif text == FATAL:
        os.kill(os.getpid(), signal.SIGKILL)
    elif text == BAD:
        raise RuntimeError("a kernel failed")


class DyingEmbedder:
    """Vectors whose entries are the length of a text and the number of texts beside it."""

    def fingerprint(self) -> dict[str, Any]:
        return {"name": "dying", "dtype": "float32"}

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        for text in texts:
            obey(text)
        return np.array([[len(text), len(texts)] for text in texts], np.float32)


class DyingJudge:
    """Entailed where the hypothesis is part of the premise."""

    signature = "dying"
    comparable = False

    def identity(self) -> dict[str, Any]:
        return {"name": "dying"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return sum(len(p.premise) for p in pairs)

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        result: list[tuple[int, Decision]] = []
        for place, pair in enumerate(pairs):
            obey(pair.hypothesis)
            result.append((place, Verdict(pair.hypothesis in pair.premise, float(place))))
        keep(result)


def no_model() -> DyingEmbedder:
    """Raise what a missing model raises."""
    raise InputError("is missing", path="here", code="missing-model")
