"""``--llm offline``: the embedded LLM, a small model that needs no network.

It is for trying citeforge out; its answers are poor.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any

from citeforge.engines.llm import smollm
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result, Token
from citeforge.engines.llm.replay import ReplayStore, SentRequest, Take, ask_once
from citeforge.engines.parallel import one_thread_each
from citeforge.engines.progress import progress
from citeforge.schemas.errors import UsageError
from citeforge.schemas.finish_reasons import TRUNCATED

BATCH_ROWS, BATCH_TOKENS = 8, 8_192
"""Most answers of a batch, and most tokens of its prompts and answers: each takes 46 kB."""
_sampling_lock = Lock()
"""Locked while a sample is drawn: torch has one generator for all threads."""
_DEFAULT_TOKENS = 512
_ADVICE = "fewer or shorter passages, or a smaller limit of the answer"
_SUPPORTED = {"temperature", "max_tokens", "logprobs", "stop", "seed", "response_format"}


@dataclass(frozen=True)
class _Prompt:
    """A request with the tokens of its prompt."""

    key: str
    request: Request
    ids: list[int]

    @property
    def max_tokens(self) -> int:
        """Largest number of tokens of the answer."""
        return int(self.request.params.get("max_tokens") or _DEFAULT_TOKENS)

    @property
    def total_tokens(self) -> int:
        """Number of tokens of the prompt, plus the largest number of the answer."""
        return len(self.ids) + self.max_tokens

    @property
    def temperature(self) -> float:
        """Sampling temperature; 0 if the request sets none."""
        return float(self.request.params.get("temperature") or 0.0)

    @property
    def wants_logprobs(self) -> bool:
        """Whether the request asks for the log probabilities of the answer's tokens."""
        return bool(self.request.params.get("logprobs"))


class OfflineLlm:
    """SmolLM2-135M-Instruct, run in this process by transformers' ``generate`` in float32.

    At temperature 0, requests of equal parameters are answered in batches; another batch, or
    another processor, may decide a near tie otherwise. Samples, and answers with log probabilities,
    are generated one by one. The key of a request is the seed of its sample.
    """

    def __init__(self, store: ReplayStore | None = None) -> None:
        """Set the store of replies; the offline LLM is loaded on first use."""
        self.model = smollm.NAME
        self.store = store

    def identity(self) -> dict[str, Any]:
        """Describe the model for manifests: its name, weights, and transformers' version."""
        return smollm.identity()

    @property
    def window(self) -> int:
        """Context window of the offline LLM: most tokens of prompt and answer together."""
        return int(smollm.loaded()[1].config.max_position_embeddings)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a prompt of one message, including those of the chat template."""
        return len(_tokenize("", Request((("user", text),))).ids)

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Answer requests, in order; equal requests are answered once.

        Raises:
            UsageError: a parameter that it does not support.
        """

        def ask(waiting: dict[str, Request], take: Take) -> None:
            """Answer requests without a stored reply; store each reply and pass it to ``take``."""
            with progress("LLM", len(waiting), "answers") as advance:
                for prompt, result in self._answer_all(waiting):
                    request = prompt.request
                    if not isinstance(result, Failure):
                        result = request.check_reply(result)
                        if self.store is not None:
                            payload = request.payload(smollm.NAME)
                            sent = SentRequest(prompt.key, payload, request.sample)
                            self.store.keep(sent, result)
                    take(prompt.key, result)
                    advance(1)

        return ask_once(requests, smollm.NAME, self.store, ask)

    def _answer_all(self, waiting: Mapping[str, Request]) -> Iterator[tuple[_Prompt, Result]]:
        """Yield (request, its reply) in batches; a prompt that is too long gets a failure."""
        fitting = []
        for prompt in map(_tokenize, waiting, waiting.values()):
            if prompt.total_tokens <= self.window:
                fitting.append(prompt)
                continue
            sizes = f"{len(prompt.ids):,} tokens and {prompt.max_tokens:,} for the answer"
            message = f"a prompt of {sizes} do not fit into {self.window:,}: {_ADVICE}"
            yield prompt, Failure("refused", message)
        batches = list(_make_batches(fitting))
        for batch, replies in zip(batches, one_thread_each(_generate, batches), strict=True):
            yield from zip(batch, replies, strict=True)


