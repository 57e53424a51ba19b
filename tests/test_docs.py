"""Generated pages are fresh; the commands of the README run."""

import inspect
import os
import pydoc
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

import click
import pytest

import citeforge
from citeforge.cli.main import cli
from conftest import ROOT, run_inline
from servers.hub import hub_server
from servers.manuals import replies
from servers.running import openai_server
from servers.sparql import sparql_server


@pytest.mark.slow
def test_generated_pages_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


PAGES = {
    "README.md": 9,
    "docs/answers.md": 11,
    "docs/authorship.md": 10,
    "docs/bundles.md": 12,
    "docs/changes.md": 8,
    "docs/documents.md": 11,
    "docs/elsewhere.md": 8,
    "docs/first-benchmark.md": 13,
    "docs/gate.md": 5,
    "docs/kalma.md": 11,
    "docs/leaderboard.md": 11,
    "docs/models.md": 8,
    "docs/publish.md": 15,
    "docs/rage.md": 13,
    "docs/recipes.md": 8,
    "docs/reports.md": 4,
    "docs/reproduce.md": 3,
    "docs/scale.md": 3,
    "docs/scoring.md": 13,
    "docs/scripting.md": 8,
    "docs/systems.md": 7,
    "docs/training.md": 5,
    "docs/trust.md": 3,
    "docs/vendors.md": 4,
}
"""Page to the least number of `citeforge` commands that it shows."""


def outside(page: str, folder: Path, servers: ExitStack) -> dict[str, str]:
    """Variables that lead a page's commands to servers on loopback instead of the network."""
    if page in ("README.md", "docs/documents.md"):
        written = openai_server(folder / "log", replies=replies())
        return {"OPENAI_BASE_URL": servers.enter_context(written).url, "OPENAI_API_KEY": "key"}
    if page == "docs/rage.md":
        grader = openai_server(folder / "log", replies=grades())
        return {"OPENAI_BASE_URL": servers.enter_context(grader).url, "OPENAI_API_KEY": "key"}
    if page in ("docs/models.md", "docs/systems.md"):
        return {"OPENAI_BASE_URL": servers.enter_context(openai_server(folder / "log")).url}
    if page == "docs/kalma.md":
        graph = ROOT / "examples" / "people" / "graph.ttl"
        return {"ENDPOINT": servers.enter_context(sparql_server(graph, folder))}
    if page in ("docs/publish.md", "docs/elsewhere.md"):
        hub = servers.enter_context(hub_server())
        return {
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": hub.token,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "ORG": "org",
        }
    return {}


def grades() -> list[list[str]]:
    """Patterns of prompts to grade a passage, and grades: by long words that the query shares."""
    word, passage = r"[^\n]*?\b(\w{5,})\b", r"[^\n]*\n\S+\n\nPassage:\n\S+\n"
    return [
        [rf"Query:\n\S+\n{word}{word}{passage}(?=[^<]*\b\1\b)[^<]*\b\2\b", '{"grade": 3}'],
        [rf"Query:\n\S+\n{word}{passage}[^<]*\b\1\b", '{"grade": 1}'],
        ["decide how well a passage answers", '{"grade": 0}'],
    ]


def environment(folder: Path) -> dict[str, str]:
    """Commands of this Python come first."""
    paths = (Path(sys.executable).parent, os.environ["PATH"])
    return {
        **os.environ, "PATH": os.pathsep.join(map(str, paths)), "HF_HOME": str(folder / "hf")
    }  # fmt: skip


