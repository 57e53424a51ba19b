"""Renders the reference of the command line; options that several commands have are printed once.

Options that ``--help`` of a command leaves out are printed at the end of the page, if several
commands have them; its other options in the section of its group, if several commands of the group
have them. The command itself then names them only.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import click
from python_calls import call_of

from citeforge.cli.main import cli
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.errors import ExitCode
from citeforge.schemas.recipes.groups import HEADINGS

Row = tuple[str, str]
"""An option as help shows it: its flags with the kind of value, and its text."""

_WIDTH = 100
_LEAST = 3
"""Commands of a group that have an option which is printed in the section of the group."""
_HEAD = (
    "# Command line\n\n{note}## Exit codes\n\n| code | meaning |\n| --- | --- |\n{codes}\n"
    "A signal ends a command with 128 + its number: 130 for Ctrl-C, 143 for SIGTERM, 129 for "
    "SIGHUP. It says what it kept and how to go on ([scale.md](scale.md#when-something-dies))."
    "\n\n## Options\n\n"
    "Commands of a group that have the same options share a section. An option of several sections "
    "is explained once: *Group* names options that the section of the group explains, *More* those "
    "under [Shared options](#shared-options). `--help` of a command prints the options that people "
    "need first, `--help-all` all of them. *From Python* is the function that does the work, with "
    "the arguments it must have; that of a group is for all its commands that name none. "
    "[library.md](library.md) has examples.\n"
)


def cli_page(note: str) -> str:
    """Render the page: each command with its options, then the options of several commands."""
    contexts = list(_list_contexts(_open(cli, "citeforge", None)))[1:]
    counts = Counter(place for context in contexts for place in _later_options(context))
    shared = {row: title for (title, row), n in counts.items() if n > 1}
    sections: dict[tuple[str, ...], list[click.Context]] = {}
    for context in contexts:
        parent, _, name = context.command_path.rpartition(" ")
        options = _option_texts(context, shared)
        # Sub-commands of the same options share a section.
        key = (parent, "" if " " in parent else name, *options)
        sections.setdefault(key, []).append(context)
    top = _open(cli, "citeforge", None)
    codes = "".join(f"| {code.value} | {code.meaning} |\n" for code in ExitCode)
    parts = [_HEAD.format(note=note, codes=codes)]
    parts.append(f"\n```\n{_definitions(_rows(top, cli.params))}\n```\n")
    parts += [_render(same, *key[2:]) for key, same in sections.items()]
    parts.append("\n## Shared options\n")
    for title in HEADINGS:
        if rows := [row for row, heading in shared.items() if heading == title]:
            parts.append(f"\n### {title}\n\n```\n{_definitions(rows)}\n```\n")
    return "".join(parts)


def _open(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    """Make the context in which help of a command is written."""
    return click.Context(command, parent, name, terminal_width=_WIDTH, max_content_width=_WIDTH)


def _list_contexts(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command, and of all commands below it."""
    yield context
    for inner in _children(context):
        yield from _list_contexts(inner)


def _children(context: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of the commands of a group; none for another command."""
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield _open(command, name, context)


def _rows(context: click.Context, options: Sequence[click.Parameter]) -> list[Row]:
    """List the options that help of a command shows."""
    rows = [o.get_help_record(context) for o in options if isinstance(o, click.Option)]
    return [row for row in rows if row is not None]


def _first_options(context: click.Context) -> list[Row]:
    """List the options that ``--help`` of a command shows."""
    command = context.command
    if isinstance(command, ManyOptions):
        return _rows(context, command.sections()[0][1])
    return _rows(context, command.params)


def _later_options(context: click.Context) -> list[tuple[str, Row]]:
    """List the options that only ``--help-all`` shows, each with its heading."""
    command = context.command
    later = command.sections()[1:] if isinstance(command, ManyOptions) else []
    return [(title, row) for title, options in later for row in _rows(context, options)]


def _flag(row: Row) -> str:
    """Get the long name of an option."""
    return row[0].split()[0]


def _group_options(group: click.Context | None) -> list[Row]:
    """List the options that several commands of a group have, one of each name."""
    if group is None or group.parent is None:  # commands beside each other are no group
        return []
    counts = Counter(row for child in _children(group) for row in _first_options(child))
    chosen: dict[str, Row] = {}
    for row, n in counts.most_common():
        if n >= _LEAST:
            chosen.setdefault(_flag(row), row)
    return [row for row in counts if chosen.get(_flag(row)) == row]


def _option_texts(context: click.Context, shared: Collection[Row]) -> tuple[str, str]:
    """Write the options that are explained in the section of a command, and name the others.

    Returns:
        the options with their headings, and what follows them: names, and the call in Python.
    """
    first, later = _first_options(context), _later_options(context)
    of_group = [row for row in _group_options(context.parent) if row not in shared]
    blocks = [("Options", [row for row in first if row not in of_group])]
    blocks += [(title, [row for heading, row in later if heading == title]) for title in HEADINGS]
    if isinstance(context.command, click.Group):
        blocks = [("Options of several of its commands", _group_options(context))]
    own = ""
    for title, rows in blocks:
        if rows := [row for row in rows if row not in shared]:
            own += f"\n{title}:\n{_definitions(rows)}\n"
    after = ""
    everything = [*first, *(row for _, row in later)]
    group = context.command_path.rpartition(" ")[0].replace(" ", "-")
    places = (("Group", group, of_group), ("More", "shared-options", shared))
    for title, anchor, explained in places:
        if names := [f"`{_flag(row)}`" for row in everything if row in explained]:
            after += f"\n[{title}](#{anchor}): {' '.join(names)}\n"
    call = call_of(context.command_path)
    if call and (context.parent is None or call != call_of(context.parent.command_path)):
        after += f"\nFrom Python: `{call}`\n"
    return own, after


def _render(contexts: Sequence[click.Context], options: str, after: str) -> str:
    """Render the section of a command, or of several of a group that have the same options."""
    path, *others = [context.command_path for context in contexts]
    heading = ", ".join([path, *(other.rpartition(" ")[2] for other in others)])
    # The commands of a group follow, with the same sentences; options are written below.
    lists = re.compile(r"\n\n(?:Options|Commands|Systems):\n")
    texts = [lists.split(context.get_help())[0] + "\n" for context in contexts]
    level = "#" * (path.count(" ") + 1)
    return f"\n{level} {heading}\n\n```\n{chr(10).join(texts)}{options}```\n{after}"


def _definitions(rows: Sequence[Row]) -> str:
    """Write options and their texts, as help prints them."""
    formatter = click.HelpFormatter(width=_WIDTH)
    with formatter.indentation():
        formatter.write_dl(rows)
    return formatter.getvalue().rstrip("\n")
