"""The embedded language model: small, real, and without a network.

It shows the way that any model takes through citeforge; it is no contender.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from threading import Lock
from typing import Any

from citeforge.engines.io.progress import progress
from citeforge.engines.llm.records import (
    TRUNCATED,
    Failure,
    LlmReply,
    Request,
    Result,
    Token,
    before,
    settle,
)
from citeforge.engines.llm.replay import ReplayStore, Take, ask_once
from citeforge.engines.models.parallel import one_thread_each
from citeforge.plugins.offline_models import smollm
from citeforge.plugins.offline_models.choice import ChosenToken, TokenChooser
from citeforge.plugins.offline_models.prefill import prefill_many
from citeforge.schemas.errors import UsageError

ROWS = 16
"""Most answers that are written at a time by one thread."""
MOST_TOKENS = 8_192
"""Most tokens of a batch: they are kept, with 46 kB each."""
_DEFAULT_TOKENS = 512
_TIE = 5e-4
"""Margin of logits within which the shape of a batch could decide between two tokens; shapes move
logits by less than a tenth of it."""
_ADVICE = "fewer or shorter passages, or a smaller limit of the answer"
_TAKEN = {"temperature", "max_tokens", "logprobs", "stop", "seed", "response_format"}


@dataclass(frozen=True)
class _Asked:
    """A request as the model reads it."""

    key: str
    request: Request
    ids: list[int]

    @property
    def most(self) -> int:
        """Most tokens of the answer."""
        return int(self.request.params.get("max_tokens") or _DEFAULT_TOKENS)

    @property
    def room(self) -> int:
        """Tokens of prompt and answer."""
        return len(self.ids) + self.most

    @property
    def alone(self) -> bool:
        """Whether its probabilities are told: their last bits depend on the shape of a batch."""
        return bool(self.request.params.get("logprobs"))


End = Callable[[_Asked, Result], None]
"""Told of each answer as soon as it is whole, by whichever thread wrote it."""

Tell = Callable[[int, list[ChosenToken]], None]
"""Told of a row of a batch, and of all its tokens, as soon as it has ended."""


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

    @property
    def window(self) -> int:
        """Tokens that prompt and answer may have together."""
        return int(smollm.loaded()[1].config.max_position_embeddings)

    def count_tokens(self, text: str) -> int:
        """Tokens of a prompt that consists of one message, with what the model puts around it."""
        return len(self._read("", Request((("user", text),))).ids)

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """One result a request, in order; equal requests are answered once.

        Raises:
            UsageError: a parameter that it does not take.
        """
        lock = Lock()

        def ask(waiting: dict[str, Request], take: Take) -> None:
            with progress("LLM", len(waiting), "answers") as advance:

                def end(question: _Asked, answer: Result) -> None:
                    with lock:
                        take(question.key, self._keep(question, answer))
                        advance(1)

                self._answer_all(waiting, end)

        return ask_once(requests, smollm.NAME, self.store, settle, ask)

    def _keep(self, question: _Asked, result: Result) -> Result:
        if isinstance(result, Failure):
            return result
        settled = settle(question.request, result)
        if self.store is not None:
            payload = question.request.payload(smollm.NAME)
            self.store.keep(question.key, payload, question.request.sample, settled)
        return settled

    def _answer_all(self, waiting: dict[str, Request], end: End) -> None:
        fitting = []
        for question in map(self._read, waiting, waiting.values()):
            if question.room <= self.window:
                fitting.append(question)
                continue
            sizes = f"{len(question.ids):,} tokens and {question.most:,} for the answer"
            message = f"a prompt of {sizes} do not fit into {self.window:,}: {_ADVICE}"
            end(question, Failure("refused", message))
        batches = _batches(fitting, _rows(len(fitting)))
        for _ in one_thread_each(partial(self._write, end), batches):
            pass

    def _read(self, key: str, request: Request) -> _Asked:
        strange = sorted(set(request.params) - _TAKEN)
        if strange:
            raise UsageError(
                f"--llm offline does not support {', '.join(strange)}", code="option-without-effect"
            )
        tokenizer = smollm.loaded()[0]
        messages = [{"role": role, "content": content} for role, content in request.messages]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return _Asked(key, request, tokenizer(prompt)["input_ids"])

    def _write(self, end: End, group: list[_Asked]) -> None:
        """Answers of a batch; one with a near tie is written by itself, behind the others."""
        again: list[_Asked] = []

        def ended(row: int, tokens: list[ChosenToken]) -> None:
            if len(group) > 1 and any(token.lead < _TIE for token in tokens):
                again.append(group[row])
            else:
                end(group[row], self._answer(group[row], tokens))

        self._generate(group, ended)
        for question in again:
            self._write(end, [question])

    def _generate(self, group: list[_Asked], tell: Tell) -> None:
        """Write a batch, and tell of each row when it ends."""
        import torch

        # Padded by hand: a tokeniser that pads may not do so in several threads at once.
        tokenizer, model = smollm.loaded()
        width = max(len(a.ids) for a in group)
        ids = torch.full((len(group), width), tokenizer.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, question in enumerate(group):
            ids[row, width - len(question.ids) :] = torch.tensor(question.ids)
            mask[row, width - len(question.ids) :] = 1
        choice = TokenChooser(
            [a.request for a in group], [a.key for a in group], tokenizer.eos_token_id
        )
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=mask,
                past_key_values=prefill_many(model, [a.ids[:-1] for a in group]),
                max_new_tokens=max(a.most for a in group),
                do_sample=False,
                logits_processor=[choice],
                stopping_criteria=[self._ended(group, choice, tell)],
                pad_token_id=tokenizer.pad_token_id,
            )

    def _ended(self, group: list[_Asked], choice: TokenChooser, tell: Tell) -> Any:
        """Says after each step, as transformers asks, which rows have said all that is wanted."""
        import torch

        reported = [False] * len(group)

        def ended(input_ids: Any, scores: Any, **_: Any) -> Any:
            for row, (question, tokens) in enumerate(zip(group, choice.rows, strict=True)):
                # Its neighbours go on where it has ended, and a row is written to with them.
                if not reported[row] and self._is_whole(question, tokens):
                    reported[row] = True
                    tell(row, list(tokens))
            return torch.tensor(reported)

        return ended

    def _is_whole(self, question: _Asked, tokens: list[ChosenToken]) -> bool:
        if len(tokens) >= question.most or tokens[-1].token == smollm.loaded()[0].eos_token_id:
            return True
        text = self._text(tokens) if question.request.stop else ""
        return any(stop in text for stop in question.request.stop)

    def _text(self, tokens: Sequence[ChosenToken]) -> str:
        text: str = smollm.loaded()[0].decode([c.token for c in tokens], skip_special_tokens=True)
        return text

    def _answer(self, question: _Asked, tokens: list[ChosenToken]) -> LlmReply:
        tokenizer = smollm.loaded()[0]
        ended = tokens[-1].token == tokenizer.eos_token_id
        whole = self._text(tokens)
        text = before(whole, question.request.stop)
        logprobs = None
        if question.alone:
            visible = [c for n, c in enumerate(tokens) if len(self._text(tokens[:n])) < len(text)]
            logprobs = tuple(Token(tokenizer.decode([c.token]), c.log) for c in visible)
        return LlmReply(
            text,
            len(question.ids),
            len(tokens),
            smollm.MODEL,
            logprobs,
            None if ended or text != whole else TRUNCATED,
        )


def _rows(n: int) -> int:
    """Rows a batch, so that every thread has one."""
    import torch

    return max(1, min(ROWS, -(-n // torch.get_num_threads())))


def _batches(questions: list[_Asked], rows: int) -> Iterator[list[_Asked]]:
    """Requests of like length, as many as memory allows."""
    ordered = sorted(questions, key=lambda a: (a.alone, -len(a.ids), a.key))
    for alone, same in groupby(ordered, key=lambda a: a.alone):
        batch: list[_Asked] = []
        for one in same:
            widest = max(a.room for a in [*batch, one])
            full = alone or len(batch) == rows or widest * (len(batch) + 1) > MOST_TOKENS
            if full and batch:
                yield batch
                batch = []
            batch.append(one)
        yield batch
