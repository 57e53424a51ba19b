"""The embedded language model: small, real, and without a network.

It shows the way that any model takes through citeforge; it is no contender.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from citeforge.engines.llm import smollm
from citeforge.engines.llm.choice import Choice
from citeforge.engines.llm.records import (
    TRUNCATED,
    Answer,
    Failure,
    Llm,
    Request,
    Result,
    Token,
    settle,
)
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.parallel import one_thread_each
from citeforge.engines.progress import progress
from citeforge.schemas.errors import UsageError

if TYPE_CHECKING:
    from citeforge.engines.llm.writers import LlmSettings

ROWS = 8
"""Most answers that are written at a time by one thread."""
MOST_TOKENS = 16_384
"""Most tokens of a batch: they are kept, with 46 kB each."""
_DEFAULT_TOKENS = 512
_TIE = 1e-4
"""Margin of logits within which the shape of a batch could decide between two tokens."""
_TAKEN = {"temperature", "max_tokens", "logprobs", "stop", "seed", "response_format"}


@dataclass(frozen=True)
class _Asked:
    """A request as the model reads it."""

    key: str
    request: Request
    prompt: str
    n_tokens: int

    @property
    def most(self) -> int:
        """Most tokens of the answer."""
        return int(self.request.params.get("max_tokens") or _DEFAULT_TOKENS)

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts before which the answer ends."""
        found = self.request.params.get("stop") or ()
        return (found,) if isinstance(found, str) else tuple(found)


class OfflineLlm:
    """SmolLM2-135M-Instruct in this process, in float32.

    An answer depends on its request alone: a row whose choice of a token was nearer than the
    shape of a batch can move is written again by itself. Samples are drawn by the request's own
    seed. Another make of processor may decide a near tie otherwise.
    """

    def __init__(self, store: ReplayStore | None = None) -> None:
        self.model = smollm.NAME
        self.store = store

    def identity(self) -> dict[str, Any]:
        return smollm.identity()

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """One result a request, in order; equal requests are answered once.

        Raises:
            UsageError: a parameter that it does not take.
        """
        keys = [r.key(smollm.NAME) for r in requests]
        results: dict[str, Result] = {}
        waiting: dict[str, Request] = {}
        for key, request in zip(keys, requests, strict=True):
            stored = self.store.get(key) if self.store is not None else None
            if stored is None:
                waiting[key] = request
            else:
                results[key] = settle(request, stored)
        if waiting:
            with progress("LLM", len(waiting), "answers") as advance:
                for asked, answer in self._answers(waiting):
                    results[asked.key] = self._keep(asked, answer)
                    advance(1)
        return [results[key] for key in keys]

    def _keep(self, asked: _Asked, result: Result) -> Result:
        if isinstance(result, Failure):
            return result
        found = settle(asked.request, result)
        if self.store is not None:
            payload, sample = asked.request.payload(smollm.NAME), asked.request.sample
            if isinstance(found, Answer):
                self.store.put(asked.key, payload, sample, found)
            else:
                self.store.fail(asked.key, payload, sample, found)
        return found

    def _answers(self, waiting: dict[str, Request]) -> Iterator[tuple[_Asked, Result]]:
        room = self._loaded[1].config.max_position_embeddings
        fitting = []
        for asked in map(self._read, waiting, waiting.values()):
            if asked.n_tokens + asked.most <= room:
                fitting.append(asked)
                continue
            told = f"{asked.n_tokens:,} tokens and {asked.most:,} for the answer"
            yield asked, Failure("refused", f"a prompt of {told} do not fit into {room:,}")
        for group, answers in one_thread_each(self._write, _batches(fitting)):
            yield from zip(group, answers, strict=True)

    def _read(self, key: str, request: Request) -> _Asked:
        strange = sorted(set(request.params) - _TAKEN)
        if strange:
            raise UsageError(f"--llm offline does not take {', '.join(strange)}")
        tokenizer = self._loaded[0]
        messages = [{"role": role, "content": content} for role, content in request.messages]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return _Asked(key, request, prompt, len(tokenizer(prompt)["input_ids"]))

    def _write(self, group: list[_Asked]) -> tuple[list[_Asked], list[Answer]]:
        """Answers of a batch, near ties by themselves."""
        answers, margins = self._generate(group)
        for row, margin in enumerate(margins):
            if len(group) > 1 and margin < _TIE:
                (answers[row],), _ = self._generate([group[row]])
        return group, answers

    def _generate(self, group: list[_Asked]) -> tuple[list[Answer], list[float]]:
        import torch

        tokenizer, model = self._loaded
        encoded = tokenizer([a.prompt for a in group], return_tensors="pt", padding=True)
        choice = Choice([a.request for a in group], [a.key for a in group], tokenizer.eos_token_id)
        with torch.inference_mode():
            model.generate(
                **encoded,
                max_new_tokens=max(a.most for a in group),
                do_sample=False,
                logits_processor=[choice],
                stop_strings=list(group[0].stop) or None,
                tokenizer=tokenizer,
                pad_token_id=tokenizer.pad_token_id,
            )
        answers = [self._answer(a, choice, row) for row, a in enumerate(group)]
        return answers, [choice.margin(row, a.most) for row, a in enumerate(group)]

    def _answer(self, asked: _Asked, choice: Choice, row: int) -> Answer:
        tokenizer = self._loaded[0]
        ids, logs = choice.tokens(row, asked.most)
        ended = bool(ids) and ids[-1] == tokenizer.eos_token_id
        kept = ids[:-1] if ended else ids
        text: str = tokenizer.decode(kept, skip_special_tokens=True)
        cuts = [at for at in map(text.find, asked.stop) if at >= 0]
        stopped = ended or bool(cuts)
        logprobs = None
        if asked.request.params.get("logprobs"):
            words = [tokenizer.decode([i]) for i in kept]
            logprobs = tuple(map(Token, words, logs))
        return Answer(
            text[: min(cuts)] if cuts else text,
            asked.n_tokens,
            len(ids),
            smollm.MODEL,
            logprobs,
            None if stopped else TRUNCATED,
        )

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        folder = smollm.model_folder()
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, padding_side="left")
        model: Any = AutoModelForCausalLM.from_pretrained(folder)
        return tokenizer, model.eval()


def embedded(settings: LlmSettings) -> Llm:
    """``offline``."""
    return OfflineLlm(settings.store)


def _batches(asked: list[_Asked]) -> Iterator[list[_Asked]]:
    """Requests that end at the same texts, of like length, as many as memory allows."""
    ordered = sorted(asked, key=lambda a: (a.stop, -a.n_tokens, a.key))
    for _, same in groupby(ordered, key=lambda a: a.stop):
        batch: list[_Asked] = []
        for one in same:
            widest = max((a.n_tokens + a.most for a in [*batch, one]), default=0)
            if len(batch) == ROWS or (widest * (len(batch) + 1) > MOST_TOKENS and batch):
                yield batch
                batch = []
            batch.append(one)
        yield batch
