"""Help texts that list names are made from the declarations."""

import re
from pathlib import Path
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
    SEGMENTERS,
    WRITERS,
)
from citeforge.engines.running.runners import RUNNERS
from citeforge.ir_convert.registry import SOURCES, open_source
from citeforge.ir_convert.source import ReadOptions
from citeforge.kg.engines import GRAPHS
from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.recipes.base import Part
from citeforge.systems.registry import SYSTEMS, systems
from conftest import Inline, refused


def test_run_names_the_systems() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    text = command.get_help(click.Context(command, terminal_width=400, max_content_width=400))
    for system in systems().values():
        assert re.search(rf"^ +{re.escape(system.name)} +{re.escape(system.help)}$", text, re.M)


def test_all_that_is_declared_can_be_made() -> None:
    catalogues: tuple[Catalogue[Any, Any], ...] = (
        JUDGES, EMBEDDERS, LLMS, WRITERS, RETRIEVERS, PERPLEXITY, SEGMENTERS, GRAPHS, RUNNERS,
        SYSTEMS,
    )  # fmt: skip
    for catalogue in catalogues:
        for name in catalogue.all():
            assert callable(catalogue.get(name).factory), (catalogue.noun, name)
    for system in systems().values():
        assert issubclass(system.options, Part), system


@pytest.mark.parametrize("name", [row.name for row in SOURCES.all().values() if not row.factory])
def test_every_built_in_source_is_opened_by_its_own_code(name: str, tmp_path: Path) -> None:
    """Each has a case of its own, which reports that there is no such file."""
    with pytest.raises(CiteforgeError) as caught:
        open_source(f"{name}:{tmp_path / 'no' / 'such'}", None, ReadOptions())
    wanted = "wrong-kind" if name == "kalma" else "hub-failed missing-file not-a-file not-a-folder"
    assert caught.value.code in wanted.split()


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


def test_an_unknown_name_leads_to_the_command_whose_help_has_it(inline: Inline) -> None:
    """A user looks for the file that another command writes."""
    message = inline.fails(2, "unknown-name", "export", "croissant", "x").stderr
    assert "unknown format 'croissant' (see card: Write README.md, croissant.json" in message
    assert "(did you mean 'beir'?)" in inline.fails(2, "unknown-name", "export", "bier").stderr
