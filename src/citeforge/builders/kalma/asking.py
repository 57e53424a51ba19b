"""Asking a writer until what it says can be taken, and who writes where it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from citeforge.builders.kalma.tasks import cleaned, request, template_writer_templates
from citeforge.engines.io.progress import progress
from citeforge.engines.llm.records import Failure, Llm, Result
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.kg.domain import Domain
from citeforge.schemas.recipes.kalma import Choices

if TYPE_CHECKING:
    from citeforge.builders.kalma.evolve import Evolution

Values = Callable[["Evolution"], dict[str, Any]]
"""What a prompt says of a pair."""
Accept = Callable[[Sequence[tuple["Evolution", str]]], list[str | None]]
"""Takes replies, or says of each why not."""
_STOOD_IN = "no reply could be taken: the template wrote it"


def each(accept: Callable[[Evolution, str], str | None]) -> Accept:
    """A check that looks at one reply after the other."""
    return lambda replies: [accept(e, reply) for e, reply in replies]


class Asker:
    """Asks in batches, again for what was refused.

    Attributes:
        refused: replies that were not taken, by task and reason.
        stood_in: texts that the template wrote in the writer's place, by task.
    """

    def __init__(self, llm: Llm, choices: Choices, domain: Domain) -> None:
        self.llm, self.choices = llm, choices
        self.refused, self.stood_in = Counter[str](), Counter[str]()
        templates = template_writer_templates(domain)
        self._template = TemplateWriter(templates) if choices.stand_in else None

    @property
    def is_template(self) -> bool:
        """Whether the embedded writer writes, which says the same whenever it is asked."""
        return self.llm.identity().get("name") == "template"

    def ask(
        self, task: str, evolutions: Sequence[Evolution], values: Values, accept: Accept
    ) -> dict[str, list[str]]:
        """Ask until every reply is taken or no attempt is left.

        Args:
            task: name of the prompt.
            evolutions: pairs that want a text.
            values: of the prompt.
            accept: takes replies.

        Returns:
            Pair id to the replies that were refused, each with the reason.
        """
        refused: dict[str, list[str]] = {e.pair.id: [] for e in evolutions}
        waiting = list(evolutions)
        for attempt in range(1 if self.is_template else self.choices.attempts):
            if waiting:
                waiting = self._once(self.llm, task, waiting, values, accept, attempt, refused)
        if waiting and self._template is not None and not self.is_template:
            rest = self._once(self._template, task, waiting, values, accept, 0, refused)
            names = {e.pair.id for e in rest}
            for evolution in waiting:
                if evolution.pair.id not in names:
                    refused[evolution.pair.id].append(_STOOD_IN)
                    self.stood_in[task] += 1
        return refused

    def _once(
        self, llm: Llm, task: str, waiting: Sequence[Evolution], values: Values, accept: Accept,
        attempt: int, refused: dict[str, list[str]],
    ) -> list[Evolution]:  # fmt: skip
        """Ask for all that wait; those whose replies were refused wait on."""
        step = self.choices.step
        requests = [
            request(task, values(e), attempt, self.choices.temperature, step) for e in waiting
        ]
        with progress(f"writing: {task}", len(requests), "texts") as advance:
            results = llm.complete(requests)
            advance(len(requests))
        replies, reasons = _judged(waiting, results, accept)
        for evolution in waiting:
            name = evolution.pair.id
            reason, reply = reasons[name], replies.get(name)
            if reason is not None:
                refused[name].append(f"{reason}: {reply}" if reply else reason)
                self.refused[f"{task}: {reason.split(':')[0].split(' (')[0][:60]}"] += 1
        return [e for e in waiting if reasons[e.pair.id] is not None]


def _judged(
    waiting: Sequence[Evolution], results: Sequence[Result], accept: Accept
) -> tuple[dict[str, str], dict[str, str | None]]:
    """Replies, and why each cannot be taken (None when it was), by pair id."""
    replies: dict[str, str] = {}
    reasons: dict[str, str | None] = {}
    for evolution, result in zip(waiting, results, strict=True):
        if isinstance(result, Failure):
            reasons[evolution.pair.id] = f"{result.reason}: {result.message}"
        else:
            replies[evolution.pair.id] = cleaned(result.text)
    answered = [e for e in waiting if e.pair.id in replies]
    found = accept([(e, replies[e.pair.id]) for e in answered])
    reasons.update(zip((e.pair.id for e in answered), found, strict=True))
    return replies, reasons
