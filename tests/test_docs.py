"""Generated pages are fresh; the commands of the README run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Cli


def test_generated_pages_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def commands(page: Path) -> list[list[str]]:
    """Every `citeforge` line in the page's sh blocks, with continued lines joined."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["citeforge"]:
                found.append(words[1:])
    return found


@pytest.mark.parametrize(
    ("page", "least"), [("README.md", 6), ("docs/authorship.md", 10), ("docs/kalma.md", 10)]
)
def test_every_command_of_the_pages_runs(cli: Cli, tmp_path: Path, page: str, least: int) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = commands(ROOT / page)
    assert len(lines) >= least
    for args in lines:
        result = cli(*args)
        assert result.returncode == 0, f"{args}: {result.stderr}"


def test_every_target_of_the_makefile_is_listed_by_help() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    command = ["make", "--no-print-directory", "help"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in result.stdout.splitlines()}
    assert listed == set(phony.group(1).split())
