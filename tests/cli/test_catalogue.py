"""What the product accepts is in help, completion, lists, docs and schemas; and the other way."""

import json
import re
from collections.abc import Callable
from typing import get_args

import click
import pytest
from click.shell_completion import ShellComplete

from citeforge.cli.catalogue import CATALOGUES, list_entries
from citeforge.cli.main import cli
from citeforge.engines.plugins import list_entries as plugin_entries
from citeforge.evaluator.submissions.formats import format_of_file
from citeforge.schemas.catalogue import Sort
from citeforge.schemas.errors import UsageError
from conftest import EXAMPLES, ROOT, Inline, refused


def accepts_format(name: str) -> None:
    format_of_file(EXAMPLES / "facts" / "queries.jsonl", name)


LOOK_UPS: dict[Sort, Callable[[str], object]] = {"formats": accepts_format}
"""What the product itself asks when a user names something."""
OPTIONS: list[tuple[Sort, str, str]] = [
    ("formats", "check", "--format"),
    ("formats", "score", "--format"),
]
"""Options whose values are names of a sort."""


def option_help(command: str, flag: str) -> str:
    found: click.Command | None = cli
    for word in command.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    (option,) = (o for o in found.params if flag in o.opts)
    return str(option.help)  # type: ignore[attr-defined]


def completed(command: str, flag: str) -> list[str]:
    shell = ShellComplete(cli, {}, "citeforge", "_CITEFORGE_COMPLETE")
    return [item.value for item in shell.get_completions([*command.split(), flag], "")]


def test_every_sort_is_in_the_catalogue() -> None:
    assert set(CATALOGUES) == set(get_args(Sort))


@pytest.mark.parametrize("sort", LOOK_UPS)
def test_what_is_listed_is_accepted_and_nothing_else(sort: Sort, inline: Inline) -> None:
    declared = {entry.name for entry in plugin_entries(sort)}
    rows = json.loads(inline.ok("list", sort, "--json").stdout)
    names = {row["name"] for row in rows}
    assert declared <= names
    for row in rows:
        LOOK_UPS[sort](row["name"])
        assert row["help"], row
    text = inline.ok("list", sort).stdout
    assert all(row["form"] in text for row in rows)
    with refused("unknown-name", value="nosuch") as caught:
        LOOK_UPS[sort]("nosuch")
    assert set(caught.value.known) == names  # type: ignore[attr-defined]


@pytest.mark.parametrize(("sort", "command", "flag"), OPTIONS)
def test_help_completion_and_docs_have_what_is_listed(sort: Sort, command: str, flag: str) -> None:
    entries = list_entries(sort)
    text = option_help(command, flag)
    page = (ROOT / "docs" / "cli.md").read_text()
    for entry in entries:
        assert re.search(rf"(?<![\w-]){re.escape(entry.form)}(?![\w-])", text), entry.form
    assert " ".join(text.split()) in " ".join(re.sub(r"-\n\s+", "-", page).split())
    names = {entry.name for entry in entries}
    offered = {word.rstrip(":") for word in completed(command, flag)}
    assert names <= offered
    for word in offered - {"auto"}:
        LOOK_UPS[sort](word)


def test_what_help_says_of_formats_is_what_they_take() -> None:
    for entry in list_entries("formats"):
        takes = re.search(r"WAY of (.*)", entry.help)
        for way in takes[1].split(", ") if takes else []:
            accepts_format(f"{entry.name}:{way}")
        if entry.form == entry.name:
            with pytest.raises(UsageError, match=f"expected {entry.name} alone"):
                accepts_format(f"{entry.name}:url")


def test_schemas_have_the_names() -> None:
    schema = json.loads((ROOT / "docs/schemas/leaderboard.json").read_text())
    (text,) = (
        record["properties"]["file_format"]["description"]
        for record in schema["$defs"].values()
        if "file_format" in record["properties"]
    )
    assert all(f"{entry.form}" in text for entry in list_entries("formats"))
