"""With any folder of a built-in plugin away, everything else works, and says what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

FOLDERS = sorted(p.name for p in (ROOT / "src" / "citeforge" / "plugins").iterdir() if p.is_dir())
FOLDERS = [name for name in FOLDERS if name != "__pycache__"]
GIVES = {
    "deep_research": ("deep-research", "FACT.Acc"),
    "inspect_logs": ("inspect", None),
    "trec": ("trec-rag24", "TREC.WP"),
    "vendors": ("openai", None),
}
"""Plugin to a format and a measure that go with it."""
SCRIPT = """
import json, os, sys
import altair, click, jinja2, msgspec, numpy, nupunkt, pyarrow.compute, pyarrow.parquet, pydantic
import scipy.special, scipy.stats, vl_convert
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        away = name == sys.argv[1] or name.startswith(sys.argv[1] + ".")
        return None if away else super().find_spec(name, path, target)

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from citeforge.cli.main import main
for args, expected in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        try:
            code = main(args)
        except SystemExit as stop:
            code = stop.code
        sys.stdout.flush()
        os._exit(code or 0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != expected:
        sys.exit(f"exit code {code} of {args}")
"""


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_else_works(package: Path, tmp_path: Path, folder: str) -> None:
    answers, scores = str(tmp_path / "a.jsonl"), str(tmp_path / "a.json")
    form, measure = GIVES.get(folder, (None, None))
    commands: list[tuple[list[str], int]] = [
        (["--help"], 0),
        (["measures"], 0),
        (["verify", str(package)], 0),
        (["run", "random", "--benchmark", str(package), "--out", answers], 0),
        (["check", answers, "--benchmark", str(package)], 0),
        (["score", answers, "--benchmark", str(package), "--out", scores], 0),
        (["report", scores, "--out", str(tmp_path / "r.html")], 0),
    ]
    if form:
        commands.append((["check", answers, "--benchmark", str(package), "--format", form], 1))
    if measure:
        wanted = ["--measures", measure]
        commands.append((["score", answers, "--benchmark", str(package), *wanted], 2))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, f"citeforge.plugins.{folder}"],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    if form:
        message = f"the plugin that reads the format {form!r} is not part of this copy"
        assert message in done.stderr
    if measure:
        assert f"unknown measure {measure!r}" in done.stderr
