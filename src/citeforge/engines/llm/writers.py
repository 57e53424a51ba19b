"""LLMs by name: chat completions of an endpoint, and writers that need none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from citeforge.engines.files import digest
from citeforge.engines.llm import smollm
from citeforge.engines.llm.addresses import require_access
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.records import Llm, LlmReply, Request, Result
from citeforge.engines.llm.replay import OnResult, ReplayStore, Take
from citeforge.engines.llm.replies import Completion, read_completion
from citeforge.engines.textfiles import count_text
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.recipes.base import RunOptions

CHAT = Route(
    title="LLM",
    path="/chat/completions",
    form=Completion,
    read=lambda body, completion: read_completion(completion),
    has_batches=True,
)


class ChatLlm(Endpoint):
    """A model whose replies to chats are stored."""

    @property
    def _effort(self) -> dict[str, Any]:
        """Request field ``reasoning_effort`` with its value; empty if the option is not set."""
        effort = self.options.reasoning_effort
        return {} if effort is None else {"reasoning_effort": effort}

    def identity(self) -> dict[str, Any]:
        """Describe the model and its options that change replies."""
        return {"name": f"openai:{self.model}", **self._effort}

    def _with_effort(self, requests: Sequence[Request]) -> list[Request]:
        """Return requests with the option ``--reasoning-effort`` added."""
        return [replace(r, params={**r.params, **self._effort}) for r in requests]

    def complete(
        self, requests: Sequence[Request], on_result: OnResult | None = None
    ) -> list[Result]:
        """Answer requests: return one result per request, in order; see :meth:`Endpoint.ask`.

        Raises:
            InputError: no key, no credit, the first calls all fail, or a replay store has no reply.
            BudgetError: the next call could pass the cost limit.
        """
        return self.ask(CHAT, self._with_effort(requests), on_result)

    def rehearse_chats(self, requests: Sequence[Request], tries: int = 1) -> None:
        """Record chat requests, each with at most ``tries`` calls, in the ledger of a dry run."""
        self.rehearse(CHAT, self._with_effort(requests), tries)


class OpenAiLlm(ChatLlm):
    """A model behind an OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, …)."""

    def plan(
        self, requests: Sequence[Request], possible_requests: Sequence[Request] = (), tries: int = 1
    ) -> RunPlan:
        """Plan the calls of certain and possible requests, at most ``tries`` each; send none.

        Args:
            requests: what is asked in any case.
            possible_requests: what is asked where a reply is not taken; equal requests are other
                calls.
            tries: how often each of both is asked at most.
        """
        distinct = {r.key(self.model): r for r in self._with_effort(requests)}
        store, server = self.store, self.server
        counted = [
            (request, store is not None and store.get(key, server) is not None)
            for key, request in distinct.items()
        ]
        return self._plan(counted, tries, CHAT, self._with_effort(possible_requests))


class ReplayLlm(ChatLlm):
    """Answers from a store alone; never opens a connection."""

    def __init__(
        self, path: Path, model: str | None = None, options: RunOptions | None = None
    ) -> None:
        """Open a store of replies; if no model is named, its replies must be of a single model.

        Args:
            path: the store.
            model: model whose replies are used; None for the only one.
            options: options of the run; nothing is sent, whatever they say.

        Raises:
            InputError: the store cannot be read, or holds several models and none is named.
        """
        store = ReplayStore(path, readonly=True)
        models = list(store.stats().models)
        if model is None and len(models) != 1:
            raise InputError(
                f"contains answers of {len(models)} models ({', '.join(models) or 'none'})",
                path=path,
                allowed="name one: replay:FILE#MODEL",
                code="missing-option",
            )
        super().__init__(model or models[0], store, options)

    def identity(self) -> dict[str, Any]:
        """Describe the model whose replies are stored."""
        # Not the file name: a rebuild from the store equals the build that wrote it.
        if self.model == smollm.NAME:
            return smollm.identity()
        return super().identity()

    @property
    def server(self) -> None:
        """Always None: stored replies of all servers are used."""

    def send(self, route: Route, waiting: dict[str, Request], take: Take) -> None:
        """Raise an error: the store has no reply to these requests, and they are never sent.

        Raises:
            InputError: says how many there are.
        """
        first = next(iter(waiting.values()))
        start = first.messages[-1][1][:80] if first.messages else ""
        raise InputError(
            f"has no reply of {self.model} to {count_text(len(waiting), 'request')} "
            f"(first: {start!r}…)",
            path=self.store and self.store.path,
            allowed="the store of a complete run with the same prompts and parameters",
            code="not-stored",
        )


class TemplateWriter:
    """Default writer of KaLMA builds, which calls no LLM: fills in templates.

    Deterministic. Manifests and cards name it ``template``; its texts are no model's.
    """

    def __init__(self, templates: Mapping[str, str]) -> None:
        """Compile one Jinja template per task.

        Args:
            templates: text of the template of each task.

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
        """Describe the templates by their digest."""
        return {"name": "template", "templates_sha256": self._digest}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Fill in the templates of the requests' tasks.

        Raises:
            UnknownValueError: a task without a template.
            InputError: a template uses something that the request does not bring.
        """
        return [self._fill(request) for request in requests]

    def _fill(self, request: Request) -> LlmReply:
        """Make a reply from the template of the request's task, in place of an LLM."""
        if request.task not in self._templates:
            raise UnknownValueError("task of the template writer", request.task, self._templates)
        try:
            text = self._templates[request.task].render(request.values)
        except Exception as error:  # whatever an expression of the template does
            raise InputError(
                f"cannot be filled in ({error})", path=request.task, code="bad-template"
            ) from error
        return LlmReply(text, model="template")


@dataclass(frozen=True)
class LlmSettings:
    """Settings of an LLM besides its argument.

    Attributes:
        store: its replies.
        options: how an endpoint is reached, and what it may cost.
        templates: for the template writer.
        role: what the command asks it for, in bills.
    """

    store: ReplayStore | None = None
    options: RunOptions = field(default_factory=RunOptions)
    templates: Mapping[str, str] | None = None
    role: str = ""


def require_askable(*llms: Llm | None) -> None:
    """Raise an error, before other work, if an LLM to ask has no usable key or address.

    Models of which replies are stored are let through: they may need no request.

    Raises:
        InputError: no key, or a wrong key or address.
    """
    for llm in llms:
        if not isinstance(llm, OpenAiLlm) or llm.options.dry_run:
            continue
        if not (llm.store and llm.store.has_replies(llm.model)):
            require_access(llm.options)
