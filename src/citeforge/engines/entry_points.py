"""What installed packages declare for us in ``entry_points.txt``.

``importlib.metadata`` reads the same. It imports the e-mail package and parses the metadata of
each package, which is half of what ``citeforge --help`` would take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path

_NAMESPACE = "citeforge"


@dataclass(frozen=True)
class PluginEntry:
    """Something that a plugin gives.

    Attributes:
        group: one of GROUPS.
        name: how it is called.
        origin: name and version of the plugin.
        module: where its code is; empty where that is not known.
        load: imports it.
    """

    group: str
    name: str
    origin: str
    module: str
    load: Callable[[], object]


def entry_points() -> Iterator[PluginEntry]:
    """Those of groups ``citeforge.…``. Of two packages of one name the first on the path counts."""
    packages: set[str] = set()
    for folder in sys.path:
        try:
            entries = list(Path(folder).iterdir())
        except OSError:  # a zip file, or nothing
            continue
        for entry in entries:
            package = entry.stem.partition("-")[0].lower().replace(".", "_")
            if entry.suffix in (".dist-info", ".egg-info") and package not in packages:
                packages.add(package)
                yield from _read(entry, package)


def _read(metadata: Path, package: str) -> Iterator[PluginEntry]:
    try:
        text = (metadata / "entry_points.txt").read_text(encoding="utf-8")
    except OSError:  # most packages declare nothing
        return
    group, origin = "", ""
    if package != _NAMESPACE and f"[{_NAMESPACE}." in text:
        from importlib.metadata import Distribution

        package_metadata = Distribution.at(metadata)
        origin = f"{package_metadata.name} {package_metadata.version}"
    for line in text.splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("["):
            group = line.strip("[] ")
        elif equals and group.startswith(f"{_NAMESPACE}.") and not line.startswith("#"):
            module, _, place = (part.strip() for part in value.partition("[")[0].partition(":"))
            load = partial(_load, module, place)
            yield PluginEntry(group.partition(".")[2], name, origin, module, load)


def _load(module: str, place: str) -> object:
    return attrgetter(place)(import_module(module)) if place else import_module(module)
