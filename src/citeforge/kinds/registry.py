"""The kinds that there are. A new one is a file here and a line below."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from citeforge.kinds.kind import Kind
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest

_BUILT_IN = {
    "rage": "rage:RAGE",
    "hagrid": "answers:HAGRID",
    "alce": "answers:ALCE",
    "twins": "twins:TWINS",
    "authorship": "authorship:AUTHORSHIP",
    "kalma": "kalma:KALMA",
}


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind by its name."""
    found = {}
    for name, place in _BUILT_IN.items():
        module, _, constant = place.partition(":")
        kind: Kind = getattr(import_module(f"citeforge.kinds.{module}"), constant)
        found[name] = kind
    return found


def kind_of(manifest: Manifest, path: object = None) -> Kind:
    """The kind that a manifest names.

    Args:
        manifest: of a package.
        path: where it lies, for the message.

    Raises:
        InputError: this installation does not know it.
    """
    known = kinds()
    if manifest.kind not in known:
        raise InputError(
            f"is of the unknown kind {manifest.kind!r}",
            path=path,
            allowed=f"known: {', '.join(known)}; another may come with a plugin",
        )
    return known[manifest.kind]
