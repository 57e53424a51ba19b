"""LLMs by name: chat completions of an endpoint, and writers that need none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import TemplateError

from citeforge.engines import plugins
from citeforge.engines.io.files import digest
from citeforge.engines.llm.budget import RunPlan, estimate_prompt_tokens
from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import (
    REFUSED,
    Failure,
    Llm,
    LlmReply,
    Request,
    Result,
    Token,
    settle,
)
from citeforge.engines.llm.replay import OnResult, ReplayStore, Take, ask_once
from citeforge.engines.registry import Registry, expected
from citeforge.engines.text.template_bounds import BoundedEnvironment, bounded_text
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.models.choices import LLMS as CHOICES
from citeforge.schemas.models.choices import Choice


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _TokenLogprob(msgspec.Struct):
    token: str
    logprob: float


class _Logprobs(msgspec.Struct):
    content: list[_TokenLogprob] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class Usage(msgspec.Struct):
    """Tokens that a reply says were paid for."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: Usage | None = None


_DECODER = msgspec.json.Decoder(_Completion)


def read_reply(body: bytes) -> Result:
    """The answer in the body of a 200, or why it is none.

    A reply that is filtered, unparsable or without choices is a failure; one that is empty or cut
    off (``finish_reason: length``) is an answer, which :func:`records.settle` may refuse.
    """
    try:
        completion = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Failure("unparsable", f"the reply is not a chat completion ({error})", 200)
    usage = completion.usage or Usage()
    paid = (usage.prompt_tokens, usage.completion_tokens)
    if not completion.choices:
        return Failure("empty", "the reply has no choices", 200, *paid)
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Failure("content_filter", "the reply was withheld by a content filter", 200, *paid)
    text, reason = choice.message.content or "", choice.finish_reason
    if not text.strip() and choice.message.refusal:
        text, reason = choice.message.refusal, REFUSED
    logprobs = None
    if choice.logprobs is not None and choice.logprobs.content is not None:
        logprobs = tuple(Token(t.token, t.logprob) for t in choice.logprobs.content)
    stopped = None if reason in (None, "", "stop") else reason
    return LlmReply(text, *paid, completion.model, logprobs, stopped)


CHAT: Route[Request] = Route("LLM", "chat.completions", lambda _, body: read_reply(body), settle)


