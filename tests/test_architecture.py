"""The shape of the whole tree: limits on what is counted.

Arrows are all imports: at the top, inside functions, under ``TYPE_CHECKING``, and texts such as
``"citeforge.kinds.rage:RAGE"``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import networkx
import pytest

from conftest import ROOT

SOURCE = ROOT / "src" / "citeforge"
FLOORS = (
    "schemas", "engines", "ir_convert", "kg", "package", "builders", "evaluator",
    "systems", "publishing", "kinds", "library", "cli", "plugins",
    "__main__.py", "__init__.py",
)  # fmt: skip
"""Data flows down this list: a folder imports from itself and from those before it."""
CODE_IN_A_TEXT = re.compile(r"^citeforge((?:\.\w+)+)(?::\w+(?:\.\w+)*)?$")


@dataclass
class House:
    """What is counted.

    Attributes:
        code_lines: lines that are neither blank, nor comments, nor docstrings.
        core_lines: those outside built-in plugins.
        arrows: file to the files that it imports or names.
        texts: texts that name a function or a class.
        private: places that use a private part of the standard library's ``re``.
    """

    code_lines: int = 0
    core_lines: int = 0
    arrows: networkx.DiGraph = field(default_factory=networkx.DiGraph)
    texts: int = 0
    private: list[str] = field(default_factory=list)


@cache
def house() -> House:
    files = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    names = {
        ".".join(["citeforge", *path.relative_to(SOURCE).with_suffix("").parts]): path
        for path in files
    }
    modules = {name.removesuffix(".__init__"): path for name, path in names.items()}
    result = House()
    for path, text in files.items():
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        result.code_lines += lines
        result.core_lines += lines * (path.relative_to(SOURCE).parts[0] != "plugins")
        result.arrows.add_node(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "re":
                result.private += [f"{path}:{node.lineno}"] * node.attr.startswith("_")
            if isinstance(node, ast.ImportFrom) and node.module == "re":
                result.private += [a.name for a in node.names if a.name.startswith("_")]
            for name, is_text in names_in(node):
                target = module_of(name, modules)
                if target is None:
                    continue
                result.texts += is_text
                if target != path:
                    result.arrows.add_edge(path, target)
    return result


def names_in(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """(module, whether a text names a part of it) of whatever a node leads to."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, False) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from ((f"{node.module}.{alias.name}", False) for alias in node.names)
    elif isinstance(node, ast.Constant) and CODE_IN_A_TEXT.match(str(node.value)):
        yield str(node.value).partition(":")[0], ":" in str(node.value)


def module_of(name: str, modules: dict[str, Path]) -> Path | None:
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return modules.get(name)


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


def floor(path: Path) -> int:
    return FLOORS.index(path.relative_to(SOURCE).parts[0])


def arrows_up() -> int:
    return sum(floor(target) > floor(path) for path, target in house().arrows.edges)


def largest_circle() -> int:
    return max(map(len, networkx.strongly_connected_components(house().arrows)))


def largest_circle_of_folders() -> int:
    arrows = ((a.parent, b.parent) for a, b in house().arrows.edges)
    return max(map(len, networkx.strongly_connected_components(networkx.DiGraph(arrows))))


LIMITS = {
    "code lines": (lambda: house().code_lines, 54_054),
    "code lines of the core": (lambda: house().core_lines, 38_900),
    "files in the largest circle": (largest_circle, 1),
    "folders in the largest circle": (largest_circle_of_folders, 1),
    "arrows that run up the floors": (arrows_up, 0),
    "texts that name code": (lambda: house().texts, 0),
    "private parts of other modules": (lambda: len(house().private), 0),
}


@pytest.mark.parametrize("what", LIMITS)
def test_counts_are_within_their_limits(what: str) -> None:
    count, limit = LIMITS[what]
    advice = "; LIMITS here grows by what a change needs" if "lines" in what else ""
    assert count() <= limit, f"{what}: {count()}, and at most {limit}{advice}"
