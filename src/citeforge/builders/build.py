"""Building any kind of benchmark by its recipe, and a package again from its manifest alone."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from citeforge.builders.packaging.changes import recipe_of
from citeforge.engines.io.folders import beside
from citeforge.engines.io.report_table import Displayed, Table
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.running.runner import make_runner
from citeforge.package.kinds import Kind, find_kind, kinds, plugin_of
from citeforge.package.manifest import load_manifest
from citeforge.schemas.benchmarks.manifest import Manifest, is_hashed
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.recipes.base import Hideable, Judging, Recipe, RunOptions
from citeforge.schemas.recipes.flags import flags_of

_PACKAGES = ("benchmark", "twins")
"""Fields that name a package; manifests keep its name, not where it lay."""
Confirm = Callable[[Sequence[str]], None]
"""Given what somebody else's recipe uses, comes back where a person allows that, or raises."""


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
        raise UsageError(f"{recipe.kind} benchmarks cannot be built", code="wrong-kind")
    make_runner(run).require()
    _refuse_batch(recipe, run)
    if run.secret_from is not None and not (isinstance(recipe, Hideable) and recipe.hidden):
        raise UsageError("--secret-from requires --hidden", code="missing-option")
    return kind.build(recipe, run)


def plan_build(recipe: Recipe, run: RunOptions) -> RunPlan:
    """Count what a build would ask of a model, and its cost; nothing is asked.

    Raises:
        InputError: a source or a plugin is at fault.
        UsageError: nothing is asked in builds of this kind, or not of this model.
    """
    kind = _kind(recipe)
    if not kind.has_plan:
        kinds_with_plan = [k.name for k in kinds().values() if k.has_plan]
        raise UsageError(
            f"--dry-run works for builds of {', '.join(kinds_with_plan)} only", code="wrong-kind"
        )
    _refuse_batch(recipe, run)
    return kind.plan(recipe, run)


def _refuse_batch(recipe: Recipe, run: RunOptions) -> None:
    """Refuse ``--batch`` for kinds that cannot use it."""
    if run.batch and recipe.no_batch:
        raise UsageError(
            f"--batch: not for build {recipe.kind}: {recipe.no_batch}, and a batch may take a day",
            code="option-without-effect",
        )


def _kind(recipe: Recipe) -> Kind:
    """Look up the kind of benchmark that a recipe builds."""
    kind = find_kind(recipe.kind)
    if kind is None:
        raise UnknownValueError("benchmark kind", recipe.kind, kinds())
    return kind


@dataclass(frozen=True, repr=False)
class Rebuilt(Displayed):
    """A package and what was made by its recipe.

    Attributes:
        old: manifest of the package.
        new: manifest of what was made.
    """

    old: Manifest
    new: Manifest

    @property
    def equal(self) -> bool:
        """Whether all tables are the same, byte for byte."""
        return self.old.benchmark_hash == self.new.benchmark_hash

    @property
    def differing_tables(self) -> list[str]:
        """Tables that differ, or that only one of the two has; not those of MEASURED."""
        names = {n for m in (self.old, self.new) for n in m.files if is_hashed(n)}
        return sorted(n for n in names if self.old.files.get(n) != self.new.files.get(n))

    def _headline(self) -> str:
        """Say how many tables of the package came out different when it was built again."""
        n = len(self.differing_tables)
        outcome = f"{n:,} tables differ" if n else "all tables are equal"
        return f"{self.old.name} made again: {outcome}"

    def _tables(self) -> Iterator[Table]:
        yield Table(["tables that differ"], [[name] for name in self.differing_tables])


def first_difference(old: Path, new: Path, tables: Sequence[str]) -> str:
    """The first row in which two packages differ.

    Args:
        old: folder of one.
        new: folder of the other.
        tables: names of the tables that differ, as manifests name them.

    Returns:
        Table, row from 1, and both rows; empty where only the files differ.
    """
    for name in tables:
        missing = [folder for folder in (old, new) if not (folder / name).is_file()]
        if missing:
            return f"{name} is missing from {missing[0]}"
        pairs = zip_longest(_rows(old / name), _rows(new / name))
        for number, (one, other) in enumerate(pairs, 1):
            if one != other:
                return f"{name}, row {number}: {str(one)[:300]} is {str(other)[:300]} in {new}"
    return ""


def _rows(table: Path) -> Iterator[dict[str, Any]]:
    """Stream the rows of a Parquet file."""
    for batch in iter_batches([table]):
        yield from batch.to_pylist()


def refuse(uses: Sequence[str]) -> None:
    """Raise the error of a recipe that uses files, models or endpoints without consent.

    Raises:
        UsageError: always; lists what is used.
    """
    raise UsageError(
        f"this recipe reads {'; '.join(uses)}; pass --trust (Python: trust=True) to allow it",
        code="untrusted",
    )


