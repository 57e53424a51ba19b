"""LLMs by name: chat completions of an endpoint, and writers that need none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from citeforge.engines import plugins
from citeforge.engines.io.files import digest
from citeforge.engines.llm.budget import Bound, RunPlan, bound_call, estimate_prompt_tokens
from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.options import BATCH_PRICE, ClientOptions
from citeforge.engines.llm.reading import read_reply
from citeforge.engines.llm.records import Llm, LlmReply, Request, Result, settle
from citeforge.engines.llm.replay import OnResult, ReplayStore, Take, ask_once
from citeforge.engines.registry import Registry, unknown_choice_error
from citeforge.schemas.choices import LLMS as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError

CHAT: Route[Request] = Route(
    "LLM", "chat.completions", lambda _, body: read_reply(body), settle, "/v1/chat/completions"
)


def _with_effort(requests: Sequence[Request], options: ClientOptions) -> Sequence[Request]:
    """Add the option ``--reasoning-effort`` to requests."""
    if options.reasoning_effort is None:
        return requests
    effort = {"reasoning_effort": options.reasoning_effort}
    return [replace(r, params={**r.params, **effort}) for r in requests]


def _identity(model: str, options: ClientOptions) -> dict[str, Any]:
    """Identify a model in manifests: its name, and its reasoning effort if one is set."""
    effort = options.reasoning_effort
    more = {} if effort is None else {"reasoning_effort": effort}
    return {"name": f"openai:{model}", **more}


class OpenAiLlm(Endpoint):
    """A model behind an OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, …)."""

    @property
    def is_batched(self) -> bool:
        """Whether requests are submitted as batches."""
        return self.options.batch

    def identity(self) -> dict[str, Any]:
        return _identity(self.model, self.options)

    def plan(
        self, requests: Sequence[Request], further: Sequence[Request] = (), tries: int = 1
    ) -> RunPlan:
        """Plan :meth:`complete`; sends nothing.

        Args:
            requests: what is asked in any case.
            further: what is asked where a reply is not taken; equal requests are other calls.
            tries: how often each of both is asked at most.
        """
        distinct = {r.key(self.model): r for r in _with_effort(requests, self.options)}
        store = self.store
        stored = {k for k in distinct if store is not None and store.get(k) is not None}
        rest = [r for k, r in distinct.items() if k not in stored]
        # A stored reply may be refused as a new one may.
        again = [*rest, *further, *(tries - 1) * [*distinct.values(), *further]]
        most = sum((bound_call(r, self.room(r)) for r in again), Bound())
        usual = (Bound(1, estimate_prompt_tokens(r), r.most_tokens) for r in rest)
        price, share = self.options.price, BATCH_PRICE if self.is_batched else 1.0
        return RunPlan(len(distinct), len(stored), sum(usual, Bound()), most, price, share)

    def complete(
        self, requests: Sequence[Request], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result per request, in order; equal requests are asked once.

        Args:
            requests: what to ask.
            on_result: called with (index of the request, result) as soon as each is settled.

        Raises:
            InputError: no key, no credit, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """
        return self.ask(CHAT, _with_effort(requests, self.options), on_result)


class ReplayLlm:
    """Answers from a store alone; never opens a connection."""

    def __init__(
        self, path: Path, model: str | None = None, options: ClientOptions | None = None
    ) -> None:
        """Open a store for reading.

        Args:
            path: store written by an earlier run.
            model: model whose replies are replayed; None for the only one in the store.
            options: of these, the reasoning effort belongs to the requests.

        Raises:
            InputError: the store cannot be read, or holds several models and none is named.
        """
        self.path, self._options = path, options or ClientOptions()
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
        return _identity(self.model, self._options)

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Stored replies.

        Raises:
            InputError: the store lacks one; says how many.
        """

        def refuse(missing: dict[str, Request], _: Take) -> None:
            """Raise the error of requests that the store has no answer to."""
            first = next(iter(missing.values()))
            start = first.messages[-1][1][:80] if first.messages else ""
            raise InputError(
                f"{len(missing)} of {len(requests)} answers of {self.model} are missing "
                f"(first request: {start!r}…)",
                path=self.path,
                allowed="the store of a complete run with the same prompts and parameters",
                code="not-stored",
            )

        asked = _with_effort(requests, self._options)
        return ask_once(asked, self.model, self.store, settle, refuse)


class TemplateWriter:
    """The embedded default where no LLM is at hand: fills in templates, and says so.

    Deterministic. Manifests and cards name it ``template``; its texts are no model's.
    """

    def __init__(self, templates: Mapping[str, str]) -> None:
        """Take one Jinja template a task.

        Raises:
            InputError: one of them is not a template.
        """
        environment = SandboxedEnvironment(undefined=StrictUndefined)
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
        """Fill in the template of the request's task."""
        if request.task not in self._templates:
            raise UnknownValueError("task of the template writer", request.task, self._templates)
        try:
            text = self._templates[request.task].render(request.values)
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
    """Make the writer that fills in the command's templates."""
    if settings.templates is None:
        raise UsageError(
            "--llm template: this command has no templates; name openai: or replay:",
            code="unsupported",
        )
    return TemplateWriter(settings.templates)


def _replay_llm(argument: str, settings: LlmSettings) -> Llm:
    """Make the LLM of ``replay:FILE#MODEL``, which answers from a store."""
    path, _, model = argument.partition("#")
    return ReplayLlm(Path(path), model or None, settings.options)


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
    unknown_choice_error("--llm", CHOICES),
)
