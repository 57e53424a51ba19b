"""The shape of the whole tree.

`make lint` holds the rest by import-linter: no folder imports from one above it, no module in a
circle, no plugin from another (``[tool.importlinter]`` in pyproject.toml).
"""

from __future__ import annotations

import ast
import re

import grimp
import networkx

from conftest import ROOT

SOURCE = ROOT / "src" / "citeforge"
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
