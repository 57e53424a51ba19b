"""Building benchmarks from Python."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from citeforge.builders.build import check_options
from citeforge.builders.rebuild import Confirm, Rebuilt, UpdateOptions, refuse_untrusted
from citeforge.builders.rebuild import rebuild as make_again
from citeforge.builders.rebuild import update as update_package
from citeforge.builders.recipe_files import read_recipe
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.library.benchmarks import load, with_local_packages
from citeforge.package.kinds import kind_of_recipe
from citeforge.package.package import Package
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Recipe, RunOptions, make_record


def build(
    recipe: Recipe | str | PathLike[str],
    out: str | PathLike[str],
    *,
    overwrite: bool = False,
    resume: bool = False,
    run: RunOptions | None = None,
) -> Benchmark:
    """Build a benchmark by a recipe with run options, as ``citeforge build`` does.

    Args:
        recipe: everything that its tables depend on: a record such as ``RageRecipe``, or a
            recipe file (YAML or JSON).
        out: folder to make.
        overwrite: replace what is there.
        resume: continue a build that was cut off; a finished package of the same recipe is taken.
        run: device, endpoint, caches; nothing there changes a table.

    Returns:
        The finished benchmark.

    Raises:
        InputError: a source, a model, the recipe file or the output folder is at fault.
        UsageError: options that do not go together, as ``overwrite`` and ``resume``.
    """
    if not isinstance(recipe, Recipe):
        recipe = read_recipe(Path(recipe))
    recipe = with_local_packages(recipe)
    options = _with_output(run, out, overwrite, resume)
    kind = kind_of_recipe(recipe)
    check_options(recipe, options)
    kind.build(recipe, options)
    return load(Path(out))


def rebuild(
    benchmark: Package | str | PathLike[str],
    out: str | PathLike[str],
    *,
    inputs: Mapping[str, str] | None = None,
    trust: bool = False,
    overwrite: bool = False,
    run: RunOptions | None = None,
) -> Rebuilt:
    """Make a package again from its manifest (``inputs``: moved sources); as ``build --from``.

    Args:
        benchmark: package, opened or by its folder.
        out: folder to make.
        inputs: fields of the recipe that name sources, where these lie elsewhere now.
        trust: read the files, and ask the models and endpoints, that the manifest names.
        overwrite: replace what is there.
        run: as for ``build``.

    Returns:
        Both manifests, whether their tables are equal, and which are not.

    Raises:
        InputError: the manifest does not hold all choices, or a source is not where it was.
        UsageError: the manifest names files, models or endpoints, and ``trust`` is not given.
    """
    assignments = [f"{field}={value}" for field, value in (inputs or {}).items()]
    confirm: Confirm = (lambda uses: None) if trust else refuse_untrusted
    folder = benchmark.folder if isinstance(benchmark, Package) else Path(benchmark)
    return make_again(folder, _with_output(run, out, overwrite, False), assignments, confirm)


def update(
    benchmark: Package | str | PathLike[str],
    out: str | PathLike[str],
    *,
    inputs: Mapping[str, str] | None = None,
    skip_dangling: bool = False,
    allow_no_relevant: bool = False,
    trust: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    run: RunOptions | None = None,
) -> Benchmark:
    """Build a benchmark for a source that changed: what ``citeforge build --from --keep`` does.

    Queries whose question, gold, judgements and passages are the same keep their contexts; the
    others are made anew.

    Args:
        benchmark: the earlier package, opened or by its folder.
        out: folder to make.
        inputs: fields of the recipe that name sources, where these have changed or lie elsewhere.
        skip_dangling: skip, and count, judgements of passages that are gone.
        allow_no_relevant: keep queries whose relevant passages are all gone.
        trust: read the files, and ask the models and endpoints, that the manifest names.
        overwrite: replace what is there.
        resume: continue a build that was cut off.
        run: as for ``build``.

    Raises:
        InputError: the manifest does not hold all choices, or a source is at fault.
        UsageError: of this kind of benchmark nothing can be kept; or the manifest names files,
            models or endpoints, and ``trust`` is not given.
    """
    assignments = [f"{field}={value}" for field, value in (inputs or {}).items()]
    confirm: Confirm = (lambda uses: None) if trust else refuse_untrusted
    folder = benchmark.folder if isinstance(benchmark, Package) else Path(benchmark)
    update_options = UpdateOptions(skip_dangling, allow_no_relevant)
    options = _with_output(run, out, overwrite, resume)
    update_package(folder, options, assignments, confirm, update_options)
    return load(Path(out))


def _with_output(
    run: RunOptions | None, out: str | PathLike[str], overwrite: bool, resume: bool
) -> RunOptions:
    """Return run options with output folder, ``overwrite`` and ``resume`` set.

    Args:
        run: options to change; None for the defaults.
        out: output folder.
        overwrite: whether to replace what is there.
        resume: whether to continue a build that was cut off.

    Raises:
        UsageError: ``run`` asks for a plan, or options that do not go together.
    """
    if run is not None and run.dry_run:
        raise UsageError(
            "dry_run: this function builds; `citeforge build KIND --dry-run` prints a plan",
            code="option-without-effect",
        )
    values = dict(run or RunOptions())
    values |= {"out": Path(out), "overwrite": overwrite, "resume": resume}
    return make_record(RunOptions, **values)
