"""The commands ``citeforge list SORT``: all that users can name, with a line of help each."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

import click

from citeforge.cli.catalogue import SORTS, Entry, list_entries
from citeforge.cli.command import NamedCommands
from citeforge.cli.json_output import json_option, present
from citeforge.cli.terminal import echo_wrapped
from citeforge.schemas.catalogue import Sort

_FORM_WIDTH = 20
"""Width of the column of names."""
_PLURALS = {"llms": "LLMs", "perplexity": "perplexity models", "graphs": "knowledge graphs"}
"""What the rows of a sort are called, where its name does not say it."""


@click.group("list", cls=NamedCommands)
def lists() -> None:
    """List the names to choose from: sources, formats, judges, measures, …"""


def _list_sort(sort: Sort) -> None:
    """Print all names of a sort, such as judges, with their descriptions."""
    entries = list_entries(sort)
    present(entries, partial(_print_entries, entries))


def _print_entries(entries: Sequence[Entry]) -> None:
    """Print names that users can choose with descriptions, under a heading where they have one."""
    for family, several in groupby(entries, lambda entry: entry.family):
        if family:
            click.echo(family)
        for entry in several:
            _echo_entry(entry, 2 if family else 0)


def _echo_entry(entry: Entry, indent: int) -> None:
    """Print one name (a judge, format, …): description, notes in brackets, further facts below."""
    notes = f" ({'; '.join(entry.notes)})" if entry.notes else ""
    echo_wrapped(f"{entry.form:<{_FORM_WIDTH}} {entry.help}{notes}", indent)
    for name, fact in entry.facts.items():
        echo_wrapped(f"{name:<9} {fact}", indent + 2)


for _sort in SORTS:
    _command: Any = click.command(_sort, help=f"List the {_PLURALS.get(_sort, _sort)}.")
    lists.add_command(_command(json_option(partial(_list_sort, _sort))))
