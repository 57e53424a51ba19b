"""Entry points that installed packages declare in the groups ``citeforge.…``."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import Distribution
from importlib.metadata import entry_points as all_entry_points
from typing import NamedTuple

_NAMESPACE = "citeforge"


class PluginEntry(NamedTuple):
    """Entry point of a plugin.

    Attributes:
        group: one of GROUPS.
        name: name of the entry.
        origin: name and version of the plugin; empty for built-in ones.
        module: module of its code.
        load: imports it.
    """

    group: str
    name: str
    origin: str
    module: str
    load: Callable[[], object]


def entry_points() -> Iterator[PluginEntry]:
    """List the entry points of all groups of ours; nothing is imported."""
    declared = all_entry_points()
    for full_name in sorted(declared.groups):
        namespace, _, group = full_name.partition(".")
        for entry in declared.select(group=full_name) if namespace == _NAMESPACE else ():
            origin = "" if entry.dist is None else _origin(entry.dist)
            yield PluginEntry(group, entry.name, origin, entry.module, entry.load)


@cache
def _origin(package: Distribution) -> str:
    """Name and version of a package; empty for citeforge itself."""
    return "" if package.name == _NAMESPACE else f"{package.name} {package.version}"
