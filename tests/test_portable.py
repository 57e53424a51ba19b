"""The core runs where what only Unix has is missing, as on Windows."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

UNIX = {"resource", "fcntl", "termios", "pwd", "grp", "pty", "tty", "syslog", "readline"}
"""Modules that Windows lacks."""
CALLS = ("fork", "posix_fallocate", "pwrite", "pread", "sched_getaffinity", "O_CLOEXEC", "getuid")
"""Parts of ``os`` that Windows lacks; ``posix_fallocate`` is missing on macOS, too."""
SCRIPT = """
import builtins, os, select, sys

real = builtins.__import__

def without(name, globals=None, locals=None, fromlist=(), level=0):
    if name in UNIX and (globals or {}).get("__name__", "").startswith("citeforge"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return real(name, globals, locals, fromlist, level)

import concurrent.futures, filelock, multiprocessing, tempfile, uuid  # they read os when imported
builtins.__import__ = without
for name in CALLS:
    delattr(os, name)
del select.poll
from citeforge.cli.main import main
for line in COMMANDS:
    try:
        main(line.split())
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"exit code {stop.code} of {line}")
"""


def test_no_module_imports_what_only_unix_has() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if name in UNIX
    ]
    assert not found, "import it inside the function that has another way"


def test_core_commands_run_without_unix(tmp_path: Path, package: Path) -> None:
    commands = [
        "build demo --out demo",
        f"verify {package}",
        f"show {package}",
        f"run random --benchmark {package} --out a.jsonl",
        f"run echo-relevant --benchmark {package} --out b.jsonl",
        f"check a.jsonl --benchmark {package}",
        f"score a.jsonl --benchmark {package} --out a.json",
        f"score b.jsonl --benchmark {package} --out b.json",
        "compare a.json b.json",
        "report a.json b.json --out report.md",
        f"export prompts {package} --out prompts.jsonl",
    ]
    program = f"UNIX, CALLS, COMMANDS = {UNIX!r}, {CALLS!r}, {commands!r}\n{SCRIPT}"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert (tmp_path / "report.md").is_file()


@pytest.mark.parametrize("name", sorted(UNIX))
def test_the_modules_are_there_on_this_system(name: str) -> None:
    """Else the tests above would block nothing."""
    if sys.platform == "linux":
        __import__(name)
