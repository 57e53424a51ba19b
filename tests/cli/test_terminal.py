"""Every command prints on terminals without Unicode. Each encoding needs a process of its own."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.textfiles import escape_formula, unescape_formula
from conftest import ROOT, Inline

V1 = ROOT / "tests" / "golden" / "v1"
ENCODINGS = ("latin-1", "ascii")

HELPS = """
import sys
import click
from citeforge.cli import main
def walk(command, words):
    try:
        main.main([*words, "--help"])
    except SystemExit as stop:
        assert not stop.code, words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            walk(command.get_command(context, name), [*words, name])
walk(main.cli, [])
"""
COMMANDS = """
import json, pathlib, sys
from citeforge.cli.main import main
codes = []
for words in json.load(sys.stdin):
    try:
        main(words)
        codes.append(0)
    except SystemExit as stop:
        codes.append(stop.code or 0)
    print(end="\\0", flush=True)
pathlib.Path("codes.json").write_text(json.dumps(codes))
"""
"""Commands in turn, in one process; any other exception ends it."""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_helps(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELPS],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert done.returncode == 0, done.stderr.decode("latin-1")[-500:]
    assert b"citeforge llm run" in done.stdout


@pytest.mark.parametrize("encoding", [pytest.param("latin-1", marks=pytest.mark.slow), "ascii"])
def test_commands(tmp_path: Path, encoding: str) -> None:
    """A system, a query and a passage with characters that the terminal lacks."""
    strange = "système 日本 😀 – †"
    header, *lines = (V1 / "submission.jsonl").read_text().splitlines()
    assert "submission" in header
    named = json.dumps({"submission": {"system": strange}}, ensure_ascii=False)
    name = "soumission-日本.jsonl"
    (tmp_path / name).write_text("\n".join([named, *lines]) + "\n", encoding="utf-8")
    package = V1 / "package"
    commands = (
        ("check", name, "--benchmark", package),
        ("score", name, "--benchmark", package, "--out", "s.json"),
        ("score", "fehlt-日本.jsonl", "--benchmark", package),
        ("show", package, "--query", "q1"),
        ("verify", package),
        ("list", "measures"),
        ("list", "sources"),
        ("compare", "s.json", V1 / "scores.json"),
        ("export", "prompts", package, "--context", "日本"),
        ("build", "kalma", "--help-all"),
    )
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        input=json.dumps([[*map(str, words)] for words in commands]).encode(),
    )
    assert done.returncode == 0, done.stderr
    codes = json.loads((tmp_path / "codes.json").read_text())
    assert len(codes) == len(commands)
    assert set(codes) <= {0, 1, 2}
    assert codes[1] == 0
    # click itself takes an ASCII terminal for one that speaks UTF-8.
    said = "syst\\u00e8me" if encoding == "ascii" else "système"
    said += " \\u65e5\\u672c \\ud83d\\ude00 - +"
    utf8 = "système 日本 😀 – †".encode()
    assert said.encode(encoding) in done.stdout or (encoding == "ascii" and utf8 in done.stdout)


def test_data_on_standard_output_is_utf_8(tmp_path: Path) -> None:
    content = json.loads((V1 / "scores.json").read_text())
    (tmp_path / "s.json").write_text(json.dumps({**content, "system": "系 – 😀"}))
    kinds = ("md", "json", "csv", "html", "latex")
    commands = [["report", "s.json", "--format", kind] for kind in kinds]
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        input=json.dumps(commands).encode(),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "codes.json").read_text()) == [0] * len(kinds)
    parts = done.stdout.decode("utf-8").split("\0")
    for kind, part in zip(kinds, parts, strict=False):
        assert "系" in part, kind


@given(st.text(st.sampled_from("=+-@\t\r' a1"), max_size=6) | st.text(max_size=6))
def test_cells_start_no_formula_and_come_back(cell: str) -> None:
    assert escape_formula(cell)[:1] not in ("=", "+", "-", "@", "\t", "\r")
    assert unescape_formula(escape_formula(cell)) == cell


def test_a_report_holds_no_formula(inline: Inline, tmp_path: Path) -> None:
    content = json.loads((V1 / "scores.json").read_text())
    content["system"] = '=HYPERLINK("http://x")'
    content["measures"][0]["value"] = -1.5
    (tmp_path / "s.json").write_text(json.dumps(content))
    result = inline("report", "s.json", "--out", "r.csv")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "r.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row["system"] == '\'=HYPERLINK("http://x")'
    assert row["value"] == "-1.5"  # a number stays one


def test_a_reader_that_has_seen_enough_ends_the_command_well() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "citeforge", "list", "measures"]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
