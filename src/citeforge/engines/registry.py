"""Registries: objects made by name, from built-in declarations or those of plugins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from citeforge.engines import plugins
from citeforge.schemas.choices import Choice, listed
from citeforge.schemas.errors import (
    CiteforgeError,
    UsageError,
    require,
    suggestion,
    without_credentials,
)


class Declared(Protocol):
    """Attributes that a registry needs of a declaration: name, argument and factory."""

    @property
    def name(self) -> str:
        """Name by which users choose it."""

    @property
    def argument(self) -> str:
        """What follows the name and a colon; empty if nothing does."""

    @property
    def factory(self) -> Callable[..., Any] | None:
        """Function that makes the object; None in a declaration that a registry completes."""


D = TypeVar("D", bound=Declared)
T = TypeVar("T")


class Registry(Generic[D, T]):
    """Declarations of one sort of object (such as judges), made by name."""

    def __init__(
        self,
        what: str,
        group: str,
        declared: Sequence[D],
        factories: Mapping[str, Callable[..., T]],
        requires: str,
        unknown: Callable[[str], UsageError],
    ) -> None:
        """Set up the registry of one kind of plugin, with its built-in entries.

        Args:
            what: noun for one of them.
            group: plugins that give more, see :data:`citeforge.engines.plugins.GROUPS`.
            declared: built-in declarations; one without a name takes every name that no other has.
            factories: functions that make the built-in ones, by name; a plugin's declaration has
                its own.
            requires: attributes that each object must have, separated by spaces.
            unknown: makes the error for an unknown name.
        """
        self.what, self.group = what, group
        self._ours = {d.name: d for d in declared}
        for name, factory in factories.items():
            self._ours[name] = replace(cast(Any, self._ours[name]), factory=factory)
        self._requires = requires.split()
        self._unknown = unknown

    def find(self, spec: str) -> Callable[..., T]:
        """Find the function that makes what ``name:argument`` or ``name`` stands for, of settings.

        Raises:
            UsageError: nothing has such a name.
            MissingExtraError: a library that it needs is not installed.
            InputError: the plugin that gives it is broken.
        """
        name, _, argument = spec.partition(":")
        ours = self._ours.get(name)
        if ours is not None and name and bool(ours.argument) == bool(argument):
            for origin in (o for n, o in plugins.entry_names(self.group) if o and n == name):
                plugins.warn(f"{origin}: there is a {self.what} {name!r} already; ours is used")
            return self._bind_argument(ours, argument)
        theirs = None if ours is not None else plugins.find_entry(self.group, name)
        if theirs is not None:
            return self._check_products(cast(D, theirs[0]), theirs[1], argument)
        if "" in self._ours and ours is None:
            return self._bind_argument(self._ours[""], spec)
        raise self._unknown_name_error(spec)

    def declaration(self, name: str) -> D:
        """Look up a declaration, built-in or a plugin's.

        Raises:
            UsageError: nothing has such a name.
            InputError: the plugin that gives it is broken.
        """
        declared = self.get(name)
        if declared is None:
            raise self._unknown_name_error(name)
        return declared

    def get(self, name: str) -> D | None:
        """Look up a declaration, built-in or a plugin's; None for an unknown name."""
        if name in self._ours:
            return self._ours[name]
        theirs = plugins.find_entry(self.group, name)
        return None if theirs is None else cast(D, theirs[0])

    def all(self) -> dict[str, D]:
        """Get all declarations by name, built-in ones first; plugins' duplicates are left out."""
        entries = dict(self._ours)
        for value, origin in plugins.load_entries(self.group):
            declared = cast(D, value)
            if declared.name not in entries:
                entries[declared.name] = declared
            elif origin:
                plugins.warn(f"{origin}: there is a {self.what} {declared.name!r} already")
        return entries

    def _bind_argument(self, declared: D, argument: str) -> Callable[..., T]:
        """Bind the argument of a declaration's factory, after checking that its libraries exist."""
        if needed := getattr(declared, "needs", ""):
            require(needed)
        factory = cast(Callable[..., T], declared.factory)
        return partial(factory, argument) if declared.argument else factory

    def _unknown_name_error(self, spec: str) -> UsageError:
        """Make the error for an unknown name, with the plugin files that failed to load."""
        error = self._unknown(spec)
        broken = plugins.broken_files()
        return (
            UsageError("; ".join([str(error), *broken]), code="unknown-name") if broken else error
        )

    def _check_products(self, declared: D, origin: str, argument: str) -> Callable[..., T]:
        """Wrap the factory of a plugin's declaration, to check the attributes of what it makes.

        Raises:
            UsageError: an argument that it does not take, or none where it takes one.
        """
        label = f"the {self.what} {declared.name!r}"
        if bool(declared.argument) != bool(argument):
            form = f"{declared.name}:{declared.argument}" if declared.argument else declared.name
            raise UsageError(f"{label} of {origin} is written {form}", code="bad-option")

        def make(*settings: Any) -> T:
            """Make the object; InputError if its code fails, or it lacks a method."""
            try:
                product = self._bind_argument(declared, argument)(*settings)
            except (CiteforgeError, KeyboardInterrupt):
                raise
            except BaseException as error:  # a stranger's code may raise anything
                raise plugins.broken_plugin(label, origin, error) from error
            lacking = [name for name in self._requires if not hasattr(product, name)]
            if lacking:
                problem = TypeError(f"it lacks {', '.join(lacking)}")
                raise plugins.broken_plugin(label, origin, problem)
            return cast(T, plugins.PluginProxy(product, origin)) if origin else product

        return make


def parse_choice(option: str, spec: str, choices: Sequence[Choice]) -> tuple[str, str]:
    """Split ``name:argument`` into both, if it is a choice and its libraries are installed.

    Raises:
        UsageError: no choice has this form.
        MissingExtraError: a library that it needs is not installed.
    """
    name, _, argument = spec.partition(":")
    choice = next((c for c in choices if c.name == name), None)
    if choice is None or bool(choice.argument) != bool(argument):
        raise unknown_choice_error(option, choices)(spec)
    if choice.needs:
        require(choice.needs)
    return name, argument


def unknown_choice_error(option: str, choices: Sequence[Choice]) -> Callable[[str], UsageError]:
    """Make a function that creates the error for an unknown value of an option."""

    def error(spec: str) -> UsageError:
        """Make the error for a value, with a similar choice."""
        name, _, _ = spec.partition(":")
        hint = suggestion(name, [c.name for c in choices if c.name and c.name != name])
        text = without_credentials(spec)
        return UsageError(
            f"{option} {text!r}{hint}: expected {listed(choices)}", code="unknown-name"
        )

    return error
