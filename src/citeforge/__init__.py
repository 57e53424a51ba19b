"""Build, package, publish and score benchmarks for cited generation.

``import citeforge`` is quick: each name below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from citeforge.schemas.version import __version__

if TYPE_CHECKING:
    from citeforge.builders.recipes.rebuild import Rebuilt
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.library import rewards
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
    from citeforge.schemas.commands.command_options import AuditOptions, ScoreOptions
    from citeforge.schemas.errors import (
        CiteforgeError,
        FailuresError,
        InputError,
        MissingExtraError,
        UnknownValueError,
        UsageError,
    )
    from citeforge.schemas.recipes import (
        AlceRecipe,
        AuthorshipRecipe,
        HagridRecipe,
        KalmaRecipe,
        RageRecipe,
        RunOptions,
        TwinsRecipe,
    )

_WHERE = {
    "CiteforgeError": "citeforge.schemas.errors",
    "FailuresError": "citeforge.schemas.errors",
    "InputError": "citeforge.schemas.errors",
    "MissingExtraError": "citeforge.schemas.errors",
    "UnknownValueError": "citeforge.schemas.errors",
    "UsageError": "citeforge.schemas.errors",
    "AlceRecipe": "citeforge.schemas.recipes",
    "AuditOptions": "citeforge.schemas.commands.command_options",
    "Audited": "citeforge.library.auditing",
    "AuthorshipRecipe": "citeforge.schemas.recipes",
    "Bench": "citeforge.library.systems",
    "Benchmark": "citeforge.evaluator.submissions.benchmark",
    "CitationReward": "citeforge.library.reward",
    "Gold": "citeforge.package.items",
    "HagridRecipe": "citeforge.schemas.recipes",
    "Item": "citeforge.package.items",
    "KalmaRecipe": "citeforge.schemas.recipes",
    "Passage": "citeforge.package.items",
    "RageRecipe": "citeforge.schemas.recipes",
    "Rebuilt": "citeforge.builders.recipes.rebuild",
    "RunOptions": "citeforge.schemas.recipes",
    "ScoreOptions": "citeforge.schemas.commands.command_options",
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
    "CiteforgeError",
    "FailuresError",
    "Gold",
    "HagridRecipe",
    "InputError",
    "Item",
    "KalmaRecipe",
    "MissingExtraError",
    "Passage",
    "RageRecipe",
    "Rebuilt",
    "RunOptions",
    "ScoreOptions",
    "ScoredFiles",
    "Scores",
    "TwinsRecipe",
    "UnknownValueError",
    "UsageError",
    "__version__",
    "audit",
    "bench",
    "build",
    "compare",
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
    if name == "rewards":
        return import_module("citeforge.library.rewards")
    if name not in _WHERE:
        raise AttributeError(f"module 'citeforge' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
