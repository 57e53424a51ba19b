"""What installed packages declare for us in ``entry_points.txt``.

``importlib.metadata`` reads the same. It imports the e-mail package and parses the metadata of
each package, which is half of what ``citeforge --help`` would take.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import NamedTuple

_NAMESPACE = "citeforge"


class PluginEntry(NamedTuple):
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
            names = [
                n for n in os.listdir(folder or ".") if n.endswith((".dist-info", ".egg-info"))
            ]
        except OSError:  # a zip file, or nothing
            continue
        for name in names:
            package = name.rpartition(".")[0].partition("-")[0].lower().replace(".", "_")
            if package not in packages:
                packages.add(package)
                yield from _read(os.path.join(folder, name), package)


def _read(metadata: str, package: str) -> Iterator[PluginEntry]:
    try:
        with open(os.path.join(metadata, "entry_points.txt"), "rb", 0) as file:
            content = file.read()
    except OSError:  # most packages declare nothing
        return
    if b"[citeforge." not in content:
        return
    group, origin = "", ""
    if package != _NAMESPACE:
        from importlib.metadata import Distribution

        package_metadata = Distribution.at(metadata)
        origin = f"{package_metadata.name} {package_metadata.version}"
    for line in content.decode("utf-8").splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("["):
            group = line.strip("[] ")
        elif equals and group.startswith(f"{_NAMESPACE}.") and not line.startswith("#"):
            module, _, place = (part.strip() for part in value.partition("[")[0].partition(":"))
            load = partial(_load, module, place)
            yield PluginEntry(group.partition(".")[2], name, origin, module, load)


def _load(module: str, place: str) -> object:
    return attrgetter(place)(import_module(module)) if place else import_module(module)
