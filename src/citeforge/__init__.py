"""Build, package, publish and score benchmarks for cited generation.

``import citeforge`` is quick: each name below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citeforge import errors
    from citeforge.evaluator.benchmark import Benchmark
    from citeforge.library.benchmarks import load
    from citeforge.library.reading import parse_citations, split_statements
    from citeforge.library.reward import CitationReward
    from citeforge.library.scores import Scores, compare, read_scores, report, score
    from citeforge.package.items import Gold, Item, Passage

__version__ = "0.1.0"

_WHERE = {
    "Benchmark": "citeforge.evaluator.benchmark",
    "CitationReward": "citeforge.library.reward",
    "Gold": "citeforge.package.items",
    "Item": "citeforge.package.items",
    "Passage": "citeforge.package.items",
    "Scores": "citeforge.library.scores",
    "compare": "citeforge.library.scores",
    "load": "citeforge.library.benchmarks",
    "parse_citations": "citeforge.library.reading",
    "read_scores": "citeforge.library.scores",
    "report": "citeforge.library.scores",
    "score": "citeforge.library.scores",
    "split_statements": "citeforge.library.reading",
}

__all__ = [
    "Benchmark",
    "CitationReward",
    "Gold",
    "Item",
    "Passage",
    "Scores",
    "__version__",
    "compare",
    "errors",
    "load",
    "parse_citations",
    "read_scores",
    "report",
    "score",
    "split_statements",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("citeforge.errors")
    if name not in _WHERE:
        raise AttributeError(f"module 'citeforge' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
