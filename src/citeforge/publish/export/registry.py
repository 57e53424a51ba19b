"""Formats that packages are exported to. A new one is a function and a line here."""

from __future__ import annotations

from pathlib import Path

from citeforge.builders.derive import Base
from citeforge.engines.folders import whole_folder
from citeforge.publish.export import items, tables
from citeforge.publish.export.tables import Lost
from citeforge.schemas.errors import UnknownValueError

_WHOLE = {
    "beir": tables.export_beir,
    "mteb": tables.export_mteb,
    "trec": tables.export_trec,
    "rage-toolkit": tables.export_rage,
    "hf-csv": tables.export_csv,
}
_ITEMS = {
    "alce": items.export_alce,
    "attrieval": items.export_attrieval,
    "attributed-ir": items.export_attributed_ir,
}
FORMATS = (*_WHOLE, *_ITEMS, "kalma")


def export(name: str, folder: Path, out: Path, context: str | None = None) -> Lost:
    """Write a package in another layout.

    Args:
        name: format.
        folder: package.
        out: folder to make.
        context: context set, for formats with one context a question; None for the first.

    Returns:
        What the format cannot carry.

    Raises:
        UnknownValueError: no such format or context set.
        InputError: the folder exists, or the package cannot be put into this format.
    """
    if name not in FORMATS:
        raise UnknownValueError("format", name, FORMATS)
    with whole_folder(out) as made:
        if name == "kalma":
            return items.export_kalma(folder, made, context)
        base = Base(folder)
        if context is not None and context not in base.manifest.contexts:
            raise UnknownValueError("context", context, base.manifest.contexts)
        if name in _WHOLE:
            return _WHOLE[name](base, made)
        return _ITEMS[name](base, made, context)
