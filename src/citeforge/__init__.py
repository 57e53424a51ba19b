"""Build, package, publish and score benchmarks for cited generation.

``import citeforge`` is quick: each name below is imported when it is first used.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeforge.schemas.version import __version__ as __version__

if TYPE_CHECKING:
    from citeforge.builders.rebuild import Rebuilt as Rebuilt
    from citeforge.evaluator.check import Findings as Findings
    from citeforge.evaluator.submissions.benchmark import Benchmark as Benchmark
    from citeforge.evaluator.submissions.finding import Finding as Finding
    from citeforge.library.benchmarks import load as load
    from citeforge.library.building import build as build
    from citeforge.library.building import rebuild as rebuild
    from citeforge.library.building import update as update
    from citeforge.library.checks import check as check
    from citeforge.library.citations import parse_citations as parse_citations
    from citeforge.library.citations import split_statements as split_statements
    from citeforge.library.gate_plans import gate_plan as gate_plan
    from citeforge.library.gates import gate as gate
    from citeforge.library.package_changes import compare_packages as compare_packages
    from citeforge.library.publishing import card as card
    from citeforge.library.publishing import export_prompts as export_prompts
    from citeforge.library.publishing import log_scores as log_scores
    from citeforge.library.publishing import publish as publish
    from citeforge.library.reports import Comparisons as Comparisons
    from citeforge.library.reports import Report as Report
    from citeforge.library.reports import compare as compare
    from citeforge.library.reports import report as report
    from citeforge.library.scores import ScoredFiles as ScoredFiles
    from citeforge.library.scores import Scores as Scores
    from citeforge.library.scores import read_scores as read_scores
    from citeforge.library.scores import score as score
    from citeforge.library.scores import score_files as score_files
    from citeforge.library.systems import Bench as Bench
    from citeforge.library.systems import bench as bench
    from citeforge.library.systems import run as run
    from citeforge.package.items import Gold as Gold
    from citeforge.package.items import Item as Item
    from citeforge.package.items import Passage as Passage
    from citeforge.plugins.audit.options import AuditOptions as AuditOptions
    from citeforge.plugins.audit.run import Audited as Audited
    from citeforge.plugins.audit.run import audit as audit
    from citeforge.publishing.export import export as export
    from citeforge.reports.gate import Decision as Decision
    from citeforge.reports.gate_plan import GatePlan as GatePlan
    from citeforge.schemas.errors import CiteforgeError as CiteforgeError
    from citeforge.schemas.errors import FailuresError as FailuresError
    from citeforge.schemas.errors import InputError as InputError
    from citeforge.schemas.errors import MissingExtraError as MissingExtraError
    from citeforge.schemas.errors import UnknownValueError as UnknownValueError
    from citeforge.schemas.errors import UsageError as UsageError
    from citeforge.schemas.recipes.answers import AlceRecipe as AlceRecipe
    from citeforge.schemas.recipes.answers import HagridRecipe as HagridRecipe
    from citeforge.schemas.recipes.authorship import AuthorshipRecipe as AuthorshipRecipe
    from citeforge.schemas.recipes.base import RunOptions as RunOptions
    from citeforge.schemas.recipes.command_options import ScoreOptions as ScoreOptions
    from citeforge.schemas.recipes.gate import GatePolicy as GatePolicy
    from citeforge.schemas.recipes.kalma import KalmaRecipe as KalmaRecipe
    from citeforge.schemas.recipes.rage import RageRecipe as RageRecipe
    from citeforge.schemas.recipes.twins import TwinsRecipe as TwinsRecipe

_MODULE_OF = {
    name.name: str(line.module)
    for block in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
    if isinstance(block, ast.If)
    for line in block.body
    if isinstance(line, ast.ImportFrom)
    for name in line.names
}
"""Public name to the module that defines it, read from the imports for type checkers above."""

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'citeforge' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    """List all public names, for tab completion."""
    return __all__
