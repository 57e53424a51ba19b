"""Build, package, publish and score benchmarks for cited generation.

``import citeforge`` is quick: each name below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citeforge import errors, rewards
    from citeforge.builders.rebuild import Rebuilt
    from citeforge.evaluator.benchmark import Benchmark
    from citeforge.library.benchmarks import load
    from citeforge.library.building import build, rebuild
    from citeforge.library.reading import parse_citations, split_statements
    from citeforge.library.reward import CitationReward
    from citeforge.library.scores import Scores, compare, read_scores, report, score
    from citeforge.package.items import Gold, Item, Passage
    from citeforge.schemas.recipes import (
        AlceRecipe,
        AuthorshipRecipe,
        HagridRecipe,
        KalmaRecipe,
        RageRecipe,
        RunOptions,
        TwinsRecipe,
    )

__version__ = "0.1.0"

_WHERE = {
    "AlceRecipe": "citeforge.schemas.recipes",
    "AuthorshipRecipe": "citeforge.schemas.recipes",
    "Benchmark": "citeforge.evaluator.benchmark",
    "CitationReward": "citeforge.library.reward",
    "Gold": "citeforge.package.items",
    "HagridRecipe": "citeforge.schemas.recipes",
    "Item": "citeforge.package.items",
    "KalmaRecipe": "citeforge.schemas.recipes",
    "Passage": "citeforge.package.items",
    "RageRecipe": "citeforge.schemas.recipes",
    "Rebuilt": "citeforge.builders.rebuild",
    "RunOptions": "citeforge.schemas.recipes",
    "Scores": "citeforge.library.scores",
    "TwinsRecipe": "citeforge.schemas.recipes",
    "build": "citeforge.library.building",
    "compare": "citeforge.library.scores",
    "load": "citeforge.library.benchmarks",
    "parse_citations": "citeforge.library.reading",
    "read_scores": "citeforge.library.scores",
    "rebuild": "citeforge.library.building",
    "report": "citeforge.library.scores",
    "score": "citeforge.library.scores",
    "split_statements": "citeforge.library.reading",
}

__all__ = [
    "AlceRecipe",
    "AuthorshipRecipe",
    "Benchmark",
    "CitationReward",
    "Gold",
    "HagridRecipe",
    "Item",
    "KalmaRecipe",
    "Passage",
    "RageRecipe",
    "Rebuilt",
    "RunOptions",
    "Scores",
    "TwinsRecipe",
    "__version__",
    "build",
    "compare",
    "errors",
    "load",
    "parse_citations",
    "read_scores",
    "rebuild",
    "report",
    "rewards",
    "score",
    "split_statements",
]


def __getattr__(name: str) -> Any:
    if name in ("errors", "rewards"):
        return import_module(f"citeforge.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'citeforge' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
