"""Building any kind of benchmark by its recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from citeforge.engines.llm.budget import Plan
from citeforge.schemas.errors import UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes import Recipe, RunOptions

BUILDERS = {
    "rage": "citeforge.builders.rage:build_rage",
    "hagrid": "citeforge.builders.frozen:build_hagrid",
    "alce": "citeforge.builders.frozen:build_alce",
    "twins": "citeforge.builders.twins.build:build_twins",
    "authorship": "citeforge.builders.authorship.build:build_authorship",
    "kalma": "citeforge.builders.kalma.build:build_kalma",
}
"""Kind to ``module:function`` of its builder, imported when first used."""
PLANS = {"twins": "citeforge.builders.twins.build:plan_twins"}
"""Likewise what tells the requests of a build beforehand."""


def build(recipe: Recipe, run: RunOptions) -> Manifest:
    """Build a package, or continue a build that was cut off.

    Returns:
        The manifest of the finished package.

    Raises:
        InputError: a source, a model or the output folder is at fault.
        UsageError: a recipe of an unknown kind, or options that do not go together.
    """
    builder: Callable[[Recipe, RunOptions], Manifest] = _found(BUILDERS, recipe)
    return builder(recipe, run)


def plan(recipe: Recipe, run: RunOptions) -> Plan:
    """What a build would ask of a model, and what it would cost; nothing is asked.

    Raises:
        InputError: a source is at fault.
        UsageError: nothing is asked in builds of this kind, or not of this model.
    """
    if recipe.kind not in PLANS:
        raise UsageError(f"--dry-run: only builds of {', '.join(PLANS)} have one")
    planner: Callable[[Recipe, RunOptions], Plan] = _found(PLANS, recipe)
    return planner(recipe, run)


def _found(known: Mapping[str, str], recipe: Recipe) -> Any:
    module, function = known[recipe.kind].split(":")
    return getattr(import_module(module), function)
