"""Help texts that list names are made from the declarations."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from citeforge.cli.main import COMMANDS, cli
from citeforge.engines.registry import resolved
from citeforge.schemas import choices
from citeforge.schemas.choices import Choice, listed
from citeforge.schemas.systems import SYSTEMS


def options(command: click.Command, path: str) -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from options(inner, f"{path} {name}")
    for option in command.params:
        if isinstance(option, click.Option):
            yield path, option


def everywhere(flag: str) -> list[tuple[str, str]]:
    root = click.Context(cli)
    found = []
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        found += [(p, o.help or "") for p, o in options(command, name) if flag in o.opts]
    return found


@pytest.mark.parametrize(
    ("flag", "declared", "least"),
    [
        ("--judge", choices.JUDGES, 6),
        ("--perplexity", choices.PERPLEXITY, 1),
        ("--writer", choices.LLMS, 1),
        ("--llm", choices.ANSWERING, 3),
        ("--segmenter", choices.SEGMENTERS, 1),
        ("--kg", choices.GRAPHS, 3),
    ],
)
def test_options_name_what_is_declared(flag: str, declared: tuple[Choice, ...], least: int) -> None:
    found = everywhere(flag)
    assert len(found) >= least
    for path, text in found:
        assert listed(declared) in text, path


def test_formats_and_embedders_are_named_in_full() -> None:
    formats = [(p, t) for p, t in everywhere("--format") if p in ("check", "score")]
    assert len(formats) == 2
    assert all(listed(choices.FORMATS) in text for _, text in formats)
    assert "kalma" in listed(choices.FORMATS)
    (text,) = (t for p, t in everywhere("--embedder") if p == "build rage")
    assert listed(choices.EMBEDDERS) in text


def test_run_names_the_systems() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    for system in SYSTEMS:
        assert f"{system.name}: {system.what}" in (command.help or "")


def test_every_factory_is_there() -> None:
    names = (
        "JUDGES",
        "EMBEDDERS",
        "LLMS",
        "PERPLEXITY",
        "SEGMENTERS",
        "GRAPHS",
        "FORMATS",
    )
    for name in names:
        for choice in getattr(choices, name):
            assert callable(resolved(choice.factory)), choice
    for system in SYSTEMS:
        assert callable(resolved(system.factory)), system
        assert callable(resolved(system.options)), system
    for source in import_module("citeforge.ir_convert.registry").DECLARATIONS.values():
        assert callable(resolved(source.factory)), source.name
