"""Exports: benchmarks and scores written in the layouts of other tools.

A plugin declares an :class:`Export` as an entry point of the group ``citeforge.exports``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.folders import atomic_directory
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Part, make_record

DroppedFields = list[str]
"""Fields that a layout cannot contain, one line each."""
Source = Literal["benchmarks", "passages", "triples", "scores"]


class ContextOptions(Part):
    """Options of an export with one context per question."""

    context: str | None = None
    """Context set (default: the first one)."""


@dataclass(frozen=True)
class Export:
    """An export: the layout of another tool, and the function that writes it.

    Attributes:
        name: name for ``citeforge export``.
        help: description in one line.
        write: makes its files: (benchmark or score file, empty folder, options), and returns what
            the layout cannot carry. Raises InputError.
        options: record of its options; the command line makes its flags of the fields.
        of: its input: any benchmark, one that shows passages, one that shows triples,
            or a score file or a folder of them.
    """

    name: str
    help: str
    write: Callable[[Path, Path, Any], DroppedFields]
    options: type[Part] = Part
    of: Source = "passages"

    @property
    def form(self) -> str:
        """Name of the export, as users type it."""
        return self.name


EXPORTS: Catalogue[Export, None] = Catalogue("exports", "format", Export)
"""Exports by name; all are entry points, of citeforge or of plugins."""


def export(
    name: str, source: Package | str | PathLike[str], out: str | PathLike[str], **options: Any
) -> DroppedFields:
    """Export a benchmark or scores to another tool's layout; list what the layout drops.

    Args:
        name: of the export, such as ``beir``.
        source: benchmark (opened, a folder, or ``hub:ORG/NAME``), or score file or a folder of
            them, whichever the export is made of.
        out: folder to make.
        options: options of the export, as on the command line, with ``_`` for ``-``.

    Returns:
        What the layout cannot carry, one line each.

    Raises:
        UnknownValueError: no such export or context set.
        UsageError: an option that this export does not have, or lacks.
        InputError: the folder exists, or the kind of benchmark is not exported so.
    """
    target, path = EXPORTS.get(name), source.folder if isinstance(source, Package) else Path(source)
    return write_export(target, path, Path(out), make_record(target.options, **options))


def write_export(target: Export, source: Path, out: Path, options: Part) -> DroppedFields:
    """Write a benchmark or scores by a declared export; list what the layout drops.

    Args:
        target: the export.
        source: folder of a benchmark, or ``hub:`` name; or score files, if the export is of these.
        out: folder to make.
        options: options of the export.
    """
    if target.of != "scores":
        from citeforge.publishing.hub import local_folder  # `export --help` needs none

        source = local_folder(source)
    with atomic_directory(out) as folder:
        if target.of != "scores":
            _require_fit(target, source)
        return target.write(source, folder, options)


def _require_fit(export: Export, folder: Path) -> None:
    """Raise an error if an export's layout does not suit the kind of benchmark."""
    kind = Package(folder).kind
    fit = ("benchmarks", kind.facts.shows)
    if export.of not in fit:
        reason = kind.facts.explain_refusal("export") or f"which is of {export.of}"
        formats = ", ".join(e.name for e in EXPORTS.all().values() if e.of in fit)
        raise InputError(
            f"cannot be exported to {export.name}, {reason}",
            path=folder,
            allowed=f"its formats: {formats}",
            code="wrong-kind",
        )
