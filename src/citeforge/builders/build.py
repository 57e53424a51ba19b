"""Building any kind of benchmark by its recipe."""

from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.runner import make_runner
from citeforge.package.kinds import Kind, find_kind, kinds
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Hideable, Recipe
from citeforge.schemas.recipes.run import RunOptions


def build(recipe: Recipe, run: RunOptions) -> Manifest:
    """Build a package, or continue a build that was cut off.

    Returns:
        The manifest of the finished package.

    Raises:
        InputError: a source, a model, a plugin or the output folder is at fault.
        UsageError: a recipe of an unknown kind, or options that do not go together.
    """
    kind = _kind(recipe)
    if kind.recipe is None:
        raise UsageError(f"nothing here builds {recipe.kind} benchmarks")
    make_runner(run).require()
    if run.secret_from is not None and not (isinstance(recipe, Hideable) and recipe.hidden):
        raise UsageError("--secret-from goes with --hidden")
    return kind.build(recipe, run)


def plan_build(recipe: Recipe, run: RunOptions) -> RunPlan:
    """What a build would ask of a model, and what it would cost; nothing is asked.

    Raises:
        InputError: a source or a plugin is at fault.
        UsageError: nothing is asked in builds of this kind, or not of this model.
    """
    kind = _kind(recipe)
    if not kind.has_plan:
        kinds_with_plan = [k.name for k in kinds().values() if k.has_plan]
        raise UsageError(f"--dry-run: only builds of {', '.join(kinds_with_plan)} have one")
    planned: RunPlan = kind.plan(recipe, run)
    return planned


def _kind(recipe: Recipe) -> Kind:
    kind = find_kind(recipe.kind)
    if kind is None:
        names = f"known: {', '.join(kinds())}; another may come with a plugin"
        raise UsageError(f"nobody gives the kind {recipe.kind!r}; {names}")
    return kind
