"""Exports that there are, ours and those of plugins, and the way from a name to a folder."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from citeforge.engines import plugins
from citeforge.engines.io.folders import atomic_directory
from citeforge.package.package import Package
from citeforge.publish.export import items, tables
from citeforge.publish.export.declared import DroppedFields, Export
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.recipes.base import Part, checked

_GROUP = "exports"
_CORE_EXPORTS = {export.name: export for export in (*tables.EXPORTS, *items.EXPORTS)}


def export(
    name: str, source: str | PathLike[str], out: str | PathLike[str], **options: Any
) -> DroppedFields:
    """Write a benchmark or scores in the layout of another tool: what ``citeforge export`` does.

    Args:
        name: of the export, such as ``beir``.
        source: benchmark, or score file or a folder of them, whichever the export is made of.
        out: folder to make.
        options: of this export, as on the command line, with ``_`` for ``-``.

    Returns:
        What the layout cannot carry, one line each.

    Raises:
        UnknownValueError: no such export or context set.
        UsageError: an option that this export does not have, or lacks.
        InputError: the folder exists, or the kind of benchmark is not exported so.
    """
    target = find_export(name)
    return write_export(target, Path(source), Path(out), checked(target.options, **options))


def write_export(target: Export, source: Path, out: Path, options: Part) -> DroppedFields:
    """Like :func:`export`, of an export that was looked up and a record of its options."""
    with atomic_directory(out) as folder:
        if target.of != "scores":
            _require_fit(target, source)
        return plugins.require_return(target.write(source, folder, options), list, target.write)


def _require_fit(export: Export, folder: Path) -> None:
    kind = Package(folder).kind
    fit = ("benchmarks", kind.shows)
    if export.of not in fit:
        reason = kind.refusal("export") or f"which is of {export.of}"
        raise InputError(
            f"cannot be exported to {export.name}, {reason}",
            path=folder,
            allowed=f"its formats: {', '.join(e.name for e in exports() if e.of in fit)}",
        )


def find_export(name: str) -> Export:
    """The export of a name.

    Raises:
        UnknownValueError: no such export.
        InputError: it comes with a plugin that this installation lacks, or that is broken.
    """
    if name in _CORE_EXPORTS:
        return _CORE_EXPORTS[name]
    if (theirs := plugins.find_typed(_GROUP, name, Export, "an export")) is not None:
        return theirs
    plugins.require_built_in(_GROUP, name, f"the format {name!r}")
    raise UnknownValueError("format", name, origins())


def exports() -> Iterator[Export]:
    """Every export: ours, then those of plugins; what is broken is told of."""
    yield from _CORE_EXPORTS.values()
    yield from (plugins.require_type(e, Export, "an export") for e in plugins.load_entries(_GROUP))


def origins() -> dict[str, str]:
    """Every export's name, ours first, to the plugin of others that gives it; none is imported."""
    ours = dict.fromkeys(_CORE_EXPORTS, "")
    return ours | dict(plugins.entry_names(_GROUP)) | ours
