"""Differences between a recipe and an earlier build, and the command that repeats a build."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from citeforge.package.kinds import recipe_named
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe
from citeforge.schemas.recipes.flags import command_words
from citeforge.schemas.sources import without_folders

_MOST_LISTED = 6
_SHA256 = re.compile("[0-9a-f]{64}")


def find_recipe(manifest: Manifest) -> Recipe | None:
    """Read a package's recipe from its manifest; None if the manifest does not have all of it."""
    record = recipe_named(manifest.kind)
    try:
        return None if record is None else record.from_manifest(manifest)
    except (LookupError, ValidationError):
        return None


def open_earlier(recipe: Recipe, folder: Path | None) -> Package | None:
    """Open the package whose unchanged queries a build takes over; None without a folder.

    Args:
        recipe: of the build.
        folder: of the package.

    Raises:
        InputError: it is damaged, or of another kind.
    """
    if folder is None:
        return None
    old = Package(folder)
    if not isinstance(recipe, recipe_named(old.manifest.kind) or ()):
        raise InputError(
            f"is a {old.manifest.kind} benchmark", path=old.folder, code="wrong-kind",
            allowed=f"--keep-from with a package of `citeforge build {recipe.kind}`",
        )  # fmt: skip
    return old


def recipe_differences(earlier: Manifest, draft: Manifest) -> list[str]:
    """List differences from a package to a new build (its ``draft``), as ``field: old → new``.

    Args:
        earlier: manifest of a finished package.
        draft: manifest of a build before its tables are made. Models that it does not name yet,
            and of those that it names, what it does not say yet, are not compared.
    """
    differences = list(list_differences("citeforge", earlier.citeforge, draft.citeforge))
    differences += option_differences(earlier, draft)
    facts = [{k: v for k, v in m.config.items() if k not in _options(m)} for m in (earlier, draft)]
    shared = facts[0].keys() & facts[1].keys()
    for name in sorted(shared):
        differences += list_differences(
            name, facts[0][name], json.loads(json.dumps(facts[1][name]))
        )
    differences += list_differences(
        "grammar", earlier.grammar.model_dump(), draft.grammar.model_dump()
    )
    for role, model in draft.models.items():
        old = earlier.models.get(role)
        mine = None if old is None else {k: v for k, v in old.items() if k in model}
        differences += list_differences(role, mine, json.loads(json.dumps(model)))
    source_option_changed = any(text.startswith("source: ") for text in differences)
    differences += _source_differences(earlier, draft, source_option_changed)
    return differences


def option_differences(old: Manifest, draft: Manifest) -> list[str]:
    """List the recipe options in which two builds differ, as ``field: old → new``.

    Args:
        old: manifest of the earlier build.
        draft: manifest of the new one, before its tables are made.
    """
    differences: list[str] = []
    for field in ("kind", "name", "licence"):
        differences += list_differences(field, getattr(old, field), getattr(draft, field))
    return [*differences, *list_differences("", _options(old), _options(draft))]


def _options(manifest: Manifest) -> dict[str, Any]:
    """Get the recipe's options from a manifest; all of ``config`` if the kind is unknown."""
    recipe = find_recipe(manifest)
    return manifest.config if recipe is None else recipe.recorded()


def _source_facts(manifest: Manifest) -> dict[str, Any]:
    """Map each source of a package to its files, revision and licence."""
    return {
        s.spec: {"files": s.files, "revision": s.revision, "licence": s.licence}
        for s in manifest.sources
    }


def _source_differences(
    earlier: Manifest, draft: Manifest, source_option_changed: bool
) -> Iterator[str]:
    """Yield ``field: old → new`` of changed sources; renamed sources are paired in order.

    Args:
        earlier: manifest of the earlier build.
        draft: manifest of the new one.
        source_option_changed: whether the builds differ in the option that names the source.
    """
    old, new = _source_facts(earlier), _source_facts(draft)
    for spec in [spec for spec in old if spec in new]:
        yield from list_differences(f"sources.{spec}", old[spec], new[spec])
    renamed = zip_longest((s for s in old if s not in new), (s for s in new if s not in old))
    for one, other in renamed:
        if not source_option_changed or one is None or other is None:
            yield f"sources: {_value_text(one)} → {_value_text(other)}"
        if one is not None and other is not None:
            yield from list_differences(f"sources.{other}", old[one], new[other])


def list_differences(json_path: str, old: Any, new: Any) -> Iterator[str]:
    """Yield ``field: old → new`` of the differences between two JSON values, at any depth.

    Args:
        json_path: path of the values in their file; empty for a whole file.
        old: value in the earlier file.
        new: value in the new one.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{json_path}.{key}" if json_path else str(key)
            yield from list_differences(inner, old.get(key), new.get(key))
    elif old != new:
        yield f"{json_path}: {_value_text(old)} → {_value_text(new)}"


def _value_text(value: Any) -> str:
    """Write a JSON value in at most 60 characters, a hash in 12; "nothing" if absent or null."""
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if _SHA256.fullmatch(text):
        return f"{text[:12]}…"
    return text if len(text) <= 60 else f"{text[:57]}…"


def require_same_recipe(old: Manifest, draft: Manifest, out: Path) -> None:
    """Raise an error if a finished package was made by another recipe than this build's.

    Args:
        old: manifest of the finished package.
        draft: manifest of this build, before its tables are made.
        out: folder of the package.

    Raises:
        InputError: names what differs.
    """
    _refuse_other_recipe("a finished package", recipe_differences(old, draft), out, "another --out")


def require_same_options(unfinished: Manifest, draft: Manifest, folder: Path) -> None:
    """Raise an error if an unfinished build was begun with other recipe options.

    A changed source, model or library is no other recipe: the stages notice it by their keys.

    Args:
        unfinished: manifest that the unfinished build drafted.
        draft: manifest of this build, before its tables are made.
        folder: working folder of both.

    Raises:
        InputError: names what differs.
    """
    advice = "the options it began with, another --out"
    _refuse_other_recipe("a half-done build", option_differences(unfinished, draft), folder, advice)


def _refuse_other_recipe(
    description: str, differences: Sequence[str], path: Path, advice: str
) -> None:
    """Raise an error that lists the differences between two recipes, if there are any.

    Args:
        description: noun for what is there, such as ``a finished package``.
        differences: ``field: old → new`` of each.
        path: folder of the package.
        advice: what the user can do.
    """
    if differences:
        listed = "; ".join(differences[:_MOST_LISTED])
        more = len(differences) - _MOST_LISTED
        ending = f"; and {more} more" if more > 0 else ""
        raise InputError(
            f"is {description} of another recipe ({listed}{ending})",
            path=path,
            allowed=f"{advice}, or --overwrite",
            code="recipe-changed",
        )


def make_build_command(manifest: Manifest) -> str | None:
    """Write the ``citeforge build`` command that repeats a build; None if choices are missing.

    Folders are written as their names, without the paths of the machine of the build. Manifests of
    packages that another program made do not have all choices.
    """
    if manifest.config.get("hidden_gold"):
        return "citeforge publish … --hide-gold"
    recipe = find_recipe(manifest)
    if recipe is None:
        return None
    named = recipe.with_file_names().with_recorded_files(manifest.config)
    unnamed = named.model_copy(update={"name": None})
    options = map(without_folders, command_words(unnamed))
    words = ["citeforge", "build", manifest.kind, *options, "--out", manifest.name]
    return shlex.join(words)
