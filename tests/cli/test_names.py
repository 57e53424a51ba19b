"""Help texts that list names are made from the declarations."""

import re
from typing import Any

import click
import pytest

from citeforge.cli.main import cli
from citeforge.engines.catalogue import Catalogue
from citeforge.engines.running.names import (
    EMBEDDERS,
    JUDGES,
    LLMS,
    PERPLEXITY,
    RETRIEVERS,
    RUNNERS,
    SEGMENTERS,
    WRITERS,
)
from citeforge.ir_convert.registry import SOURCES
from citeforge.kg.engines import GRAPHS
from citeforge.schemas.recipes.base import Part
from citeforge.systems.registry import SYSTEMS, systems
from conftest import refused


def test_run_names_the_systems() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    text = command.get_help(click.Context(command, terminal_width=400, max_content_width=400))
    for system in systems().values():
        assert re.search(rf"^ +{re.escape(system.name)} +{re.escape(system.help)}$", text, re.M)


def test_all_that_is_declared_can_be_made() -> None:
    catalogues: tuple[Catalogue[Any, Any], ...] = (
        JUDGES, EMBEDDERS, LLMS, WRITERS, RETRIEVERS, PERPLEXITY, SEGMENTERS, GRAPHS, RUNNERS,
        SOURCES, SYSTEMS,
    )  # fmt: skip
    for catalogue in catalogues:
        for name in catalogue.all():
            assert callable(catalogue.get(name).factory), (catalogue.noun, name)
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
