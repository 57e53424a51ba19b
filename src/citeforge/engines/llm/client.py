"""Chat completions of an endpoint: nothing that is stored is asked again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeforge.engines.llm.budget import RunPlan, estimate_prompt_tokens
from citeforge.engines.llm.calls.endpoint import Endpoint, OnResult, Route
from citeforge.engines.llm.calls.reply import read_reply
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import Request, Result, settle
from citeforge.engines.llm.stores.replay import ReplayStore

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
        stored = {k for k in distinct if self._endpoint.stored(k) is not None}
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
