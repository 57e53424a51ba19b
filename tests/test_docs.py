"""Generated pages are fresh; the commands of the README run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT


def test_generated_pages_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


PAGES = {
    "README.md": 6,
    "docs/authorship.md": 10,
    "docs/first-benchmark.md": 13,
    "docs/kalma.md": 10,
    "docs/leaderboard.md": 6,
    "docs/publish.md": 9,
}
"""Page to the least number of `citeforge` commands that it shows."""


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_pages_runs(tmp_path: Path, page: str) -> None:
    """All `sh` blocks of a page, as one script in a fresh folder beside `examples`."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    script = "\n".join(blocks)
    assert len(re.findall(r"^citeforge ", script, re.MULTILINE)) >= PAGES[page]
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HF_HOME": str(tmp_path / "hf"),
    }
    result = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]


def test_every_target_of_the_makefile_is_listed_by_help() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    command = ["make", "--no-print-directory", "help"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in result.stdout.splitlines()}
    assert listed == set(phony.group(1).split())
