"""Prompts: one text a query, with the passages of its frozen context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from citeforge.builders.read import Shown, iter_shown
from citeforge.schemas.errors import InputError
from citeforge.schemas.grammar import Grammar
from citeforge.schemas.manifest import Manifest

TEMPLATES = {"rage": Path(__file__).parent / "templates" / "rage.j2"}


@dataclass(frozen=True)
class PromptDoc:
    """A passage as a template sees it.

    Attributes:
        number: what a citation of it says.
        title: its title, or an empty string.
        text: its text, with markers of its own neutralised.
    """

    number: int
    title: str
    text: str


def neutralise(text: str) -> str:
    """Put a passage's own citation marks into round brackets; they are not ours."""
    pieces = []
    at = 0
    for marker in Grammar().parse(text, 1 << 30).markers:
        inner = text[marker.start + 1 : marker.end - 1]
        pieces += [text[at : marker.start], f"({inner})"]
        at = marker.end
    return "".join([*pieces, text[at:]])


def load_template(name: str) -> Template:
    """A built-in template, or a Jinja file.

    Raises:
        InputError: no such file, or it is not a template.
    """
    path = TEMPLATES.get(name, Path(name))
    if not path.is_file():
        raise InputError(
            "is neither a template nor a file",
            path=name,
            allowed=f"{', '.join(TEMPLATES)}, or a .j2 file",
        )
    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=False)
    try:
        return environment.from_string(path.read_text(encoding="utf-8"))
    except (TemplateError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"is not a Jinja template ({error})", path=path, line=line) from error


def render_prompts(
    folder: Path, manifest: Manifest, context: str, template: Template
) -> Iterator[tuple[str, str]]:
    """(query id, prompt) for every query of a context set.

    Raises:
        InputError: the template uses something that is not there.
    """
    for shown in iter_shown(folder, context):
        docs = _docs(shown, manifest.grammar.base)
        try:
            text = template.render(query=shown.query, docs=docs, base=manifest.grammar.base)
        except TemplateError as error:
            raise InputError(
                f"cannot be rendered ({error})",
                path="template",
                allowed="query, base, docs with number, title, text",
            ) from error
        yield shown.query_id, text


def _docs(shown: Shown, base: int) -> list[PromptDoc]:
    return [
        PromptDoc(number, neutralise(passage.title), neutralise(passage.text))
        for number, passage in enumerate(shown.passages, base)
    ]
