"""What the product accepts is in help, completion, lists, docs and schemas; and the other way."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.shell_completion import ShellComplete

from citeforge.cli.catalogue import list_entries
from citeforge.cli.commands import COMMANDS
from citeforge.cli.main import cli
from citeforge.engines.plugins import list_entries as plugin_entries
from citeforge.engines.retrieval.fusion import FUSIONS
from citeforge.engines.running import names
from citeforge.engines.running.setup import make_runner
from citeforge.evaluator.measures import registry as measures
from citeforge.evaluator.submissions.formats import format_of_file
from citeforge.ir_convert.registry import parse_spec
from citeforge.kg.engines import GRAPHS
from citeforge.package.kinds import KINDS
from citeforge.publishing.export import EXPORTS
from citeforge.publishing.tracking import TRACKERS
from citeforge.reports.pages.names import PLOTS
from citeforge.schemas.catalogue import Sort
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.systems.registry import get_system
from conftest import EXAMPLES, ROOT, Inline, refused


def accepts_format(name: str) -> None:
    format_of_file(EXAMPLES / "facts" / "queries.jsonl", name)


LOOK_UPS: dict[Sort, Callable[[str], object]] = {
    "formats": accepts_format,
    "judges": names.JUDGES.maker,
    "embedders": names.EMBEDDERS.maker,
    "llms": names.LLMS.maker,
    "writers": names.WRITERS.maker,
    "checkers": names.CHECKERS.maker,
    "retrievers": names.RETRIEVERS.maker,
    "perplexity": names.PERPLEXITY.maker,
    "segmenters": names.make_segmenter,
    "graphs": GRAPHS.maker,
    "runners": lambda name: make_runner(RunOptions(engine=name)),
    "systems": get_system,
    "exports": EXPORTS.get,
    "kinds": KINDS.get,
    "measures": measures.parse,
    "sources": parse_spec,
    "plots": PLOTS.get,
    "rerankers": names.RERANKERS.maker,
    "fusions": FUSIONS.maker,
    "commands": COMMANDS.get,
    "trackers": TRACKERS.get,
}
"""What the product itself asks when a user names something."""
OPTIONS: list[tuple[Sort, str, str]] = [
    ("formats", "check", "--format"),
    ("formats", "score", "--format"),
    ("judges", "score", "--judge"),
    ("judges", "bench", "--judge"),
    ("judges", "labels judge", "--judge"),
    ("judges", "audit", "--strong-judge"),
    ("judges", "build kalma", "--judge"),
    ("embedders", "build rage", "--embedder"),
    ("embedders", "build alce", "--embedder"),
    ("llms", "score", "--llm"),
    ("llms", "bench", "--llm"),
    ("llms", "run rage", "--llm"),
    ("llms", "build twins", "--llm"),
    ("llms", "build documents", "--llm"),
    ("writers", "build kalma", "--writer"),
    ("checkers", "build kalma", "--checker"),
    ("checkers", "audit", "--checker"),
    ("retrievers", "build alce", "--retriever"),
    ("perplexity", "build kalma", "--perplexity"),
    ("segmenters", "score", "--segmenter"),
    ("graphs", "kg profile", "--kg"),
    ("runners", "build rage", "--engine"),
    ("rerankers", "run rtg-query-gen", "--reranker"),
    ("fusions", "run rtg-query-gen", "--fusion"),
    ("plots", "report", "--plot"),
    ("trackers", "score", "--log"),
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


def test_every_sort_is_looked_up_and_each_that_an_option_takes_is_in_its_help() -> None:
    assert set(LOOK_UPS) == set(get_args(Sort))
    # What a command's word names is listed by the command itself.
    in_words = {"sources", "kinds", "exports", "systems", "measures", "commands"}
    assert {sort for sort, _, _ in OPTIONS} == set(get_args(Sort)) - in_words


def typed(row: dict[str, Any]) -> str:
    """What a user types for a row: a name, and an argument where it must have one."""
    return f"{row['name']}:x" if row["form"].startswith(f"{row['name']}:") else str(row["name"])


@pytest.mark.parametrize("sort", LOOK_UPS)
def test_what_is_listed_is_accepted_and_nothing_else(sort: Sort, inline: Inline) -> None:
    rows = json.loads(inline.ok("list", sort, "--json").stdout)["result"]
    names = {row["name"] for row in rows}
    assert sort == "measures" or {entry.name for entry in plugin_entries(sort)} <= names
    text = " ".join(inline.ok("list", sort).stdout.split())
    for row in rows:
        assert row["help"], row
        assert row["form"] in text
        if row["name"]:
            LOOK_UPS[sort](typed(row))
    if "" in names:  # any other name is that of a model
        return
    with refused("unknown-name") as caught:
        LOOK_UPS[sort]("nosuch:x" if sort == "sources" else "nosuch")
    known = getattr(caught.value, "known", None)
    if known is None:
        assert all(row["form"] in str(caught.value) for row in rows)
    else:
        assert set(known) == names | (set(measures.families()) if sort == "measures" else set())


@pytest.mark.parametrize(("sort", "command", "flag"), OPTIONS)
def test_help_completion_and_docs_have_what_is_listed(sort: Sort, command: str, flag: str) -> None:
    entries = list_entries(sort)
    text = option_help(command, flag)
    for entry in entries:
        assert re.search(rf"(?<![\w-]){re.escape(entry.form)}(?![\w-])", text), entry.form
    page = (ROOT / "docs" / "cli.md").read_text()
    assert " ".join(text.split()) in " ".join(re.sub(r"-\n\s+", "-", page).split())
    names = {entry.name for entry in entries} - {""}
    offered = completed(command, flag)
    assert names <= {word.rstrip(":") for word in offered}
    for word in set(offered) - {"auto"}:
        LOOK_UPS[sort](f"{word}x" if word.endswith(":") else word)


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


def test_the_measures_of_every_module_are_in_the_list() -> None:
    folder = Path(str(measures.__file__)).parent
    found = {
        file.stem
        for file in folder.glob("*.py")
        if re.search(r"^MEASURES\b", file.read_text(), re.MULTILINE)
    }
    modules = [import_module(f"{measures.__package__}.{name}") for name in sorted(found)]
    assert {m for module in modules for m in module.MEASURES} == set(measures.BUILT_IN)


@pytest.mark.parametrize(
    ("sort", "command", "others"),
    [
        ("kinds", "build", {"--from", "--print-recipe", "RECIPE.yaml", "demo"}),
        ("exports", "export", {"prompts", "card", "signature"}),
        ("systems", "run", set()),
        ("commands", "", set()),
    ],
)
def test_names_that_are_commands_are_in_help_completion_and_docs(
    sort: Sort, command: str, others: set[str], inline: Inline
) -> None:
    rows = json.loads(inline.ok("list", sort, "--json").stdout)["result"]
    names = {row["name"] for row in rows if " " not in row["name"]}
    listed = set(cli.list_commands(click.Context(cli)))
    shell = ShellComplete(cli, {}, "citeforge", "_CITEFORGE_COMPLETE")
    text = inline.ok(*command.split(), "--help").stdout
    if command:
        group = cli.get_command(click.Context(cli), command)
        assert isinstance(group, click.Group)
        listed = set(group.list_commands(click.Context(group))) - others
    assert listed == names
    offered = {item.value for item in shell.get_completions(command.split(), "")}
    assert names <= offered
    page = (ROOT / "docs" / "cli.md").read_text()
    for name in names:
        assert re.search(rf"^  {re.escape(name)}\s", text, re.MULTILINE), name
        assert re.search(rf"^#+ .*\b{re.escape(name)}\b", page, re.MULTILINE), name


def test_sources_and_measures_are_in_the_docs_and_no_others(inline: Inline) -> None:
    listed = {
        sort: {
            row["name"] for row in json.loads(inline.ok("list", sort, "--json").stdout)["result"]
        }
        for sort in ("sources", "measures")
    }
    page = (ROOT / "DATASETS.md").read_text()
    assert set(re.findall(r"^## `([\w-]+):`", page, re.MULTILINE)) == listed["sources"]
    page = (ROOT / "docs" / "measures.md").read_text()
    cells = re.findall(r"^\| \[.*?\]\(measures/.*?\) \| (.*?) \|", page, re.MULTILINE)
    assert {name for cell in cells for name in re.findall("`(.*?)`", cell)} == listed["measures"]


WITHOUT_EXTRAS = """
import sys
from citeforge.schemas.errors import EXTRAS

sys.modules |= dict.fromkeys(EXTRAS)
from citeforge.cli.catalogue import SORTS, rows_of

for sort in SORTS:
    # Graphs are read by a library of the extra; commands are those of a running program.
    if sort not in ("commands", "graphs"):
        assert rows_of(sort)
"""


def test_rows_are_listed_without_the_extras_that_they_need() -> None:
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