def uses_of(recipe: Recipe, except_for: Collection[str] = ()) -> list[str]:
    """List the files, folders, models and endpoints that a recipe names, as options.

    Defaults are left out.

    Args:
        recipe: somebody's.
        except_for: fields that the user has filled in.
    """
    origin = plugin_of(recipe.kind)
    uses = [] if origin is None else [f"the plugin {origin}"]
    for flag in flags_of(type(recipe)):
        value = flag.of(recipe)
        # Nobody knows which options of a plugin name files.
        is_input = (flag.option.input or origin is not None) and flag.place[0] not in except_for
        if is_input and value not in (None, (), flag.field.default):
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            if isinstance(value, dict):  # the content of a file, pages long
                text = f"{value.get('name', 'content')} (in the manifest)"
            uses.append(f"{flag.name} {text if text.isprintable() else ascii(text)}")
    return uses


def rebuild(
    folder: Path, run: RunOptions, inputs: Sequence[str] = (), confirm: Confirm = refuse
) -> Rebuilt:
    """Build by the recipe in a manifest.

    Args:
        folder: package; of its files only the manifest is read, and the secret where it has one.
        run: where and how. Stores beside the package (``DIR.replay.db``, ``DIR.verdicts.db``) are
            taken when none are named, so that nothing is asked again.
        inputs: ``FIELD=VALUE``, or ``VALUE`` of the main one, where sources lie elsewhere now.
        confirm: asked before anything that the manifest names, and ``inputs`` does not, is read.

    Raises:
        UsageError: nobody has confirmed.
        InputError: the manifest does not hold all choices, or a source is not where it was.
        UnknownValueError: no such input.
    """
    old = load_manifest(folder)
    recipe = recipe_of(old)
    if recipe is None:
        raise InputError(
            "the manifest has no recipe",
            path=folder,
            allowed="a package made by `citeforge build`",
            code="missing-field",
        )
    own = dict(_split(recipe, text) for text in inputs)
    recipe = _with_inputs(recipe, own)
    recipe = _with_inputs(recipe, _profiles(recipe, folder))
    stores = {
        field: path
        for field, end in (("store", ".replay.db"), ("verdicts", ".verdicts.db"))
        for path in (beside(folder, end),)
        if getattr(run, field) is None and path.is_file()
    }
    uses = [*uses_of(recipe, own), *(f"--{name} {path}" for name, path in stores.items())]
    if uses:
        confirm(uses)
    recipe = _with_inputs(recipe, _packages(recipe, folder, old.config.get("benchmark_hash")))
    if isinstance(recipe, Hideable) and recipe.hidden and run.secret_from is None:
        stores["secret_from"] = folder
    return Rebuilt(old, build(recipe, run.model_copy(update=stores)))


def _split(recipe: Recipe, text: str) -> tuple[str, str]:
    """Split ``FIELD=VALUE``; without a field it is the main input."""
    inputs = [f.place[0] for f in flags_of(type(recipe)) if f.option.input and len(f.place) == 1]
    name, sign, value = text.partition("=")
    if sign and name.isidentifier():
        if name not in inputs:
            raise UnknownValueError(f"input of a {recipe.kind} recipe", name, inputs)
        return name, value
    main = next((n for n in _PACKAGES if getattr(recipe, n, None) is not None), recipe.main_input)
    return main, text


def _with_inputs(recipe: Recipe, inputs: Mapping[str, Any]) -> Recipe:
    """Replace inputs of a recipe, and validate it again."""
    try:
        return type(recipe).model_validate({**dict(recipe), **inputs})
    except ValidationError as error:
        raise UsageError(f"--source: {error.errors()[0]['msg']}", code="bad-option") from error


def _profiles(recipe: Recipe, folder: Path) -> dict[str, Judging]:
    """Find the files of judge profiles: at their paths, or beside the old package."""
    profiles = {}
    for field, judging in recipe:
        name = judging.judge_profile if isinstance(judging, Judging) else None
        if name is not None and not Path(name).is_file() and (folder.parent / name).is_file():
            profiles[field] = judging.model_copy(
                update={"judge_profile": str(folder.parent / name)}
            )
    return profiles


def _packages(recipe: Recipe, folder: Path, expected: str | None) -> dict[str, Path]:
    """Find the packages that a recipe starts from: at their paths, or beside the old one.

    Raises:
        InputError: it is not there, or is another one.
    """
    packages = {}
    for field in _PACKAGES:
        place: Path | None = getattr(recipe, field, None)
        if place is None:
            continue
        places = [place, folder.parent / place.name]
        path = next((p for p in places if p.is_dir()), None)
        if path is None:
            raise InputError(
                f"no benchmark {place.name!r}, neither here nor beside {folder}",
                path=folder,
                allowed=f"--source {field}=DIR with the benchmark of hash {expected}",
                code="missing-file",
            )
        there = load_manifest(path).benchmark_hash
        if there != expected:
            raise InputError(
                f"has the hash {there}; {folder} was made from {expected}",
                path=path,
                allowed=f"--source {field}=DIR",
                code="wrong-benchmark",
            )
        packages[field] = path
    return packages
