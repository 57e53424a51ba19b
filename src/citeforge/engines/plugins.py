"""Plugins of other packages (entry points) and of single files, loaded when they are asked for.

A package declares entry points in the groups ``citeforge.GROUP``; the name of each is the name of
what it gives. A file, named by ``--plugin`` or in ``CITEFORGE_PLUGINS``, has a dictionary
``PLUGINS`` of groups to lists.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions
from typing import TYPE_CHECKING, Any

from citeforge.engines.keys import error_line
from citeforge.schemas.errors import InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = tuple(
    "sources measures formats exports judges embedders llms systems kinds commands trackers".split()
)
VARIABLE = "CITEFORGE_PLUGINS"
_NAMESPACE = "citeforge"


@dataclass(frozen=True, slots=True)
class PluginEntry:
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


def add_file(path: Path) -> None:
    """Register a plugin file for this process and its child processes.

    Raises:
        UsageError: no such file.
    """
    if not path.is_file():
        raise UsageError(f"--plugin {path}: no such file", code="missing-file")
    listed = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = os.pathsep.join([*([listed] if listed else []), str(path.resolve())])
    _read_file(path.resolve())


def find_entry(group: str, name: str) -> tuple[object, str] | None:
    """Load the object with a name in a plugin group: (object, its plugin); None if unknown.

    What citeforge itself gives, with its built-in plugins, goes before all others.

    Raises:
        InputError: the plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    entries = sorted((e for e in list_entries(group) if e.name == name), key=lambda e: e.origin)
    if len(entries) > 1 and entries[0].origin:
        origins = " and ".join(e.origin for e in entries)
        raise UsageError(
            f"two plugins declare {name!r} of {group}: {origins}; remove one", code="duplicate-id"
        )
    return (_load_value(entries[0]), entries[0].origin) if entries else None


def load_entries(group: str) -> Iterator[tuple[object, str]]:
    """Yield (object, its plugin) of a plugin group; broken plugins are skipped with a warning."""
    for entry in list_entries(group):
        try:
            value = _load_value(entry)
        except InputError as error:
            warn(str(error))
            continue
        yield value, entry.origin


def list_entries(group: str) -> tuple[PluginEntry, ...]:
    """List the plugin entries of a group, of packages and plugin files; no package is imported."""
    entries = [*_package_entries(), *(e for found, _ in _file_entries() for e in found)]
    return tuple(e for e in entries if e.group == group)


def broken_plugin(label: str, origin: str, error: BaseException) -> InputError:
    """Make the error that ``label`` (such as a judge) cannot be loaded, as its plugin is broken."""
    reason = error_line(error)
    if not origin:
        return InputError(
            f"cannot load {label}: this copy of citeforge is damaged ({reason})",
            allowed="install it again: pip install --force-reinstall citeforge",
            code="broken-plugin",
        )
    return InputError(
        f"cannot load {label}: the plugin {origin} is broken ({reason})",
        allowed="fix the plugin, or uninstall it",
        code="broken-plugin",
    )


def broken_files() -> list[str]:
    """List why plugin files cannot be loaded, one text for each broken file."""
    return [problem for _, problem in _file_entries() if problem]


def with_broken_files(error: UsageError) -> UsageError:
    """Add the problems of plugin files that cannot be loaded to the error for an unknown name."""
    broken = broken_files()
    return UsageError("; ".join([str(error), *broken]), code=error.code) if broken else error


@cache
def warn(text: str) -> None:
    """Print a warning to standard error, once per text."""
    sys.stderr.write(f"warning: {text}\n")


def _load_value(entry: PluginEntry) -> object:
    """Import the object that a plugin entry declares, and check that it has the entry's name.

    Raises:
        InputError: its import fails, or its name is another.
    """
    name = f"{entry.name!r} of {entry.group}"
    try:
        value = entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a stranger's code may raise anything
        raise broken_plugin(name, entry.origin, error) from error
    if getattr(value, "name", entry.name) != entry.name:
        reason = ValueError(f"it calls itself {getattr(value, 'name', '')!r}")
        raise broken_plugin(name, entry.origin, reason)
    return value


