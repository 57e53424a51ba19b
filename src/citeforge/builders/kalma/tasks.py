"""What the writer is asked, and what the template writer answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_ANNOTATE, _EXTEND = "{{ annotated }}", "{{ paragraph }} {{ sentence }}"
_QUESTION = "{{ question }}"


def template_writer_templates(domain: Domain) -> dict[str, str]:
    """Templates of the embedded writer: the domain's sentences, filled in as they are, and composed
    questions where the domain has words for them."""
    given = domain.templates
    if domain.questions is not None:
        given = {"general": _QUESTION, "specific": _QUESTION}
    return {
        "seed": "{{ fact }}",
        "annotate": _ANNOTATE,
        "extend": _EXTEND,
        "general": given.get("general", "What is known of {{ names|join(' and ') }}?"),
        "specific": given.get(
            "specific",
            "What is known of {% for name, relations in facts %}{% if not loop.first %} and of "
            "{% endif %}{{ name }} ({{ relations|join(', ') }}){% endfor %}?",
        ),
    }


@cache
def _template(task: str) -> Template:
    return BoundedEnvironment().from_string((_FOLDER / f"{task}.j2").read_text(encoding="utf-8"))


def prompt_hashes() -> dict[str, str]:
    """sha256 of every prompt, for the manifest."""
    return {t: digest((_FOLDER / f"{t}.j2").read_text(encoding="utf-8")) for t in TASKS}


def request(
    task: str, values: Mapping[str, Any], attempt: int, temperature: float, step: float
) -> Request:
    """The request of one attempt (counted from 0); later ones have a higher temperature."""
    prompt = bounded_text(_template(task), values)
    size = max((len(str(values.get(k, ""))) for k in ("paragraph", "plain")), default=0)
    params = {"temperature": round(temperature + attempt * step, 6), "max_tokens": 400 + size // 2}
    return Request((("user", prompt),), params, sample=attempt, task=task, values=dict(values))


def cleaned(text: str, labels: Sequence[str] = ("answer", "question", "sentence")) -> str:
    """A reply without a leading label and quotation marks, on one line."""
    text = " ".join(text.split())
    for label in labels:
        if text.lower().startswith(f"{label}:"):
            text = text[len(label) + 1 :].strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text