class OpenAiLlm:
    """A model behind an OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, …)."""

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self._endpoint = Endpoint(model, store, options)

    def identity(self) -> dict[str, Any]:
        return {"name": f"openai:{self.model}"}

    def plan(self, requests: Sequence[Request]) -> RunPlan:
        """What :meth:`complete` would ask; sends nothing."""
        distinct = {r.key(self.model): r for r in requests}
        store = self._endpoint.store
        stored = {k for k in distinct if store is not None and store.get(k) is not None}
        rest = [r for k, r in distinct.items() if k not in stored]
        prompt = sum(map(estimate_prompt_tokens, rest))
        limits = [r.most_tokens for r in rest]
        numbers = [n for n in limits if n is not None]
        completion = sum(numbers) if len(numbers) == len(limits) else None
        price = self._endpoint.options.price
        cost = None
        if price is not None and completion is not None:
            cost = price.cost(prompt, completion)
        return RunPlan(len(distinct), len(stored), prompt, completion, cost)

    def complete(
        self, requests: Sequence[Request], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result a request, in order; equal requests are asked once.

        Args:
            requests: what to ask.
            on_result: told (index of the request, result) as soon as each is settled.

        Raises:
            InputError: no key, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """
        return self._endpoint.ask(CHAT, requests, on_result)


class ReplayLlm:
    """Answers from a store alone; never opens a connection."""

    def __init__(self, path: Path, model: str | None = None) -> None:
        """Open a store for reading.

        Args:
            path: store written by an earlier run.
            model: model whose answers are replayed; None for the only one in the store.

        Raises:
            InputError: the store cannot be read, or holds several models and none is named.
        """
        self.path = path
        self.store = ReplayStore(path, readonly=True)
        models = list(self.store.stats().models)
        if model is None and len(models) != 1:
            raise InputError(
                f"contains answers of {len(models)} models ({', '.join(models) or 'none'})",
                path=path,
                allowed="name one: replay:FILE#MODEL",
                code="missing-option",
            )
        self.model = model or models[0]

    def identity(self) -> dict[str, Any]:
        # Not the file name: a rebuild from the store equals the build that wrote it.
        if (self.model, "") in plugins.entry_names("llms"):
            return LLMS.factory(self.model)(LlmSettings()).identity()
        return {"name": f"openai:{self.model}"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Stored answers.

        Raises:
            InputError: the store lacks one; says how many.
        """

        def refuse(missing: dict[str, Request], _: Take) -> None:
            first = next(iter(missing.values()))
            start = first.messages[-1][1][:80] if first.messages else ""
            raise InputError(
                f"{len(missing)} of {len(requests)} answers of {self.model} are missing "
                f"(first request: {start!r}…)",
                path=self.path,
                allowed="the store of a complete run with the same prompts and parameters",
                code="not-stored",
            )

        return ask_once(requests, self.model, self.store, settle, refuse)


class TemplateWriter:
    """The embedded default where no LLM is at hand: fills in templates, and says so.

    Deterministic. Manifests and cards name it ``template``; its texts are no model's.
    """

    def __init__(self, templates: Mapping[str, str]) -> None:
        """Take one Jinja template a task.

        Raises:
            InputError: one of them is not a template.
        """
        environment = BoundedEnvironment()
        self._digest = digest(dict(templates))
        try:
            self._templates = {n: environment.from_string(t) for n, t in templates.items()}
        except TemplateError as error:
            raise InputError(
                f"is not a Jinja template ({error})", path="template", code="bad-template"
            ) from error

    def identity(self) -> dict[str, Any]:
        return {"name": "template", "templates_sha256": self._digest}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Filled-in templates of the requests' tasks.

        Raises:
            UnknownValueError: a task without a template.
            InputError: a template uses something that the request does not bring.
        """
        return [self._fill(request) for request in requests]

    def _fill(self, request: Request) -> LlmReply:
        if request.task not in self._templates:
            raise UnknownValueError("task of the template writer", request.task, self._templates)
        try:
            text = bounded_text(self._templates[request.task], request.values)
        except TemplateError as error:
            raise InputError(
                f"cannot be filled in ({error})", path=request.task, code="bad-template"
            ) from error
        return LlmReply(text, model="template")


@dataclass(frozen=True)
class LlmSettings:
    """What an LLM is made with, besides its argument.

    Attributes:
        store: where answers of an endpoint are kept.
        options: how it is reached.
        templates: of the command, for the template writer; None where it has none.
    """

    store: ReplayStore | None = None
    options: ClientOptions = field(default_factory=ClientOptions)
    templates: Mapping[str, str] | None = None


def make_llm(name: str, **settings: Any) -> Llm:
    """The LLM of a name.

    Args:
        name: one of LLMS, or a plugin's.
        settings: fields of :class:`LlmSettings`.

    Raises:
        UsageError: another name, or a template writer where no templates exist.
        InputError: a replay store that cannot be read, or a broken plugin.
    """
    return LLMS.make(name, LlmSettings(**settings))


def _template_writer(settings: LlmSettings) -> Llm:
    if settings.templates is None:
        raise UsageError(
            "--llm template: this command has no templates; name openai: or replay:",
            code="unsupported",
        )
    return TemplateWriter(settings.templates)


def _replay_llm(argument: str, settings: LlmSettings) -> Llm:
    path, _, model = argument.partition("#")
    return ReplayLlm(Path(path), model or None)


LLMS: Registry[Choice, Llm] = Registry(
    "LLM",
    "llms",
    CHOICES,
    {
        "openai": lambda model, settings: OpenAiLlm(model, settings.store, settings.options),
        "replay": _replay_llm,
        "template": _template_writer,
    },
    "identity complete",
    expected("--llm", CHOICES),
)
