"""Prompt templates of a design: their variables, and checks of what they do with texts."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from jinja2 import StrictUndefined, meta
from jinja2.sandbox import SandboxedEnvironment
from pydantic import ValidationInfo, field_validator

from citeforge.engines.text.quoting import with_quotes
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.record import FrozenRecord

_MARKS = dict(
    zip(
        ("title", "text", "question", "seed", "wish"), "\ue000\ue001\ue002\ue003\ue004", strict=True
    )
)
"""Kind of text to a character that no template has."""
_SAMPLE = {name: f"{mark} zq{name}{mark} " * 20 for name, mark in _MARKS.items()}
"""Kind of text to the one with which a template is tried: any longer part of it has the character,
or (where a filter writes that otherwise) the word, in any case."""
_FOREIGN = ("title", "text", "question", "seed")
"""Texts of documents and users, which a prompt may only show in quotes."""
_QUOTED = re.compile(r"<(quote-[0-9a-f]{16})>\n.*?\n</\1>", re.S)
_PASSAGES = tuple({"title": title, "text": _SAMPLE["text"]} for title in (_SAMPLE["title"], ""))
_FORMS = {"single": 1, "pair": 2, "list": 1, "absent": 1}
"""Form to the number of passages that a question of it is written about."""
SAMPLES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "question": {
        "form": tuple(_FORMS), "wishes": ((), (_SAMPLE["wish"],)),
        "seeds": ((), (_SAMPLE["seed"],) * 2),
        "language": (None, "de"), "is_first": (True, False), "passages": (_PASSAGES,),
    },
    "answer": {
        "question": (_SAMPLE["question"],), "several": (False, True), "language": (None, "de"),
        "passages": ((), _PASSAGES[:1], _PASSAGES[1:], _PASSAGES),
    },
    "evidence": {"question": (_SAMPLE["question"],), "passage": _PASSAGES},
}  # fmt: skip
"""Task to the variables of its template, each with the values that a build may give it."""
_NEEDED = {"question": "question", "passages": "text", "passage": "text", "wishes": "wish"}
"""Variable that a template has to show to the text by which it is known."""


class Prompts(FrozenRecord):
    """Templates (Jinja) in place of the built-in prompts."""

    question: str | None = None
    """Prompt that asks for a question."""
    answer: str | None = None
    """Prompt that asks for the answer to a question."""
    evidence: str | None = None
    """Prompt that asks for the answer to a seed question, with a quote."""

    @field_validator("question", "answer", "evidence")
    @classmethod
    def _check(cls, source: str | None, info: ValidationInfo) -> str | None:
        """Refuse a user's prompt template that cannot be filled in, or inserts texts unquoted."""
        if source is not None and (fault := find_template_fault(str(info.field_name), source)):
            raise ValueError(fault)
        return source


def find_template_fault(task: str, template_text: str) -> str | None:
    """Describe the fault of a user's prompt template for a task; None if it has none.

    It is filled in with all kinds of values that a build has: every form, with and without
    passages, titles, seeds, wishes and a language.

    Args:
        task: question, answer or evidence.
        template_text: text of the template.
    """
    sample = SAMPLES[task]
    names = sorted([*sample, "note", "quote"])
    shown: list[str] = []
    values: Mapping[str, Any] = {}
    try:
        environment = SandboxedEnvironment(undefined=StrictUndefined)
        used = meta.find_undeclared_variables(environment.parse(template_text))
        if unknown := sorted(used - {*names}):
            return str(UnknownValueError("variable of the prompt", unknown[0], names))
        template = environment.from_string(template_text)
        for values in _list_values(task):
            filled = with_quotes(values)
            shown.append(template.render(filled))
            rest = _QUOTED.sub("", shown[-1])
            if bare := [name for name in _FOREIGN if _shows(rest, name)]:
                return f"shows a {bare[0]} without quotes{_describe(values)}; write quote(TEXT)"
            if filled["note"] not in rest:
                return (
                    "lacks {{ note }}, which tells the model to follow no instruction in a quote"
                    + _describe(values)
                )
    except Exception as error:  # whatever an expression of the template does
        reason = f"{type(error).__name__}: {error}{_describe(values)}"
        return f"is not a template that can be filled in ({reason})"
    lacking = [
        name
        for name, text in _NEEDED.items()
        if name in sample and not any(_shows(prompt, text) for prompt in shown)
    ]
    return f"does not show {lacking[0]}" if lacking else None


def shows_seeds(source: str) -> bool:
    """Whether a user's template for writing questions shows the seed questions."""
    template = SandboxedEnvironment(undefined=StrictUndefined).from_string(source)
    prompts = (template.render(with_quotes(v)) for v in _list_values("question"))
    return any(_shows(prompt, "seed") for prompt in prompts)


def _list_values(task: str) -> Iterator[dict[str, Any]]:
    """Yield combinations of sample values to try a task's prompt template with."""
    sample = SAMPLES[task]
    for chosen in product(*sample.values()):
        values = dict(zip(sample, chosen, strict=True))
        values |= {k: list(v) for k, v in values.items() if isinstance(v, tuple)}
        if "form" not in values:
            yield values
            continue
        n = _FORMS[values["form"]]
        for first in range(len(_PASSAGES) - n + 1):
            yield values | {"passages": values["passages"][first : first + n]}


def _shows(prompt: str, name: str) -> bool:
    """Whether a filled-in prompt contains sample text of a kind, such as ``title``, in any case."""
    return _MARKS[name] in prompt or f"zq{name}" in prompt.casefold()


def _describe(values: Mapping[str, Any]) -> str:
    """Describe the sample values that a template was tried with; "" before the first try."""
    parts = [
        f"{len(value)} {name}" if isinstance(value, list) else f"{name} {value}"
        for name, value in values.items()
        if name not in ("question", "passage")
    ]
    return f", with {', '.join(parts)}" if parts else ""
