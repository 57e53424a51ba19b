"""An endpoint's resources, asked once per distinct call: stored, budgeted, adapted and counted."""

import asyncio
from collections.abc import Sequence

from citeforge.engines.llm.calls import Run
from citeforge.engines.llm.records import Failure, Result
from citeforge.engines.llm.replay import OnResult, Take, ask_once
from citeforge.engines.llm.served import C, Route, ServedModel
from citeforge.schemas.errors import InputError

__all__ = ["Endpoint", "Route"]


class Endpoint(ServedModel):
    """A model behind an OpenAI-compatible endpoint, and the ways to ask it."""

    def ask(
        self, route: Route[C], calls: Sequence[C], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result per call, in order; equal calls are made once, stored ones never.

        Args:
            route: where the calls go.
            calls: what to ask.
            on_result: called with (index of the call, result) as soon as each is settled.

        Raises:
            InputError: no key, no credit, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """

        def ask(waiting: dict[str, C], take: Take) -> None:
            kind = Run
            if self.options.batch and route.batch_url:
                from citeforge.engines.llm.batch_run import BatchRun as kind  # imports the SDK
            run = kind(self, route, take)
            try:
                asyncio.run(run.ask_all(waiting))
            finally:
                self.tokens = run.budget.tokens

        return ask_once(calls, self.model, self.store, route.settle, ask, on_result)

    def require_replies(self, route: Route[C], results: Sequence[Result], allowed: str) -> None:
        """Refuse results with a failure among them.

        Raises:
            InputError: there is one; ``allowed`` says what would help.
        """
        failures = [r for r in results if isinstance(r, Failure)]
        if failures:
            raise InputError(
                f"{route.title} failed: {failures[0].message} "
                f"({len(failures):,} of {len(results):,} calls failed)",
                path=f"openai:{self.model}",
                allowed=allowed,
                code="endpoint-failed",
            )
