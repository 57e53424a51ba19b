"""The shape of the whole tree: limits on what is counted.

`make lint` holds the rest by import-linter: no folder imports from one above it, no module in a
circle, no plugin from another (``[tool.importlinter]`` in pyproject.toml).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache

import grimp
import networkx
import pytest

from conftest import ROOT

SOURCE = ROOT / "src" / "citeforge"
CODE_IN_A_TEXT = re.compile(r"^citeforge(?:\.\w+)+:\w+(?:\.\w+)*$")


@dataclass
class House:
    """What is counted.

    Attributes:
        code_lines: lines that are neither blank, nor comments, nor docstrings.
        core_lines: those outside built-in plugins.
        texts: texts that name a function or a class.
        private: places that use a private part of the standard library's ``re``.
    """

    code_lines: int = 0
    core_lines: int = 0
    texts: int = 0
    private: list[str] = field(default_factory=list)


@cache
def house() -> House:
    result = House()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        result.code_lines += lines
        result.core_lines += lines * (path.relative_to(SOURCE).parts[0] != "plugins")
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "re":
                result.private += [f"{path}:{node.lineno}"] * node.attr.startswith("_")
            if isinstance(node, ast.ImportFrom) and node.module == "re":
                result.private += [a.name for a in node.names if a.name.startswith("_")]
            if isinstance(node, ast.Constant):
                result.texts += bool(CODE_IN_A_TEXT.match(str(node.value)))
    return result


def code_lines(text: str, tree: ast.Module) -> int:
    skipped: set[int] = set()
    for node in ast.walk(tree):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            skipped.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in skipped
        for number, line in enumerate(text.splitlines(), 1)
    )


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


LIMITS = {
    "code lines": (lambda: house().code_lines, 53_987),
    "code lines of the core": (lambda: house().core_lines, 40_861),
    "folders in the largest circle": (largest_circle_of_folders, 1),
    "texts that name code": (lambda: house().texts, 0),
    "private parts of other modules": (lambda: len(house().private), 0),
}


@pytest.mark.parametrize("what", LIMITS)
def test_counts_are_within_their_limits(what: str) -> None:
    count, limit = LIMITS[what]
    advice = "; LIMITS here grows by what a change needs" if "lines" in what else ""
    assert count() <= limit, f"{what}: {count()}, and at most {limit}{advice}"
