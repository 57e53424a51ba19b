"""The plugins of docs/extend.md: installed into an environment of their own, used from there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs" / "extend.md").read_text()
FILES = dict(re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
MODULES = [name for name in FILES if name.endswith(".py")]
PIP = """
pip() { python -m pip --disable-pip-version-check "$@"; }
install() { pip install -q --no-index --no-build-isolation --no-deps "$1"; }
"""


def test_the_page_shows_a_plugin_of_each_group() -> None:
    assert PAGE.count("```toml") == 1
    assert len(FILES) == PAGE.count("```python") + 1
    assert re.findall(r'^  "(\w+)",$', PAGE, re.MULTILINE) == [Path(m).stem for m in MODULES]
    groups = re.findall(r'entry-points\."citeforge\.(\w+)"', PAGE)
    assert set(groups) == {
        "sources", "measures", "formats", "exports", "commands", "judges", "embedders",
        "systems", "kinds", "trackers",
    }  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_short(name: str) -> None:
    is_kind = f'= "{Path(name).stem}:' in PAGE.partition('"citeforge.kinds"]')[2].partition("[")[0]
    assert len(FILES[name].splitlines()) <= (75 if is_kind else 40)


def environment(folder: Path) -> dict[str, str]:
    """Variables with a fresh virtual environment first, which sees this one's packages."""
    made = [sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", folder]
    subprocess.run(made, check=True)
    (installed,) = folder.glob("lib/python*/site-packages")
    seen = [installed, ROOT / "src", *(p for p in sys.path if p.endswith("site-packages"))]
    paths = [*map(str, seen), *filter(None, [os.environ.get("PYTHONPATH")])]
    (folder / "first").mkdir()
    command = folder / "first" / "citeforge"
    command.write_text(f'#!/bin/sh\nexec {folder}/bin/python -m citeforge "$@"\n')
    command.chmod(0o755)
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(folder / "first"), str(folder / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(paths),
        "HF_HOME": str(folder / "hf"),
    }


@pytest.mark.slow
def test_every_plugin_of_the_page_works(tmp_path: Path) -> None:
    env = environment(tmp_path / "venv")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    script = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    assert script.count("pip install ./cf-") == 1
    assert len(re.findall(r"^citeforge ", script, re.MULTILINE)) >= 12
    # The last example is without the package; what follows here is with it.
    script = f"{script}\npip install ./cf-mine\n".replace("pip install ", "install ")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{PIP}\nset -x\n{script}"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [line for line in done.stderr.splitlines() if "warning" in line]
    # A corpus of three passages has no hard negatives, none has a licence, and a file of two
    # answers is not whole and names no build; else all is well.
    expected = ("mined negatives", "publish will refuse", "2 answers missing", "which build")
    assert all(any(words in x for words in expected) for x in told), told
    for words, shown in (
        ((), "tally  Count the answers"),
        (("build",), "quiz  A kind of the plugin cf-mine 1.0."),
        (("export",), "cards            An export of the plugin cf-mine 1.0."),
    ):
        help_text = subprocess.run(
            ["python", "-X", "importtime", "-m", "citeforge", *words, "--help"],
            env=env,
            capture_output=True,
            text=True,
        )
        assert help_text.returncode == 0, help_text.stderr[-3000:]
        assert shown in help_text.stdout
        assert set(re.findall(r"\bcf_\w+", help_text.stderr)) <= {"cf_tally"}
        assert "pydantic" not in help_text.stderr or words
