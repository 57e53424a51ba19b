"""Rebuilding of a package from its manifest alone."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from citeforge.builders.build import check_options
from citeforge.builders.changes import find_recipe
from citeforge.engines.folders import path_beside
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.report_table import Displayed, Table
from citeforge.engines.tables import iter_batches
from citeforge.engines.textfiles import count_text
from citeforge.package.kinds import kind_of_recipe, plugin_of
from citeforge.package.manifest import load_manifest
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.manifest import Manifest, is_hashed
from citeforge.schemas.recipes.base import Judging, Recipe, RunOptions, hides_labels
from citeforge.schemas.recipes.flags import list_flags

_PACKAGES = ("benchmark", "twins")
"""Fields that name the package that a benchmark is made of; manifests keep its name alone."""
KEEP_FROM = "keep_from"
"""Field that names an earlier package, of which queries are kept."""
_HASHES = dict.fromkeys(_PACKAGES, "benchmark_hash") | {KEEP_FROM: "kept_from_hash"}
"""Fields that name a package, to where a manifest's ``config`` has its hash."""
Confirm = Callable[[Sequence[str]], None]
"""Called with what a recipe uses: returns if the user allows it, else raises."""


@dataclass(frozen=True)
class UpdateOptions:
    """How an update handles passages that are judged and no longer in the corpus.

    Attributes:
        skip_dangling: skip, and count, their judgements; False for an error.
        allow_no_relevant: keep queries without any relevant passage; False for an error.
    """

    skip_dangling: bool = False
    allow_no_relevant: bool = False


@dataclass(frozen=True, repr=False)
class Rebuilt(Displayed):
    """Result of a rebuild: the manifests of the old and the new package.

    Attributes:
        old: manifest of the package.
        new: manifest of what was made.
    """

    old: Manifest
    new: Manifest

    @property
    def equal(self) -> bool:
        """Whether all tables of the old and the new package are equal, byte for byte."""
        return self.old.benchmark_hash == self.new.benchmark_hash

    @property
    def differing_tables(self) -> list[str]:
        """Names of table files that differ or that only one package has, except cosines."""
        names = {n for m in (self.old, self.new) for n in m.files if is_hashed(n)}
        return sorted(n for n in names if self.old.files.get(n) != self.new.files.get(n))

    def _headline(self) -> str:
        """Say in one line how many tables of the rebuilt package differ."""
        n = len(self.differing_tables)
        outcome = f"differences in {count_text(n, 'table')}" if n else "all tables are equal"
        return f"{self.old.name} made again: {outcome}"

    def _tables(self) -> Iterator[Table]:
        """Make the table of names of tables that differ after a rebuild."""
        yield Table(["tables that differ"], [[name] for name in self.differing_tables])


