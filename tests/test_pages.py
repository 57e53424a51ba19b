"""Pages of the documentation name what they should, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from citeforge.cli.main import cli
from citeforge.plugins.leaderboard.boards import Board, Boards
from conftest import ROOT
from conftest_pages import opened

GENERATED = {"cli.md", "measures.md", "reproduced.md"}
BLOCKS = re.DOTALL | re.MULTILINE
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "RELEASING.md",
    ROOT / "examples" / "README.md",
    *(p for p in sorted(ROOT.glob("docs/*.md")) if p.name not in GENERATED),
]


def list_options(command: str) -> set[str]:
    """Long names of the options of a command, or of all commands of a group."""
    context = click.Context(cli)
    found = cli.get_command(context, command)
    commands = [found]
    if isinstance(found, click.Group):
        commands = [found.get_command(context, name) for name in found.list_commands(context)]
    return {p.opts[0] for c in commands if c for p in c.params if isinstance(p, click.Option)}


def test_each_option_of_score_and_run_has_a_sentence_in_a_page() -> None:
    """A page says when to use it; an example, or a generated page, does not."""
    texts = [re.sub(r"^ *```.*?^ *```", "", p.read_text(), flags=BLOCKS) for p in PAGES]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", "\n".join(texts)))
    options = list_options("score") | list_options("run")
    assert len(options) > 60
    assert options - named == set()


def test_the_navigation_names_each_page_once() -> None:
    pages = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(pages) > 30
    assert [p for p in pages if pages.count(p) > 1] == []


def build_site(*folders: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "docs/build_site.py", *map(str, folders)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path, browser: Any) -> None:
    result = build_site(tmp_path)
    assert result.returncode == 0, result.stderr
    tab = opened(browser, tmp_path / "docs" / "scoring.html")
    tab.fill("input.md-search__input", "Holm")
    results = tab.locator(".md-search-result__item").first  # from a disk, without a server
    assert "Holm" in results.inner_text()
    assert tab.problems == []
    page = (tmp_path / "index.html").read_text()
    assert "docs/scoring.html" in page
    assert not re.search(r'<(script|img|iframe)[^>]*src="https?://', page)
    assert not re.search(r'<link[^>]*rel="stylesheet"[^>]*href="https?://', page)
    assert '"docs/scoring.html' in (tmp_path / "search" / "search_index.json").read_text()


@pytest.mark.parametrize("target", ["docs/gone.md", "docs/page.md#gone", "#gone"])
def test_a_link_that_leads_nowhere_is_named(tmp_path: Path, target: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n")
    (tmp_path / "README.md").write_text(f"# Start\n\n[here]({target})\n")
    result = build_site(tmp_path / "out", tmp_path)
    assert result.returncode == 1
    assert re.search(rf"README.md.*{re.escape(target)}", result.stderr)


def test_the_page_on_leaderboards_names_every_key_of_its_file() -> None:
    page = (ROOT / "docs" / "leaderboard.md").read_text()
    keys = [*Boards.model_fields, *(f"boards[].{key}" for key in Board.model_fields)]
    assert re.findall(r"^\| `((?:boards\[\]\.)?\w+)` \| .* \| .* \|$", page, re.MULTILINE) == keys
