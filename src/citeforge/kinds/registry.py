"""The kinds that there are: ours, and what plugins give. A new one is a file and a line below."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from citeforge.engines import plugins
from citeforge.kinds.kind import Kind
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes import Recipe

_OURS = {
    "rage": "citeforge.kinds.rage:RAGE",
    "hagrid": "citeforge.kinds.answers:HAGRID",
    "alce": "citeforge.kinds.answers:ALCE",
    "twins": "citeforge.kinds.twins:TWINS",
    "authorship": "citeforge.kinds.authorship:AUTHORSHIP",
    "kalma": "citeforge.kinds.kalma:KALMA",
    "deflection": "citeforge.kinds.bundles:DEFLECTION",
    "faithfulness": "citeforge.kinds.bundles:FAITHFULNESS",
    "position": "citeforge.kinds.bundles:POSITION",
}


@cache
def _ours(name: str) -> Kind:
    module, _, constant = _OURS[name].partition(":")
    found: Kind = getattr(import_module(module), constant)
    return found


def kinds() -> dict[str, Kind]:
    """Every kind by its name: ours, then plugins'; what clashes is told of and left out."""
    found = {k.name: k for k in ours()}
    for value, origin in plugins.found("kinds"):
        kind = _checked(value, origin)
        if kind.name in found:
            plugins.warn(f"{origin}: there is a kind of benchmark {kind.name!r} already")
            continue
        found[kind.name] = kind
    return found


def kind_of(manifest: Manifest, path: object = None) -> Kind:
    """The kind that a manifest names.

    Args:
        manifest: of a package.
        path: where it lies, for the message.

    Raises:
        InputError: this installation does not know it, or a plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    found = find(manifest.kind)
    if found is None:
        raise InputError(
            f"is of the unknown kind {manifest.kind!r}",
            path=path,
            allowed=f"known: {', '.join(kinds())}; another may come with a plugin",
        )
    return found


def find(name: str) -> Kind | None:
    """The kind of a name; None when nobody gives it.

    Raises:
        InputError: the plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    if name in _OURS:
        return _ours(name)
    theirs = plugins.find("kinds", name)
    return None if theirs is None else _checked(*theirs)


def recipe_named(name: str) -> type[Recipe] | None:
    """The recipe of a kind; None where nobody gives the kind, or nothing builds it.

    Raises:
        InputError: the plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    kind = find(name)
    return None if kind is None or kind.builder is None else kind.recipe


def recipes() -> dict[str, type[Recipe]]:
    """Recipes of all kinds that can be built, in the order of help pages."""
    return {n: k.recipe for n, k in kinds().items() if k.recipe and k.builder}


def ours() -> list[Kind]:
    """The kinds that no plugin gives."""
    return [_ours(name) for name in _OURS]


def of_plugins() -> Iterator[tuple[str, str]]:
    """(name, plugin) of the other ones; none is imported."""
    return plugins.named("kinds")


def origin_of(name: str) -> str | None:
    """Name and version of the plugin that gives a kind; None for ours."""
    theirs = None if name in _OURS else plugins.find("kinds", name)
    return None if theirs is None else theirs[1]


def _checked(value: object, origin: str) -> Kind:
    if not isinstance(value, Kind):
        reason = TypeError(f"it is of type {type(value).__name__}, not Kind")
        raise plugins.broken("a kind of benchmark", origin, reason)
    return value
