"""Build, package, publish and score benchmarks for cited generation.

``import citeforge`` is quick: each name below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from citeforge._version import __version__

if TYPE_CHECKING:
    from citeforge import errors, rewards
    from citeforge.builders.rebuild import Rebuilt
    from citeforge.evaluator.benchmark import Benchmark
    from citeforge.library.auditing import Audited, audit
    from citeforge.library.benchmarks import load
    from citeforge.library.building import build, rebuild
    from citeforge.library.reading import parse_citations, split_statements
    from citeforge.library.reward import CitationReward
    from citeforge.library.scores import (
        ScoredFiles,
        Scores,
        compare,
        read_scores,
        report,
        score,
        score_files,
    )
    from citeforge.library.systems import Bench, bench, run
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
    from citeforge.schemas.recipes.verbs import AuditOptions, ScoreOptions

_WHERE = {
    "AlceRecipe": "citeforge.schemas.recipes",
    "AuditOptions": "citeforge.schemas.recipes.verbs",
    "Audited": "citeforge.library.auditing",
    "AuthorshipRecipe": "citeforge.schemas.recipes",
    "Bench": "citeforge.library.systems",
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
    "ScoreOptions": "citeforge.schemas.recipes.verbs",
    "ScoredFiles": "citeforge.library.scores",
    "Scores": "citeforge.library.scores",
    "TwinsRecipe": "citeforge.schemas.recipes",
    "audit": "citeforge.library.auditing",
    "bench": "citeforge.library.systems",
    "build": "citeforge.library.building",
    "compare": "citeforge.library.scores",
    "load": "citeforge.library.benchmarks",
    "parse_citations": "citeforge.library.reading",
    "read_scores": "citeforge.library.scores",
    "rebuild": "citeforge.library.building",
    "report": "citeforge.library.scores",
    "run": "citeforge.library.systems",
    "score": "citeforge.library.scores",
    "score_files": "citeforge.library.scores",
    "split_statements": "citeforge.library.reading",
}

__all__ = [
    "AlceRecipe",
    "AuditOptions",
    "Audited",
    "AuthorshipRecipe",
    "Bench",
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
    "ScoreOptions",
    "ScoredFiles",
    "Scores",
    "TwinsRecipe",
    "__version__",
    "audit",
    "bench",
    "build",
    "compare",
    "errors",
    "load",
    "parse_citations",
    "read_scores",
    "rebuild",
    "report",
    "rewards",
    "run",
    "score",
    "score_files",
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
