"""Requests to the writing LLM, retried until replies pass a check; templates as fallback."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.engines.progress import progress
from citeforge.engines.text.quoting import without_tags
from citeforge.kg.domain import Domain
from citeforge.schemas.recipes.kalma import Choices

_TOKENS = {"seed": (80, False), "annotate": (160, True), "extend": (120, True),
           "general": (100, False), "specific": (200, False)}  # fmt: skip
"""Tokens of a reply, and whether the paragraph comes back in it."""
TASKS = tuple(_TOKENS)
Check = Callable[[dict[str, str]], Mapping[str, str | None]]
"""Replies by pair id to why each cannot be taken; None where it can."""
_QUOTED = re.compile(r"(?<= )(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?= |\Z)")
_UNQUOTED = re.compile(r"^(says) .+?(?=;)|^(cites) [^:]+?(?=, which)")
_FIRST_TEMPERATURE, _TEMPERATURE_STEP = 0.1, 0.3
"""Temperature of first attempts, and what each further one adds."""
_STOOD_IN = "no reply could be taken: the template wrote it"


def embedded_templates(domain: Domain) -> dict[str, str]:
    """Map each writing task to the Jinja template that writes its text without an LLM."""
    return {
        "seed": "{{ fact }}",
        "annotate": "{{ annotated }}",
        "extend": "{{ paragraph }} {{ sentence }}",
        "general": domain.templates.get("general", "{{ question }}"),
        "specific": domain.templates.get("specific", "{{ question }}"),
    }


def refusal_kind(reason: str) -> str:
    """Shorten the reason why a reply was refused to its kind, without names and values.

    ``does not name 'Ada Lovelace'`` → ``does not name …``; ``says 1850; date of birth of Ada is
    1815`` → ``says …``.
    """
    text = _QUOTED.sub("…", reason)
    text = _UNQUOTED.sub(r"\1\2 …", text)
    return re.split(r"[:;]| \(", text)[0][:60]


def prompt_hashes() -> dict[str, str]:
    """Map each writing task to the sha256 of its prompt, for the manifest."""
    return {task: writer_prompt(f"kalma/{task}").sha256 for task in TASKS}


def request(task: str, values: Mapping[str, Any], attempt: int, temperature: float) -> Request:
    """Make the LLM request of one attempt at a writing task; attempts are counted from 0."""
    own, grows = _TOKENS[task]
    size = len(str(values.get("paragraph", ""))) if grows else 0
    params = {"temperature": temperature, "max_tokens": own + size // 2}
    return writer_prompt(f"kalma/{task}").request(values, params, attempt)


def clean_reply(text: str) -> str:
    """Remove a leading label and quotation marks from an LLM's reply, and join its lines."""
    text = " ".join(text.split())
    for label in ("answer", "question", "sentence"):
        if text.lower().startswith(f"{label}:"):
            text = text[len(label) + 1 :].strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text


def check_each(check_one: Callable[[str, str], str | None]) -> Check:
    """Turn a check of one reply (pair id, text) into a check of a batch of replies."""
    return lambda replies: {name: check_one(name, reply) for name, reply in replies.items()}


@dataclass(frozen=True)
class Replies:
    """Replies of a writer by pair id: accepted ones, and refused ones with reasons.

    Attributes:
        taken: the reply of each pair that has one.
        refused: replies that were refused, each with the reason.
    """

    taken: dict[str, str]
    refused: dict[str, list[str]]

    def last_refusal(self, pair_id: str) -> str:
        """Get the kind of reason why an LLM's last reply for an entity pair was refused."""
        return refusal_kind(self.refused[pair_id][-1])


class Asker:
    """Client of the writing LLM: asks in batches, and again for refused replies.

    Attributes:
        refused: replies that were not taken, by task and reason.
        stood_in: texts that the template wrote in the writer's place, by task.
    """

    def __init__(self, llm: Llm, choices: Choices, domain: Domain) -> None:
        """Plan the attempts at each text: by the LLM, then by the built-in template if allowed."""
        self.llm, self.choices = llm, choices
        self.refused, self.stood_in = Counter[tuple[str, str]](), Counter[str]()
        template = TemplateWriter(embedded_templates(domain))
        self._turns = [(llm, at) for at in range(1 if self.is_template else choices.attempts)]
        if choices.stand_in and not self.is_template:
            self._turns.append((template, 0))

    @property
    def is_template(self) -> bool:
        """Whether the writer is the built-in template, whose reply never changes."""
        return self.llm.identity().get("name") == "template"

    def ask(self, task: str, values: Mapping[str, dict[str, Any]], check: Check) -> Replies:
        """Request a text per entity pair from an LLM, again if ``check`` refuses it (with why).

        Args:
            task: name of the prompt.
            values: pair id to what its prompt says.
            check: looks at all replies of one attempt together.
        """
        replies, again = Replies({}, {name: [] for name in values}), dict[str, str]()
        for llm, attempt in self._turns:
            waiting = {
                name: {**mine, "again": again.get(name, "")}
                for name, mine in values.items()
                if name not in replies.taken
            }
            if not waiting:
                break
            warmth = round(_FIRST_TEMPERATURE + attempt * _TEMPERATURE_STEP, 6)
            requests = [request(task, mine, attempt, warmth) for mine in waiting.values()]
            with progress(f"writing: {task}", len(requests), "texts") as advance:
                results = dict(zip(waiting, llm.complete(requests), strict=True))
                advance(len(requests))
            texts = {
                n: clean_reply(without_tags(r.text))
                for n, r in results.items()
                if not isinstance(r, Failure)
            }
            reasons = check(texts)
            for name, result in results.items():
                failure, text = result if isinstance(result, Failure) else None, texts.get(name, "")
                reason = (
                    reasons[name] if failure is None else f"{failure.reason}: {failure.message}"
                )
                if reason is not None:
                    again[name] = reason if failure is None else ""
                    replies.refused[name].append(f"{reason}: {text}" if text else reason)
                    self.refused[task, refusal_kind(reason)] += 1
                    continue
                replies.taken[name] = text
                if llm is not self.llm:
                    replies.refused[name].append(_STOOD_IN)
                    self.stood_in[task] += 1
        return replies
