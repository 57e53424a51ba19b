"""NLI models of Hugging Face: T5 that writes "1", and classifiers with an entailment label."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from citeforge.engines.judge.nli_models import Encoded, Settings, load_model
from citeforge.engines.judge.records import (
    CLOSE_CALL,
    Decision,
    JudgeFailure,
    Keep,
    Pair,
    Verdict,
)
from citeforge.engines.models import Located, find_model
from citeforge.engines.parallel import one_thread_each

_INSTEAD = "--judge lexical"


@dataclass(frozen=True)
class HfOptions:
    """How a model is run.

    Attributes:
        revision: commit, tag or branch of a Hub model.
        device: ``auto``, ``cpu``, ``cuda``, …
        batch_size: pairs a batch; None for 32 on a GPU and 8 elsewhere (larger batches leave a
            CPU's caches); halved when memory runs out.
        threshold: least probability of entailment of a classifier.
        max_tokens: longest input; None for the model's own limit.
        entailment_label: name of a classifier's entailment label, when its config does not tell.
        dtype: ``float32`` or ``bfloat16`` of a T5; None for bfloat16 on a GPU that has it.
        workers: processes with a copy of the model each, of one thread each; 1 for this process,
            with a thread a core.
    """

    revision: str | None = None
    device: str = "auto"
    batch_size: int | None = None
    threshold: float = 0.5
    max_tokens: int | None = None
    entailment_label: str | None = None
    dtype: str | None = None
    workers: int = 1


class HfJudge:
    """A local model. Float32 on CPU, bfloat16 for T5 on GPU.

    Pairs are sorted by length, padded to fixed buckets and cut into batches at fixed places; each
    batch is computed on one thread. A verdict whose margin is small enough to depend on its batch
    is asked again, alone and in float32.
    """

    comparable = True

    def __init__(self, name: str, options: HfOptions | None = None) -> None:
        self.name = name
        self.options = options or HfOptions()

    @cached_property
    def _located(self) -> Located:
        return find_model(self.name, self.options.revision, _INSTEAD)

    @cached_property
    def _settings(self) -> Settings:
        o = self.options
        device = o.device
        if device == "auto":
            import torch

            device = "cuda" if torch.cuda.is_available() else "cpu"
        return Settings(
            self._located.folder, device, o.threshold, o.max_tokens, o.entailment_label, o.dtype
        )

    @cached_property
    def _model(self) -> Any:
        return load_model(self._settings)

    @cached_property
    def _exact(self) -> HfJudge:
        """The same model in float32, for what a rougher type cannot tell."""
        return HfJudge(self.name, replace(self.options, dtype="float32"))

    @property
    def signature(self) -> str:
        name = Path(self.name).name if Path(self.name).is_dir() else self.name
        revision = next(iter(self._located.identity.values()))
        return f"hf:{name}@{revision[:12]}"

    def identity(self) -> dict[str, Any]:
        model = self._model
        return {
            "name": Path(self.name).name if Path(self.name).is_dir() else self.name,
            **self._located.identity,
            "prompt": model.prompt_version,
            "dtype": model.dtype,
            "max_tokens": model.limit,
            **({} if model.dtype == "float32" else {"close_calls": "float32"}),
            **({"threshold": self.options.threshold} if model.is_classifier else {}),
        }

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return sum(len(e.ids) for e in self._model.encode(pairs))

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        encoded = self._model.encode(pairs)
        # The longest first, so that memory runs out at the start or not at all.
        order = sorted(range(len(pairs)), key=lambda i: (-len(encoded[i].ids), pairs[i]))
        on_gpu = self._settings.device.startswith("cuda")
        size = self.options.batch_size or (32 if on_gpu else 8)
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        dtype = self._model.dtype
        close: list[int] = []
        for rows, margins in self._margins(batches, encoded):
            stands = dtype == "float32" and len(rows) == 1
            least = 0.0 if stands else CLOSE_CALL[dtype]
            close.extend(_settle(rows, margins, encoded, keep, least))
        if dtype == "float32":
            for rows, margins in self._margins([[i] for i in close], encoded):
                _settle(rows, margins, encoded, keep, 0.0)
        elif close:

            def keep_close(decisions: Sequence[tuple[int, Decision]]) -> None:
                keep([(close[at], decision) for at, decision in decisions])

            self._exact.decide([pairs[i] for i in close], keep_close)

    def _margins(
        self, batches: list[list[int]], encoded: list[Encoded]
    ) -> Iterator[tuple[list[int], list[float | None]]]:
        inputs = [[encoded[i] for i in rows] for rows in batches]
        if self.options.workers == 1 or len(batches) < 2:
            found = one_thread_each(self._model.margins, inputs, self._settings.device)
            yield from zip(batches, found, strict=True)
            return
        context = multiprocessing.get_context("spawn")
        start = (self._settings,)
        with context.Pool(self.options.workers, _start_worker, start) as pool:
            yield from zip(batches, pool.imap(_work, inputs), strict=True)


def _settle(
    rows: list[int],
    margins: list[float | None],
    encoded: list[Encoded],
    keep: Keep,
    least: float,
) -> list[int]:
    """Keep verdicts of at least this margin; returns the pairs to ask again."""
    decided: list[tuple[int, Decision]] = []
    close: list[int] = []
    for row, margin in zip(rows, margins, strict=True):
        if margin is None:
            decided.append((row, JudgeFailure("out of memory on this pair alone")))
        elif abs(margin) < least:
            close.append(row)
        else:
            decided.append((row, Verdict(margin > 0, margin, encoded[row].truncated)))
    if decided:
        keep(decided)
    return close


_worker: Any = None


def _start_worker(settings: Settings) -> None:
    global _worker
    import torch

    torch.set_num_threads(1)
    _worker = load_model(settings)


def _work(batch: list[Encoded]) -> list[float | None]:
    found: list[float | None] = _worker.margins(batch)
    return found
