"""The kinds of benchmarks that there are: entry points of citeforge itself, then of plugins."""

from collections.abc import Iterator

from citeforge.engines import plugins
from citeforge.package.kind import Kind
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Recipe

_GROUP = "kinds"


def kinds() -> dict[str, Kind]:
    """Every kind by its name: ours, then plugins'; what clashes is told of and left out."""
    by_name: dict[str, Kind] = {}
    for entry in sorted(plugins.load_entries(_GROUP), key=lambda entry: bool(entry[1])):
        kind = _checked(entry)
        if kind.name not in by_name:
            by_name[kind.name] = kind
        else:
            plugins.warn(f"{entry[1]}: there is a kind of benchmark {kind.name!r} already")
    return by_name


def kind_of(manifest: Manifest, path: object = None) -> Kind:
    """The kind that a manifest names.

    Args:
        manifest: of a package.
        path: where it lies, for the message.

    Raises:
        InputError: this installation does not know it, or a plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    kind = find_kind(manifest.kind)
    if kind is None:
        plugins.require_built_in(_GROUP, manifest.kind, f"the kind of benchmark {manifest.kind!r}")
        raise InputError(
            f"is of the unknown kind {manifest.kind!r}",
            path=path,
            allowed=f"known: {', '.join(kinds())}; another may come with a plugin",
        )
    return kind


def find_kind(name: str) -> Kind | None:
    """The kind of a name; None when nobody gives it.

    Raises:
        InputError: the plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    entry = plugins.find_entry(_GROUP, name)
    return None if entry is None else _checked(entry)


def recipe_named(name: str) -> type[Recipe] | None:
    """The recipe of a kind; None where nobody gives the kind, or nothing builds it.

    Raises:
        InputError: the plugin that should give it is broken, or away.
        UsageError: two plugins give it.
    """
    kind = find_kind(name)
    if kind is None:
        plugins.require_built_in(_GROUP, name, f"the kind of benchmark {name!r}")
    return None if kind is None else kind.recipe


def recipes() -> dict[str, type[Recipe]]:
    """Recipes of all kinds that can be built, in the order of help pages."""
    return {k.name: k.recipe for k in kinds().values() if k.recipe is not None}


def ours() -> list[Kind]:
    """The kinds that no plugin gives."""
    names = (name for name, origin in plugins.entry_names(_GROUP) if not origin)
    return [kind for name in names if (kind := find_kind(name)) is not None]


def of_plugins() -> Iterator[tuple[str, str]]:
    """(name, plugin) of the other ones; none is imported."""
    return ((name, origin) for name, origin in plugins.entry_names(_GROUP) if origin)


def plugin_of(name: str) -> str | None:
    """Name and version of the plugin that gives a kind; None for ours."""
    entry = plugins.find_entry(_GROUP, name)
    return None if entry is None else entry[1] or None


def _checked(entry: tuple[object, str]) -> Kind:
    return plugins.require_type(entry, Kind, "a kind of benchmark")  # type: ignore[type-abstract]
