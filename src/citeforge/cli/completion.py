"""Completion in shells: commands, options, and values of options."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from citeforge.cli.catalogue import rows_of
from citeforge.schemas.catalogue import Sort
from citeforge.schemas.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
GUESSED = "auto"
"""Name for the shell that the environment variable SHELL names."""
_HOW = {
    "bash": '# in ~/.bashrc: eval "$(citeforge --show-completion bash)"',
    "zsh": '# in ~/.zshrc: eval "$(citeforge --show-completion zsh)"',
    "fish": "# citeforge --show-completion fish > ~/.config/fish/completions/citeforge.fish",
}


def script(command: click.Command, shell: str) -> str:
    """Write the script that completes citeforge's command lines in a shell.

    Args:
        command: ``citeforge`` itself.
        shell: one of ``SHELLS``, or ``GUESSED``.

    Raises:
        UsageError: the environment names another shell, or none.
    """
    name = Path(os.environ.get("SHELL", "")).name if shell == GUESSED else shell
    completion = get_completion_class(name) if name in SHELLS else None
    if completion is None:
        fault = f"the shell {name!r} is not known" if name else "SHELL names no shell"
        raise UsageError(
            f"--show-completion: {fault}; name one of {', '.join(SHELLS)}", code="bad-option"
        )
    return f"{_HOW[name]}\n{completion(command, {}, 'citeforge', '_CITEFORGE_COMPLETE').source()}"


class Named(click.types.StringParamType):
    """Text option for which a shell offers names.

    Attributes:
        name: as help texts show it.
    """

    def __init__(self, names: Callable[[], Iterable[str]], comma_separated: bool = False) -> None:
        """Make the type of a text option from a function that lists the values a shell completes.

        Args:
            names: gives them; called when a shell asks.
            comma_separated: whether several may stand with commas between.
        """
        self._names, self._comma_separated = names, comma_separated

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """List the names that begin with the typed text, after the last comma."""
        before, comma, typed = (
            incomplete.rpartition(",") if self._comma_separated else ("", "", incomplete)
        )
        return [
            CompletionItem(f"{before}{comma}{name}")
            for name in self._names()
            if name.startswith(typed)
        ]


def named_type(sort: Sort, default: object, comma_separated: bool) -> Named:
    """Make the type of an option that takes names of a sort, such as judges, with completion.

    Args:
        sort: sort of the catalogue.
        default: default value, which need not be the name of a row, such as ``auto``.
        comma_separated: whether several may stand with commas between.
    """

    def names() -> list[str]:
        """List the names that a shell completes; one that needs an argument ends in ``:``."""
        words = [default] if isinstance(default, str) else []
        for row in rows_of(sort).values():
            needs_argument = row.form.startswith(f"{row.name}:")
            words += [f"{row.name}:" if needs_argument else row.name] if row.name else []
        return list(dict.fromkeys(words))

    return Named(names, comma_separated)
