"""The shape of the whole tree.

`make lint` holds the rest by import-linter: no folder imports from one above it, no module in a
circle, no plugin from another (``[tool.importlinter]`` in pyproject.toml).
"""

from __future__ import annotations

import ast
import re
import tomllib

import grimp
import networkx
from packaging.requirements import Requirement

from conftest import ROOT

SOURCE = ROOT / "src" / "citeforge"
ORDERED_PACKAGES = {
    "SPARQLWrapper": "SPARQLWrapper",
    "spacy": "spacy",
    "openai": "openai",
    "sentence-transformers": "sentence_transformers",
    "datasets": "datasets",
    "huggingface-hub": "huggingface_hub",
    "click": "click",
    "faiss-gpu": "faiss",
}
"""Packages that the project was ordered with, to the module that each installs."""
ORDERED_PATHS = {
    "builders", "schemas", "kg", "ir_convert", "tests", "pyproject.toml", "Makefile", "DATASETS.md"
}  # fmt: skip
CODE_IN_A_TEXT = re.compile(r"^citeforge(?:\.\w+)+:\w+(?:\.\w+)*$")


def search_source() -> tuple[list[str], list[str]]:
    """List texts that name a function or a class, and uses of private parts of ``re``."""
    texts: list[str] = []
    private: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "re":
                private += [place] * node.attr.startswith("_")
            if isinstance(node, ast.ImportFrom) and node.module == "re":
                private += [place for name in node.names if name.name.startswith("_")]
            if isinstance(node, ast.Constant) and CODE_IN_A_TEXT.match(str(node.value)):
                texts.append(place)
    return texts, private


def largest_circle_of_folders() -> int:
    """Count the folders that import each other; a folder is the files that it holds directly."""
    graph = grimp.build_graph("citeforge")
    packages = {name for name in graph.modules if graph.find_children(name)}
    folder = {n: n if n in packages else n.rpartition(".")[0] for n in graph.modules}
    arrows = networkx.DiGraph(
        (folder[name], folder[imported])
        for name in graph.modules
        for imported in graph.find_modules_directly_imported_by(name)
    )
    return max(map(len, networkx.strongly_connected_components(arrows)))


def test_no_folders_import_each_other() -> None:
    assert largest_circle_of_folders() == 1


def test_no_text_names_code_and_no_private_part_of_re_is_used() -> None:
    assert search_source() == ([], [])


def imported_modules() -> set[str]:
    """List the modules of other packages that the source imports, at the top or in a function."""
    modules: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {name.name.partition(".")[0] for name in node.names}
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    return modules


def test_the_packages_that_were_ordered_are_dependencies_and_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *(r for e in extras if e != "dev" for r in extras[e])]
    assert ORDERED_PACKAGES.keys() <= {Requirement(text).name for text in required}
    assert [Requirement(text).name for text in extras["gpu"]] == ["faiss-gpu"]
    assert set(ORDERED_PACKAGES.values()) <= imported_modules()


def test_the_top_level_that_was_ordered_is_there() -> None:
    assert {path.name for path in ROOT.iterdir()} >= ORDERED_PATHS


def test_contributing_names_what_stays() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## What stays")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([^`]+)`", section)) >= {*ORDERED_PACKAGES, *ORDERED_PATHS}