def first_difference(old: Path, new: Path, tables: Sequence[str]) -> str:
    """Describe the first row in which two packages differ; "" if their rows are all equal.

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
        pairs = zip_longest(_read_rows(old / name), _read_rows(new / name))
        for number, (one, other) in enumerate(pairs, 1):
            if one != other:
                return f"{name}, row {number}: {str(one)[:300]} is {str(other)[:300]} in {new}"
    return ""


def _read_rows(table: Path) -> Iterator[dict[str, Any]]:
    """Stream the rows of a Parquet file."""
    for batch in iter_batches([table]):
        yield from batch.to_pylist()


def refuse_untrusted(resources: Sequence[str]) -> None:
    """Raise an error that lists files, models and endpoints that an untrusted recipe uses.

    Raises:
        UsageError: always; lists what is used.
    """
    raise UsageError(
        f"this recipe uses {'; '.join(resources)}; pass --trust (Python: trust=True) to allow it",
        code="untrusted",
    )


def list_resources(recipe: Recipe, except_for: Collection[str] = ()) -> list[str]:
    """List, as command-line options, the files, models and endpoints that a recipe uses.

    Defaults are left out, and ``none``, which names no model.

    Args:
        recipe: recipe of another user.
        except_for: fields that the user gives values for.
    """
    origin = plugin_of(recipe.kind)
    uses = [] if origin is None else [f"the plugin {origin}"]
    for flag in list_flags(type(recipe)):
        value = flag.read_from(recipe)
        # Any option of a plugin may name files.
        is_input = flag.option.input or origin is not None
        is_input = is_input and flag.field_path[0] not in except_for
        is_none = value == "none" and origin is None
        if is_input and not is_none and value not in (None, (), flag.field.default):
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            if isinstance(value, dict):  # the content of a file, pages long
                text = f"{value.get('name', 'content')} (in the manifest)"
            uses.append(f"{flag.name} {text if text.isprintable() else ascii(text)}")
    uses += (text if text.isprintable() else ascii(text) for text in recipe.content_inputs())
    return uses


def rebuild(
    folder: Path, run: RunOptions, inputs: Sequence[str] = (), confirm: Confirm = refuse_untrusted
) -> Rebuilt:
    """Build a package again by its recipe, if ``confirm`` allows its inputs; compare the tables.

    Args:
        folder: package; of its files only the manifest is read, and the secret where it has one.
        run: options of the run. If it names no stores, those beside the package are used
            (``DIR.replay.db``, ``DIR.verdicts.db``), so that nothing is asked again.
        inputs: ``FIELD=VALUE``, or ``VALUE`` of the main input, for sources that have moved.
        confirm: called before anything that the manifest names, and ``inputs`` does not, is read;
            but a file of settings is, to list what it names.

    Raises:
        UsageError: the user has not confirmed.
        InputError: the manifest lacks choices, or a source has moved.
        UnknownValueError: no such input.
    """
    old, recipe, run = _prepare(folder, run, inputs, confirm)
    return Rebuilt(old, kind_of_recipe(recipe).build(recipe, run))


def update(
    folder: Path,
    run: RunOptions,
    inputs: Sequence[str] = (),
    confirm: Confirm = refuse_untrusted,
    update_options: UpdateOptions = UpdateOptions(),
) -> Manifest:
    """Build a package for inputs that changed, by its recipe; keep the queries that did not change.

    Args:
        folder: the earlier package.
        run: options of the run, completed as for :func:`rebuild`.
        inputs: ``FIELD=VALUE``, or ``VALUE`` of the main input, of changed or moved inputs.
        confirm: as for :func:`rebuild`.
        update_options: how judgements of passages that are gone are handled.

    Raises:
        UsageError: no queries can be kept of such a benchmark, or the user has not confirmed.
        InputError: the manifest lacks choices, or a source has moved.
    """
    _, recipe, run = _prepare(folder, run, inputs, confirm, update_options)
    return kind_of_recipe(recipe).build(recipe, run)


def plan_rebuild(
    folder: Path, run: RunOptions, inputs: Sequence[str] = (), confirm: Confirm = refuse_untrusted,
    update_options: UpdateOptions | None = None,
) -> RunPlan:  # fmt: skip
    """Count the model calls of a rebuild or update, and their cost, without making any.

    Args:
        folder: package to make again.
        run: options of the run.
        inputs: new locations of inputs that have moved, ``[FIELD=]VALUE``.
        confirm: called with what the recipe uses; raises if the user refuses.
        update_options: count those of :func:`update`; None for those of :func:`rebuild`.
    """
    _, recipe, run = _prepare(folder, run, inputs, confirm, update_options)
    return kind_of_recipe(recipe).plan(recipe, run)


def _prepare(
    folder: Path,
    run: RunOptions,
    inputs: Sequence[str],
    confirm: Confirm,
    update_options: UpdateOptions | None = None,
) -> tuple[Manifest, Recipe, RunOptions]:
    """Read (manifest, recipe with new inputs, completed run options) for a rebuild.

    Args:
        folder: the package.
        run: options that the user gives; stores beside the package are added.
        inputs: new locations of inputs, ``FIELD=VALUE`` or the value of the main input.
        confirm: called with what the recipe uses; raises if the user refuses.
        update_options: keep the queries of the package that did not change; None to make all anew.

    Returns:
        (manifest, recipe with new locations, options).

    Raises:
        UsageError: no queries can be kept of such a benchmark.
    """
    old = load_manifest(folder)
    recipe = find_recipe(old)
    if recipe is None:
        raise InputError(
            "the manifest has no recipe",
            path=folder,
            allowed="a package made by `citeforge build`",
            code="missing-field",
        )
    own: dict[str, Any] = dict(_split_assignment(recipe, text) for text in inputs)
    if update_options is not None:
        if KEEP_FROM not in type(recipe).model_fields:
            raise UsageError(
                f"--keep: build {recipe.kind} makes all queries anew", code="option-without-effect"
            )
        own[KEEP_FROM] = folder
        for field, is_wanted in asdict(update_options).items():
            if is_wanted and field not in type(recipe).model_fields:
                raise UsageError(
                    f"--{field.replace('_', '-')}: build {recipe.kind} has no such option",
                    code="option-without-effect",
                )
            own |= {field: True} if is_wanted else {}
    recipe = _replace_inputs(recipe, own)
    recipe = _replace_inputs(recipe, _find_profiles(recipe, folder))
    stores = {
        field: path
        for field, end in (("store", ".replay.db"), ("verdicts", ".verdicts.db"))
        for path in (path_beside(folder, end),)
        if getattr(run, field) is None and path.is_file()
    }
    uses = [*list_resources(recipe, own), *(f"--{name} {path}" for name, path in stores.items())]
    if uses:
        confirm(uses)
    expected = {**old.config, **({"kept_from_hash": old.benchmark_hash} if update_options else {})}
    recipe = _replace_inputs(recipe, _find_packages(recipe, folder, expected))
    if hides_labels(recipe) and run.secret_from is None:
        stores["secret_from"] = folder
    run = run.model_copy(update=stores)
    check_options(recipe, run)
    return old, recipe, run


def _split_assignment(recipe: Recipe, text: str) -> tuple[str, str]:
    """Split ``FIELD=VALUE`` into (field, value); without a field it is the main input.

    Raises:
        UnknownValueError: the recipe has no such input.
    """
    inputs = [
        f.field_path[0]
        for f in list_flags(type(recipe))
        if f.option.input and len(f.field_path) == 1
    ]
    name, sign, value = text.partition("=")
    if sign and name.isidentifier():
        if name not in inputs:
            raise UnknownValueError(f"input of a {recipe.kind} recipe", name, inputs)
        return name, value
    main = next((n for n in _PACKAGES if getattr(recipe, n, None) is not None), recipe.main_input)
    return main, text


def _replace_inputs(recipe: Recipe, inputs: Mapping[str, Any]) -> Recipe:
    """Replace the given input fields of a recipe (field to value), and validate it again."""
    several = {k for k, v in recipe if isinstance(v, tuple)}
    values = {
        k: (v,) if k in several and not isinstance(v, tuple) else v for k, v in inputs.items()
    }
    try:
        return type(recipe).model_validate({**dict(recipe), **values})
    except ValidationError as error:
        raise UsageError(f"--source: {error.errors()[0]['msg']}", code="bad-option") from error


def _find_profiles(recipe: Recipe, folder: Path) -> dict[str, Judging]:
    """Map fields to judge profiles found beside the package, where their recorded path is gone.

    Returns:
        Field of the recipe to its value with the new path.
    """
    profiles = {}
    for field, judging in recipe:
        name = judging.judge_profile if isinstance(judging, Judging) else None
        if name is not None and not Path(name).is_file() and (folder.parent / name).is_file():
            profiles[field] = judging.model_copy(
                update={"judge_profile": str(folder.parent / name)}
            )
    return profiles


def _find_packages(recipe: Recipe, folder: Path, config: Mapping[str, Any]) -> dict[str, Path]:
    """Find the packages that a recipe starts from: recipe field to folder.

    Args:
        recipe: recipe of a derived benchmark.
        folder: old package of it.
        config: what its manifest records, with the hashes of the packages that it was made from.

    Returns:
        Field of the recipe to the folder of the package.

    Raises:
        InputError: it is not there, or is another one.
    """
    packages = {}
    for field, name in _HASHES.items():
        benchmark: Path | None = getattr(recipe, field, None)
        if benchmark is None:
            continue
        expected = config.get(name)
        candidates = [benchmark, folder.parent / benchmark.name]
        path = next((p for p in candidates if p.is_dir()), None)
        if path is None:
            raise InputError(
                f"no benchmark {benchmark.name!r}, neither here nor beside {folder}",
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
