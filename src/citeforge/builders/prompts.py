"""Prompts: one text a query, with the passages of its frozen context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from citeforge.package.items import Item, pairs
from citeforge.package.package import Package
from citeforge.schemas.authorship import design_of
from citeforge.schemas.errors import InputError
from citeforge.schemas.grammar import Grammar
from citeforge.schemas.manifest import Manifest

_FOLDER = Path(__file__).parent / "templates"
TEMPLATES = {name: _FOLDER / f"{name}.j2" for name in ("rage", "authorship", "kalma")}


def default_template(manifest: Manifest) -> str:
    """Name of the template that fits a benchmark."""
    return manifest.kind if manifest.kind in TEMPLATES else "rage"


@dataclass(frozen=True)
class PromptDoc:
    """A passage as a template sees it.

    Attributes:
        number: what a citation of it says.
        title: its title, or an empty string.
        text: its text, with markers of its own neutralised.
        label: what an authorship benchmark says of it, or an empty string.
    """

    number: int
    title: str
    text: str
    label: str = ""


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
        template = environment.from_string(path.read_text(encoding="utf-8"))
    except (TemplateError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"is not a Jinja template ({error})", path=path, line=line) from error
    template.filename = str(path)  # for messages
    return template


def _render(template: Template, allowed: str, **values: Any) -> str:
    """A filled-in template. What its expressions do to the values is its author's affair, and so
    is the text's being Unicode."""
    try:
        text = template.render(**values)
        text.encode()
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"cannot be rendered ({error})", path=template.filename, allowed=allowed
        ) from error
    return text


def render_prompts(package: Package, context: str, template: Template) -> Iterator[tuple[str, str]]:
    """(query id, prompt) for every query of a context set.

    Raises:
        InputError: the template uses something that is not there.
    """
    if package.has_graphs:
        yield from _render_graphs(package, context, template)
        return
    labelling = _Labelling(package, context)
    base = package.manifest.grammar.base
    for item in package.items(context):
        text = _render(
            template,
            "query, base, note, docs with number, title, text, label",
            query=item.query,
            docs=_docs(item, base, labelling),
            base=base,
            note=labelling.note,
        )
        yield item.query_id, text


def _render_graphs(package: Package, context: str, template: Template) -> Iterator[tuple[str, str]]:
    """Prompts with sub-graphs instead of passages."""
    for item in package.items(context):
        allowed = "query, and graphs with qid, name, triples (relation, value)"
        yield item.query_id, _render(template, allowed, query=item.query, graphs=item.graphs)


class _Labelling:
    """What a cell of an authorship benchmark says of each passage; elsewhere, nothing."""

    def __init__(self, package: Package, context: str) -> None:
        self.note = ""
        self._labels: dict[str, list[str]] = {}
        self._own: re.Pattern[str] | None = None
        if package.manifest.kind != "authorship":
            return
        design = design_of(package.manifest)
        words = {w for s in design.label_sets for w in (*s.first, *s.second)}
        # A passage that says "[LLM]" of itself must not pass for labelled.
        self._own = re.compile(r"\[(" + "|".join(map(re.escape, sorted(words))) + r")\]")
        cell = design.find(context)
        if cell.labels is None:
            return
        labels = design.label_set(cell.labels)
        self.note = labels.note
        table = package.table("authors", context)
        for query, found in pairs(table["query_id"], table["labels"]):
            self._labels[query] = [labels.phrase.replace("{label}", w) for w in found]

    def of(self, query: str, position: int) -> str:
        return self._labels[query][position] if self._labels else ""

    def plain(self, text: str) -> str:
        """The text with the labels of the design in round brackets."""
        return text if self._own is None else self._own.sub(r"(\1)", text)


def _docs(item: Item, base: int, labelling: _Labelling) -> list[PromptDoc]:
    return [
        PromptDoc(
            base + position,
            labelling.plain(neutralise(passage.title)),
            labelling.plain(neutralise(passage.text)),
            labelling.of(item.query_id, position),
        )
        for position, passage in enumerate(item.passages)
    ]