def run_quick_start(folder: Path) -> tuple[Path, str]:
    """`make quickstart` without its installation; returns its folder and what it printed.

    `.ci/run` has run it already, and names a file with its output.
    """
    if printed := os.environ.get("CITEFORGE_QUICKSTART"):
        return ROOT, Path(printed).read_text()
    (folder / "examples").symlink_to(ROOT / "examples")
    made = subprocess.run(
        ["make", "--no-print-directory", "-f", ROOT / "Makefile", "-o", ".venv/.quickstart",
         "quickstart",
         f"BIN={Path(sys.executable).parent}"],
        cwd=folder, env={**environment(folder), "COLUMNS": "80"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout[-3000:]
    return folder, made.stdout


@pytest.mark.slow
def test_the_quick_start_ends_as_readme_shows(tmp_path: Path) -> None:
    """Figures of a model depend on the processor."""
    folder, printed = run_quick_start(tmp_path)
    shown = re.search(
        r"ends with this:\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert shown is not None
    of_model = re.compile(r"^rage \(offline\) .*$", re.MULTILINE)
    ending = printed[-len(shown[1]) :]
    assert of_model.sub("", ending) == of_model.sub("", shown[1])
    assert (folder / "out" / "report.html").read_text().count("<svg") > 1
    # The command that it prints opens the report, in whichever browser the user has.
    browser, asked = tmp_path / "browser", tmp_path / "asked"
    browser.write_text(f'#!/bin/sh\necho "$1" > {asked}\n')
    browser.chmod(0o755)
    (command,) = re.findall(r"^  .venv/bin/python (-m webbrowser .*)$", printed, re.MULTILINE)
    subprocess.run(
        ["sh", "-c", f"{sys.executable} {command}"],
        cwd=folder, env={**os.environ, "BROWSER": str(browser)}, check=True,
    )  # fmt: skip
    assert asked.read_text() == f"file://{folder}/out/report.html\n"


RAY = {"docs/scale.md"}
"""Pages whose commands start a Ray cluster."""


def is_plain(line: str) -> bool:
    """Whether a line is a `citeforge` command without syntax of the shell outside quotes."""
    unquoted = re.sub(r"'[^']*'|\"[^\"$]*\"|\s#.*", "", line)
    return line.startswith("citeforge ") and not re.search(r"[|<>$&;*?{]", unquoted)


def run_page(page: str, folder: Path) -> None:
    """Run all `sh` blocks of a page in a fresh folder beside `examples`.

    Plain commands run in this process, and lines between them as scripts of the shell: so do all
    that name a repository by a variable, as libraries read the Hub's address when imported, and all
    lines of a page that starts Ray.
    """
    (folder / "examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    assert sum(line.startswith("citeforge ") for line in lines) >= PAGES[page]
    env = environment(folder)
    with ExitStack() as servers:
        env |= outside(page, folder, servers)
        for plain, part in groupby(lines, lambda x: is_plain(x) and page not in RAY):
            script = "\n".join(part)
            env |= dict(re.findall(r"^export (\w+)=(\S+)", script, re.MULTILINE))
            if plain:
                for line in script.splitlines():
                    run_inline(shlex.split(line, comments=True)[1:], folder, env).check_returncode()
                continue
            made = subprocess.run(
                ["bash", "-euxo", "pipefail", "-c", script],
                cwd=folder, env=env, capture_output=True, text=True,
            )  # fmt: skip
            assert made.returncode == 0, made.stderr[-3000:]


NEWCOMERS = ("README.md", "docs/first-benchmark.md")


@pytest.mark.parametrize("page", NEWCOMERS)
def test_the_commands_that_a_newcomer_types(tmp_path: Path, page: str) -> None:
    run_page(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=pytest.mark.ray if p in RAY else ())
        for p in sorted(PAGES.keys() - NEWCOMERS)
    ],
)
def test_every_command_of_the_pages_runs(tmp_path: Path, page: str) -> None:
    run_page(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["library", "recipes"])
def test_the_python_pages_run(tmp_path: Path, page: str) -> None:
    """The `sh` blocks of a page, then all its `python` blocks as one program."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = (ROOT / "docs" / f"{page}.md").read_text()
    env = environment(tmp_path)
    script = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    callable_names = [n for n in citeforge.__all__ if inspect.isfunction(getattr(citeforge, n))]
    for name in callable_names if page == "library" else ():
        assert f"cf.{name}(" in program, name
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path, env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-3000:]


ALL = ["README.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize("page", ALL)
def test_no_command_stands_in_a_block_that_is_not_run(page: str) -> None:
    text = (ROOT / page).read_text()
    for language, block in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL):
        if language != "sh" or page not in {*PAGES, "docs/library.md", "docs/extend.md"}:
            assert not re.search(r"^\s*(\$ )?citeforge ", block, re.MULTILINE), block


def read_sections() -> dict[str, str]:
    """Command, such as `run rage`, to its section of docs/cli.md."""
    page = (ROOT / "docs" / "cli.md").read_text()
    sections = {}
    for heading, *texts in re.findall(r"^##+ citeforge (.*)\n((?:(?!#).*\n)*)", page, re.MULTILINE):
        name, *others = heading.split(", ")
        group = name.rpartition(" ")[0]
        sections |= dict.fromkeys([name, *(f"{group} {other}" for other in others)], texts[0])
    return sections


def list_commands(context: click.Context) -> Iterator[click.Context]:
    """Contexts of all commands below a group."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, context, name)
        yield inner
        if isinstance(command, click.Group):
            yield from list_commands(inner)


def test_each_option_is_explained_where_the_section_of_its_command_says() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    shared = page.partition("\n## Shared options\n")[2]
    sections = read_sections()
    root = click.Context(cli, info_name="citeforge")
    contexts = {c.command_path.removeprefix("citeforge "): c for c in list_commands(root)}
    assert contexts.keys() == sections.keys()
    for name, context in contexts.items():
        own = sections[name]
        places = {"Group": sections.get(name.rpartition(" ")[0], ""), "More": shared}
        links = dict(re.findall(r"^\[(Group|More)\]\(#.*\): (.*)$", own, re.MULTILINE))
        for option in context.command.params:
            if isinstance(option, click.Option) and (row := option.get_help_record(context)):
                flag = option.opts[0]
                title = next((x for x, names in links.items() if f"`{flag}`" in names), "")
                place = places[title] if title else own
                assert "".join("".join(row).split()) in "".join(place.split()), (name, flag)
                assert len(re.findall(rf"^  {flag}(?![\w-])", place, re.MULTILINE)) == 1


def test_every_command_has_its_equivalent_in_python() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    sections = read_sections()
    named = {name for name, section in sections.items() if "\nFrom Python: `" in section}
    groups = {"labels", "publish", "leaderboard", "kg", "llm"}
    without = {name for name in sections if not {name, name.rpartition(" ")[0]} & named}
    assert without == groups, "see docs/python_calls.py, then make docs"
    for call in re.findall(r"^From Python: `(.*)`$", page, re.MULTILINE):
        name, arguments = call.removesuffix(")").split("(")
        module, function = name.rsplit(".", 1)
        wanted = [a for a in arguments.split(", ") if a]
        result = pydoc.locate(name)
        assert callable(result), f"{module} has no {function}"
        assert set(wanted) <= {*inspect.signature(result).parameters}, call


def test_every_target_of_the_makefile_is_listed_by_help() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    command = ["make", "--no-print-directory", "help"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in result.stdout.splitlines()}
    assert listed == set(phony.group(1).split())


@pytest.mark.parametrize(
    ("settings", "made_by", "installed_by"),
    [
        (["UV="], "python3.11 -m venv ", r"-m pip install (?!.*torch-backend)"),
        (["UV=uv", "PIP_FIND_LINKS="], "uv venv ", "^uv pip install .*--torch-backend cpu "),
        (
            ["UV=uv", "PIP_FIND_LINKS=/a /b"], "uv venv ",
            "^uv pip install (?!.*torch-backend).*--find-links /a --find-links /b ",
        ),
    ],
    ids=["pip", "uv", "files"],
)  # fmt: skip
def test_the_makefile_installs_by_uv_or_pip(
    tmp_path: Path, settings: list[str], made_by: str, installed_by: str
) -> None:
    """uv takes PyTorch's build for CPUs, or the files that pip is told of; pip is told nothing."""
    command = ["make", "--no-print-directory", "-n", "install", f"VENV={tmp_path}/venv", *settings]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    first, *others = [x for x in result.stdout.splitlines() if x[0] != "#" and x[:5] != "touch"]
    assert first.startswith(made_by)
    assert len(others) == 4
    assert all(re.search(installed_by, line) and "-c constraints.txt" in line for line in others)
