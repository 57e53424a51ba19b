"""The fixture `citeforge_gate`, in a pytest of its own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from citeforge.library import pytest_gate
from conftest import ROOT, Inline

TESTS = """
def test_better(citeforge_gate):
    assert citeforge_gate("good.json", "bad.json").verdict == "pass"

def test_worse(citeforge_gate):
    citeforge_gate("bad.json", "good.json")

def test_lost(citeforge_gate):
    citeforge_gate("bad.json", "nowhere.json")

def test_alone(citeforge_gate):
    citeforge_gate("good.json")
"""


@pytest.fixture
def scores(inline: Inline, package: Path, tmp_path: Path) -> Path:
    for system, name in (("echo-relevant", "good"), ("random", "bad")):
        inline.ok("run", system, "--benchmark", package, "--out", f"{name}.jsonl")
        inline.ok("score", f"{name}.jsonl", "--benchmark", package, "--out", f"{name}.json")
    return tmp_path


def test_reasons_are_what_pytest_shows(scores: Path) -> None:
    (scores / "test_rag.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_rag.py"]
    options = {
        "PYTEST_ADDOPTS": "-p citeforge.library.pytest_gate", "PYTHONPATH": f"{ROOT}/src",
        # An installation brings it by its entry point; it may be loaded once only.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip
    ran = subprocess.run(
        command, cwd=scores, env={**os.environ, **options}, capture_output=True, text=True
    )
    assert "3 failed, 1 passed" in ran.stdout, ran.stdout
    # The sentences of the command, without a traceback.
    assert "fail: random against echo-relevant" in ran.stdout
    assert "could not run: nowhere.json: does not exist" in ran.stdout
    assert "decide(" not in ran.stdout and "Traceback" not in ran.stdout
    assert "During handling of" not in ran.stdout and "Errno" not in ran.stdout


def test_installations_bring_the_fixture() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared["pytest11"] == {"citeforge": pytest_gate.__name__}
