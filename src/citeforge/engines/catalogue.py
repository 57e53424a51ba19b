"""The catalogue of what users can name: rows of citeforge and of plugins, one list per sort."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from citeforge.engines import plugins
from citeforge.engines.keys import mask_address
from citeforge.schemas.catalogue import Named, listed
from citeforge.schemas.errors import (
    CiteforgeError,
    InputError,
    UnknownValueError,
    UsageError,
    require,
    suggestion,
    write_advice,
)

D = TypeVar("D", bound=Named)
T = TypeVar("T")
_DOTS = ("./", "../")
"""Beginnings of a model's name that is a path."""


class Catalogue(Generic[D, T]):
    """Rows of one sort (such as formats), by name: built-in ones and those of plugins.

    Rows of some sorts make objects, such as judges, from ``name:argument`` or ``name``.

    Built-in ones go before those of plugins. A plugin is imported when its name is looked up.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        record: type[D],
        built_in: Iterable[D] = (),
        option: str = "",
        requires: str = "",
        unknown: Callable[[str], UsageError] | None = None,
    ) -> None:
        """Set up a catalogue of declarations (of a ``noun``), built-in and of a plugin group.

        Args:
            group: one of :data:`citeforge.engines.plugins.GROUPS`; empty for a sort that no plugin
                gives.
            noun: noun for one declaration.
            record: class of the declarations.
            built_in: built-in declarations that are no entry points; one without a name takes
                every name that no other has.
            option: option that names the objects, for errors; empty for errors with the noun.
            requires: attributes that an object of a plugin must have, separated by spaces.
            unknown: makes the error for an unknown name; None for one that lists all names.
        """
        self.group, self.noun, self.option = group, noun, option
        self._record, self._requires = record, requires.split()
        self._ours = {declared.name: declared for declared in built_in}
        self._unknown = unknown or (
            self.unknown_value_error if option else self._unlisted_name_error
        )

    def get(self, name: str) -> D:
        """Get the declaration of a name (such as a judge's), built-in or from a plugin.

        Raises:
            UsageError: nothing has such a name, or two plugins give it.
            InputError: the plugin that gives it is broken.
        """
        found = self.find(name)
        if found is None:
            raise self._unknown_name_error(name)
        return found

    def find(self, name: str) -> D | None:
        """Find the declaration of a name, built-in or from a plugin; None if it is unknown.

        Raises:
            UsageError: two plugins give it.
            InputError: the plugin that gives it is broken.
        """
        if name in self._ours:
            self._warn_of_hidden(name)
            return self._ours[name]
        entry = plugins.find_entry(self.group, name)
        if entry is None:
            return None
        value, origin = entry
        if not origin:
            self._warn_of_hidden(name)
        return self._require_record(value, origin)

    def all(self) -> dict[str, D]:
        """Load the declarations by name, built-in ones first; warn of plugins that are left out.

        Returns:
            Declarations by name.
        """
        found = dict(self._ours)
        for value, origin in sorted(plugins.load_entries(self.group), key=lambda e: bool(e[1])):
            try:
                declared = self._require_record(value, origin)
            except InputError as error:
                plugins.warn(str(error))
                continue
            if declared.name not in found:
                found[declared.name] = declared
            else:
                plugins.warn(f"{origin}: there is a {self.noun} {declared.name!r} already")
        return found

    def names(self) -> dict[str, str]:
        """Map each name in the catalogue to its plugin (empty for built-in ones)."""
        entries = sorted(plugins.list_entries(self.group), key=lambda entry: bool(entry.origin))
        names = dict.fromkeys(self._ours, "")
        for entry in entries:
            names.setdefault(entry.name, entry.origin)
        return names

    def list_forms(self) -> str:
        """Write the values that users can type as text: ``hf:MODEL, table:FILE or lexical``."""
        return listed(self.all().values())

    def _warn_of_hidden(self, name: str) -> None:
        """Warn of plugins that declare this built-in name, since the built-in one is used."""
        for entry in plugins.list_entries(self.group):
            if entry.origin and entry.name == name:
                plugins.warn(
                    f"{entry.origin}: there is a {self.noun} {name!r} already; citeforge's is used"
                )

    def _require_record(self, value: object, origin: str) -> D:
        """Return a plugin's declaration; raise an error if it is not of the catalogue's class."""
        if isinstance(value, self._record):
            return value
        problem = TypeError(f"it is of type {type(value).__name__}, not {self._record.__name__}")
        name = getattr(value, "name", "")
        raise plugins.broken_plugin(f"{name!r} of {self.group}", origin, problem)

    def _unknown_name_error(self, name: str, option: str = "") -> UsageError:
        """Make the error for an unknown name, with the plugin files that failed to load."""
        error = self.unknown_value_error(name, option) if option else self._unknown(name)
        return plugins.with_broken_files(error)

    def _unlisted_name_error(self, name: str) -> UsageError:
        """Make the error for an unknown name of a catalogue, listing the known names."""
        return UnknownValueError(self.noun, name, self.names())

    def unknown_value_error(self, spec: str, option: str = "") -> UsageError:
        """Make the error for an unknown value of an option (by default the catalogue's own)."""
        name, _, _ = spec.partition(":")
        hint = suggestion(name, [known for known in self.names() if known and known != name])
        text, expected = mask_address(spec), f"expected {self.list_forms()}"
        error = UsageError(
            f"{option or self.option} {text!r}{hint}: {expected}", code="unknown-name"
        )
        error.allowed = write_advice(hint, expected)
        return error

    def maker(self, spec: str, option: str = "") -> Callable[..., T]:
        """Get the function that makes the object named ``NAME`` or ``NAME:ARGUMENT`` from settings.

        Args:
            spec: the name, with its argument.
            option: option that names it, where it is not the catalogue's, for errors.

        Raises:
            UsageError: nothing has such a name.
            MissingExtraError: a library that it needs is not installed.
            InputError: the plugin that gives it is broken.
        """
        name, _, argument = spec.partition(":")
        ours = self._ours.get(name)
        if ours is not None and name and bool(_argument_of(ours)) == bool(argument):
            self._warn_of_hidden(name)
            return self._bind_argument(ours, argument)
        theirs = None if ours is not None else plugins.find_entry(self.group, name)
        if theirs is not None:
            if not theirs[1]:
                self._warn_of_hidden(name)
            declared = self._require_record(*theirs)
            return self._wrap_factory(declared, theirs[1], argument)
        if "" in self._ours and ours is None:
            return self._bind_argument(self._ours[""], spec)
        raise self._unknown_name_error(spec, option)

    def resolve_path(self, spec: str, folder: Path) -> str:
        """Resolve the path in a value such as ``table:FILE`` against a folder; return the value.

        Args:
            spec: such as ``table:verdicts.jsonl``; a model is a path where it starts with a dot.
            folder: folder of the file that contains the value.
        """
        if "" in self._ours and spec.startswith(_DOTS):
            return str(folder / spec)
        name, _, argument = spec.partition(":")
        row = self.find(name) if name and argument else None
        is_path = argument.startswith(_DOTS)
        takes = "" if row is None else _argument_of(row)
        if not takes or not (takes == "FILE" or is_path):
            return spec
        return f"{name}:{folder / argument}"

    def _bind_argument(self, declared: D, argument: str) -> Callable[..., T]:
        """Return a declaration's factory with its argument bound; refuse missing libraries."""
        if needed := getattr(declared, "needs", ""):
            require(needed)
        factory: Callable[..., T] = declared.factory  # type: ignore[attr-defined]
        return partial(factory, argument) if _argument_of(declared) else factory

    def _wrap_factory(self, declared: D, origin: str, argument: str) -> Callable[..., T]:
        """Wrap a plugin's factory in a function that checks the attributes of the made object.

        Args:
            declared: row of the plugin.
            origin: plugin that declares it; empty for a part of citeforge.
            argument: text after the name, which the factory takes.

        Returns:
            Function from settings to the object.

        Raises:
            UsageError: an argument that it does not take, or none where it takes one.
        """
        label = f"the {self.noun} {declared.name!r}"
        takes = _argument_of(declared)
        if bool(takes) != bool(argument):
            form = f"{declared.name}:{takes}" if takes else declared.name
            raise UsageError(f"{label} of {origin} is written {form}", code="bad-option")

        if getattr(declared, "factory", None) is None:
            raise plugins.broken_plugin(label, origin, TypeError("it has no factory"))

        def make(*settings: Any) -> T:
            """Make the plugin's object; raise InputError if its code fails or it is incomplete."""
            try:
                product = self._bind_argument(declared, argument)(*settings)
            except (CiteforgeError, KeyboardInterrupt):
                raise
            except BaseException as error:  # a stranger's code may raise anything
                raise plugins.broken_plugin(label, origin, error) from error
            missing = [name for name in self._requires if not hasattr(product, name)]
            if missing:
                problem = TypeError(f"missing attributes: {', '.join(missing)}")
                raise plugins.broken_plugin(label, origin, problem)
            return cast(T, plugins.PluginProxy(product, origin)) if origin else product

        return make


def _argument_of(declared: Named) -> str:
    """Get the placeholder that a declared name has (``MODEL`` of ``hf:MODEL``); empty without."""
    argument: str = getattr(declared, "argument", "")
    return argument
