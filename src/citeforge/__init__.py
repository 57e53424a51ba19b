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
    from citeforge.evaluator.submissions.check import Findings, check
    from citeforge.library.benchmarks import load
    from citeforge.library.building import build, rebuild
    from citeforge.library.reading import parse_citations, split_statements
    from citeforge.library.reports import Comparisons, compare, report
    from citeforge.library.scores import ScoredFiles, Scores, read_scores, score, score_files
    from citeforge.library.systems import Bench, bench, run
    from citeforge.package.items import Gold, Item, Passage
    from citeforge.plugins.audit.library import Audited, audit
    from citeforge.plugins.audit.options import AuditOptions
    from citeforge.publish.export.registry import export
    from citeforge.schemas.commands.command_options import ScoreOptions
    from citeforge.schemas.errors import (
        CiteforgeError,
        FailuresError,
        InputError,
        MissingExtraError,
        UnknownValueError,
        UsageError,
    )
    from citeforge.schemas.recipes.records import (
        AlceRecipe,
        AuthorshipRecipe,
        HagridRecipe,
        KalmaRecipe,
        RageRecipe,
        RunOptions,
        TwinsRecipe,
    )

_HOMES = {
    "citeforge.builders.recipes.rebuild": "Rebuilt",
    "citeforge.evaluator.submissions.benchmark": "Benchmark",
    "citeforge.evaluator.submissions.check": "Findings check",
    "citeforge.plugins.audit.library": "Audited audit",
    "citeforge.library.benchmarks": "load",
    "citeforge.library.building": "build rebuild",
    "citeforge.library.reading": "parse_citations split_statements",
    "citeforge.library.reports": "Comparisons compare report",
    "citeforge.library.scores": "ScoredFiles Scores read_scores score score_files",
    "citeforge.library.systems": "Bench bench run",
    "citeforge.package.items": "Gold Item Passage",
    "citeforge.publish.export.registry": "export",
    "citeforge.plugins.audit.options": "AuditOptions",
    "citeforge.schemas.commands.command_options": "ScoreOptions",
    "citeforge.schemas.errors": (
        "CiteforgeError FailuresError InputError MissingExtraError UnknownValueError UsageError"
    ),
    "citeforge.schemas.recipes.records": (
        "AlceRecipe AuthorshipRecipe HagridRecipe KalmaRecipe RageRecipe RunOptions TwinsRecipe"
    ),
}
"""Module to the names that it gives."""
_WHERE = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AlceRecipe",
    "AuditOptions",
    "Audited",
    "AuthorshipRecipe",
    "Bench",
    "Benchmark",
    "CiteforgeError",
    "Comparisons",
    "FailuresError",
    "Findings",
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
    "check",
    "compare",
    "export",
    "load",
    "parse_citations",
    "read_scores",
    "rebuild",
    "report",
    "run",
    "score",
    "score_files",
    "split_statements",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'citeforge' has no attribute {name!r}")
    try:
        return getattr(import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("citeforge.plugins"):
            raise
        from citeforge.engines.plugins import absent_plugin

        raise absent_plugin(f"citeforge.{name}") from error


def __dir__() -> list[str]:
    return sorted(__all__)