@cache
def _package_entries() -> tuple[PluginEntry, ...]:
    """List the plugin entries that installed packages declare, without importing the packages."""
    entries: list[PluginEntry] = []
    seen: set[str] = set()
    for package in distributions():
        # Parsing the entry points of all packages takes a tenth of a command's start.
        if f"[{_NAMESPACE}." not in (package.read_text("entry_points.txt") or ""):
            continue
        if package.name in seen:  # a second copy, further down the path
            continue
        seen.add(package.name)
        origin = _package_name(package)
        for entry in package.entry_points:
            namespace, _, group = entry.group.partition(".")
            if namespace != _NAMESPACE:
                continue
            if group not in GROUPS:
                warn(f"the plugin {origin} declares {entry.group}; known: {', '.join(GROUPS)}")
            entries.append(PluginEntry(group, entry.name, origin, entry.module, entry.load))
    return tuple(sorted(entries, key=lambda e: (e.group, e.name)))


@cache
def _package_name(package: Distribution) -> str:
    """Get name and version of a package; empty for citeforge itself."""
    return "" if package.name == _NAMESPACE else f"{package.name} {package.version}"


def _file_entries() -> list[tuple[tuple[PluginEntry, ...], str]]:
    """Import all plugin files; list (plugin entries, why the import failed) of each file."""
    paths = os.environ.get(VARIABLE)
    if not paths:
        return []
    from pathlib import Path

    return [_read_file(Path(name)) for name in dict.fromkeys(paths.split(os.pathsep)) if name]


@cache
def _read_file(path: Path) -> tuple[tuple[PluginEntry, ...], str]:
    """Import a plugin file; return (its plugin entries, why the import failed or "")."""
    import hashlib

    try:
        content = path.read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        name = hashlib.sha256(bytes(path) + content).hexdigest()[:16]
        module = _import_file(path, f"citeforge_plugin_{name}")
        origin = f"{path.name} {getattr(module, '__version__', sha256[:8])}"
        return tuple(_entries_of_file(module.PLUGINS, origin, module.__name__)), ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a stranger's code may raise anything
        problem = f"the plugin {path} is broken ({error_line(error)})"
        warn(problem)
        return (), problem


def _import_file(path: Path, name: str) -> Any:
    """Import a Python file under a module name."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError("the file must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _entries_of_file(groups: Any, origin: str, module: str) -> Iterator[PluginEntry]:
    """Yield the entries of a plugin file, declared by group in its dictionary ``PLUGINS``.

    Args:
        groups: group to its objects, as the file declares them.
        origin: name and version of the file.
        module: name under which the file was imported.
    """
    for group, values in dict(groups).items():
        if group not in GROUPS:
            raise ValueError(f"PLUGINS has the group {group!r}; known: {', '.join(GROUPS)}")
        for value in values:
            if not isinstance(value.name, str):
                raise ValueError(f"PLUGINS names something of {group} {value.name!r}; a text")
            yield PluginEntry(group, value.name, origin, module, lambda value=value: value)  # type: ignore[misc]


class PluginProxy:
    """Wraps an object of a plugin: its identity also names the plugin."""

    def __init__(self, inner: Any, origin: str) -> None:
        """Wrap an object of the plugin ``origin`` (name and version)."""
        self._inner, self._origin = inner, origin

    def __getattr__(self, name: str) -> Any:
        """Pass every other attribute on to the wrapped object."""
        return getattr(self._inner, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Class of the wrapped object: from Python 3.12 on, protocols see no forwarded methods."""
        return type(self._inner)

    @property
    def signature(self) -> str:
        """Signature of the wrapped judge, with the plugin's name."""
        return f"{self._inner.signature}({self._origin})"

    def identity(self) -> dict[str, Any]:
        """Describe the plugin's judge or LLM for manifests, with the plugin's name."""
        return {**self._inner.identity(), "plugin": self._origin}

    def fingerprint(self) -> dict[str, Any]:
        """Describe the wrapped embedder, with the plugin's name."""
        return {**self._inner.fingerprint(), "plugin": self._origin}

    def info(self) -> Any:
        """Describe the wrapped source, with the plugin's name."""
        return self._inner.info().model_copy(update={"plugin": self._origin})
