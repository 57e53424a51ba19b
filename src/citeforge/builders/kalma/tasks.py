"""What the writer is asked, and what the template writer answers."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template

from citeforge.engines.io.files import digest
from citeforge.engines.llm.records import Request
from citeforge.engines.text.template_bounds import BoundedEnvironment, bounded_text
from citeforge.kg.domain import Domain

_FOLDER = Path(__file__).parent.parent / "templates" / "kalma"
TASKS = ("seed", "annotate", "extend", "general", "specific")
_TOKENS = {"seed": (80, False), "annotate": (160, True), "extend": (120, True),
           "general": (100, False), "specific": (200, False)}  # fmt: skip
"""Tokens of a reply, and whether the paragraph comes back in it."""
_ANNOTATE, _EXTEND = "{{ annotated }}", "{{ paragraph }} {{ sentence }}"
_QUESTION = "{{ question }}"


def template_writer_templates(domain: Domain) -> dict[str, str]:
    """Templates of the embedded writer: sentences as they are, and composed questions but where the
    domain has templates of its own for them."""
    return {
        "seed": "{{ fact }}",
        "annotate": _ANNOTATE,
        "extend": _EXTEND,
        "general": domain.templates.get("general", _QUESTION),
        "specific": domain.templates.get("specific", _QUESTION),
    }


@cache
def _template(task: str) -> Template:
    return BoundedEnvironment().from_string((_FOLDER / f"{task}.j2").read_text(encoding="utf-8"))


def prompt_hashes() -> dict[str, str]:
    """sha256 of every prompt, for the manifest."""
    return {t: digest((_FOLDER / f"{t}.j2").read_text(encoding="utf-8")) for t in TASKS}


def request(task: str, values: Mapping[str, Any], attempt: int, temperature: float) -> Request:
    """The request of one attempt, counted from 0."""
    prompt = bounded_text(_template(task), values)
    own, grows = _TOKENS[task]
    size = len(str(values.get("paragraph", ""))) if grows else 0
    params = {"temperature": temperature, "max_tokens": own + size // 2}
    return Request((("user", prompt),), params, sample=attempt, task=task, values=dict(values))


def cleaned(text: str) -> str:
    """A reply without a leading label and quotation marks, on one line."""
    text = " ".join(text.split())
    for label in ("answer", "question", "sentence"):
        if text.lower().startswith(f"{label}:"):
            text = text[len(label) + 1 :].strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text
