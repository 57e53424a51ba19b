"""Short help of commands with many options: the main ones first, the rest with ``--help-all``.

An option that is not for the first page has a ``heading``, that of its field's group.
"""

from typing import Any

import click

from citeforge.schemas.recipes.groups import HEADINGS

SHOW_ALL = "citeforge: all options"
"""Key of a context's ``meta`` that makes help texts complete."""
MOST_OPTIONS = 15
"""Options that ``--help`` shows at most, beside --help and --help-all."""
_FIRST = "Options"


class ManyOptions(click.Command):
    """Command with many options, whose ``--help`` shows only those without a section."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """List the options, and ``--help-all`` if the short help leaves some out."""
        params = super().get_params(ctx)
        if any(some for _, some in self.sections()[1:]):
            params.append(_help_all())
        return params

    def sections(self) -> list[tuple[str, list[click.Option]]]:
        """Group options as (heading, its options) pairs; the first pair is the short help.

        Returns:
            (heading, its options) in the order of the help.
        """
        options = [p for p in self.params if isinstance(p, click.Option) and not p.hidden]
        if len(options) <= MOST_OPTIONS:
            return [(_FIRST, options)]
        grouped: dict[str, list[click.Option]] = {title: [] for title in (_FIRST, *HEADINGS)}
        for option in options:
            heading = "" if option.required else getattr(option, "heading", "")
            grouped.setdefault(heading or _FIRST, []).append(option)
        return list(grouped.items())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the short help; with ``--help-all`` those of all headings."""
        (title, first), *others = self.sections()
        ends = [p for p in self.get_params(ctx) if p not in self.params]
        _write(ctx, formatter, title, [*first, *ends])
        if ctx.meta.get(SHOW_ALL):
            for heading, some in others:
                _write(ctx, formatter, heading, some)


def _write(ctx: click.Context, formatter: click.HelpFormatter, title: str, options: Any) -> None:
    """Write the help of some options under a heading."""
    rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _help_all() -> click.Option:
    """Make the option ``--help-all``."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        """Print the complete help, and exit."""
        if value and not ctx.resilient_parsing:
            ctx.meta[SHOW_ALL] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this message with all options, and exit.",
    )
