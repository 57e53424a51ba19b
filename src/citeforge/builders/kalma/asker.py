"""Requests to the writer, repeated until a reply passes its check; the template as fallback."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from citeforge.builders.packaging.writer_prompts import writer_prompt
from citeforge.engines.io.progress import progress
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.llm.writers import TemplateWriter
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
    """Give the templates of the embedded writer; a domain may replace those of questions."""
    return {
        "seed": "{{ fact }}",
        "annotate": "{{ annotated }}",
        "extend": "{{ paragraph }} {{ sentence }}",
        "general": domain.templates.get("general", "{{ question }}"),
        "specific": domain.templates.get("specific", "{{ question }}"),
    }


def refusal_kind(reason: str) -> str:
    """Strip names and values from a reason, so that refusals of one kind are counted together.

    ``does not name 'Ada Lovelace'`` → ``does not name …``; ``says 1850; date of birth of Ada is
    1815`` → ``says …``.
    """
    text = _QUOTED.sub("…", reason)
    text = _UNQUOTED.sub(r"\1\2 …", text)
    return re.split(r"[:;]| \(", text)[0][:60]


def prompt_hashes() -> dict[str, str]:
    """sha256 of every prompt, for the manifest."""
    return {task: writer_prompt(f"kalma/{task}").sha256 for task in TASKS}


def request(task: str, values: Mapping[str, Any], attempt: int, temperature: float) -> Request:
    """The request of one attempt, counted from 0."""
    own, grows = _TOKENS[task]
    size = len(str(values.get("paragraph", ""))) if grows else 0
    params = {"temperature": temperature, "max_tokens": own + size // 2}
    return writer_prompt(f"kalma/{task}").request(values, params, attempt)


def clean_reply(text: str) -> str:
    """Clean a reply: no leading label or quotation marks, on one line."""
    text = " ".join(text.split())
    for label in ("answer", "question", "sentence"):
        if text.lower().startswith(f"{label}:"):
            text = text[len(label) + 1 :].strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text


def check_each(wrong: Callable[[str, str], str | None]) -> Check:
    """Turn a check of single replies into a check of a batch."""
    return lambda replies: {name: wrong(name, reply) for name, reply in replies.items()}


class Replies(NamedTuple):
    """Replies of a writer by pair id: those taken, and those refused.

    Attributes:
        taken: the reply of each pair that has one.
        refused: replies that were refused, each with the reason.
    """

    taken: dict[str, str]
    refused: dict[str, list[str]]


class Asker:
    """Asks a writer in batches, and again for refused replies.

    Attributes:
        refused: replies that were not taken, by task and reason.
        stood_in: texts that the template wrote in the writer's place, by task.
    """

    def __init__(self, llm: Llm, choices: Choices, domain: Domain) -> None:
        self.llm, self.choices = llm, choices
        self.refused, self.stood_in = Counter[str](), Counter[str]()
        template = TemplateWriter(embedded_templates(domain))
        self._turns = [(llm, at) for at in range(1 if self.is_template else choices.attempts)]
        if choices.stand_in and not self.is_template:
            self._turns.append((template, 0))

    @property
    def is_template(self) -> bool:
        """Whether the embedded writer writes; asking it again gives the same reply."""
        return self.llm.identity().get("name") == "template"

    def ask(self, task: str, values: Mapping[str, dict[str, Any]], check: Check) -> Replies:
        """Ask until every reply passes its check or attempts run out; retries get the last reason.

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
            failures = {
                name: f"{result.reason}: {result.message}"
                for name, result in results.items()
                if isinstance(result, Failure)
            }
            reasons = {**check(texts), **failures}
            for name in results:
                reason, text = reasons[name], texts.get(name, "")
                if reason is not None:
                    again[name] = "" if name in failures else reason
                    replies.refused[name].append(f"{reason}: {text}" if text else reason)
                    self.refused[f"{task}: {refusal_kind(reason)}"] += 1
                    continue
                replies.taken[name] = text
                if llm is not self.llm:
                    replies.refused[name].append(_STOOD_IN)
                    self.stood_in[task] += 1
        return replies
