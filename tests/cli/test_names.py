"""Help texts that list names are made from the declarations."""

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from citeforge.cli.main import cli
from citeforge.engines.catalogue import Catalogue
from citeforge.engines.judge.registry import JUDGES
from citeforge.engines.llm.writers import LLMS
from citeforge.engines.models.embed import EMBEDDERS
from citeforge.engines.models.perplexity import PERPLEXITY
from citeforge.engines.retrieval.registry import RETRIEVERS
from citeforge.engines.text.segmenters import SEGMENTERS
from citeforge.ir_convert.registry import SOURCES
from citeforge.kg.engines import GRAPHS
from citeforge.schemas import catalogue as choices
from citeforge.schemas.catalogue import Choice, listed
from citeforge.schemas.recipes.base import Part
from citeforge.systems.registry import SYSTEMS, systems
from conftest import refused


def options(command: click.Command, path: str) -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from options(inner, f"{path} {name}")
    for option in command.params:
        if isinstance(option, click.Option):
            yield path, option


def everywhere(flag: str) -> list[tuple[str, str]]:
    root = click.Context(cli)
    result = []
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None
        result += [(p, o.help or "") for p, o in options(command, name) if flag in o.opts]
    return result


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
    result = everywhere(flag)
    assert len(result) >= least
    for path, text in result:
        assert listed(declared) in text, path


def test_embedders_are_named_in_full() -> None:
    (text,) = (t for p, t in everywhere("--embedder") if p == "build rage")
    assert listed(choices.EMBEDDERS) in text


def test_run_names_the_systems() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    text = command.get_help(click.Context(command, terminal_width=400, max_content_width=400))
    for system in systems().values():
        assert re.search(rf"^ +{re.escape(system.name)} +{re.escape(system.help)}$", text, re.M)


def test_all_that_is_declared_can_be_made() -> None:
    registries: tuple[Catalogue[Any, Any], ...] = (
        JUDGES, EMBEDDERS, LLMS, SOURCES, SYSTEMS,
    )  # fmt: skip
    for registry in registries:
        for name in registry.all():
            assert callable(registry.get(name).factory), (registry.noun, name)
    for declared, made in (
        (choices.RETRIEVERS, RETRIEVERS),
        (choices.PERPLEXITY, PERPLEXITY),
        (choices.SEGMENTERS, SEGMENTERS),
        (choices.GRAPHS, GRAPHS),
    ):
        assert [choice.name for choice in declared] == list(made)
    for system in systems().values():
        assert issubclass(system.options, Part), system


@pytest.mark.parametrize("group", ["list", "labels", "leaderboard", "kg", "llm"])
def test_an_unknown_command_of_a_group_is_told_the_known_ones(group: str) -> None:
    with refused("unknown-name", value="foo"):
        cli.main([group, "foo"], standalone_mode=False)


@pytest.mark.parametrize(
    ("word", "meant"), [("promts", "prompts"), ("crad", "card"), ("rage-tolkit", "rage-toolkit")]
)
def test_a_misspelt_export_suggests_the_name_that_was_meant(word: str, meant: str) -> None:
    with refused("unknown-name", value=word) as caught:
        cli.main(["export", word, "x"], standalone_mode=False)
    assert f"did you mean '{meant}'" in str(caught.value)
