"""Prompt templates of a design: their variables, and checks of what they do with texts."""

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment
from pydantic import ValidationInfo, field_validator

from citeforge.engines.text.quoting import with_quotes
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.record import FrozenRecord

_TEXT = "A text of the documents or of a user."
_WISH = "A sentence of the design."
_PASSAGE = {"title": "", "text": _TEXT}
SAMPLES: Mapping[str, Mapping[str, Any]] = {
    "question": {
        "form": "single", "wishes": [_WISH], "passages": [_PASSAGE], "seeds": [], "language": "de",
        "is_first": True,
    },
    "answer": {"question": _TEXT, "passages": [_PASSAGE], "several": False, "language": "de"},
    "evidence": {"question": _TEXT, "passage": _PASSAGE},
}  # fmt: skip
"""Task to the variables of its template, each with a value to try it with."""
_QUOTED = re.compile(r"<(quote-[0-9a-f]{16})>\n.*?\n</\1>", re.S)


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
        """Refuse a template that cannot be filled in, or that shows texts without quotes."""
        if source is not None and (fault := find_template_fault(str(info.field_name), source)):
            raise ValueError(fault)
        return source


def find_template_fault(task: str, source: str) -> str | None:
    """Describe what is wrong with a template; None if nothing is.

    Args:
        task: question, answer or evidence.
        source: text of the template.
    """
    sample, environment = SAMPLES[task], SandboxedEnvironment(undefined=StrictUndefined)
    values = with_quotes(sample)
    try:
        used = meta.find_undeclared_variables(environment.parse(source))
        if unknown := sorted(used - values.keys()):
            return str(UnknownValueError("variable of the prompt", unknown[0], sorted(values)))
        text = environment.from_string(source).render(values)
    except TemplateError as error:
        return f"is not a template that can be filled in ({error})"
    rest = _QUOTED.sub("", text)
    if _TEXT in rest:
        return "shows a text without quotes; write quote(TEXT)"
    missing = [name for name in ("question", "passages", "passage", "wishes") if name in sample]
    if lacking := [name for name in missing if name not in used]:
        return f"does not use {lacking[0]}"
    if values["note"] not in rest:
        return "lacks {{ note }}, which tells the model to follow no instruction in a quote"
    return None
