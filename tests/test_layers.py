"""Habits of the tree: links, small files, no print, nothing heavy at start-up."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "src" / "citeforge"


def test_the_links_at_the_top_lead_into_the_package() -> None:
    for name in ("builders", "schemas", "kg", "ir_convert"):
        link = ROOT / name
        assert link.is_symlink()
        assert link.readlink() == Path("src/citeforge") / name


def test_contributing_names_the_folders_that_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| ?(.*) \|$", text, re.MULTILINE))
    assert set(rows) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    for folder, inner in rows.items():
        there = {path.parent.name for path in (PACKAGE / folder).glob("*/__init__.py")}
        assert set(re.findall(r"`(\w+)`", inner)) == there, f"CONTRIBUTING.md, row `{folder}`"


@pytest.mark.parametrize(
    "folder", [p.parent.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*/__init__.py")]
)
def test_a_folder_says_where_to_begin(folder: str) -> None:
    path = PACKAGE / folder
    docstring = " ".join(
        (ast.get_docstring(ast.parse((path / "__init__.py").read_text())) or "").split()
    )
    where = docstring.partition("Begin ")[2]
    names = re.findall(r"(?<!`)`([a-z_]+)`(?!`)", where)
    assert names, f"{folder}/__init__.py does not say: Begin at `name`. It says: {docstring}"
    for name in names:
        assert (path / name).is_dir() or (path / f"{name}.py").is_file(), name


def test_no_print_in_the_package() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_print = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
            assert not is_print, f"{path}:{node.lineno}"


def test_modules_stay_small() -> None:
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert len(path.read_text().splitlines()) <= 500, path


def modules_after(*commands: tuple[object, ...]) -> set[str]:
    """What is loaded once commands have run in turn, in one process."""
    result = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=True,
        input=json.dumps([[*map(str, args)] for args in commands]),
    )  # fmt: skip
    return set(result.stdout.splitlines())


HEAVY = {"torch", "transformers", "sentence_transformers", "spacy", "faiss", "datasets"}
RUN = """
import json, sys
from citeforge.cli.main import main
for args in json.load(sys.stdin):
    try:
        main(args)
    except SystemExit as stop:
        assert not stop.code, args
print(*sys.modules, sep=chr(10))
"""


LIGHT = {
    f"citeforge.cli.{n}"
    for n in ("main", "command", "commands", "interrupts", "terminal", "json_output")
}
"""What the command line loads before it knows the command."""


def test_help_imports_no_command_and_nothing_heavy() -> None:
    loaded = modules_after(("--help",))
    assert not loaded & (HEAVY | {"pyarrow", "numpy", "pydantic"})
    assert not any(name.startswith("citeforge.cli.") for name in loaded - LIGHT)


def test_check_verify_and_score_need_no_torch(package: Path, tmp_path: Path) -> None:
    submission, there = tmp_path / "s.jsonl", ("--benchmark", package)
    loaded = modules_after(
        ("run", "random", *there, "--out", submission),
        ("check", submission, *there),
        ("verify", package),
        ("score", submission, *there),
        ("show", package),
        ("export", "prompts", package, "--out", tmp_path / "p.jsonl"),
    )
    assert "citeforge.evaluator.score" in loaded
    assert not loaded & HEAVY


def test_scores_of_numbers_need_no_pandas(package: Path, tmp_path: Path) -> None:
    """Half of the time that such a command takes: pyarrow imports it for what needs none of it."""
    pytest.importorskip("pandas")
    submission, there = tmp_path / "s.jsonl", ("--benchmark", package)
    modules_after(("run", "random", *there, "--out", submission))
    loaded = modules_after(("score", submission, *there))
    assert not loaded & {"pandas", "jinja2", "citeforge.builders.card"}
    # Its measures are known without those of plugins.
    plugin_measures = "bundles.measures", "documents.measures", "trec.support", "audit.wrong"
    assert not loaded & {f"citeforge.plugins.{name}" for name in plugin_measures}
    loaded = modules_after(("check", submission, *there))
    others = {"citeforge.schemas.recipes.kalma", "citeforge.engines.retrieval.exact"}
    others.add("citeforge.plugins.responses.formats")
    assert not loaded & {"pandas", "scipy", "rich", *others}
