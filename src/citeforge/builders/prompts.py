"""Prompts of benchmarks: one text per query, with the passages of its frozen context."""

import json
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment
from msgspec import to_builtins

from citeforge.engines.files import atomic_file
from citeforge.package.items import Item, Labelling, Passage
from citeforge.package.package import Package
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.submission import make_header
from citeforge.schemas.text import splice

FOLDER = Path(__file__).parent / "templates"
TEMPLATES = {name: FOLDER / f"{name}.j2" for name in ("rage", "authorship", "kalma")}


@dataclass(frozen=True)
class PromptDoc:
    """A passage as prompt templates see it.

    Attributes:
        number: number that cites it.
        title: its title, or an empty string.
        text: its text, with markers of its own neutralised.
        label: author label in an authorship benchmark, or an empty string.
    """

    number: int
    title: str
    text: str
    label: str = ""


_BRACKETS = re.compile(r"[\[\]【】［］]")


def neutralise(text: str) -> str:
    """Put what looks like a citation mark in a passage's text into round brackets.

    Example: ``[3]`` becomes ``(3)``, so that no answer copies it as a citation.
    """
    marks = Grammar().parse(text, 1 << 30).markers
    in_brackets = [m for m in marks if text[m.start] in "[【［" and not m.is_residue]
    return splice(
        text,
        ((m.start, m.end, f"({_BRACKETS.sub('', text[m.start : m.end])})") for m in in_brackets),
    )


def load_template(name: str) -> Template:
    """Load a built-in prompt template by name, or a Jinja file.

    Raises:
        InputError: no such file, or it is not a template.
    """
    path = TEMPLATES.get(name, Path(name))
    if not path.is_file():
        raise InputError(
            "is neither a template nor a file",
            path=name,
            allowed=f"{', '.join(TEMPLATES)}, or a .j2 file",
            code="missing-file",
        )
    try:
        template = SandboxedEnvironment(undefined=StrictUndefined).from_string(
            path.read_text(encoding="utf-8")
        )
    except (TemplateError, UnicodeDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            f"is not a Jinja template ({error})", path=path, line=line, code="bad-template"
        ) from error
    template.filename = str(path)  # for messages
    return template


def render_template(template: Template, allowed: str, **values: Any) -> str:
    """Fill in a prompt template; errors name the line that failed and the ``allowed`` values.

    Args:
        template: result of :func:`load_template`.
        allowed: names of the values, for messages.
        values: values that it may use.

    Raises:
        InputError: it uses something that is not there or fails at what it does; with its line.
    """
    try:
        text = template.render(values)
        text.encode()
    except Exception as error:  # whatever an expression of the template does
        raise InputError(
            f"cannot be rendered ({str(error) or type(error).__name__})",
            path=template.filename, line=_failed_line(template, error), allowed=allowed,
            code="bad-template"
        ) from error  # fmt: skip
    return text


def _failed_line(template: Template, error: BaseException) -> int | None:
    """Find the line of a prompt template at which an error was raised; None if unknown."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == template.filename]
    return lines[-1] if lines else None


def contexts_for(package: Package, context: str | None) -> list[str]:
    """Choose the context sets to make prompts of: the named one, all, or the only one.

    Args:
        package: the benchmark.
        context: name of one, or ``all``; None for the only one, or the cells of an experiment.

    Raises:
        UnknownValueError: no such set.
        UsageError: there are several, and none is named.
    """
    names = package.contexts
    if context not in (None, "all", *names):
        raise UnknownValueError("context", str(context), [*names, "all"])
    if context is None and len(names) > 1 and not package.kind.facts.is_design:
        raise UsageError(
            f"the benchmark has several context sets; give --context {'|'.join(names)}|all",
            code="missing-option",
        )
    return names if context in (None, "all") else [str(context)]


def prompt_lines(
    package: Package, contexts: Sequence[str], template: str | None = None, show: str | None = None
) -> Iterator[str]:
    """Yield a JSON line per query with its prompt; ``show``: texts in place of passages.

    Args:
        package: the benchmark.
        contexts: its context sets; see :func:`contexts_for`.
        template: a built-in one, or a Jinja file; None for the kind's own.
        show: form of text that stands for passages, see :meth:`Package.items`.

    Raises:
        InputError: no such template, or it uses something that is not there.
        UnknownValueError: the package has no such form.
    """
    loaded = load_template(template or package.kind.facts.template)
    manifest = package.manifest
    origin = {"benchmark": manifest.name, "benchmark_hash": manifest.answer_hash}
    for name in contexts:
        for query, text in render_prompts(package, name, loaded, show):
            row = {"query_id": query, "context": name, "prompt": text, **origin}
            yield json.dumps(row, ensure_ascii=False) + "\n"


def write_stub(package: Package, contexts: Sequence[str], path: Path) -> None:
    """Write a submission template: header, and an empty answer per query and context set.

    Args:
        package: the benchmark.
        contexts: its context sets; see :func:`contexts_for`.
        path: file to write, named after the system; it must not exist, for it may be filled in.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    if path.exists():
        raise InputError("exists, and may contain answers", path=path, code="output-exists",
                         allowed="a new name for --stub")  # fmt: skip
    manifest = package.manifest
    header = make_header(path.stem, manifest.name, manifest.answer_hash, contexts)
    rows = (
        {"query_id": query, "context": name, "output": ""}
        for name in contexts
        for query in package.query_ids
    )
    with atomic_file(path, exclusive=True) as file:
        for row in chain([to_builtins(header)], rows):
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def render_prompts(
    package: Package, context: str, template: Template, show: str | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (query id, prompt) of a context set; ``show``: texts in place of passages.

    Args:
        package: the benchmark.
        context: its context set.
        template: makes a prompt.
        show: form of text that stands for passages, see :meth:`Package.items`.

    Raises:
        InputError: the template uses something that is not there.
        UnknownValueError: the package has no such form.
    """
    labelling = package.kind.labelling(package, context) or Labelling()
    base = package.manifest.grammar.base
    for item in package.items(context, show=show):
        if package.has_graphs:
            allowed = "query, and graphs with qid, name, triples (relation, value)"
            values: dict[str, Any] = {"query": item.query, "graphs": item.graphs}
        else:
            allowed = "query, base, note, docs with number, title, text, label"
            docs = make_prompt_docs(item, base, labelling)
            values = {"query": item.query, "docs": docs, "base": base, "note": labelling.note}
        yield item.query_id, render_template(template, allowed, **values)


def make_prompt_docs(
    item: Item, first_number: int, labelling: Labelling, passages: Sequence[Passage] | None = None
) -> list[PromptDoc]:
    """Convert a query's passages for prompt templates, numbered from ``first_number``.

    Args:
        item: the query.
        first_number: number of the first passage.
        labelling: author labels of the passages.
        passages: passages to show in place of the context's; they have no labels.
    """
    own = passages is not None
    return [
        PromptDoc(
            first_number + position,
            labelling.bracket_labels(neutralise(passage.title)),
            labelling.bracket_labels(neutralise(passage.text)),
            "" if own else labelling.get_label(item.query_id, position),
        )
        for position, passage in enumerate(item.passages if passages is None else passages)
    ]
