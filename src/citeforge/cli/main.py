"""``citeforge``: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import os
import select
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from citeforge.cli.terminal import set_locale
from citeforge.schemas.errors import CiteforgeError, suggestion
from citeforge.schemas.extras import extras_named
from citeforge.schemas.version import __version__

# Help texts stand here so that `citeforge --help` imports no command.
COMMANDS = {
    "build": (
        "citeforge.cli.building.build:build",
        "Build a benchmark package from a source, or by a recipe file.",
    ),
    "embed": (
        "citeforge.cli.building.embed:embed",
        "Embed one share of a `build rage`, for several processes or machines at once.",
    ),
    "mine": (
        "citeforge.cli.building.mine:mine",
        "Mine for one share of the queries of a `build rage`, once all shares are embedded.",
    ),
    "recipe": (
        "citeforge.cli.building.recipe:recipe",
        "Print a recipe file to start from, or the one that a package was made by.",
    ),
    "rebuild": (
        "citeforge.cli.building.rebuild:rebuild",
        "Make a package again from its manifest alone; exit code 1 when its tables differ.",
    ),
    "verify": (
        "citeforge.cli.trust.verify:verify",
        "Check a package: hashes, schemas, ids, contexts.",
    ),
    "show": (
        "citeforge.cli.lookup.show:show",
        "Summarise a package, or show one query in context.",
    ),
    "prompts": ("citeforge.cli.building.prompts:prompts", "Write one prompt a query."),
    "run": ("citeforge.cli.running.run:run", "Run a system and write its submission."),
    "bench": (
        "citeforge.cli.running.bench:bench",
        "Run, score and compare several systems, and make a report.",
    ),
    "systems": (
        "citeforge.cli.lookup.systems:systems",
        "List the systems: whose they are, what they do, where they are described, what they need.",
    ),
    "check": ("citeforge.cli.scoring.check:check", "Check a submission; never changes it."),
    "score": ("citeforge.cli.scoring.score:score", "Score submissions against a package."),
    "compare": (
        "citeforge.cli.scoring.compare:compare",
        "Compare score files pairwise, or all with one baseline.",
    ),
    "plan": ("citeforge.cli.scoring.plan:plan", "Say how many queries a difference needs."),
    "report": (
        "citeforge.cli.scoring.report:report",
        "Make a report of score files: a page, a table (md, tex, csv), or a plot (svg, png, pdf).",
    ),
    "annotate": (
        "citeforge.cli.trust.annotate:annotate",
        "Send answers to annotators and take their labels back.",
    ),
    "meta-eval": (
        "citeforge.cli.trust.meta_eval:meta_eval",
        "Measure a judge against human labels.",
    ),
    "calibrate": (
        "citeforge.cli.trust.calibrate:calibrate",
        "Measure a judge's errors, and keep them in a package.",
    ),
    "measures": (
        "citeforge.cli.lookup.measures:measures",
        "List the measures, one line each, with what they need.",
    ),
    "audit": ("citeforge.cli.trust.audit:audit", "Look for flaws in a package that verifies."),
    "card": (
        "citeforge.cli.publishing.card:card",
        "Write README.md, croissant.json and eval.yaml of a package.",
    ),
    "publish": (
        "citeforge.cli.publishing.publish:publish",
        "Publish a package to the Hugging Face Hub.",
    ),
    "publish-results": (
        "citeforge.cli.publishing.publish_results:publish_results",
        "Show a model's scores on its page of the Hugging Face Hub.",
    ),
    "export": (
        "citeforge.cli.publishing.export:export",
        "Write a package in the layout of another tool, or as training data.",
    ),
    "leaderboard": (
        "citeforge.cli.publishing.leaderboard:leaderboard",
        "A static ranking and viewer of one benchmark or several: init, add, build.",
    ),
    "kg": ("citeforge.cli.lookup.kg:kg", "Ask a knowledge graph: profile, snapshot, link."),
    "kalma": ("citeforge.cli.building.kalma:kalma", "Look into KaLMA benchmarks: trace."),
    "judge": ("citeforge.cli.trust.judge:judge", "Judge whether premises entail hypotheses."),
    "llm": (
        "citeforge.cli.running.llm:llm",
        "Ask an LLM, and keep its answers: run, stats, export, import.",
    ),
    "doctor": (
        "citeforge.cli.lookup.doctor:doctor",
        "Tell what is installed, what answers, and what to type next.",
    ),
    "demo": (
        "citeforge.cli.lookup.demo:demo",
        "Build, answer, score and report a small benchmark, to see what that looks like.",
    ),
    "sources": ("citeforge.cli.lookup.sources:sources", "List the sources that can be read."),
}


class _PipeError(Exception):
    """Carries a BrokenPipeError past click, which would end in 1 without a word."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeError from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, function = COMMANDS[name][0].split(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(
                f"unknown command {args[0]!r}{suggestion(args[0], COMMANDS)}; "
                f"known: {', '.join(COMMANDS)}",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and options; the texts stand here, so that no command is imported for them."""
        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items()
                 if name.startswith(incomplete)]  # fmt: skip
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _show_completion(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    if shell is not None and not ctx.resilient_parsing:
        from citeforge.cli.completion import script

        click.echo(script(ctx.command, shell))
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="citeforge")
@click.option(
    "--show-completion",
    type=click.Choice(["auto", "bash", "zsh", "fish"]),
    is_flag=False,
    flag_value="auto",
    is_eager=True,
    expose_value=False,
    callback=_show_completion,
    help="Print what a shell reads to complete command lines (default: for the shell in SHELL).",
)
@click.option(
    "--plugin",
    "files",
    multiple=True,
    metavar="FILE.py",
    help="Take a plugin from a file (repeatable; also CITEFORGE_PLUGINS); see docs/extend.md.",
)
@click.option(
    "--log-json",
    is_flag=True,
    help="Long work writes its lines on standard error as JSON objects, also on a terminal.",
)
def cli(files: tuple[str, ...], log_json: bool) -> None:
    """Build, package, publish and score benchmarks for cited generation."""
    if log_json:
        from citeforge.engines.io.progress import is_json

        is_json.set(True)
    if files:
        from citeforge.engines.plugins import add_file

        for file in files:
            add_file(Path(file))


def main(args: list[str] | None = None) -> None:
    """Entry point. Exit codes: 0 fine, 1 input at fault, 2 wrong usage, 3 counted failures."""
    set_locale()
    try:
        with extras_named():
            cli.main(args=args, prog_name="citeforge", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("interrupted; run the same command again, a build with --resume", err=True)
        sys.exit(130)
    except CiteforgeError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        raise
    except BaseException as ended:
        cause = ended.__cause__ if isinstance(ended, _PipeError) else ended
        if isinstance(cause, BrokenPipeError) and _reader_left():
            sys.stderr.close()
            os._exit(0)  # what stands in buffers can go nowhere
        problem = None if cause is None else _explained(cause)
        if problem is None:
            raise
        click.echo(f"error: {problem}", err=True)
        sys.exit(1)


def _reader_left() -> bool:
    """Whether the reader of our output (head, less) has seen enough; other pipes break, too."""
    streams = select.poll()
    for stream in (1, 2):
        streams.register(stream, 0)
    return any(event & select.POLLERR for _, event in streams.poll(0))


def _explained(error: BaseException) -> CiteforgeError | None:
    """What to say of an error that is a plugin's, or the operating system's."""
    from citeforge.engines.plugins import TRACEBACK, blamed

    theirs = None if os.environ.get(TRACEBACK) else blamed(error)
    if theirs is None and isinstance(error, OSError) and error.errno is not None:
        from citeforge.engines.io.files import storage_error

        return storage_error(error, error.filename)
    return theirs


if __name__ == "__main__":
    main()