def _tokenize(key: str, request: Request) -> _Prompt:
    """Convert a request's messages to tokens; refuse unsupported parameters.

    Args:
        key: key under which the reply is stored.
        request: request to the LLM.
    """
    strange = sorted(set(request.params) - _SUPPORTED)
    if strange:
        raise UsageError(
            f"--llm offline does not support {', '.join(strange)}", code="option-without-effect"
        )
    return _Prompt(key, request, encode_chat(smollm.loaded()[0], request.messages))


def encode_chat(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> list[int]:
    """Convert chat messages, as (role, text), to tokens; no text becomes a special token.

    The chat template is filled in with numbers for the texts, and each text is encoded on its own.

    Args:
        tokenizer: tokenizer of transformers, with a chat template.
        messages: (role, text) of each.
    """
    marks = [f"\ue000{number}\ue001" for number in range(len(messages))]
    turns = [{"role": m[0], "content": mark} for m, mark in zip(messages, marks, strict=True)]
    template = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    ids: list[int] = []
    for piece in re.split("(\ue000\\d+\ue001)", template):
        is_text = piece in marks
        text = messages[marks.index(piece)][1] if is_text else piece
        options = {"add_special_tokens": False, "split_special_tokens": is_text}
        ids += tokenizer(text, **options)["input_ids"] if text else []
    return ids


def _make_batches(prompts: Sequence[_Prompt]) -> Iterator[list[_Prompt]]:
    """Group requests into batches of equal parameters and similar length, the longest first."""

    def shared_parameters(prompt: _Prompt) -> tuple[int, tuple[str, ...], str]:
        """Get what a batch shares: (token limit, stop texts, key of a request on its own)."""
        is_alone = prompt.temperature > 0 or prompt.wants_logprobs
        return prompt.max_tokens, prompt.request.stop, prompt.key if is_alone else ""

    ordered = sorted(prompts, key=lambda p: (*shared_parameters(p), -len(p.ids), p.key))
    for _, same in groupby(ordered, shared_parameters):
        rest = list(same)
        while rest:
            size = max(1, min(BATCH_ROWS, BATCH_TOKENS // rest[0].total_tokens))
            yield rest[:size]
            rest = rest[size:]


def _generate(batch: Sequence[_Prompt]) -> list[LlmReply]:
    """Generate the answers of a batch of requests with equal parameters."""
    import torch

    tokenizer, model = smollm.loaded()
    first = batch[0]
    tokens = tokenizer.pad(
        {"input_ids": [p.ids for p in batch]}, padding_side="left", return_tensors="pt"
    )
    options: dict[str, Any] = {"do_sample": False, "max_new_tokens": first.max_tokens}
    if first.temperature > 0:  # from all tokens, as endpoints do by default
        options |= {"do_sample": True, "temperature": first.temperature, "top_k": 0, "top_p": 1.0}
    if first.request.stop:
        options |= {"stop_strings": list(first.request.stop), "tokenizer": tokenizer}
    options |= {"output_logits": first.wants_logprobs, "return_dict_in_generate": True}
    with torch.inference_mode(), _seeded(first) if first.temperature > 0 else nullcontext():
        output = model.generate(**tokens, **options)
    written = output.sequences[:, tokens["input_ids"].shape[1] :].tolist()
    return [_decode(p, row, output.logits or ()) for p, row in zip(batch, written, strict=True)]


@contextmanager
def _seeded(prompt: _Prompt) -> Iterator[None]:
    """Seed torch's random generator by a request's key for the block, and restore it afterwards."""
    import torch

    with _sampling_lock, torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(prompt.key[:15], 16))
        yield


def _decode(prompt: _Prompt, row: list[int], logits: Sequence[Any]) -> LlmReply:
    """Decode a generated row of tokens to a reply; tokens after the end token are padding.

    Args:
        prompt: the request.
        row: ids of the generated tokens.
        logits: scores of all tokens at each step; empty without log probabilities.
    """
    tokenizer = smollm.loaded()[0]
    end = tokenizer.eos_token_id
    tokens = row[: row.index(end)] if end in row else row
    text = tokenizer.decode(tokens, skip_special_tokens=True)
    ended = end in row or any(stop in text for stop in prompt.request.stop)
    steps = zip(tokens, logits, strict=False)
    logprobs = [Token(tokenizer.decode([t]), float(x[0].log_softmax(0)[t])) for t, x in steps]
    return LlmReply(
        text,
        len(prompt.ids),
        len(tokens),
        smollm.MODEL,
        tuple(logprobs) if prompt.wants_logprobs else None,
        None if ended else TRUNCATED,
    )
