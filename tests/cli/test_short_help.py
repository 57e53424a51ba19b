"""``--help`` is short; ``--help-all`` leaves nothing out."""

from collections.abc import Iterator

import click

from citeforge.cli.main import cli as citeforge
from citeforge.cli.short_help import MOST_OPTIONS, SHOW_ALL
from citeforge.schemas.recipes.groups import HEADINGS
from conftest import Cli, Inline


def commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, click.Context(inner, context, name))


ALL = list(commands(citeforge, click.Context(citeforge, info_name="citeforge")))


def shown(context: click.Context, option: click.Option, text: str) -> bool:
    record = option.get_help_record(context)
    return record is not None and f"\n  {record[0].split()[0].split('=')[0]}" in text


def options_of(context: click.Context) -> list[click.Option]:
    params = context.command.params
    return [p for p in params if isinstance(p, click.Option) and not p.hidden]


def test_help_shows_few_options_and_all_that_must_be_given() -> None:
    assert MOST_OPTIONS == 15
    for context in ALL:
        text = context.command.get_help(context)
        result = [o for o in options_of(context) if shown(context, o, text)]
        assert len(result) <= MOST_OPTIONS, (context.command_path, [o.name for o in result])
        assert all(o in result for o in options_of(context) if o.required), context.command_path
        is_short = len(result) < len(options_of(context))
        assert ("--help-all" in text) == is_short, context.command_path


def test_the_whole_help_shows_every_option() -> None:
    for context in ALL:
        context.meta[SHOW_ALL] = True
        text = context.command.get_help(context)
        del context.meta[SHOW_ALL]
        missing = [o.name for o in options_of(context) if not shown(context, o, text)]
        assert not missing, (context.command_path, missing)


def test_every_heading_has_options_and_every_option_a_known_heading() -> None:
    headings = {getattr(o, "heading", "") for c in ALL for o in options_of(c)}
    assert headings == {"", *HEADINGS}
    assert len(HEADINGS) == len(set(HEADINGS))


def test_a_person_asks_for_the_whole_help(inline: Inline) -> None:
    short, whole = (inline("score", option) for option in ("--help", "--help-all"))
    assert (short.returncode, whole.returncode) == (0, 0)
    assert "Endpoints, and limits of LLMs:" in whole.stdout
    assert "Endpoints, and limits of LLMs:" not in short.stdout
    assert whole.stdout.startswith(short.stdout.rstrip())


def test_help_fills_the_width_of_a_terminal_up_to_120_columns(cli: Cli) -> None:
    """A margin of two columns; never narrower than 50."""
    longest = {}
    for columns in (40, 80, 200):
        printed = cli("report", "--help", COLUMNS=str(columns))
        assert printed.returncode == 0, printed.stderr
        longest[columns] = max(map(len, printed.stdout.splitlines()))
    assert longest[40] <= 50 < longest[80] <= 78 < longest[200] <= 118
